"""A chat completion as server-sent events, sent while the model writes.

A sent text cannot be withdrawn. If an answer restarts, nothing is sent until it is as long as the shown text,
provided that it is equal. If it differs, it is sent completely after a blank line. In every case the sent text ends
with the stored reply.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from arvis.domain.events import Delta, NoticesMissed, StatusChanged
from arvis.domain.messages import Address
from arvis.ports.bus import Bus
from arvis.web.api.message_status import SETTLED_STATUSES, Watch
from arvis.web.openai.models import completion_id

DONE = "data: [DONE]\n\n"
_BREAK = "\n\n"


class GrowingAnswer:
    """Turns a growing answer, which may restart, into pieces that are only appended. Blanks at the end of an answer
    are not sent, because the stored reply has none there."""

    def __init__(self) -> None:
        self._sent = ""
        self._pieces: list[str] = []

    @property
    def whole(self) -> str:
        """Return the whole sent text."""
        return "".join(self._pieces)

    def more(self, text: str) -> str:
        """Return the next piece for this state of the answer."""
        text = text.strip()
        if self._sent.startswith(text):
            return ""
        return self._go_to(text)

    def last(self, text: str) -> str:
        """Return the text that is missing to this reply."""
        text = text.strip()
        return "" if text == self._sent else self._go_to(text)

    def _go_to(self, text: str) -> str:
        before, self._sent = self._sent, text
        piece = text[len(before) :] if text.startswith(before) else f"{_BREAK}{text}" if text else ""
        self._pieces.append(piece)
        return piece


class AnswerEvents:
    """The events of a conversation while a request waits for an answer there: the current text of the answer, and
    signals to read the database. It subscribes before the message is sent, so that no event is missed."""

    def __init__(self, *, address: Address) -> None:
        self._address = address
        self._texts: dict[str, str] = {}
        self._message_id: str | None = None
        self._watch: Watch | None = None
        self._look = False

    @contextlib.contextmanager
    def listening(self, bus: Bus) -> Iterator[None]:
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
        """Follow only this message from now on, and wake the watch at its events."""
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
        if event.offset in {0, len(known)}:  # else something was missed, and the end brings it
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


class Chunks:
    """The events of one stream. With `usage`, every event but the last has a null `usage`, as with OpenAI."""

    def __init__(self, *, message_id: str, created: int, model: str, usage: bool) -> None:
        self._common = {
            "id": completion_id(message_id),
            "object": "chat.completion.chunk",
            "created": created,
            "model": model,
        }
        self._usage = usage

    def begin(self) -> str:
        return self._choice({"role": "assistant", "content": ""})

    def piece(self, text: str) -> str:
        return self._choice({"content": text})

    def end(self, usage: Mapping[str, int], reason: str = "stop") -> str:
        last = self._choice({}, reason)
        return f"{last}{event({**self._common, 'choices': [], 'usage': usage})}{DONE}" if self._usage else last + DONE

    def _choice(self, delta: Mapping[str, str], finish_reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return event({**self._common, "choices": [choice], **({"usage": None} if self._usage else {})})


def event(data: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n"
