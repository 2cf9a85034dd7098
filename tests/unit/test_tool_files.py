"""The tools that read and write the files of a conversation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from arvis.domain.agents import Agent
from arvis.domain.errors import ToolError
from arvis.domain.messages import OutgoingFile
from arvis.domain.tools import Risk
from arvis.ports.tool import Caller, ToolServices
from arvis.tools import read_file, send_file, write_file

SERVICES = cast("ToolServices", None)
READ, WRITE = read_file.create(SERVICES), write_file.create(SERVICES)


def caller_in(folder: Path) -> Caller:
    return Caller(Agent("a", "helper", "Helper"), None, "c", "e", None, "1", folder / "workspace", "UTC")


async def written(folder: Path, data: bytes, **more: Any) -> str:
    (folder / "workspace").mkdir(exist_ok=True)
    (folder / "workspace/file").write_bytes(data)
    return await READ.call({"path": "file", **more}, caller_in(folder))


def test_what_they_risk() -> None:
    assert (READ.risk, READ.repeatable) == (Risk.READ, True)
    assert (WRITE.risk, WRITE.repeatable) == (Risk.WRITE, False)
    assert set(READ.spec.parameters["required"]) == {"path"}


async def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    said = await WRITE.call({"path": "notes/ü.txt", "content": "Grüße\n"}, caller_in(tmp_path))
    assert said == "Wrote 8 bytes to notes/ü.txt."
    assert await READ.call({"path": "notes/ü.txt"}, caller_in(tmp_path)) == "Grüße\n"


async def test_a_long_file_is_cut_at_a_whole_character(tmp_path: Path) -> None:
    text = "🚀" * 100
    assert await written(tmp_path, text.encode(), max_chars=100) == text
    assert (
        await written(tmp_path, text.encode(), max_chars=1)
        == "🚀\n[Only the beginning is shown; the file has 400 bytes.]"
    )
    for size in range(1, 12):
        cut = await written(tmp_path, "aé🚀".encode() * 9, max_chars=size)
        assert cut.startswith(("aé🚀" * 9)[:size] + "\n[")


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\0", b"\xff\xfe", b"text \x80 text", b"abc\xf0\x9f\x9a"])
async def test_what_is_no_text_is_named(data: bytes, tmp_path: Path) -> None:
    assert await written(tmp_path, data) == f"This is a binary file of {len(data)} bytes; it cannot be shown."


async def test_an_empty_file_is_told(tmp_path: Path) -> None:
    assert await written(tmp_path, b"") == "The file is empty."


async def test_a_file_has_a_largest_size(tmp_path: Path) -> None:
    most = "é" * 524_288
    assert "1048576" in await WRITE.call({"path": "x", "content": most}, caller_in(tmp_path))
    with pytest.raises(ToolError, match="Write less"):
        await WRITE.call({"path": "x", "content": most + "x"}, caller_in(tmp_path))


@pytest.mark.parametrize("arguments", [{}, {"path": 1}, {"path": "x", "max_chars": 0}, {"path": "x", "other": 1}])
def test_arguments_are_checked(arguments: dict[str, Any]) -> None:
    with pytest.raises(ToolError):
        READ.check(arguments)


async def test_a_way_out_is_refused_in_words(tmp_path: Path) -> None:
    for call in (
        READ.call({"path": "../x"}, caller_in(tmp_path)),
        WRITE.call({"path": "/x", "content": ""}, caller_in(tmp_path)),
    ):
        with pytest.raises(ToolError, match="cannot be used"):
            await call


class Blobs:
    async def put_blob(self, data: bytes) -> str:
        return f"hash of {data!r}"


async def test_a_file_is_attached_to_the_reply(tmp_path: Path) -> None:
    send = send_file.create(cast("ToolServices", SimpleNamespace(store=Blobs())))
    attached: list[OutgoingFile] = []
    caller = replace(caller_in(tmp_path), attach=attached.append)
    await WRITE.call({"path": "charts/a.csv", "content": "1,2"}, caller)
    assert await send.call({"path": "charts/a.csv"}, caller) == "a.csv (3 bytes) will be sent with your reply."
    assert attached == [OutgoingFile("a.csv", "text/csv", 3, "hash of b'1,2'")]
    for path in ("gone.txt", "../a", "/etc/passwd"):
        with pytest.raises(ToolError):
            await send.call({"path": path}, caller)
    await WRITE.call({"path": "empty", "content": ""}, caller)
    with pytest.raises(ToolError, match="empty"):
        await send.call({"path": "empty"}, caller)
