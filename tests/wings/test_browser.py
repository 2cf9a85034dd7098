"""The agent's browser with the real Chromium in the real sandbox, and a public web of one local server."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from arvis.domain.errors import FetchRefused, ToolError
from tests.wings.browsing import PUBLIC, file, html, page_in, ref_of, surfing
from tests.wings.listening import listening

#: A shop with every kind of element.
SHOP = """<title>Shop</title><h1>Welcome</h1>
<p style="display:none">GHOST 1</p><p style="visibility:hidden">GHOST 2</p><p style="opacity:0">GHOST 3</p>
<p style="position:absolute;left:-9999px">GHOST 4</p><p style="font-size:0">GHOST 5</p>
<p style="position:absolute;width:1px;height:1px;overflow:hidden">GHOST 6</p><div hidden>GHOST 7</div>
<a href="/next">Next page</a>
<label>Name <input id=name></label><label>Secret <input type=password placeholder="Your password" value=swordfish></label>
<label><input type=checkbox style="opacity:0"> Agree</label>
<label>Size <select><option>Small<option>Large</select></label>
<iframe srcdoc="<p>From the frame</p><button>Inner</button>"></iframe>
<form action="/search"><input name=q aria-label="Find"></form>
<button onclick="alert('Sure?'); document.title='asked'">Ask</button>
<a href="/popup" target=_blank>Elsewhere</a><a href="/file" onclick="alert('Download?')">Price list</a><a href="/huge">Catalogue</a>
<label>Photo <input type=file></label>
<button onclick="this.textContent='Buy for 900'">Buy for 9</button>"""


def listening_ports(pids: Iterable[int]) -> set[int]:
    """Return the TCP ports of this machine's network on which these processes listen."""
    held = set()
    for pid in pids:
        for descriptor in Path(f"/proc/{pid}/fd").glob("*"):
            with suppress(OSError):
                held.add(str(descriptor.readlink()))
    ports = set()
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in held:
                ports.add(int(fields[1].rpartition(":")[2], 16))
    return ports


def descendants(pid: int) -> dict[int, str]:
    """Return the command lines of the descendants of a process. The browser of other tests may be among them. Other
    processes are not read, because the kernel may let a reader wait for a process that gets no processor time."""
    found: set[int] = set()
    new = {pid}
    while new:
        new = {child for parent in new for child in children(parent)} - found
        found |= new
    return {each: command(each) for each in found}


def children(pid: int) -> list[int]:
    try:
        lists = [each.read_text() for each in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:
        return []
    return [int(child) for each in lists for child in each.split()]


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


async def until(met: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not met():  # noqa: ASYNC110 - the end of a process of another program sends no event
            await asyncio.sleep(0.02)


async def test_a_page_becomes_text_without_a_listening_port(tmp_path: Path) -> None:
    before = listening_ports([os.getpid()])
    long = "".join(f"<p>Line {number} of the catalogue</p>" for number in range(200))
    async with surfing(tmp_path, {"/": SHOP, "/long": long}, text_chars=2_000) as surf:
        text = await surf.open()
        lines = text.splitlines()
        assert lines[:2] == ["http://shop.example/", "Title: Shop"]
        assert page_in(text)
        assert "GHOST" not in text
        assert "swordfish" not in text
        assert 'heading "Welcome"' in text
        assert "/url: /next" in text
        assert "From the frame" in text
        assert ref_of("Inner", text).startswith("f")
        assert "checkbox" in text
        processes = descendants(os.getpid())
        assert any("--remote-debugging-pipe" in line for line in processes.values())
        assert not any("--remote-debugging-port" in line for line in processes.values())
        # Only the server of the test listens.
        assert listening_ports([os.getpid(), *processes]) - before == {surf.port}

        first = await surf.open("/long")
        assert "Continue with browser_read, offset=" in first
        offset = int(first.rpartition("offset=")[2].partition(".")[0])
        second = await surf.browsers.read(surf.caller(), surf.page, offset)
        last = max(int(number) for number in re.findall(r"Line (\d+) of", first))
        assert f"Line {last + 1} of" in second
        assert f"Line {last} of" not in second
        with pytest.raises(ToolError, match="nothing follows"):
            await surf.browsers.read(surf.caller(), surf.page, 1_000_000)


async def test_actions_on_a_page(tmp_path: Path) -> None:
    pages: dict[str, str | bytes] = {
        "/": SHOP,
        "/next": "<h1>Second page</h1>",
        "/search": "<h1>Found</h1>",
        "/popup": "<h1>Another window</h1>",
        "/file": file(b"prices", "../../.Prices 2026.csv"),
        "/huge": file(b"x" * 300_000, "huge.bin"),
        "/tall": "<div style='height:2000px'>Tall</div><script>onresize = () => alert('Resized')</script>",
    }
    async with surfing(tmp_path, pages, download_bytes=100_000) as surf:
        browsers, caller = surf.browsers, surf.caller()
        text = await surf.open()

        async def typed(name: str, words: str, *, submit: bool = False) -> str:
            return await browsers.type(caller, surf.page, ref_of(name, text), words, submit=submit)

        assert ": Ann" in await typed("Name", "Ann")
        assert ": Ann" in await browsers.read(caller, surf.page, 0)
        assert 'option "Large" [selected]' in await typed("Size", "Large")
        with pytest.raises(ToolError, match="Files cannot be sent"):
            await typed("Photo", "/etc/passwd")
        assert "asked for a file of this machine" in await surf.click("Photo", text)
        assert "a dialog (alert), which was dismissed: Sure?" in await surf.click("Ask", text)

        price = ref_of("Price list", text)
        assert "Price list" in await browsers.element(caller, surf.page, price)
        got = await browsers.download(caller, surf.page, price)
        assert got.data == b"prices"
        assert "a dialog (alert), which was dismissed: Download?" in got.about
        with pytest.raises(ToolError, match="larger than 100,000 bytes"):
            await browsers.download(caller, surf.page, ref_of("Catalogue", text))
        with pytest.raises(ToolError, match="started no download"):
            await browsers.download(caller, surf.page, ref_of("Welcome", text))
        picture = await browsers.picture(caller, surf.page, whole=True)
        assert picture.data.startswith(b"\xff\xd8\xff")

        # The button changes its text: the reference of the old button is then refused.
        buy = ref_of("Buy for 9", text)
        assert "Buy for 900" in await browsers.click(caller, surf.page, buy)
        with pytest.raises(ToolError, match="does not exist any more"):
            await browsers.click(caller, surf.page, buy)

        opened = await surf.click("Elsewhere", text)
        popup = opened.partition("The page opened another page: ")[2].partition(".")[0]
        assert "Another window" in await browsers.read(caller, popup, 0)
        # A page belongs to one conversation.
        with pytest.raises(ToolError, match="does not exist any more"):
            await browsers.read(surf.caller("other"), popup, 0)

        old = surf.page
        assert "Found" in await browsers.type(caller, old, ref_of("Find", text), "tea", submit=True)
        assert surf.site.asked("GET /search?q=tea ")
        with pytest.raises(ToolError, match="does not exist any more"):
            await browsers.click(caller, old, ref_of("Next page", text))

        await surf.open("/tall")
        picture = await browsers.picture(caller, surf.page, whole=True)
        assert "a dialog (alert), which was dismissed: Resized" in picture.about


@asynccontextmanager
async def canary() -> AsyncIterator[tuple[int, list[bytes]]]:
    """Run a server of this machine that nothing may reach. Yield its port and the beginnings of its connections."""
    reached: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.append(b"connected")
        writer.write(html("<h1>INTERNAL</h1>"))
        await writer.drain()

    async with listening(talk) as port:
        yield port, reached


async def test_no_packet_reaches_private_addresses(tmp_path: Path) -> None:
    async with canary() as (port, reached):
        inside = f"127.0.0.1:{port}"
        redirect = (
            f"HTTP/1.1 302 X\r\nLocation: http://{inside}/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
        )
        hostile = f"""<h1>Hostile</h1><img src="http://{inside}/i"><img src="http://0x7f.1:{port}/"><img src="http://[::1]:{port}/">
<img src="http://169.254.169.254/latest"><img src="http://10.0.0.1/"><img src="http://localhost:{port}/">
<img src="/elsewhere"><iframe src="http://{inside}/frame"></iframe><iframe src="file:///etc/passwd"></iframe>
<link rel=prefetch href="http://{inside}/p"><link rel=dns-prefetch href="//secret.inside.example">
<a href="file:///etc/passwd">Passwords</a><a href="http://inner.example/">Inner</a><a href="/moves">Moves</a>
<script>
  for (const url of ["http://{inside}/fetch", "http://rebound.example/"]) fetch(url, {{mode: "no-cors"}}).catch(() => 0);
  navigator.sendBeacon("http://{inside}/beacon", "x");
  const socket = new WebSocket("ws://{inside}/"); new WebSocket("ws://rebound.example/");
  new Worker(URL.createObjectURL(new Blob([`fetch("http://{inside}/worker").catch(() => 0)`])));
  const peer = new RTCPeerConnection({{iceServers: [{{urls: "stun:{inside}"}}]}});
  peer.createDataChannel("x"); peer.createOffer().then(offer => peer.setLocalDescription(offer));
  Notification.requestPermission().then(answer => document.title = answer);
</script>"""
        pages: dict[str, str | bytes] = {"/": hostile, "/elsewhere": redirect, "/moves": redirect, "/hangs": b""}
        async with surfing(tmp_path, pages) as surf:
            surf.names.special = {"inner.example": ["192.168.1.1"], "rebound.example": [PUBLIC, "127.0.0.1"]}
            for url in (
                f"http://{inside}/",
                "http://localhost/",
                "http://[::ffff:7f00:1]/",
                "file:///etc/passwd",
                "chrome://version",
                "javascript:alert(1)",
                "ftp://shop.example/",
            ):
                with pytest.raises(FetchRefused):
                    await surf.open(url)
            lost = asyncio.create_task(surf.open("/hangs", conversation="other"))
            await until(lambda: surf.site.asked("GET /hangs"))
            text = await surf.open()
            # The other conversation does not learn which addresses were refused here.
            surf.site.never.set()
            with pytest.raises(ToolError, match="could not be loaded") as failed:
                await lost
            assert "does not fetch" not in failed.value.what
            assert "Title: denied" in text
            assert "(a frame) does not answer" in text
            assert "INTERNAL" not in text
            assert "root:" not in text
            again = await surf.click("Passwords", text)
            assert "root:" not in again
            for url in ("http://shop.example/moves", "http://inner.example/", "http://rebound.example/"):
                with pytest.raises(ToolError, match=r"not public|not one of"):
                    await surf.open(url)
            # Every connection used the public address, and the first lookup of the name that changes its address.
            assert {host for host, _ in surf.dialled.peers} == {PUBLIC}
            assert "secret.inside.example" not in surf.names.looked_up
        assert reached == []


async def test_pages_that_hang_and_browsers_that_crash(tmp_path: Path) -> None:
    pages: dict[str, str | bytes] = {
        "/": html("<h1>Visit</h1>", "Set-Cookie: seen=yes; Max-Age=1000"),
        "/hangs": "",
        "/loops": "<h1>Loop</h1><button onclick='for(;;);'>Spin</button>",
        "/cookie": "<script>document.write('cookie ' + document.cookie)</script>",
    }
    before = descendants(os.getpid())
    async with surfing(tmp_path, pages, navigation=2_500) as surf:
        await surf.open()
        hanging = asyncio.create_task(surf.open("/hangs", conversation="other"))
        await until(lambda: surf.site.asked("GET /hangs"))
        # A page that hangs delays no other conversation.
        assert "Visit" in await surf.browsers.read(surf.caller(), surf.page, 0)
        assert not hanging.done()

        text = await surf.open("/loops")
        with pytest.raises(ToolError, match=r"does not answer|cannot be used"):
            await surf.click("Spin", text)
        with pytest.raises(ToolError, match=r"does not exist any more|does not answer"):
            await surf.browsers.read(surf.caller(), surf.page, 0)
        with pytest.raises(ToolError, match=r"No page came within 2\.5 seconds"):
            await hanging

        # The profile outlives the browser.
        await surf.browsers.close()
        assert "cookie seen=yes" in await surf.open("/cookie")
        new = {pid: line for pid, line in descendants(os.getpid()).items() if pid not in before}
        # Debian starts Chromium with a shell script.
        (main,) = [
            pid
            for pid, line in new.items()
            if "remote-debugging-pipe" in line and "--type" not in line and not line.startswith("/bin/sh")
        ]
        lost = asyncio.create_task(surf.open("/hangs"))
        await until(lambda: sum("GET /hangs" in head for head in surf.site.requests) == 2)
        os.kill(main, signal.SIGKILL)
        # The end of the page may be noticed before the end of the browser, and on a busy machine the time limit before both.
        with pytest.raises(ToolError, match=r"ended unexpectedly|could not be loaded|No page came"):
            await lost
        refusal = ""
        async with asyncio.timeout(30):
            while "No page is open" not in refusal:  # until then the error says that the page or the browser has ended
                with pytest.raises(ToolError) as refused:
                    await surf.browsers.read(surf.caller(), surf.page, 0)
                refusal = refused.value.what
                await asyncio.sleep(0.05)
        # The profile of a browser that was killed can be used again, and is removed with the agent.
        assert "Visit" in await surf.open()
        await surf.browsers.forget({"agent-1"})
        assert not (tmp_path / "browser" / "agent-1").exists()


async def test_an_unused_browser_ends(tmp_path: Path) -> None:
    before = descendants(os.getpid())
    async with surfing(tmp_path, {"/": "<h1>Hello</h1>"}, idle=1_000, browsers=1) as surf:
        await surf.open(agent="agent-2")
        await surf.open()
        # The browser of the other agent made room.
        with pytest.raises(ToolError, match="No page is open"):
            await surf.browsers.read(surf.caller(agent="agent-2"), surf.page, 0)

        def running() -> list[str]:
            return [line for pid, line in descendants(os.getpid()).items() if pid not in before]

        assert any("remote-debugging-pipe" in line for line in running())
        await until(lambda: not any("remote-debugging-pipe" in line for line in running()))


async def test_a_browser_that_starts_slowly_delays_no_other_agent(tmp_path: Path) -> None:
    async with surfing(tmp_path, {"/": "<h1>Hello</h1>"}, browsers=2) as surf:
        # The first call checks the address, the second one is for the proxy of the browser that starts.
        surf.gates = [None, start := asyncio.Event()]
        slow = asyncio.create_task(surf.open(agent="slow"))
        await until(lambda: not surf.gates)
        assert "Hello" in await surf.open()
        with pytest.raises(ToolError, match="No page is open"):
            await surf.browsers.read(surf.caller(agent="third"), "abcdef", 0)
        # The browser that starts counts, and the other one makes room.
        assert "Hello" in await surf.open(agent="third")
        with pytest.raises(ToolError, match="No page is open"):
            await surf.browsers.read(surf.caller(), surf.page, 0)
        assert not slow.done()
        start.set()
        assert "Hello" in await slow


OWNER = """
import asyncio, sys
from pathlib import Path
from tests.wings.browsing import surfing
async def main():
    async with surfing(Path(sys.argv[1]), {"/": "<h1>Hello</h1>"}) as surf:
        print((await surf.open()).splitlines()[0], flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


async def test_a_killed_daemon_leaves_no_browser(tmp_path: Path) -> None:
    async with surfing(tmp_path, {}):
        pass  # skips the test if there is no sandbox
    owner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OWNER, str(tmp_path), stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    assert owner.stdout is not None
    assert await owner.stdout.readline() == b"http://shop.example/\n"
    left = descendants(owner.pid)
    assert any("remote-debugging-pipe" in line for line in left.values())
    owner.kill()
    await owner.wait()
    await until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in left))


async def test_a_missing_chromium_is_named(tmp_path: Path) -> None:
    async with surfing(tmp_path, {}, executable="/nowhere/chromium") as surf:
        with pytest.raises(ToolError, match=r"No Chromium is installed.*browser\.executable"):
            await surf.open()
