"""The preview on a terminal against a scripted socket, for orders of frames that the real daemon sends only rarely."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from websockets.sync.server import ServerConnection, serve

from arvis.cli.api_client import Api
from arvis.cli.commands.chat_stream import show_while_written
from arvis.domain.errors import ArvisError, DaemonUnreachable
from arvis.process.data_folder import address_file, api_key_file

ACK = {"type": "ack", "messageId": "M", "id": "E"}
GREETING = {"type": "auth_ok", "clientId": "C", "seq": 0}


def delta(offset: int, text: str, message: str = "M") -> dict[str, Any]:
    return {"type": "delta", "messageId": message, "offset": offset, "text": text}


@contextmanager
def scripted(*frames: dict[str, Any]) -> Iterator[Api]:
    """Run a server that answers the greeting, sends `frames` after the first message, and hangs up."""

    def talk(socket: ServerConnection) -> None:
        assert json.loads(socket.recv()) == {"type": "auth", "apiKey": "K", "channelId": "cli-ann"}
        socket.send(json.dumps(GREETING))
        assert json.loads(socket.recv()) == {"type": "message", "content": "hi", "id": "E"}
        for frame in frames:
            socket.send(json.dumps(frame))

    with serve(talk, "127.0.0.1", 0) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        with tempfile.TemporaryDirectory() as folder:
            address_file(Path(folder)).write_text(f"http://127.0.0.1:{server.socket.getsockname()[1]}")
            api_key_file(Path(folder)).write_text("K")
            yield Api(None, Path(folder)).connect()


Out = pytest.CaptureFixture[str]


def show(out: Out, api: Api, **timeline: Any) -> list[str]:
    """Show the answer of message M. Return the output before the API was asked, and the output after it."""
    shown = []

    def then(_: Api, message_id: str) -> dict[str, Any]:
        assert message_id == "M"
        shown.append(out.readouterr().out)
        return timeline

    show_while_written(then=then)(api, "cli-ann", "hi", "E")
    return [*shown, out.readouterr().out]


def test_an_answer_may_overtake_its_acknowledgement(capsys: Out) -> None:
    rest = {"type": "status", "messageId": "M", "status": "answered"}
    with scripted(delta(0, "o"), delta(1, "ne"), delta(0, "x", "N"), ACK, rest, delta(3, "late")) as api:
        assert show(capsys, api, status="answered", reply="one") == ["one", "\n"]


def test_a_lost_socket_costs_the_preview_only(capsys: Out) -> None:
    with scripted(ACK, delta(0, "on")) as api:
        assert show(capsys, api, status="answered", reply="one") == ["on", "e\n"]


def test_a_message_without_an_answer_ends_its_line(capsys: Out) -> None:
    with scripted(ACK, delta(0, "on")) as api:
        assert show(capsys, api, status="failed", reply="Sorry") == ["on", "\n"]


def test_a_refusal_is_told(capsys: Out) -> None:
    error = {"code": "unknown_agent", "message": "There is no such agent.", "fix": "Look."}
    with scripted({"type": "error", "error": error}) as api, pytest.raises(ArvisError, match="no such agent"):
        show(capsys, api)


def test_a_socket_that_is_lost_before_the_acknowledgement(capsys: Out) -> None:
    with scripted() as api, pytest.raises(DaemonUnreachable):
        show(capsys, api)
