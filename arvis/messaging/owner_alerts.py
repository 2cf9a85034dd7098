"""Alerts to owners about problems that only they can fix.

An alert is sent to the configured place, or to the place of the last direct chat of an owner with an agent. Alerts with
the same cause are sent at most once per interval. The functions are parts of transaction scripts.
"""

from __future__ import annotations

import json

from arvis.domain.dataclass import dataclass
from arvis.domain.executions import Execution
from arvis.domain.jobs import Fail, Job, JobKind, Priority
from arvis.domain.messages import Address, Principal, PrincipalRole, StoredMessage
from arvis.domain.workflows import STATE
from arvis.messaging.messages import WEB, notice, send_to_place
from arvis.ports.store import Transaction
from arvis.tasks.task import source_of

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
#: The key-value with the id of a message in the newest direct chat of an owner with an agent.
_PLACE = "owner_message"
#: The key-value with the configured place of alerts (an address as JSON).
_CHOSEN = "owner_alert_address"
#: The maximum number of characters of an error in an alert.
_LONGEST_ERROR = 300

#: The prefix of the channels of `arvis chat`.
_TERMINAL = "cli-"

#: The sources of runs for which no person waits.
_BY_ITSELF = frozenset({"schedule", "webhook"})


@dataclass(frozen=True, slots=True)
class Hint:
    """A sentence that says where to find more: `page` for readers of the dashboard, `command` for all others."""

    command: str
    page: str

    def for_reader_at(self, address: Address) -> str:
        on_page = address.platform == WEB and not address.channel.startswith(_TERMINAL)
        return self.page if on_page else self.command


_NO_HINT = Hint("", "")
_GIVEN_UP = Hint(
    "\n`arvis jobs list --status failed` shows the failed jobs; `arvis jobs retry ID` retries one.",
    "\nYou can see and retry the failed jobs on the Queue page.",
)
_BOTS = Hint(
    "\n`arvis bots list` shows the state of each bot.", "\nThe page Connectors and bots shows the state of each bot."
)


def note_place(tx: Transaction, message: StoredMessage, principal: Principal, *, direct: bool, now: int) -> None:
    """Store the place of this message as the place for alerts, if an owner wrote it in a direct chat."""
    if principal.role is not PrincipalRole.OWNER or not direct:
        return
    known = tx.messages.get(tx.kv.get(_PLACE) or "")
    if known is None or known.conversation_id != message.conversation_id:
        tx.kv.put(_PLACE, message.id, now)


def choose_place(tx: Transaction, address: Address | None, now: int) -> None:
    """Store the configured place of alerts (None: none is configured). This function is called at every start of the
    daemon."""
    chosen = json.dumps(address.to_json()) if address is not None else ""
    if (tx.kv.get(_CHOSEN) or "") != chosen:
        tx.kv.put(_CHOSEN, chosen, now)


def alert_owner(
    tx: Transaction,
    about: str,
    text: str,
    now: int,
    every: int = HOUR_MS,
    *,
    unless: Address | None = None,
    hint: Hint = _NO_HINT,
) -> bool:
    """Send an alert, with `hint` at the end of its text. Return True if it was sent.

    No alert is sent if no place is known, or if an alert with the same `about` was sent less than `every` ms ago.
    `about` names the cause, as in `compaction:CONVERSATION`. `unless` is a bot or channel that must not be used,
    because the alert reports its failure.
    """
    key = f"notified:{about}"
    notified = tx.kv.get(key)
    if notified is not None and 0 <= now - int(notified) < every:
        return False
    talked, configured = tx.messages.get(tx.kv.get(_PLACE) or ""), tx.kv.get(_CHOSEN)
    chosen = Address.from_json(json.loads(configured)) if configured else None
    if chosen is not None and not _same_bot(chosen, unless):
        send_to_place(tx, chosen, text + hint.for_reader_at(chosen), priority=Priority.BACKGROUND, now=now)
    elif talked is not None and not _same_bot(talked.address, unless):
        shown = text + hint.for_reader_at(talked.address)
        notice(tx, like=talked, text=shown, priority=Priority.BACKGROUND, now=now)
    else:
        return False
    tx.kv.put(key, str(now), now)
    return True


def alert_bot_problem(tx: Transaction, platform: str, name: str, text: str, now: int, *, cause: str = "down") -> bool:
    """Use another bot to send an alert about a bot that cannot be reached or whose token was refused. `cause` is one
    word for the problem."""
    unless = Address(platform, name, "")
    return alert_owner(tx, f"bot:{platform}/{name}:{cause}", text, now, unless=unless, hint=_BOTS)


def alert_dead_letter(tx: Transaction, job: Job, outcome: Fail, now: int) -> bool:
    """Send an alert about a job that has failed and is not retried, at most once an hour for each reason and bot or
    agent. A turn that failed because of a budget causes no alert."""
    error = " ".join(outcome.error[: 4 * _LONGEST_ERROR].split())[:_LONGEST_ERROR]
    if job.kind is JobKind.DELIVER:
        delivery = tx.deliveries.get(job.delivery_id or "")
        if delivery is None:
            return False
        address = delivery.address
        bot = f"{address.platform}/{address.connector}"
        text = f"A message could not be delivered to {address.channel} on {bot}: {error}"
        return alert_owner(tx, f"undelivered:{bot}:{outcome.reason}", text, now, unless=address, hint=_GIVEN_UP)
    if outcome.reason.startswith("budget"):
        return False
    agent = tx.agents.get(job.agent_id or "")
    who = agent.name if agent is not None else "An agent"
    text = f"{who} could not finish a task ({outcome.reason}): {error}"
    return alert_owner(tx, f"given_up:{job.agent_id or job.kind}:{outcome.reason}", text, now, hint=_GIVEN_UP)


def alert_failed_run(tx: Transaction, execution: Execution, error: str, now: int) -> bool:
    """Send an alert about a failed run of a schedule or web hook, at most once an hour for each workflow and source."""
    source = source_of(execution)
    if source.partition(":")[0] not in _BY_ITSELF:
        return False
    workflow = tx.workflows.get(execution.state.get(STATE, {}).get("id", ""))
    name = workflow.name if workflow is not None else execution.graph
    short = " ".join(error[: 4 * _LONGEST_ERROR].split())[:_LONGEST_ERROR]
    text = f"The workflow {name} has failed: {short}"
    hint = Hint(f"\n`arvis workflows runs --id {execution.id}` shows its log.", "\nThe page Workflows shows its runs.")
    return alert_owner(tx, f"run_failed:{execution.graph}:{source}", text, now, hint=hint)


def _same_bot(place: Address, other: Address | None) -> bool:
    """Return True if both places have the same bot. If `other` has a channel, the channels must be the same, too."""
    if other is None or (place.platform, place.connector) != (other.platform, other.connector):
        return False
    return not other.channel or place.channel == other.channel
