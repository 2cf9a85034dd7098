"""The command line's own client of the web socket."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from websockets.sync.client import ClientConnection
from websockets.sync.client import connect as open_socket

from arvis.cli.api_client import Api
from arvis.domain.errors import ArvisError

#: Seconds of silence after which a client asks whether anything is still to come.
TIMEOUT = 30.0

Frame = dict[str, Any]


def connected(api: Api) -> ClientConnection:
    """Open a socket directly to the daemon on this machine, regardless of proxies in the environment."""
    address = f"ws://{urlsplit(api.url).netloc}/ws"
    return open_socket(address, open_timeout=TIMEOUT, max_size=None, compression=None, proxy=None)


def greet(socket: ClientConnection, key: str, channel: str, *, after: int | None = None) -> int:
    """Join the channel and return the number of its newest delivery; those `after` a number are sent again."""
    since = {} if after is None else {"lastSeq": after}
    socket.send(json.dumps({"type": "auth", "apiKey": key, "channelId": channel, **since}))
    while (frame := received(socket))["type"] != "auth_ok":
        pass
    return int(frame["seq"])


def received(socket: ClientConnection) -> Frame:
    """Return the next frame. Raises `TimeoutError` after a silence."""
    return frame_of(socket.recv(timeout=TIMEOUT))


def frame_of(text: str | bytes) -> Frame:
    """Return the frame, or raise the error that it reports."""
    frame: Frame = json.loads(text)
    if frame["type"] == "error":
        error = frame["error"]
        raise ArvisError(error["message"], fix=error["fix"], code=error["code"])
    return frame
