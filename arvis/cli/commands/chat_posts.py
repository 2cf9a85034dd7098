"""Prints the daemon's posts in a channel: questions, notices, reports and answers that no command waits for.

Each delivery of the channel has a number. Printed numbers are remembered, so that a delivery that arrives twice, live
and by a later request, is printed once.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection

from arvis.cli.api_client import Api
from arvis.cli.commands.chat_sockets import Frame, connected, frame_of, greet
from arvis.cli.output import plain
from arvis.domain.errors import ArvisError, DaemonUnreachable

#: Seconds until a lost connection is tried again.
_PAUSE = 1.0
_APPROVAL = {"approve", "reject"}


class Posts:
    """The deliveries of one channel. `write` prints a text with its line breaks."""

    def __init__(self, api: Api, channel: str, write: Callable[[str], None]) -> None:
        self._api = api
        self._channel = channel
        self._write = write
        self._printed: set[int] = set()
        self._answered: set[str] = set()
        self._start = 0
        #: Held during printing.
        self.lock = threading.RLock()

    def begin(self) -> None:
        """Note how far the channel has come: older deliveries are not printed."""
        with closing(self._connected()) as socket:
            self._start = greet(socket, self._api.key, self._channel)

    def answered(self, message_id: str) -> None:
        """Skip the reply to this message: another function prints it."""
        self._answered.add(message_id)

    def reopen(self, message_id: str) -> None:
        """Print the reply to this message after all, because the message waits for a person."""
        self._answered.discard(message_id)

    def catch_up(self) -> None:
        """Print everything that has been committed until now."""
        with closing(self._connected()) as socket:
            last = greet(socket, self._api.key, self._channel, after=self._start)
            # The server replays before it answers.
            socket.send(json.dumps({"type": "ping"}))
            for frame in _until_pong(socket):
                self.show(frame)
        self._start = max(self._start, last)

    def show(self, frame: Frame) -> None:
        """Print a delivery, unless it was printed before."""
        with self.lock:
            number = frame["seq"]
            if number in self._printed or number <= 0:
                return
            self._printed.add(number)
            if not self._answered.intersection(frame["answers"]):
                self._write(plain(self._text_of(frame)))

    def pass_over(self, frame: Frame) -> None:
        """Count a delivery as printed."""
        self._printed.add(frame["seq"])

    def listen(self) -> None:
        """Print what comes, from a thread that ends with the process. A lost connection is opened again."""
        opened = threading.Event()
        threading.Thread(target=self._listen, args=(opened,), daemon=True).start()
        opened.wait(_PAUSE)

    def follow(self) -> None:
        """Print what comes until the connection is lost for good or the process is interrupted."""
        with closing(self._connected()) as socket:
            greet(socket, self._api.key, self._channel, after=self._start)
            while True:
                self._take(socket)

    def _listen(self, opened: threading.Event) -> None:
        while True:
            try:
                with closing(self._connected()) as socket:
                    greet(socket, self._api.key, self._channel, after=self._start)
                    opened.set()
                    while True:
                        self._take(socket)
            except (OSError, WebSocketException, ArvisError):
                time.sleep(_PAUSE)

    def _take(self, socket: ClientConnection) -> None:
        frame = frame_of(socket.recv())
        if frame["type"] == "message":
            self.show(frame)

    def _connected(self) -> ClientConnection:
        try:
            return connected(self._api)
        except (OSError, WebSocketException) as error:
            fix = "Start it with `arvis run`, or name its data folder with --data."
            why = getattr(error, "strerror", None) or str(error) or "it does not answer"
            raise DaemonUnreachable(f"The daemon cannot be reached at {self._api.url}", why=why, fix=fix) from error

    def _text_of(self, frame: Frame) -> str:
        wait_id = question_in(frame)
        text = self._question(wait_id) if wait_id is not None else frame["content"]
        files = [f"[File: {file['name']}]" for file in frame["files"]] if wait_id is None else []
        return "\n".join([text, *files])

    def _question(self, wait_id: str) -> str:
        """Return the whole question with the ways to answer it from a terminal."""
        wait: Mapping[str, Any] = self._api.get("api", "questions", wait_id)
        choices = wait["choices"]
        decision = "DECISION" if set(choices) >= _APPROVAL else "answer --text CHOICE"
        if wait["answeredAt"] is not None:
            return f"{wait['prompt']}\n\nThis question is answered already."
        if set(choices) >= _APPROVAL:
            here = "`yes`, `no` or `edit {…}` with other arguments" if wait["tool"] else "`yes` or `no`"
        else:
            here = " or ".join(f"`{choice}`" for choice in choices)
        return (
            f"{wait['prompt']}\n\nTo answer, write {here} here, or run `arvis questions answer {wait_id} {decision}`."
        )


def question_in(frame: Frame) -> str | None:
    """Return the id of the question that a delivery shows."""
    for button in frame["buttons"]:
        kind, _, rest = button["id"].partition(".")
        if kind == "wait":
            return str(rest.partition(".")[0])
    return None


def _until_pong(socket: ClientConnection) -> Iterator[Frame]:
    while (frame := frame_of(socket.recv()))["type"] != "pong":
        if frame["type"] == "message":
            yield frame
