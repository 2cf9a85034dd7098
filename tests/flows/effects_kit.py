"""A small app for effects: agents, people of every role, and turns whose replies ask for something."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.actions.context import ActionContext, Limits
from arvis.actions.turn_end import apply
from arvis.domain.agents import Agent
from arvis.domain.effects import EffectKind, EffectResult, Proposal
from arvis.domain.messages import Address, MessageStatus, Principal, PrincipalRole, Role, StoredMessage
from arvis.domain.schedules import Missed, Schedule, ScheduleKind
from arvis.domain.taint import CLEAN, Label, Taint
from arvis.engine import lifecycle
from arvis.ports.store import Transaction

NOW = 1_800_000_000_000
PLACE = Address("discord", "main", "1234567890123456789")
WEB = Address("web", "web", "dashboard-agent-helper")
TAINTED: Taint = frozenset({Label.TOOLS})

CONDUCTOR = Agent(id="agent-conductor", slug="conductor", name="Conductor", role="conductor")
HELPER = Agent(id="agent-helper", slug="helper", name="Helper", tools=("web_search",))
NEWS = Agent(id="agent-news", slug="news", name="News", description="reads the news", tools=("web_search",))
CODER = Agent(id="agent-coder", slug="coder", name="Coder", tools=("run_shell",))
BOSS = Agent(id="agent-boss", slug="boss", name="Boss", allow_users=("ann",))
AGENTS = (CONDUCTOR, HELPER, NEWS, CODER, BOSS)

MORNING = Schedule(
    id="cron-1", kind=ScheduleKind.CRON, agent_id=NEWS.id, name="morning", schedule="0 8 * * *", timezone=None,
    prompt="Tell the news.", platform="discord", connector="main", channel="1", script=None, missed=Missed.ONCE,
    enabled=True, principal_id=None, last_run=None, next_run=NOW + 1, created_at=NOW, updated_at=NOW,
)  # fmt: skip

#: For each kind, the subject and content of a tag that only missing rights can refuse.
WISHES: dict[EffectKind, tuple[str, dict[str, Any]]] = {
    EffectKind.REMEMBER: ("user_preference", {"text": "prefers tea"}),
    EffectKind.STATE: ("alert.max", {"text": "150"}),
    EffectKind.DELEGATE: ("news", {"text": "What is new?", "report": False}),
    EffectKind.CREATE_AGENT: ("support", {"slug": "support", "name": "Support", "tools": ["web_search"]}),
    EffectKind.UPDATE_AGENT: ("news", {"description": "reads science"}),
    EffectKind.PAUSE_AGENT: ("news", {}),
    EffectKind.DELETE_AGENT: ("news", {}),
    EffectKind.CREATE_CRON: ("", {"agent": "news", "name": "evening", "schedule": "0 20 * * *", "prompt": "Sum up."}),
    EffectKind.UPDATE_CRON: ("morning", {"schedule": "0 9 * * *"}),
    EffectKind.DELETE_CRON: ("morning", {}),
    EffectKind.CREATE_HEARTBEAT: ("", {"agent": "news", "name": "pulse", "schedule": "every 10m", "prompt": "Look."}),
    EffectKind.UPDATE_HEARTBEAT: ("watch", {"schedule": "every 20m"}),
    EffectKind.DELETE_HEARTBEAT: ("watch", {}),
    EffectKind.CREATE_CLIENT: ("acme", {"name": "Acme Ltd", "slug": "acme"}),
    EffectKind.LIST_AGENTS: ("", {}),
    EffectKind.LIST_CRONS: ("", {}),
    EffectKind.LIST_HEARTBEATS: ("", {}),
    EffectKind.LIST_CLIENTS: ("", {}),
}


def wish(kind: EffectKind, ordinal: int = 1, /, subject: str | None = None, **fields: Any) -> Proposal:
    """Return a tag of this kind, with the usual subject and content unless others are given."""
    usual, content = WISHES[kind]
    return Proposal(ordinal, kind, usual if subject is None else subject, fields or content)


def furnish(tx: Transaction) -> None:
    for agent in AGENTS:
        tx.agents.add(agent, NOW)
    tx.schedules.add(MORNING)
    beat = {"id": "beat-1", "kind": ScheduleKind.HEARTBEAT, "name": "watch", "schedule": "every 10m"}
    tx.schedules.add(Schedule(**{**{name: getattr(MORNING, name) for name in MORNING.__slots__}, **beat}))


def person(tx: Transaction, role: PrincipalRole | None) -> Principal | None:
    if role is None:
        return None
    if role is PrincipalRole.BLOCKED:
        known = tx.principals.seen("discord", role, role.capitalize(), None, NOW)
        tx.principals.set_role(known.id, role, NOW)
        return tx.principals.get(known.id)
    return tx.principals.seen("discord", role, role.capitalize(), role, NOW)


def turn(
    tx: Transaction,
    agent: Agent = CONDUCTOR,
    role: PrincipalRole | None = PrincipalRole.OWNER,
    taint: Taint = CLEAN,
    *,
    limits: Limits = Limits(),  # noqa: B008 - it never changes
    direct: bool = False,
    place: Address = PLACE,
    standing: Mapping[str, Any] = {},
) -> ActionContext:
    """Return the context of a turn of this agent that ends now. A person with this role has asked for it; `standing` is
    added to its state."""
    who, now = person(tx, role), tx.agents.get(agent.id)
    assert now is not None
    conversation = tx.conversations.open(agent.id, place, NOW, direct=direct)
    state = {"agent": agent.id, "address": place.to_json(), "conversation": conversation.id, **standing}
    execution = lifecycle.begin(
        tx, tx.new_id(), "agent", state, lane=conversation.lane, priority=5,
        principal_id=who.id if who else None, now=NOW,
    )  # fmt: skip
    message = StoredMessage(
        id=tx.new_id(), conversation_id=conversation.id, role=Role.USER, content="Do it.", tokens=3,
        status=MessageStatus.ACCEPTED, address=place, principal_id=who.id if who else None,
        user_name=who.name if who else "", agent_id=agent.id, execution_id=execution.id, turn=None, created_at=NOW,
    )  # fmt: skip
    tx.messages.add(message)
    return ActionContext(now, who, taint, place, conversation, execution, message.id, limits)


def applied(tx: Transaction, proposals: list[Proposal], **about: Any) -> list[EffectResult]:
    """Apply the proposals in a turn of their own, and return the results."""
    return apply(tx, proposals, turn(tx, **about), NOW)
