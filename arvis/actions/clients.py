"""Clients that the conductor creates for an owner."""

from __future__ import annotations

from arvis.actions.context import ActionContext
from arvis.actions.report import done, quoted
from arvis.domain.effects import EffectKind, EffectResult, Proposal
from arvis.domain.errors import Unprocessable
from arvis.domain.money import Client, ClientPlan
from arvis.llm import billing
from arvis.ports.store import Transaction

LONGEST_NAME = 100
#: The most clients listed in a chat.
LISTED = 50


def apply_client(tx: Transaction, proposal: Proposal, situation: ActionContext, now: int) -> EffectResult:
    if proposal.kind is EffectKind.LIST_CLIENTS:
        return done(proposal, _listed(tx))
    by = situation.principal.id if situation.principal is not None else None
    made = billing.add_client(tx, wanted_client(proposal), now, by=by)
    return done(proposal, f"created the client {quoted(made.name)} ({made.plan})")


def wanted_client(proposal: Proposal) -> Client:
    """The one that a tag asks for, with what it leaves out."""
    fields = proposal.fields
    name, slug = str(fields.get("name", "")).strip(), str(fields.get("slug", "")).strip()
    if not (0 < len(name) <= LONGEST_NAME and name.isprintable()):
        raise Unprocessable(f"`name` must be 1 to {LONGEST_NAME} printable characters")
    if len(slug) > LONGEST_NAME or not slug.isprintable():
        raise Unprocessable(f"`slug` must have at most {LONGEST_NAME} printable characters")
    plan = str(fields.get("plan") or ClientPlan.PER_TASK)
    if plan not in set(ClientPlan):
        raise Unprocessable(f"`plan` must be one of {', '.join(ClientPlan)}")
    # A client is known by its name here; the short one of the tag is kept where people can find it.
    return Client(id="", name=name, plan=ClientPlan(plan), notes=f"slug: {slug}" if slug else "")


def _listed(tx: Transaction) -> str:
    found = tx.clients.newest(LISTED + 1)
    if not found:
        return "There are no clients."
    lines = [f"- {quoted(client.name)}: {client.plan}, {client.status}" for client in found[:LISTED]]
    return "\n".join(["Clients, the newest first:", *lines, *(["- and more"] if len(found) > LISTED else [])])
