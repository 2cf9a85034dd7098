"""Alerts to owners about problems that only they can fix, and about results that they should know.

Every alert is stored as a notification, which the dashboard lists. A message about the notification is sent to the
configured place, or to the place of the last direct chat of an owner with an agent. At most one message is sent for
each cause and interval, and one message when the cause is gone. `arvis/notifications/` sends the messages that could
not be sent at once, and e-mails. The functions are parts of transaction scripts.
"""

from __future__ import annotations

import json

from arvis.domain.dataclass import replace
from arvis.domain.executions import Execution
from arvis.domain.jobs import Fail, Job, JobKind, Priority
from arvis.domain.messages import Address, Principal, PrincipalRole, StoredMessage
from arvis.domain.money import Budget, budget_reason
from arvis.domain.notifications import DAY_MS, Hint, Notification, NotificationState, Problem, Remedy, Severity
from arvis.domain.workflows import STATE
from arvis.ports.store import Transaction

#: The key-value with the id of a message in the newest direct chat of an owner with an agent.
_PLACE = "owner_message"
#: The key-value with the configured place of alerts (an address as JSON).
_CHOSEN = "owner_alert_address"
#: The maximum number of characters of an error in an alert.
_LONGEST_ERROR = 300
#: The maximum number of characters that a message about the end of a cause quotes.
_LONGEST_QUOTE = 200

#: The prefix of the channels of `arvis chat`.
_TERMINAL = "cli-"
_WEB = "web"

#: The sources of runs for which no person waits.
_BY_ITSELF = frozenset({"schedule", "webhook"})

#: The prefix of the cause of a missing login to a tool server.
_LOGIN = "tool_server_login"

#: The prefixes of causes that end when the job of the notification has succeeded or was deleted.
GIVEN_UP, UNDELIVERED = "given_up", "undelivered"

_GIVEN_UP_HINT = Hint(
    "\n`arvis jobs list --status failed` shows the failed jobs; `arvis jobs retry ID` retries one.",
    "\nYou can see and retry the failed jobs on the Queue page.",
    "/queue?status=failed",
)
_BOTS = Hint(
    "\n`arvis bots list` shows the state of each bot.",
    "\nThe page Connectors and bots shows the state of each bot.",
    "/settings/bots",
)
_USAGE = Hint("\n`arvis usage` shows the costs.", "\nThe page Usage shows the costs.", "/usage")

#: The budgets about which an owner is alerted when they end a turn. The budget of the day is checked regularly instead
#: (`arvis/notifications/causes.py`), and personal limits concern only the person.
_ALERTED_BUDGETS = frozenset(map(budget_reason, (Budget.AGENT, Budget.CLIENT, Budget.CREDIT)))


def note_place(tx: Transaction, message: StoredMessage, principal: Principal, *, direct: bool, now: int) -> None:
    """Store the place of this message as the place for alerts, if an owner wrote it in a direct chat."""
    if principal.role is not PrincipalRole.OWNER or not direct:
        return
    known = tx.messages.get(tx.kv.get(_PLACE) or "")
    if known is None or known.conversation_id != message.conversation_id:
        tx.kv.put(_PLACE, message.id, now)


def choose_place(tx: Transaction, address: Address | None, now: int) -> None:
    """Store the configured place of alerts (None: no place is configured). The daemon calls this function at every
    start."""
    chosen = json.dumps(address.to_json()) if address is not None else ""
    if (tx.kv.get(_CHOSEN) or "") != chosen:
        tx.kv.put(_CHOSEN, chosen, now)


def alert_owner(tx: Transaction, problem: Problem, now: int) -> bool:
    """Store the problem as a notification, and send a message about it if the interval since the last message about the
    same cause has passed. Return True if a message was sent. If no place is known, the message is sent later."""
    before = tx.notifications.newest(problem.cause)
    expires_at = now + problem.lasts if problem.lasts is not None else None
    if before is not None and before.state is NotificationState.OPEN:
        found = replace(
            before, problem=problem, last_at=max(now, before.last_at + 1), count=before.count + 1, expires_at=expires_at
        )
        sent = _send_if_due(tx, found, now)
        tx.notifications.save(sent or found)
        return sent is not None
    found = Notification(
        id=tx.new_id(),
        problem=problem,
        state=NotificationState.OPEN,
        first_at=now,
        last_at=now,
        count=1,
        sent_at=before.sent_at if before is not None else None,
        mailed_at=before.mailed_at if before is not None else None,
        expires_at=expires_at,
    )
    sent = _send_if_due(tx, found, now)
    tx.notifications.add(sent or found)
    return sent is not None


def observe(tx: Transaction, problem: Problem, now: int) -> bool:
    """Store a problem that is checked regularly. A notification that is open, or that a person has dismissed, stays
    unchanged until `resolve` is called. Return whether a notification was stored."""
    before = tx.notifications.newest(problem.cause)
    if before is not None and before.state is not NotificationState.RESOLVED:
        return False
    alert_owner(tx, problem, now)
    return True


def resolve(tx: Transaction, cause: str, now: int) -> bool:
    """End the notification of a cause that is gone. Send a message about the end if a message reported the
    notification. Return whether there was a notification to end."""
    found = tx.notifications.newest(cause)
    if found is None or found.state is NotificationState.RESOLVED:
        return False
    end(tx, found, now)
    return True


def end(tx: Transaction, found: Notification, now: int, *, silent: bool = False) -> None:
    """End a notification whose cause is gone. `silent` means that no message reports the end."""
    was_open = found.state is NotificationState.OPEN
    reported = was_open and not silent
    if reported and _is_since(found.sent_at, found.first_at):
        _send(tx, end_text(found), Hint(), found.problem.avoid, now)
    tx.notifications.save(
        replace(
            found,
            state=NotificationState.RESOLVED,
            ended_at=now if was_open else found.ended_at,
            end_unmailed=reported and _is_since(found.mailed_at, found.first_at),
        )
    )


def dismiss(tx: Transaction, found: Notification, by: str, now: int) -> Notification:
    """Dismiss an open notification for the person `by`. Return its new state."""
    dismissed = replace(found, state=NotificationState.DISMISSED, ended_at=now, ended_by=by)
    tx.notifications.save(dismissed)
    return dismissed


def send_again(tx: Transaction, found: Notification, now: int) -> bool:
    """Send the message about an open notification that could not be sent earlier. Return whether it was sent."""
    sent = _send_if_due(tx, found, now)
    if sent is not None:
        tx.notifications.save(sent)
    return sent is not None


def has_place(tx: Transaction, problem: Problem) -> bool:
    """Return whether a message about the problem can be sent."""
    return _place(tx, problem.avoid) is not None


def end_text(found: Notification) -> str:
    """Return the text that reports the end of a notification."""
    first, *_ = found.problem.text.splitlines() or [""]
    short = first if len(first) <= _LONGEST_QUOTE else f"{first[:_LONGEST_QUOTE]}…"
    return f"Resolved: {short}"


def _send_if_due(tx: Transaction, found: Notification, now: int) -> Notification | None:
    """Send a message about the notification if it is due. Return the changed notification; None if no message was
    sent."""
    if not found.may_send(now):
        return None
    problem = found.problem
    if not _send(tx, problem.text, problem.hint, problem.avoid, now):
        return None
    return replace(found, sent_at=max(now, found.last_at))


def _send(tx: Transaction, text: str, hint: Hint, avoid: Address | None, now: int) -> bool:
    """Send a message of Arvis to the owners, with `hint` at the end of its text. Return False if no place is known.
    The first call imports the code of messages, which an idle daemon does not need."""
    place = _place(tx, avoid)
    if place is None:
        return False
    from arvis.messaging import messages  # noqa: PLC0415 - see the docstring

    match place:
        case Address() as chosen:
            messages.send_to_place(tx, chosen, _shown(text, hint, chosen), priority=Priority.BACKGROUND, now=now)
        case StoredMessage() as talked:
            shown = _shown(text, hint, talked.address)
            messages.notice(tx, like=talked, text=shown, priority=Priority.BACKGROUND, now=now)
    return True


def _place(tx: Transaction, avoid: Address | None) -> Address | StoredMessage | None:
    """Return the configured place of alerts, or else a message in the last direct chat of an owner. A place of the bot
    `avoid` is not used. Return None if there is no other place."""
    configured = tx.kv.get(_CHOSEN)
    chosen = Address.from_json(json.loads(configured)) if configured else None
    if chosen is not None and not _same_bot(chosen, avoid):
        return chosen
    talked = tx.messages.get(tx.kv.get(_PLACE) or "")
    return talked if talked is not None and not _same_bot(talked.address, avoid) else None


def _shown(text: str, hint: Hint, address: Address) -> str:
    """Return the text for the readers of this place. The dashboard shows the author separately. On a chat platform the
    text begins with the name Arvis, because the platform shows the name of the bot, which is often the name of an
    agent."""
    if address.platform == _WEB and not address.channel.startswith(_TERMINAL):
        return text + hint.page
    return f"Arvis: {text}{hint.command}"


def _is_since(reported_at: int | None, first_at: int) -> bool:
    return reported_at is not None and reported_at >= first_at


def alert_bot_problem(tx: Transaction, platform: str, name: str, text: str, now: int, *, cause: str = "down") -> bool:
    """Use another bot to send an alert about a bot that cannot be reached or whose token was refused. `cause` is one
    word for the problem."""
    problem = Problem(
        cause=_bot_cause(platform, name, cause),
        text=text,
        hint=_BOTS,
        remedy=Remedy.RESTART_BOT,
        subject=f"{platform}/{name}",
        avoid=Address(platform, name, ""),
    )
    return alert_owner(tx, problem, now)


def resolve_bot_problems(tx: Transaction, platform: str, name: str, now: int) -> None:
    """End the alerts about a bot that is connected again, or that was turned off or removed."""
    for cause in ("down", "token"):
        resolve(tx, _bot_cause(platform, name, cause), now)


def _bot_cause(platform: str, name: str, cause: str) -> str:
    return f"bot:{platform}/{name}:{cause}"


def alert_login(tx: Transaction, server: str, now: int) -> bool:
    """Send an alert about a tool server to which a person must log in."""
    problem = Problem(
        cause=f"{_LOGIN}:{server}",
        text=f"The tools of the server {server} cannot be used, because a person must log in there.",
        severity=Severity.WARNING,
        hint=Hint(
            f"\n`arvis mcp login {server}` prints the address for the login.",
            "\nYou can log in on the page Tool servers.",
            f"/settings/servers/{server}",
        ),
        subject=server,
        interval=DAY_MS,
        lasts=7 * DAY_MS,
    )
    return alert_owner(tx, problem, now)


def resolve_login(tx: Transaction, server: str, now: int) -> bool:
    """End the alert about a tool server that can be used again. Return True if there was an alert."""
    return resolve(tx, f"{_LOGIN}:{server}", now)


def alert_dead_letter(tx: Transaction, job: Job, outcome: Fail, now: int) -> bool:
    """Send an alert about a job that has failed and is not retried, at most once an hour for each reason and bot or
    agent."""
    error = " ".join(outcome.error[: 4 * _LONGEST_ERROR].split())[:_LONGEST_ERROR]
    if job.kind is JobKind.DELIVER:
        delivery = tx.deliveries.get(job.delivery_id or "")
        if delivery is None:
            return False
        address = delivery.address
        bot = f"{address.platform}/{address.connector}"
        problem = Problem(
            cause=f"{UNDELIVERED}:{bot}:{outcome.reason}",
            text=f"A message could not be delivered to {address.channel} on {bot}: {error}",
            hint=_GIVEN_UP_HINT,
            remedy=Remedy.RETRY_JOB,
            subject=job.id,
            avoid=address,
        )
        return alert_owner(tx, problem, now)
    agent = tx.agents.get(job.agent_id or "")
    who = agent.name if agent is not None else "An agent"
    if outcome.reason.startswith("budget"):
        text = f"{who} could not answer, because a budget is used up: {error}"
        return outcome.reason in _ALERTED_BUDGETS and _alert_budget(tx, job, outcome.reason, text, now)
    problem = Problem(
        cause=f"{GIVEN_UP}:{job.agent_id or job.kind}:{outcome.reason}",
        text=f"{who} could not finish a task ({outcome.reason}): {error}",
        hint=_GIVEN_UP_HINT,
        remedy=Remedy.RETRY_JOB,
        subject=job.id,
    )
    return alert_owner(tx, problem, now)


def _alert_budget(tx: Transaction, job: Job, reason: str, text: str, now: int) -> bool:
    problem = Problem(
        cause=f"{reason}:{job.agent_id or job.kind}",
        text=text,
        severity=Severity.WARNING,
        hint=_USAGE,
        interval=DAY_MS,
        lasts=DAY_MS,
    )
    return alert_owner(tx, problem, now)


def alert_failed_run(tx: Transaction, execution: Execution, source: str, error: str, now: int) -> bool:
    """Send an alert about a failed run of a schedule or webhook, at most once an hour for each workflow and source."""
    cause = _cause_of_run(execution, source)
    if cause is None:
        return False
    workflow = tx.workflows.get(execution.state.get(STATE, {}).get("id", ""))
    name = workflow.name if workflow is not None else execution.graph
    short = " ".join(error[: 4 * _LONGEST_ERROR].split())[:_LONGEST_ERROR]
    page = f"/workflows/{workflow.id}" if workflow is not None else "/workflows"
    hint = Hint(
        f"\n`arvis workflows runs --id {execution.id}` shows its log.", "\nThe page Workflows shows its runs.", page
    )
    text = f"The workflow {name} has failed: {short}"
    problem = Problem(cause=cause, text=text, hint=hint, subject=execution.id, lasts=7 * DAY_MS)
    return alert_owner(tx, problem, now)


def resolve_failed_runs(tx: Transaction, execution: Execution, source: str, now: int) -> None:
    """End the alert about failed runs, because a later run for the same schedule or webhook has succeeded."""
    cause = _cause_of_run(execution, source)
    if cause is not None:
        resolve(tx, cause, now)


def _cause_of_run(execution: Execution, source: str) -> str | None:
    return f"run_failed:{execution.graph}:{source}" if source.partition(":")[0] in _BY_ITSELF else None


def _same_bot(place: Address, other: Address | None) -> bool:
    """Return True if both places have the same bot. If `other` has a channel, the channels must be the same, too."""
    if other is None or (place.platform, place.connector) != (other.platform, other.connector):
        return False
    return not other.channel or place.channel == other.channel
