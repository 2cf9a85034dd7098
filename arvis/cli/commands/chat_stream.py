"""Shows an answer on a terminal while it is written, over the web socket.

The text in between is a preview: the API has the final text, and without a socket all of it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection

from arvis.cli.api_client import Api
from arvis.cli.commands.chat_posts import Posts
from arvis.cli.commands.chat_sockets import Frame, connected, greet, received
from arvis.cli.output import plain
from arvis.domain.errors import DaemonUnreachable
from arvis.domain.messages import FINAL_STATUSES, MessageStatus

_RESTING = {*FINAL_STATUSES, MessageStatus.WAITING}

Timeline = dict[str, Any]


class Preview:
    """The part of one answer that the reader has seen. `write` prints a piece of text."""

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

    def give_way(self, text: str) -> bool:
        """End the line for another text. Return whether the reader has seen that text already."""
        seen = bool(self._shown) and self._shown.strip() == text.strip()
        if self._shown:
            self._write("\n")
            self._shown = ""
        return seen

    def end(self, reply: str | None) -> None:
        """Print what is missing; a reply that is not what was shown is printed whole, below it."""
        if reply is not None and not reply.startswith(self._shown):
            self._write(f"\n{plain(reply)}\n")
        elif reply is not None:
            self._write(f"{plain(reply[len(self._shown) :])}\n")
        elif self._shown:
            self._write("\n")


def show_while_written(
    *, then: Callable[[Api, str], Timeline], agent: str | None = None, posts: Posts | None = None
) -> Callable[[Api, str, str, str], Timeline]:
    """Return a function that sends a text to `agent` and shows its answer piece by piece, with `posts` in between;
    `then` waits until a message is finished."""

    def show(api: Api, channel: str, text: str, event_id: str) -> Timeline:
        preview = Preview(_write)
        asked = {"type": "message", "content": text, "id": event_id}
        message = asked if agent is None else {**asked, "agent": agent}
        message_id = _converse(api, channel, message, preview, posts)
        timeline = then(api, message_id)
        preview.end(timeline["reply"] if timeline["status"] == MessageStatus.ANSWERED else None)
        return timeline

    return show


def _converse(api: Api, channel: str, message: Frame, preview: Preview, posts: Posts | None) -> str:
    """Send the message and follow it until it is finished or the socket ends; return its id."""
    message_id: str | None = None
    try:
        with connected(api) as socket:
            greet(socket, api.key, channel)
            socket.send(json.dumps(message))
            message_id, early = _acknowledged(socket)
            if posts is not None:
                posts.answered(message_id)
            _follow(chain(early, _frames(socket, lambda: _rests(api, str(message_id)))), message_id, preview, posts)
    except (OSError, WebSocketException) as error:
        if message_id is None:
            fix = "Start it with `arvis run`, or name its data folder with --data."
            raise DaemonUnreachable(
                f"The daemon cannot be reached at {api.url}", why=str(error) or "it does not answer", fix=fix
            ) from error
    return message_id


def _acknowledged(socket: ClientConnection) -> tuple[str, list[Frame]]:
    """Return the id of the message and the earlier frames about it: a quick answer can arrive before its
    acknowledgement."""
    early: list[Frame] = []
    while (frame := received(socket))["type"] != "ack":
        early.append(frame)
    return str(frame["messageId"]), early


def _frames(socket: ClientConnection, over: Callable[[], bool]) -> Iterator[Frame]:
    """Yield the frames. After a long silence `over` returns true if no more frames are expected."""
    while True:
        try:
            yield received(socket)
        except TimeoutError:
            if over():
                return


def _rests(api: Api, message_id: str) -> bool:
    return api.get("api", "messages", message_id)["status"] in _RESTING


def _follow(frames: Iterable[Frame], message_id: str, preview: Preview, posts: Posts | None) -> None:
    for frame in frames:
        match frame:
            case {"type": "delta", "messageId": id_, "offset": int(offset), "text": str(piece)} if id_ == message_id:
                preview.piece(offset, piece)
            case {"type": "status", "messageId": id_, "status": str(status)} if id_ == message_id:
                if status in _RESTING:
                    return
            case {"type": "message"} if posts is not None and message_id not in frame["answers"]:
                _post(frame, preview, posts)


def _post(frame: Frame, preview: Preview, posts: Posts) -> None:
    """Print a post beside the answer. An agent's progress may have been shown already while it was written."""
    if preview.give_way(frame["content"]):
        posts.pass_over(frame)
    else:
        posts.show(frame)


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
