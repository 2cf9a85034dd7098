"""Waiting for the answer to a chat completion. The answer is returned when it is complete, or streamed while it is
written.

The message is in the queue, so the agent answers it even if the wait ends early.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence

from arvis.approvals import as_markdown
from arvis.bus import EventBus
from arvis.domain.client_calls import ClientCalls
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import NotFound
from arvis.domain.events import Delta, NoticesMissed, StatusChanged
from arvis.domain.executions import PERSONAL_WAITS, Wait, WaitKind
from arvis.domain.explanation import in_words
from arvis.domain.jobs import JobStatus
from arvis.domain.messages import Address, MessageStatus
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights, MessageTimeline
from arvis.ports.store import Store, Transaction
from arvis.web.api.messages import SETTLED_STATUSES, Watch
from arvis.web.http.errors import Failure, attempt
from arvis.web.http.limits import Timeouts
from arvis.web.http.streams import KEEP_ALIVE
from arvis.web.openai.conversation import answer_mark
from arvis.web.openai.forms import AnswerForm, Outcome
from arvis.web.openai.parameters import certain, cut

# An answer as server-sent events. Text that was sent cannot be withdrawn. If an answer restarts with the same text,
# nothing is sent until the new text is longer than the sent text. If it restarts with another text, the new text is
# sent completely after a blank line. In every case the sent text ends with the stored reply.

_BREAK = "\n\n"


class GrowingAnswer:
    """The pieces of an answer that were sent while the answer was written. The agent may begin the answer again, but
    sent pieces cannot be withdrawn. White space at the end of the answer is not sent, because the stored reply ends
    without white space."""

    def __init__(self) -> None:
        self._sent = ""
        self._pieces: list[str] = []

    @property
    def whole(self) -> str:
        """Return the whole sent text."""
        return "".join(self._pieces)

    def more(self, text: str) -> str:
        """Return the next piece to send, given the current text of the answer. The piece is empty if nothing must be
        sent."""
        text = text.strip()
        if self._sent.startswith(text):
            return ""
        return self._go_to(text)

    def last(self, text: str) -> str:
        """Return the last piece to send, so that the sent text ends with the stored reply `text`."""
        text = text.strip()
        return "" if text == self._sent else self._go_to(text)

    def _go_to(self, text: str) -> str:
        before, self._sent = self._sent, text
        piece = text[len(before) :] if text.startswith(before) else f"{_BREAK}{text}" if text else ""
        self._pieces.append(piece)
        return piece


class AnswerEvents:
    """The subscription to the bus events of a conversation in which a request waits for an answer. It collects the
    current text of the answer, and signals when the database must be read. The subscription begins before the message
    is sent, so that no event is missed."""

    def __init__(self, *, address: Address) -> None:
        self._address = address
        self._texts: dict[str, str] = {}
        self._message_id: str | None = None
        self._watch: Watch | None = None
        self._look = False

    @contextlib.contextmanager
    def listening(self, bus: EventBus) -> Iterator[None]:
        subscriptions = [
            bus.subscribe(Delta, self._delta),
            bus.subscribe(StatusChanged, self._status_changed),
            bus.subscribe(NoticesMissed, self._notices_missed),
        ]
        try:
            yield
        finally:
            for unsubscribe in subscriptions:
                unsubscribe()

    def attend(self, message_id: str, watch: Watch) -> None:
        """Handle only the events of this message from now on, and wake `watch` at each of them."""
        self._message_id, self._watch = message_id, watch
        self._texts = {message_id: self.text} if message_id in self._texts else {}

    @property
    def text(self) -> str:
        return self._texts.get(self._message_id or "", "")

    def take_look(self) -> bool:
        look, self._look = self._look, False
        return look

    def _delta(self, event: Delta) -> None:
        if event.address != self._address or self._message_id not in {None, event.message_id}:
            return
        known = self._texts.get(event.message_id, "")
        if event.offset in {0, len(known)}:  # text after a gap is sent at the end, from the stored reply
            self._texts[event.message_id] = known[: event.offset] + event.text
            self._wake()

    def _status_changed(self, event: StatusChanged) -> None:
        if event.message_id == self._message_id and event.status in SETTLED_STATUSES:
            self._look_soon()

    def _notices_missed(self, _: NoticesMissed) -> None:
        self._look_soon()

    def _look_soon(self) -> None:
        self._look = True
        self._wake()

    def _wake(self) -> None:
        if self._watch is not None:
            self._watch.wake()


_BAD_GATEWAY, _TOO_LATE = 502, 504


@dataclass(frozen=True, slots=True)
class Ticket:
    """The ids of a request's row and of its message. The answer ends before the first of the stop sequences `stops`."""

    request_id: str
    message_id: str
    stops: Sequence[str] = ()


class AnswerWaiter:
    def __init__(self, *, store: Store, insights: Insights, clock: Clock, timeouts: Timeouts) -> None:
        self._store = store
        self._insights = insights
        self._clock = clock
        self._timeouts = timeouts

    async def whole(self, ticket: Ticket, watch: Watch, left: Callable[[], Awaitable[bool]]) -> Outcome | Failure:
        """Return the outcome when the message is finished. Return an error if the wait takes too long, or if `left`
        reports that the client has disconnected. A later request with the same content then waits for the same
        answer."""
        message_id = ticket.message_id
        begun = self._clock.monotonic()
        end = begun + self._timeouts.completion
        while not (found := await self._look(ticket, begun)):
            remaining = end - self._clock.monotonic()
            if watch.closed:
                return watch.failure
            if remaining <= 0 or await left():
                await self._store.write(_left, ticket.request_id, self._clock.now())
                return _too_late(message_id)
            await watch.changed(min(remaining, self._timeouts.look))
        ended = found if isinstance(found, Failure) else await self._end(ticket)
        if isinstance(ended, Failure):
            return ended
        if not ended.calls:
            await self._store.write(_answered, ticket.request_id, answer_mark(ended.text))
        return ended

    async def events(self, ticket: Ticket, form: AnswerForm, watch: Watch, live: AnswerEvents) -> AsyncIterator[str]:
        """Yield all events of the stream. An error becomes the last event."""
        answer = GrowingAnswer()
        yield form.begin()
        looked, spoke = None, self._clock.monotonic()
        begun = spoke
        while True:
            now = self._clock.monotonic()
            if looked is None or live.take_look() or now - looked >= self._timeouts.look:
                looked = now
                found = await attempt(self._look(ticket, None if answer.whole else begun))
                if isinstance(found, Failure):
                    yield form.failed(found)
                    return
                if found:
                    break
            if watch.closed:
                yield form.failed(watch.failure)
                return
            await watch.changed(min(self._timeouts.look, self._timeouts.keepalive))
            if piece := answer.more(certain(live.text, ticket.stops)):
                spoke = self._clock.monotonic()
                yield form.piece(piece)
            elif self._clock.monotonic() - spoke >= self._timeouts.keepalive:
                spoke = self._clock.monotonic()
                yield KEEP_ALIVE
        async for last in self._ending(ticket, form, answer):
            yield last

    async def _ending(self, ticket: Ticket, form: AnswerForm, answer: GrowingAnswer) -> AsyncIterator[str]:
        """Yield the last events of the stream of a message that is finished or waits."""
        ended = await attempt(self._end(ticket))
        if isinstance(ended, Failure):
            yield form.failed(ended)
            return
        if piece := answer.last(ended.text):
            yield form.piece(piece)
        if not ended.calls:
            # The hash is stored before the last event, because the client can continue the conversation after that
            # event.
            await attempt(self._store.write(_answered, ticket.request_id, answer_mark(answer.whole)))
        yield form.end(replace(ended, text=answer.whole))

    async def _look(self, ticket: Ticket, begun: float | None) -> bool | Failure:
        """Return True if the message is finished, and False if the wait must continue. Return an error if no answer is
        expected soon. `begun` is the time at which the wait began. It is None if a part of the answer was already sent;
        the wait must then continue."""
        if await self._is_settled(ticket.message_id):
            return True
        put_off = None if begun is None else await self._put_off(ticket.message_id, begun)
        if put_off is not None:
            await self._store.write(_left, ticket.request_id, self._clock.now())
        return put_off or False

    async def _put_off(self, message_id: str, begun: float) -> Failure | None:
        """Return an error if no model answers at the moment and the message will be retried later."""
        if self._clock.monotonic() - begun < self._timeouts.put_off:
            return None
        timeline = await self._insights.message(message_id)
        job = None if timeline is None else timeline.job
        if job is None or job.status is JobStatus.RUNNING or job.run_at <= self._clock.now() or not job.started_at:
            return None
        seconds = math.ceil((job.run_at - self._clock.now()) / 1000)
        return Failure(
            503,
            "put_off",
            f"No model answers at the moment. Arvis retries the message {message_id} in {seconds} seconds.",
            f"Send the same request again later, or read GET /api/messages/{message_id}/wait.",
            seconds,
        )

    async def _is_settled(self, message_id: str) -> bool:
        found = await self._insights.status(message_id)
        return found is None or found[0] in SETTLED_STATUSES

    async def _end(self, ticket: Ticket) -> Outcome | Failure:
        """Return the outcome of a finished message. If the message failed, delete the row of the request, so that the
        next request continues the conversation as if this request had not been sent."""
        timeline = await self._insights.message(ticket.message_id)
        if timeline is None:
            raise NotFound("The message has been deleted.", fix="Send the request again.")
        match timeline.status:
            case MessageStatus.ANSWERED:
                return Outcome(cut((timeline.reply or "").strip(), ticket.stops)[0].strip(), timeline)
            case MessageStatus.WAITING:
                return await self._waiting(timeline)
        await self._store.write(forget_request, ticket.request_id)
        return _failed(timeline)

    async def _waiting(self, timeline: MessageTimeline) -> Outcome:
        """Return the calls for which the turn waits, or a text with the open question of the turn and the ways to
        answer the question."""
        execution = timeline.message.execution_id
        view = await self._insights.execution(execution) if execution is not None else None
        waits = [wait for wait in view.waits if wait.answered_at is None] if view is not None else []
        called = next((wait for wait in waits if wait.kind is WaitKind.CLIENT), None)
        if called is not None:
            asked = ClientCalls.read(called.prompt)
            return Outcome(asked.text.strip(), timeline, asked.calls)
        asking = next((wait for wait in waits if wait.kind in PERSONAL_WAITS), None)
        return Outcome(_asked_words(asking, timeline.message.id), timeline)


def _asked_words(asking: Wait | None, message_id: str) -> str:
    if asking is not None and asking.kind is WaitKind.USER:
        return asking.prompt  # a question of the agent: the next message of the conversation answers it
    if asking is not None and asking.kind is WaitKind.INPUT:
        return (
            f"{as_markdown(asking.prompt)}\n\nWrite your answer as the next message of this conversation. "
            f"Answers without values: {', '.join(asking.choices)}."
        )
    what = "a person's decision" if asking is None else f"a person's decision:\n\n{as_markdown(asking.prompt)}"
    how = "`arvis questions list`" if asking is None else f"`arvis questions answer {asking.id}`"
    return (
        f"The answer waits for {what}\n\nDecide on the Questions page of the dashboard, or with {how}. "
        f"The result will be at GET /api/messages/{message_id}."
    )


def _failed(timeline: MessageTimeline) -> Failure:
    reason = timeline.reason or str(timeline.status)
    words = timeline.reply or f"The message was not answered: {in_words(reason)}."
    return Failure(_BAD_GATEWAY, reason, words, f"`arvis explain {timeline.message.id}` shows why.")


def _too_late(message_id: str) -> Failure:
    return Failure(
        _TOO_LATE,
        "timeout",
        f"The request reached its time limit before message {message_id} was answered.",
        f"The agent continues to work. GET /api/messages/{message_id}/wait returns the answer.",
    )


# -- scripts -------------------------------------------------------------------------------------------------------------


def _answered(tx: Transaction, request_id: str, answer: str) -> None:
    tx.completions.answered(request_id, answer)


def _left(tx: Transaction, request_id: str, now: int) -> None:
    tx.completions.left(request_id, now)


def forget_request(tx: Transaction, request_id: str) -> None:
    tx.completions.drop(request_id)
