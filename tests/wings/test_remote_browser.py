"""A remote browser: a real Chromium with a debugging port, used over the Chrome DevTools Protocol."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from arvis.config.sections import Browser
from arvis.domain.errors import FetchRefused, ToolError
from arvis.process.logging import Redactor
from tests.parts import require
from tests.wings.browsing import Site, Surfing, file, html, ref_of, surfing
from tests.wings.listening import listening
from tests.wings.test_browser import descendants


@asynccontextmanager
async def remote_chromium(folder: Path, *, web: int, port: int = 0) -> AsyncIterator[int]:
    """Run a Chromium for which all names lead to the server at the port `web` of this machine. Yield the port of its
    DevTools."""
    program = require("chromium")
    options = [
        "--headless",
        "--no-sandbox",
        f"--remote-debugging-port={port}",
        f"--user-data-dir={folder}",
        f"--host-resolver-rules=MAP * 127.0.0.1:{web}, EXCLUDE 127.0.0.1",
        "about:blank",
    ]
    # Debian starts Chromium with a shell script, so all processes of a session of its own are ended.
    chromium = await asyncio.create_subprocess_exec(
        program, *options, stderr=asyncio.subprocess.PIPE, start_new_session=True
    )
    assert chromium.stderr is not None
    try:
        async with asyncio.timeout(60):
            while b"DevTools listening on" not in (line := await chromium.stderr.readline()):
                assert line, "Chromium has ended"
        yield int(line.decode().split("/")[2].rpartition(":")[2])
    finally:
        with suppress(ProcessLookupError):
            os.killpg(chromium.pid, signal.SIGKILL)
        await chromium.wait()


@asynccontextmanager
async def remote_surfing(
    folder: Path, pages: dict[str, str | bytes], *, address: str = "http://127.0.0.1:{port}", **settings: Any
) -> AsyncIterator[Surfing]:
    """Yield an agent's browser that runs in another Chromium, with the site that its pages reach."""
    site = Site(pages)
    async with (
        listening(site.talk) as web,
        remote_chromium(folder / "remote", web=web) as port,
        surfing(folder, {}, endpoint=SecretStr(address.format(port=port)), **settings) as surf,
    ):
        surf.site = site
        yield surf


SHOP = """<title>Shop</title><h1>Welcome</h1><label>Name <input></label>
<a href="/file">Price list</a><a href="/huge">Catalogue</a><a href="/page" download>Page</a><a id=made download=made.txt>Made</a>
<a href="/popup" target=_blank>Elsewhere</a><button onclick="document.title='clicked'">Buy</button>
<script>
  document.getElementById("made").href = URL.createObjectURL(new Blob(["made here"]));
  localStorage.setItem("basket", "tea");
</script>"""


async def test_pages_files_and_pictures_of_a_remote_browser(tmp_path: Path) -> None:
    pages: dict[str, str | bytes] = {
        "/": SHOP,
        "/file": file(b"prices", "Prices.csv"),
        "/huge": file(b"x" * 300_000, "huge.bin"),
        "/page": "<p>Plain page",
        "/popup": "<h1>Another window</h1>",
    }
    async with remote_surfing(tmp_path, pages, download_bytes=100_000, executable="/nowhere/chromium") as surf:
        browsers, caller = surf.browsers, surf.caller()
        text = await surf.open()
        assert text.splitlines()[:2] == ["http://shop.example/", "Title: Shop"]
        assert ": Ann" in await browsers.type(caller, surf.page, ref_of("Name", text), "Ann", submit=False)
        assert "Title: clicked" in await surf.click("Buy", text)
        picture = await browsers.picture(caller, surf.page, whole=True)
        assert picture.data.startswith(b"\xff\xd8\xff")
        for name, content in {"Price list": b"prices", "Page": b"<p>Plain page", "Made": b"made here"}.items():
            got = await browsers.download(caller, surf.page, ref_of(f'"{name}"', text))
            assert got.data.endswith(content)
        with pytest.raises(ToolError, match="larger than 100,000 bytes"):
            await browsers.download(caller, surf.page, ref_of("Catalogue", text))
        with pytest.raises(ToolError, match="started no download"):
            await browsers.download(caller, surf.page, ref_of("Welcome", text))
        opened = await surf.click("Elsewhere", text)
        popup = opened.partition("The page opened another page: ")[2].partition(".")[0]
        assert "Another window" in await browsers.read(caller, popup, 0)
        # The pages did not pass this machine.
        assert surf.dialled.peers == []


#: A page that tries to reach `INSIDE` in every way, and ends when all outcomes are known.
HOSTILE = """<h1>Hostile</h1><img src="http://INSIDE/i"><img src="http://0x7f.1:PORT/"><img src="http://localhost:PORT/">
<img src="/elsewhere"><iframe src="http://INSIDE/frame"></iframe><iframe src="/elsewhere"></iframe>
<iframe srcdoc='<script>new WebSocket("ws://INSIDE/frame")</script>'></iframe>
<link rel=prefetch href="http://INSIDE/p"><a href="http://inner.example/">Inner</a><a href="/elsewhere">Moves</a>
<a href="/elsewhere" download>File</a>
<script>
  fetch("http://INSIDE/fetch", {mode: "no-cors"}).catch(() => 0);
  navigator.sendBeacon("http://INSIDE/beacon", "x");
  const failed = new Promise(done => {
    const socket = new WebSocket("ws://INSIDE/"); socket.onerror = () => done("refused"); socket.onopen = () => done("open");
  });
  const work = `const socket = new WebSocket("ws://INSIDE/worker");
    fetch("http://INSIDE/worker", {mode: "no-cors"}).catch(() => 0);
    socket.onerror = () => postMessage("refused"); socket.onopen = () => postMessage("open");`;
  const worker = new Worker(URL.createObjectURL(new Blob([work])));
  const answered = new Promise(done => worker.onmessage = message => done(message.data));
  const frame = document.createElement("iframe");
  document.head.append(frame);
  for (const place of [window, frame.contentWindow]) try {
    const peer = new place.RTCPeerConnection({iceServers: [{urls: "stun:INSIDE"}]});
    peer.createDataChannel("x"); peer.createOffer().then(offer => peer.setLocalDescription(offer));
  } catch {}
  const permission = Notification.requestPermission();
  Promise.all([failed, answered, permission]).then(all => {
    document.title = all.join(" "); document.body.append("Finished");
  });
</script>"""


@asynccontextmanager
async def inner_server() -> AsyncIterator[tuple[int, list[bytes]]]:
    """Run a server of this machine for TCP and UDP that nothing may reach. Yield its port and what it gets."""
    reached: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.append(await reader.read(200))
        writer.write(html("<h1>INTERNAL</h1>"))
        await writer.drain()

    class Datagrams(asyncio.DatagramProtocol):
        def datagram_received(self, data: bytes, addr: Any) -> None:
            reached.append(data)

    async with listening(talk) as port:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(Datagrams, local_addr=("127.0.0.1", port))
        try:
            yield port, reached
        finally:
            transport.close()


async def test_a_remote_browser_sends_no_request_to_private_addresses(tmp_path: Path) -> None:
    async with inner_server() as (port, reached):
        inside = f"127.0.0.1:{port}"
        redirect = f"HTTP/1.1 302 X\r\nLocation: http://{inside}/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        pages: dict[str, str | bytes] = {
            "/": HOSTILE.replace("INSIDE", inside).replace("PORT", str(port)),
            "/elsewhere": redirect.encode(),
        }
        async with remote_surfing(tmp_path, pages) as surf:
            surf.names.special = {"inner.example": ["192.168.1.1"]}
            for url in (f"http://{inside}/", "http://localhost/", "file:///etc/passwd", "chrome://version"):
                with pytest.raises(FetchRefused):
                    await surf.open(url)
            text = await surf.open()
            async with asyncio.timeout(60):
                while "Finished" not in text:
                    text = await surf.browsers.read(surf.caller(), surf.page, 0)
            assert "Title: refused refused denied" in text
            assert "INTERNAL" not in text
            with pytest.raises(ToolError, match=r"started no download|download failed"):
                await surf.browsers.download(surf.caller(), surf.page, ref_of("File", text))
            for url in ("http://shop.example/elsewhere", "http://inner.example/"):
                with pytest.raises(ToolError, match=r"not public|not one of"):
                    await surf.open(url)
        assert reached == []


async def test_the_logins_of_a_remote_browser_outlive_it(tmp_path: Path) -> None:
    pages: dict[str, str | bytes] = {
        "/": html(
            "<h1>Visit</h1><script>localStorage.setItem('basket', 'tea')</script>", "Set-Cookie: seen=yes; Max-Age=1000"
        ),
        "/state": "<script>document.write(`cookie ${document.cookie} basket ${localStorage.getItem('basket')}`)</script>",
    }
    async with remote_surfing(tmp_path, pages) as surf:
        await surf.open()
        # Another agent has a context of its own.
        assert "cookie basket null" in " ".join((await surf.open("/state", agent="agent-2")).split())
        await surf.browsers.close()
        assert "cookie seen=yes basket tea" in await surf.open("/state")
        # A host that is refused now, or does not exist any more, does not prevent the start.
        await surf.browsers.close()
        surf.names.special = {"shop.example": ["192.168.1.1"]}
        assert "Visit" in await surf.open("http://other.example/")
        await surf.browsers.forget({"agent-1"})
        assert not (tmp_path / "browser" / "agent-1").exists()


async def test_a_lost_endpoint_is_named_and_used_again(tmp_path: Path) -> None:
    site = Site({"/": "<h1>Hello</h1>"})
    async with listening(site.talk) as web:
        async with remote_chromium(tmp_path / "remote", web=web) as port:
            address = SecretStr(f"http://127.0.0.1:{port}")
            browsing = surfing(tmp_path, {}, endpoint=address)
            surf = await browsing.__aenter__()
            try:
                assert "Hello" in await surf.open()
                page = surf.page
            except BaseException:
                await browsing.__aexit__(None, None, None)
                raise
        try:
            async with asyncio.timeout(30):
                refusal = ""
                while "No page is open" not in refusal:
                    with pytest.raises(ToolError) as lost:
                        await surf.browsers.read(surf.caller(), page, 0)
                    refusal = lost.value.what
            with pytest.raises(
                ToolError, match=rf"127\.0\.0\.1:{port} cannot be used: it accepts no connection.*`browser\.endpoint`"
            ):
                await surf.open()
            async with remote_chromium(tmp_path / "remote-2", web=web, port=port):
                assert "Hello" in await surf.open()
        finally:
            await browsing.__aexit__(None, None, None)


async def test_the_key_of_an_endpoint_is_sent_there_and_shown_nowhere(tmp_path: Path) -> None:
    key, heads, seen = "swordfish-in-the-address", list[str](), list[str]()

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.read(65_536)).decode(errors="replace"))
        seen.extend(line for line in descendants(os.getpid()).values() if key in line)
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()

    async with listening(refuse) as port:
        for address, reason in (
            (f"ws://ann:{key}@127.0.0.1:{port}/path?token={key}", "it answered with the status 403"),
            (f"http://ann:{key}@127.0.0.1:{port}?token={key}", "it answered with the status 403"),
            (f"wss://127.0.0.1:{port}/{key}", "it does not use TLS"),
        ):
            secret = SecretStr(address)
            async with surfing(tmp_path, {}, endpoint=secret) as surf:
                with pytest.raises(
                    ToolError, match=f"The remote browser at 127.0.0.1:{port} cannot be used: {reason}"
                ) as refused:
                    await surf.open()
            assert key not in str(refused.value)
            masked = Redactor(Browser.defaults().model_copy(update={"endpoint": secret}).secrets())
            assert key not in masked(f"{address} and {key}")
    login = base64.b64encode(f"ann:{key}".encode()).decode()
    assert heads
    assert all(
        f"token={key}" in head and f"Basic {login}" in head and f"127.0.0.1:{port}" in head for head in heads[:2]
    )
    # No other user of the machine sees it.
    assert seen == []
