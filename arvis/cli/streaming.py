"""Shows an answer on a terminal while it is written, over the web socket.

What is shown on the way is a preview: the API has the last word, and without a socket it has every word.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection
from websockets.sync.client import connect as open_socket

from arvis.cli.api import Api
from arvis.cli.printing import plain
from arvis.domain.errors import ArvisError, DaemonUnreachable
from arvis.domain.messages import FINAL_STATUSES, MessageStatus

_RESTING = {*FINAL_STATUSES, MessageStatus.WAITING}

#: Seconds of silence after which the API is asked whether anything is still to come.
_PATIENCE = 30.0

Timeline = dict[str, Any]
Frame = dict[str, Any]


class Preview:
    """What the reader has seen of one answer. `write` prints a piece of text."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._shown = ""

    def piece(self, offset: int, text: str) -> None:
        """A piece of the answer. Offset 0 begins a new attempt; what does not join on is left to `end`."""
        if offset == 0 and self._shown:
            self._write("\n")
            self._shown = ""
        if offset == len(self._shown):
            self._shown += text
            self._write(plain(text))

    def end(self, reply: str | None) -> None:
        """Print what is missing; a reply that is not what was shown is printed whole, below it."""
        if reply is not None and not reply.startswith(self._shown):
            self._write(f"\n{plain(reply)}\n")
        elif reply is not None:
            self._write(f"{plain(reply[len(self._shown) :])}\n")
        elif self._shown:
            self._write("\n")


def show_while_written(*, then: Callable[[Api, str], Timeline]) -> Callable[[Api, str, str, str], Timeline]:
    """A function that sends a text and shows its answer piece by piece; `then` waits for a message to rest."""

    def show(api: Api, channel: str, text: str, event_id: str) -> Timeline:
        preview = Preview(_write)
        message_id = _converse(api, channel, text, event_id, preview)
        timeline = then(api, message_id)
        preview.end(timeline["reply"] if timeline["status"] == MessageStatus.ANSWERED else None)
        return timeline

    return show


def _converse(api: Api, channel: str, text: str, event_id: str, preview: Preview) -> str:
    """Send the message and follow it until it rests or the socket ends; the id of the message."""
    message_id: str | None = None
    try:
        with _connected(api) as socket:
            _greet(socket, api.key, channel)
            socket.send(json.dumps({"type": "message", "content": text, "id": event_id}))
            message_id, early = _acknowledged(socket)
            _follow(chain(early, _frames(socket, lambda: _rests(api, str(message_id)))), message_id, preview)
    except (OSError, WebSocketException) as error:
        if message_id is None:
            fix = "Start it with `arvis run`, or name its data folder with --data."
            raise DaemonUnreachable(
                f"The daemon cannot be reached at {api.url}", why=str(error) or "it does not answer", fix=fix
            ) from error
    return message_id


def _connected(api: Api) -> ClientConnection:
    """A socket that goes to this machine's daemon itself, whatever proxy the environment names."""
    address = f"ws://{urlsplit(api.url).netloc}/ws"
    return open_socket(address, open_timeout=_PATIENCE, max_size=None, compression=None, proxy=None)


def _greet(socket: ClientConnection, key: str, channel: str) -> None:
    socket.send(json.dumps({"type": "auth", "apiKey": key, "channelId": channel}))
    while _frame(socket)["type"] != "auth_ok":
        pass


def _acknowledged(socket: ClientConnection) -> tuple[str, list[Frame]]:
    """The id of the message, and what was said of it before: a quick answer can overtake its acknowledgement."""
    early: list[Frame] = []
    while (frame := _frame(socket))["type"] != "ack":
        early.append(frame)
    return str(frame["messageId"]), early


def _frame(socket: ClientConnection) -> Frame:
    frame: Frame = json.loads(socket.recv(timeout=_PATIENCE))
    if frame["type"] == "error":
        error = frame["error"]
        raise ArvisError(error["message"], fix=error["fix"], code=error["code"])
    return frame


def _frames(socket: ClientConnection, over: Callable[[], bool]) -> Iterator[Frame]:
    """What comes. In a long silence `over` tells whether there is anything left to wait for."""
    while True:
        try:
            yield _frame(socket)
        except TimeoutError:
            if over():
                return


def _rests(api: Api, message_id: str) -> bool:
    return api.get("api", "messages", message_id)["status"] in _RESTING


def _follow(frames: Iterable[Frame], message_id: str, preview: Preview) -> None:
    for frame in frames:
        if frame.get("messageId") != message_id:
            continue
        match frame:
            case {"type": "delta", "offset": int(offset), "text": str(piece)}:
                preview.piece(offset, piece)
            case {"type": "status", "status": str(status)} if status in _RESTING:
                return


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
