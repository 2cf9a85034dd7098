"""The way of a message, top to bottom: the fourteen steps of seed 004.

`receive` runs for a connector and calls no model; `run` answers in a worker and survives its death. Three commits a
message: accept (and claim), finish (and claim), sent. A row first, an event second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from arvis import commands
from arvis.agents import compacting_rows, notices, saying, turns
from arvis.agents.compacting_rows import COMPACTION
from arvis.agents.turns import CancelledTurn, Ending
from arvis.commands import Invocation, Spoken
from arvis.domain.errors import PERMANENT, BudgetBusy, BudgetReached, ExecutionError, ProviderErrorKind
from arvis.domain.events import MessageReceived, StatusChanged, TypingRequested
from arvis.domain.executions import PERSONAL_WAITS, Execution, ExecutionStatus
from arvis.domain.jobs import Failed, GiveUp, Job, JobKind, NotBefore, Retry, Settled, Snooze, TryAgain, Verdict
from arvis.domain.messages import Address, Attachment, IncomingMessage, MessageStatus, Role, StoredMessage
from arvis.domain.money import budget_reason
from arvis.effects.conclusion import Conclusion, taint_of_turn
from arvis.effects.delegation import on_turn_end
from arvis.effects.situation import Limits
from arvis.graph import lifecycle
from arvis.graph.engine import Engine
from arvis.ports.bus import Bus
from arvis.ports.clock import Clock
from arvis.ports.inbox import Received
from arvis.ports.store import Store, Transaction
from arvis.routing import NOT_ADDRESSED, Refused, Routed, Router
from arvis.runner import RunFailed

#: A turn answers at most so many waiting messages of one person at once (queue.md, merge).
FOLD_MESSAGES = 10
FOLD_TOKENS = 8_000

#: Seconds of waiting after which the user is told (reliability.md, decisions).
PATIENCE = 20
#: How long a limited account rests when the provider does not say (behaviour 1.11), in seconds.
LIMIT_SECONDS = 60
#: How long a call waits whose budget is set aside for calls under way, in seconds.
BUSY_SECONDS = 2
BUSY = "budget"


class MessageFlow:
    """`Inbox` for connectors, `Handler` for jobs of kind `message`, `advance` and `compact`. `admit` raises, without
    touching the disk, while nothing new may be taken on; `zone` is the daemon's, `limits` bound what replies may set
    going."""

    def __init__(
        self,
        *,
        admit: Callable[[], None],
        store: Store,
        router: Router,
        engine: Engine,
        bus: Bus,
        clock: Clock,
        zone: str = "UTC",
        limits: Limits | None = None,
    ) -> None:
        self._admit = admit
        self._store = store
        self._router = router
        self._engine = engine
        self._bus = bus
        self._clock = clock
        self._zone = zone
        self._limits = limits or Limits()

    # -- from a connector: milliseconds, no model ------------------------------------------------------------

    async def receive(self, message: IncomingMessage) -> Received:
        """Steps 1–4 and 8. Acknowledge the platform only after this returns. Raises `Unavailable` when the platform
        should bring the message again later."""
        self._admit()
        files = await self._keep_files(message)  # bytes first, rows second
        received = await self._store.write(self._take, message, files, self._clock.now())  # 1, 2, 4, 8 in one commit
        match received:
            case Received(duplicate=True):
                pass
            case Received(status=MessageStatus.ACCEPTED):
                self._bus.publish(MessageReceived(received.message_id, message.address))
                self._bus.publish(TypingRequested(message.address))  # 3
            case Received(status=MessageStatus.ANSWERED):
                self._bus.publish(StatusChanged(message.address, received.message_id, received.status))
        return received

    async def stop(self, address: Address, by: str) -> int:
        """Cancel the turns that run in this place."""
        stopped = await self._store.write(stop_turns, address, by, self._clock.now())
        for turn in stopped:
            turns.announce_cancelled(self._bus, turn)
        return len(stopped)

    async def _keep_files(self, message: IncomingMessage) -> list[Attachment]:
        """Only for who may ask: strangers fill no disk."""
        if not message.uploads or isinstance(await self._store.read(self._router.route, message), Refused):
            return []
        return [
            Attachment(file.filename, file.content_type, len(file.data), await self._store.put_blob(file.data))
            for file in message.uploads
        ]

    def _take(self, tx: Transaction, message: IncomingMessage, files: Sequence[Attachment], now: int) -> Received:
        """Route and permit, then accept or drop, with the reason."""
        match self._router.route(tx, message):
            case Routed() as routed:
                spoken = commands.parse(message.content)
                if spoken is not None and not files:
                    return obey(tx, message, routed, spoken, zone=self._zone, now=now)
                return accept(tx, message, routed, files, now)
            case Refused(reason=reason) if reason == NOT_ADDRESSED:
                return Received("", MessageStatus.DROPPED, reason)  # what people say to one another is not kept
            case refused:
                return drop(tx, message, refused, now)

    # -- in a worker: durable --------------------------------------------------------------------------------

    async def run(self, job: Job) -> Verdict:
        """Steps 9–14: let waiting messages join, walk the turn's execution to its end, commit the reply."""
        await self._gather(job)  # 9
        conclusion = Conclusion(limits=self._limits, zone=self._zone)
        try:
            execution = await self._engine.advance(job, conclude=conclusion.of)  # 5–14
        except (RunFailed, BudgetReached, BudgetBusy) as failure:
            return verdict_of(failure)
        except ExecutionError as broken:  # the graph, not the weather: no attempt can mend it
            return GiveUp("broken", broken.what)
        self._publish(conclusion.asked, _status_after(execution))
        return Settled()

    def postponed(self, tx: Transaction, job: Job, outcome: Retry | Snooze | Failed, now: int) -> None:
        """In the commit that postpones the job or gives it up: a word to the user, a line in the timeline."""
        execution = tx.executions.get(job.execution_id or "")
        if execution is None:
            return
        asked = [message.id for message in tx.messages.of_turn(execution.id)]
        match outcome:
            case Failed(reason=reason, error=error):
                lifecycle.fail(tx, execution.id, error, now)
                if execution.graph == COMPACTION:
                    compacting_rows.give_up(tx, execution, now, reason=reason, error=error)
                ending = Ending(MessageStatus.FAILED, Role.NOTICE, notices.failed(reason), reason)
                if turns.end_turn(tx, execution, ending, now):
                    on_turn_end(tx, execution, ending.content, taint_of_turn(execution), now, limits=self._limits)
            case Retry(run_at=run_at, error=error):
                tx.timeline.note(asked, "retried", {"error": error, "runAt": run_at}, now)
                _tell_of_delay(tx, execution, run_at, "retry", now)
            case Snooze(run_at=run_at, reason=reason):
                tx.timeline.note(asked, "snoozed", {"reason": reason, "runAt": run_at}, now)
                _tell_of_delay(tx, execution, run_at, reason, now)

    async def announce(self, job: Job, outcome: Retry | Snooze | Failed) -> None:
        """After that commit: tell whoever waits."""
        asked = await self._store.read(asked_of, job.execution_id or "")
        if isinstance(outcome, Failed):
            self._publish(asked, MessageStatus.FAILED, outcome.reason)
        else:
            self._publish(asked, MessageStatus.QUEUED, "retry" if isinstance(outcome, Retry) else outcome.reason)

    async def _gather(self, job: Job) -> None:
        """A turn that begins takes its followers along; one that goes on after an answer says so."""
        if job.kind is JobKind.ADVANCE:
            self._publish(await self._store.read(asked_of, job.execution_id or ""), MessageStatus.RUNNING)
        elif job.followers:
            await self._store.write(fold, job, self._clock.now())

    def _publish(self, asked: Sequence[StoredMessage], status: MessageStatus, reason: str | None = None) -> None:
        for message in asked:
            self._bus.publish(StatusChanged(message.address, message.id, status, reason))


def verdict_of(failure: RunFailed | BudgetReached | BudgetBusy) -> Verdict:
    """What a failed or forbidden model call means for the job (reliability.md H12, H26)."""
    match failure:
        case BudgetReached(budget=budget):
            return GiveUp(budget_reason(budget), f"{failure.what}; {failure.fix}")
        case BudgetBusy():
            return NotBefore(BUSY_SECONDS, BUSY)
    error = failure.error
    if error.kind is ProviderErrorKind.RATE_LIMIT:
        return NotBefore(max(error.retry_after or 0, LIMIT_SECONDS), "rate_limit")
    if error.kind in PERMANENT:
        return GiveUp(error.kind, error.what)
    return TryAgain(error.what)


def _status_after(execution: Execution) -> MessageStatus:
    match execution.status:
        case ExecutionStatus.DONE:
            return MessageStatus.ANSWERED
        case ExecutionStatus.CANCELLED:
            return MessageStatus.CANCELLED
        case ExecutionStatus.FAILED:
            return MessageStatus.FAILED
        case _:
            return MessageStatus.WAITING


# -- scripts -----------------------------------------------------------------------------------------------


def drop(tx: Transaction, message: IncomingMessage, refused: Refused, now: int) -> Received:
    """A message that nobody answers: a row with its reason, no job, no conversation."""
    if (known := tx.messages.by_event(message.address, message.event_id)) is not None:
        return Received(known.id, known.status, known.reason or "", duplicate=True)
    principal = tx.principals.find(message.address.platform, message.sender.user_id)
    dropped = StoredMessage(
        id=tx.new_id(),
        conversation_id=None,
        role=Role.USER,
        content=message.content,
        tokens=0,
        status=MessageStatus.DROPPED,
        address=message.address,
        principal_id=principal.id if principal else None,
        user_name=message.sender.name,
        agent_id=refused.agent.id if refused.agent else None,
        execution_id=None,
        turn=None,
        created_at=now,
        reason=refused.reason,
    )
    tx.messages.add(dropped, event_id=message.event_id)
    return Received(dropped.id, MessageStatus.DROPPED, refused.reason)


def accept(
    tx: Transaction, message: IncomingMessage, routed: Routed, files: Sequence[Attachment], now: int
) -> Received:
    """Inbox key, conversation, user message, execution and job in one commit (reliability.md H1–H3)."""
    if (known := tx.messages.by_event(message.address, message.event_id)) is not None:
        return Received(known.id, known.status, known.reason or "", duplicate=True)
    sender = message.sender
    principal = tx.principals.seen(message.address.platform, sender.user_id, sender.name, routed.role, now)
    accepted = turns.begin_turn(
        tx, message, agent=routed.agent, route=routed.reason, principal=principal, attachments=files, now=now
    )
    return Received(accepted.id, MessageStatus.ACCEPTED, routed.reason)


def obey(tx: Transaction, message: IncomingMessage, routed: Routed, spoken: Spoken, *, zone: str, now: int) -> Received:
    """A text command: the daemon answers it at once, without a turn."""
    if (known := tx.messages.by_event(message.address, message.event_id)) is not None:
        return Received(known.id, known.status, known.reason or "", duplicate=True)
    sender, agent = message.sender, routed.agent
    principal = tx.principals.seen(message.address.platform, sender.user_id, sender.name, routed.role, now)
    conversation = tx.conversations.open(agent.id, message.address, now, direct=message.is_direct)
    invocation = Invocation(
        name=spoken.name,
        argument=spoken.argument,
        address=message.address,
        principal=principal,
        agent=agent,
        conversation=conversation,
        zone=agent.timezone or zone,
    )
    said = commands.run(tx, invocation, now)
    asked = turns.answer_at_once(tx, message, said, agent=agent, principal=principal, route=routed.reason, now=now)
    return Received(asked.id, asked.status, "command")


def fold(tx: Transaction, job: Job, now: int) -> None:
    """Waiting messages of the same person join this turn; their own turns never began."""
    for follower in tx.jobs.fold(job, FOLD_MESSAGES, FOLD_TOKENS, now):
        if follower.execution_id is not None and job.execution_id is not None:
            tx.messages.join_turn(follower.execution_id, job.execution_id)
            tx.executions.discard(follower.execution_id)


def asked_of(tx: Transaction, execution_id: str) -> list[StoredMessage]:
    return tx.messages.of_turn(execution_id)


def stop_turns(tx: Transaction, address: Address, by: str, now: int) -> list[CancelledTurn]:
    """Cancel the turn that runs, or is the next to run, and those that wait for people, with each agent of this place;
    what waits behind stays."""
    lanes = [conversation.lane for conversation in tx.conversations.in_place(address)]
    for execution_id in _stoppable(tx, lanes):
        lifecycle.hold_children(tx, execution_id)
    tx.jobs.lock([address.lane, *lanes])
    return [turns.cancel_turn(tx, execution_id, by, now) for execution_id in _stoppable(tx, lanes)]


def _stoppable(tx: Transaction, lanes: Sequence[str]) -> list[str]:
    heads = [tx.jobs.head_of_lane(lane) for lane in lanes]
    found = [head.execution_id for head in heads if head is not None and head.execution_id is not None]
    found += [
        wait.execution_id for lane in lanes for kind in PERSONAL_WAITS for wait in tx.waits.open_in_lane(lane, kind)
    ]
    return list(dict.fromkeys(found))


def _tell_of_delay(tx: Transaction, execution: Execution, run_at: int, reason: str, now: int) -> None:
    """One wait for a budget is short, but many may follow one another: they count in all."""
    since = now
    if reason == BUSY:
        since = int(execution.state.get("waits_since", now))
        execution = replace(execution, state={**execution.state, "waits_since": since})
    if run_at - since >= PATIENCE * 1000:
        saying.tell(tx, execution, notices.delayed((run_at - now) / 1000, reason), now)
    elif since == now and reason == BUSY:
        tx.executions.save(execution)
