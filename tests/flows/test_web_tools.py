"""The tools for the web, with a real client, a real fetcher and servers of the test."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import pytest

from arvis.config.sections import Browser
from arvis.domain.agents import Agent
from arvis.domain.dataclass import replace
from arvis.domain.errors import FetchFailed, FetchRefused, ToolError
from arvis.domain.tools import Risk
from arvis.media import WebFileReader
from arvis.net.client import open_http_client
from arvis.net.fetcher import open_fetcher
from arvis.ports.http import Dialer
from arvis.ports.store import Store
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.process.sandbox import Bubblewrap
from arvis.process.secrets import SealedBox
from arvis.process.subprocesses import GuardedPrograms
from arvis.testing.clock import SteppedClock
from arvis.tools.browser.browsers import Browsers
from tests.flows.media_kit import docx, pdf, png
from tests.wings.listening import listening


@dataclass
class Outside:
    """A server with responses by path; `asked` lists the requested targets."""

    answers: dict[str, bytes]
    asked: list[str]
    url: str = ""

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        target = head.split(b" ")[1].decode()
        self.asked.append(target)
        writer.write(self.answers[urlsplit(target).path])
        await writer.drain()


def page(content: bytes, kind: str = "", status: int = 200) -> bytes:
    said = f"Content-Type: {kind}\r\n" if kind else ""
    head = f"HTTP/1.1 {status} X\r\n{said}Content-Length: {len(content)}\r\nConnection: close\r\n\r\n"
    return head.encode() + content


@pytest.fixture
async def outside() -> AsyncIterator[Outside]:
    server = Outside({}, [])
    async with listening(server.talk) as port:
        server.url = f"http://127.0.0.1:{port}"
        yield server


@asynccontextmanager
async def opened_services(store: Store, folder: Path, outside: str) -> AsyncIterator[ToolServices]:
    async with AsyncExitStack() as stack:
        fetcher = await stack.enter_async_context(open_fetcher(allow=[outside.removeprefix("http://")]))
        clock, sandbox = SteppedClock(), Bubblewrap(hidden=[folder])

        async def dialer() -> Dialer:
            return fetcher

        browsers = Browsers(settings=Browser(), folder=folder / "browser", sandbox=sandbox, dialer=dialer, clock=clock)
        stack.push_async_callback(browsers.close)
        yield ToolServices(
            store=store,
            clock=clock,
            fetcher=fetcher,
            http=await stack.enter_async_context(open_http_client()),
            sandbox=sandbox,
            secrets=SealedBox(file=folder / "key", given=None, tell=print),
            search=cast("Any", None),
            reader=WebFileReader(programs=GuardedPrograms()),
            browser=browsers,
        )


@pytest.fixture
async def services(store: Store, tmp_path: Path, outside: Outside) -> AsyncIterator[ToolServices]:
    async with opened_services(store, tmp_path, outside.url) as opened:
        yield opened


@pytest.fixture
def caller(tmp_path: Path) -> Caller:
    agent = Agent("a", "helper", "Helper")
    return Caller(agent, None, "c", "e", None, "e-1-1", tmp_path, "Europe/Paris")


def tool(name: str, services: ToolServices) -> Tool:
    (found,) = entry_points(group="arvis.tools", name=name)
    made: Tool = found.load()(services)
    return made


@pytest.mark.parametrize(
    ("name", "risk"),
    [("http_fetch", Risk.EGRESS), ("web_search", Risk.EGRESS), ("calculate", Risk.READ), ("get_time", Risk.READ)],
)
def test_each_is_installed_as_what_it_is(services: ToolServices, name: str, risk: Risk) -> None:
    made = tool(name, services)
    assert (made.spec.name, made.risk, made.repeatable) == (name, risk, True)
    assert made.spec.description
    with pytest.raises(ToolError, match="are not valid"):
        made.check({"nonsense": 1})


async def test_a_sum_and_the_time(services: ToolServices, caller: Caller) -> None:
    assert await tool("calculate", services).call({"expression": "2^10"}, caller) == "1024"
    assert await tool("get_time", services).call({}, caller) == "2027-01-15T09:00:00+01:00, Friday, Europe/Paris"
    there = await tool("get_time", services).call({"zone": "Asia/Tokyo"}, caller)
    assert there == "2027-01-15T17:00:00+09:00, Friday, Asia/Tokyo"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (page(b"<title>T</title><h1>Hello</h1>", "text/html"), "Title: T\n\n# Hello"),
        (page(b"<!DOCTYPE html><p>Hello", ""), "\nHello"),
        (page(b"<!DOCTYPE html><p>Hello", "application/octet-stream"), "\nHello"),
        (page(b"<p>\xe9</p>", "text/html; charset=iso-8859-1"), "\n\u00e9"),
        (page(b"<p>\x80</p>", "text/html; charset=ascii"), "\n\u20ac"),
        (page(b'<meta charset="windows-1251"><p>\xcf</p>', "text/html"), "\n\u041f"),
        (page(b'<meta http-equiv=x content="text/html; charset=koi8-r"><p>\xf0</p>', "text/html"), "\n\u041f"),
        (page("<p>é</p>".encode(), "text/html"), "\n\u00e9"),
        (page(b"\xef\xbb\xbf<p>x</p>", "text/html; charset=latin-1"), "\nx"),
        (page("<p>x</p>".encode("utf-16"), "text/html"), "\nx"),
        (page(b"<p>\xff</p>", "text/html"), "\n\ufffd"),
        (page(b"<p>\xe9</p>", "text/html; charset=punycode"), "\n\ufffd"),
        (page(b"<p>\xe9</p>", "text/html; charset=rot13"), "\n\ufffd"),
        (page(b"<p>\xe9</p>", "text/html; charset=nonsense"), "\n\ufffd"),
        (page(b'{"a": [1,  2]}', "application/json"), '\n{"a": [1,  2]}'),
        (page(b"<a>  x</a>", "application/atom+xml"), "\n<a>  x</a>"),
        (page(b"a  b\n<c>", "text/plain"), "\na  b\n<c>"),
        (page(b"plain words", ""), "\nplain words"),
        (page(pdf("Hello from a document"), "application/octet-stream"), "\nHello from a document"),
        (page(pdf("Hello"), "text/html"), "\nHello"),
        (page(docx("Hello"), "application/zip"), "\nHello"),
        (page(pdf(""), "application/pdf"), "\nA file (application/pdf, 340 bytes) without a text: there is no text in the document (it may contain scanned pages)."),
        (page(b"%PDF-1.4 nothing", "application/pdf"), "\nA file (application/pdf, 16 bytes) without a text: the document is damaged."),
        (page(b"\x00\x01", ""), "\nA file (unknown type, 2 bytes) without a text: it cannot be shown as text."),
        (page(b"PK\x03\x04 zip", "application/zip"), "\nA file (application/zip, 8 bytes) without a text: it cannot be shown as text."),
        (page(b"", "text/html"), "\n(nothing to read)"),
        (page(b"<script>x</script>", "text/html"), "\n(nothing to read)"),
    ],
)  # fmt: skip
async def test_pages_are_read(
    services: ToolServices, caller: Caller, outside: Outside, answer: bytes, expected: str
) -> None:
    outside.answers["/"] = answer
    url = f"{outside.url}/"
    text = await tool("http_fetch", services).call({"url": url}, caller)
    assert re.sub(r"pdf, \d{3} bytes", "pdf, 340 bytes", text) == f"{url}\n{expected}"


async def test_a_status_and_a_redirect_are_told(services: ToolServices, caller: Caller, outside: Outside) -> None:
    outside.answers["/old"] = b"HTTP/1.1 301 X\r\nLocation: /new\r\nContent-Length: 0\r\n\r\n"
    outside.answers["/new"] = page(b"gone", "text/plain", status=410)
    expected = await tool("http_fetch", services).call({"url": f"{outside.url}/old"}, caller)
    assert expected == f"{outside.url}/new (status 410)\n\ngone"


@pytest.mark.parametrize("kind", ["text/html", "text/plain"])
async def test_a_long_text_comes_in_parts_that_fit_together(
    services: ToolServices, caller: Caller, outside: Outside, kind: str
) -> None:
    words = " ".join(f"word{number}" for number in range(2_500))
    outside.answers["/"] = page(words.encode(), kind)
    fetch, url = tool("http_fetch", services), f"{outside.url}/"
    offset, found = 0, ""
    while True:
        text = await fetch.call({"url": url, "offset": offset}, caller)
        body, _, note = text.removeprefix(f"{url}\n\n").partition("\n\n[Characters ")
        found += body if not found else f" {body.strip()}"
        if not note:
            break
        assert len(body) <= 6_000
        following = int(note.partition("offset=")[2].rstrip(".]"))
        assert note.startswith(f"{offset:,} to {following:,} of {len(words):,}. Continue with")
        offset = following
    assert found == words
    assert outside.asked == ["/"]
    with pytest.raises(ToolError, match="has only 21,389 characters, so nothing follows offset 30,000"):
        await fetch.call({"url": url, "offset": 30_000}, caller)


async def test_the_parts_of_an_old_text_are_fetched_again(
    services: ToolServices, caller: Caller, outside: Outside
) -> None:
    outside.answers["/"] = page(b"ab " * 1_000, "text/plain")
    fetch, url = tool("http_fetch", services), f"{outside.url}/"
    await fetch.call({"url": url, "max_chars": 100}, caller)
    await fetch.call({"url": url, "max_chars": 100}, caller)
    assert len(outside.asked) == 2
    await services.clock.sleep(601)
    await fetch.call({"url": url, "offset": 100}, caller)
    assert len(outside.asked) == 3
    for number in range(5):
        outside.answers[f"/{number}"] = page(b"x", "text/plain")
        await fetch.call({"url": f"{url}{number}"}, caller)
    await fetch.call({"url": url, "offset": 100}, caller)
    assert len(outside.asked) == 9


async def test_a_word_without_an_end_is_cut(services: ToolServices, caller: Caller, outside: Outside) -> None:
    outside.answers["/"] = page(b"x" * 30_000, "text/plain")
    text = await tool("http_fetch", services).call({"url": f"{outside.url}/", "max_chars": 20_000}, caller)
    assert text.endswith("x\n\n[Characters 0 to 20,000 of 30,000. Continue with offset=20000.]")


async def test_a_large_file_is_not_taken_whole(services: ToolServices, caller: Caller, outside: Outside) -> None:
    fetch, url = tool("http_fetch", services), f"{outside.url}/"
    outside.answers["/"] = page(b"%PDF-1.4" + bytes(10_500_000), "application/pdf")
    assert "without a text: it is larger than 10,000,000 bytes" in await fetch.call({"url": url}, caller)
    outside.answers["/"] = page(b"abcdefg " * 1_300_000, "text/plain")
    assert "[Characters 0 to 6,000 of 4,000,000. Continue with offset=6000.]" in await fetch.call({"url": url}, caller)
    outside.answers["/"] = page(b"<p>begin" + b" " * 2_000_000 + b"end", "text/html")
    text = await fetch.call({"url": url}, caller)
    assert text.endswith("begin\n\n[The rest of the file could not be read, because it is too large or damaged.]")


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        (("send_file",), "It is stored as web/{}.png in your folder; send_file sends it with your reply."),
        (("run_shell",), "It is stored as web/{}.png in your folder; programs of run_shell find it."),
        (("http_fetch",), "Give the person its address."),
    ],
)
async def test_an_image_is_stored_for_agents_that_can_use_it(
    services: ToolServices, caller: Caller, outside: Outside, tools: tuple[str, ...], expected: str
) -> None:
    outside.answers["/"] = page(png(), "text/plain")
    able = replace(caller, agent=replace(caller.agent, tools=tools))
    text = await tool("http_fetch", services).call({"url": f"{outside.url}/"}, able)
    name = hashlib.sha256(png()).hexdigest()[:12]
    assert (
        text
        == f"{outside.url}/\n\nAn image (image/png, {len(png()):,} bytes). You cannot see it. {expected.format(name)}"
    )
    stored = [file.read_bytes() for file in caller.workspace.glob("web/*")]
    assert stored == ([png()] if "web/" in expected else [])


async def test_an_image_that_no_model_could_read_is_explained(
    services: ToolServices, caller: Caller, outside: Outside
) -> None:
    outside.answers["/"] = page(png(60_000, 60_000), "image/png")
    able = replace(caller, agent=replace(caller.agent, tools=("send_file",)))
    text = await tool("http_fetch", services).call({"url": f"{outside.url}/"}, able)
    assert "without a text: the picture is too large: it has 60000 × 60000 pixels" in text
    assert not list(caller.workspace.glob("web/*"))


async def test_what_must_not_be_fetched_is_not(services: ToolServices, caller: Caller, outside: Outside) -> None:
    fetch = tool("http_fetch", services)
    for url in ("http://127.0.0.1/", "http://10.0.0.1/", "file:///etc/passwd", "http://localhost:5070/"):
        with pytest.raises(FetchRefused):
            await fetch.call({"url": url}, caller)
    outside.answers["/"] = b"nonsense\r\n\r\n"
    with pytest.raises(FetchFailed):
        await fetch.call({"url": f"{outside.url}/"}, caller)
    for wrong in ({"url": f"{outside.url}/", "max_chars": 20_001}, {"url": "x" * 8001}, {}):
        with pytest.raises(ToolError, match="are not valid"):
            fetch.check(wrong)


async def test_what_no_store_can_hold_does_not_come_in(
    services: ToolServices, caller: Caller, outside: Outside
) -> None:
    url = f"{outside.url}/page"
    for content, kind in [(b"<title>a\0b</title>x&#xD800;y\0", "text/html"), (b"x\0y", "text/plain; charset=utf-7")]:
        outside.answers["/page"] = page(content, kind)
        expected = await tool("http_fetch", services).call({"url": url}, caller)
        assert "\0" not in expected
        assert expected == expected.encode(errors="replace").decode()
