"""Shows a chat on a terminal over the web socket. It prints each answer while the model writes it, and other posts of
the channel.

The streamed text is only a preview; the final text of an answer comes from the API. Each delivery of the channel has a
number. The client remembers the numbers of printed deliveries. If a delivery arrives twice (live and after a later
request), the client prints it only once.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection
from websockets.sync.client import connect as open_socket

from arvis.cli.api_client import Api
from arvis.cli.output import plain
from arvis.domain.errors import ArvisError, DaemonUnreachable
from arvis.domain.messages import FINAL_STATUSES, MessageStatus

#: The timeout in seconds of a connection. If no frame arrives for `TIMEOUT` seconds, the client asks the API if the
#: message has ended.
TIMEOUT = 30.0

Frame = dict[str, Any]


def connected(api: Api) -> ClientConnection:
    """Open a socket directly to the daemon on this machine, regardless of proxies in the environment."""
    address = f"ws://{urlsplit(api.url).netloc}/ws"
    return open_socket(address, open_timeout=TIMEOUT, max_size=None, compression=None, proxy=None)


def greet(socket: ClientConnection, key: str, channel: str, *, after: int | None = None) -> int:
    """Join the channel and return the number of its newest delivery. If `after` is given, the server sends the
    deliveries with higher numbers again."""
    since = {} if after is None else {"lastSeq": after}
    socket.send(json.dumps({"type": "auth", "apiKey": key, "channelId": channel, **since}))
    while (frame := received(socket))["type"] != "auth_ok":
        pass
    return int(frame["seq"])


def received(socket: ClientConnection) -> Frame:
    """Return the next frame. Raise `TimeoutError` if no frame arrives for `TIMEOUT` seconds."""
    return frame_of(socket.recv(timeout=TIMEOUT))


def frame_of(text: str | bytes) -> Frame:
    """Return the parsed frame. If it is an error frame, raise this error."""
    frame: Frame = json.loads(text)
    if frame["type"] == "error":
        error = frame["error"]
        raise ArvisError(error["message"], fix=error["fix"], code=error["code"])
    return frame


#: Seconds until a lost connection is opened again.
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
        #: The lock that a thread holds while it prints.
        self.lock = threading.RLock()

    def begin(self) -> None:
        """Store the number of the channel's newest delivery; older deliveries are not printed."""
        with self._session() as socket:
            self._start = greet(socket, self._api.key, self._channel)

    def answered(self, message_id: str) -> None:
        """Do not print the reply to this message: another function prints the reply."""
        self._answered.add(message_id)

    def reopen(self, message_id: str) -> None:
        """Print the reply to this message after all, because the message now waits for a person."""
        self._answered.discard(message_id)

    def catch_up(self) -> None:
        """Print all deliveries that have been committed until now. Raise `DaemonUnreachable` if the socket cannot be
        opened or is lost."""
        with self._session() as socket:
            last = greet(socket, self._api.key, self._channel, after=self._start)
            # The server sends the older deliveries before it answers the ping.
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
        """Mark a delivery as printed."""
        self._printed.add(frame["seq"])

    def listen(self) -> None:
        """Print posts in a thread that ends with the process. A lost connection is opened again."""
        opened = threading.Event()
        threading.Thread(target=self._listen, args=(opened,), daemon=True).start()
        opened.wait(_PAUSE)

    def follow(self) -> None:
        """Print posts until the process is interrupted. If the connection is lost, open a new one and print the missed
        posts."""
        self._read_posts(lost=lambda: print("The connection is lost. Trying again …", file=sys.stderr))

    def mute(self) -> None:
        """Keep the thread of `listen` from printing, because Python aborts a process that ends while a thread
        prints."""
        self.lock.acquire()

    def _listen(self, opened: threading.Event) -> None:
        while True:
            try:
                self._read_posts(connected=opened.set)
            except ArvisError:
                time.sleep(_PAUSE)

    def _read_posts(
        self, *, connected: Callable[[], None] = lambda: None, lost: Callable[[], None] = lambda: None
    ) -> None:
        """Print posts until the process ends. Call `connected` when a connection is open, and `lost` once when it is
        lost. Raise `ArvisError` if access is refused."""
        online = True
        while True:
            try:
                with self._session() as socket:
                    greet(socket, self._api.key, self._channel, after=self._start)
                    online = True
                    connected()
                    while True:
                        self._take(socket)
            except DaemonUnreachable:
                if online:
                    lost()
                online = False
            time.sleep(_PAUSE)

    def _take(self, socket: ClientConnection) -> None:
        frame = frame_of(socket.recv())
        if frame["type"] == "message":
            self.show(frame)

    @contextmanager
    def _session(self) -> Iterator[ClientConnection]:
        """Open a socket and close it at the end. Raise `DaemonUnreachable` if it cannot be opened or is lost."""
        try:
            with closing(connected(self._api)) as socket:
                yield socket
        except (OSError, WebSocketException) as error:
            raise _unreachable(self._api, error) from error

    def _text_of(self, frame: Frame) -> str:
        wait_id = question_in(frame)
        text = self._question(wait_id) if wait_id is not None else frame["content"]
        files = [f"[File: {file['name']}]" for file in frame["files"]] if wait_id is None else []
        return "\n".join([text, *files])

    def _question(self, wait_id: str) -> str:
        """Return the whole question with the ways to answer it from a terminal."""
        wait: Mapping[str, Any] = self._api.get("questions", wait_id)
        choices = wait["choices"]
        decision = "DECISION" if set(choices) >= _APPROVAL else "answer --text CHOICE"
        if wait["answeredAt"] is not None:
            return f"{wait['prompt']}\n\nThis question has been answered already."
        if wait["kind"] == "input":
            words = " or ".join(f"`{choice}`" for choice in choices)
            return f"{wait['prompt']}\n\nTo answer, write {words} here." if wait["canAnswer"] else str(wait["prompt"])
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


def _unreachable(api: Api, error: Exception) -> DaemonUnreachable:
    return DaemonUnreachable(
        f"The daemon cannot be reached at {api.url}",
        why=getattr(error, "strerror", None) or str(error) or "it does not answer",
        fix="Start it with `arvis run`, or name its data folder with --data.",
    )


def _until_pong(socket: ClientConnection) -> Iterator[Frame]:
    while (frame := frame_of(socket.recv()))["type"] != "pong":
        if frame["type"] == "message":
            yield frame


_RESTING = {*FINAL_STATUSES, MessageStatus.WAITING}

Timeline = dict[str, Any]


class Preview:
    """The part of one answer that has been printed so far. `write` prints a piece of text."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._shown = ""

    def piece(self, offset: int, text: str) -> None:
        """Print a piece of the answer. A piece with offset 0 begins the text of a new attempt. A piece that does not
        continue the printed text is skipped; `end` prints the missing text."""
        if offset == 0 and self._shown:
            self._write("\n")
            self._shown = ""
        if offset == len(self._shown):
            self._shown += text
            self._write(plain(text))

    def give_way(self, text: str) -> bool:
        """End the preview, because another text follows. Return True if the preview has already shown this other
        text."""
        seen = bool(self._shown) and self._shown.strip() == text.strip()
        if self._shown:
            self._write("\n")
            self._shown = ""
        return seen

    def end(self, reply: str | None) -> None:
        """Print the end of the reply that is not shown yet. If the reply does not begin with the shown text, print the
        whole reply below."""
        if reply is not None and not reply.startswith(self._shown):
            self._write(f"\n{plain(reply)}\n")
        elif reply is not None:
            self._write(f"{plain(reply[len(self._shown) :])}\n")
        elif self._shown:
            self._write("\n")


def show_while_written(
    *, then: Callable[[Api, str], Timeline], more: Mapping[str, Any] | None = None, posts: Posts | None = None
) -> Callable[[Api, str, str, str], Timeline]:
    """Return a function that sends a text with the fields `more` and shows the answer piece by piece. Before the answer is
    complete, the function passes other posts of the channel to `posts`, which prints them. `then` waits until a message
    is finished."""

    def show(api: Api, channel: str, text: str, event_id: str) -> Timeline:
        preview = Preview(_write)
        asked = {"type": "message", "content": text, "id": event_id}
        message = {**asked, **(more or {})}
        message_id = _converse(api, channel, message, preview, posts)
        timeline = then(api, message_id)
        preview.end(timeline["reply"] if timeline["status"] == MessageStatus.ANSWERED else None)
        return timeline

    return show


def _converse(api: Api, channel: str, message: Frame, preview: Preview, posts: Posts | None) -> str:
    """Send the message and show its answer until the message has ended or the socket is lost. Return the message's
    id."""
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
            raise _unreachable(api, error) from error
    return message_id


def _acknowledged(socket: ClientConnection) -> tuple[str, list[Frame]]:
    """Return the id of the message, and the frames that arrived before its acknowledgement. A quick answer can be among
    these frames."""
    early: list[Frame] = []
    while (frame := received(socket))["type"] != "ack":
        early.append(frame)
    return str(frame["messageId"]), early


def _frames(socket: ClientConnection, over: Callable[[], bool]) -> Iterator[Frame]:
    """Yield the frames. If no frame arrives for `TIMEOUT` seconds, call `over`, and end if `over` returns True."""
    while True:
        try:
            yield received(socket)
        except TimeoutError:
            if over():
                return


def _rests(api: Api, message_id: str) -> bool:
    return api.get("messages", message_id)["status"] in _RESTING


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
    """Print a post that arrives while the answer is written. If the preview has already shown the text of the
    post as an agent's progress, only mark the post as printed."""
    if preview.give_way(frame["content"]):
        posts.pass_over(frame)
    else:
        posts.show(frame)


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
