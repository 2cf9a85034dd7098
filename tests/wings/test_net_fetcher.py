"""The guarded fetcher against real sockets: redirects, limits, hostile answers, and contents of requests."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import subprocess
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest

from arvis.domain.errors import FetchFailed, FetchRefused
from arvis.net.fetcher import GuardedFetcher, open_fetcher
from arvis.net.guard import read_rules
from arvis.ports.http import Fetched
from tests.parts import require
from tests.wings.dialling import Dialled
from tests.wings.listening import listening

OK = b"HTTP/1.1 200 OK\r\n"
Answers = dict[str, bytes]


class Server:
    """A server that answers each path with its bytes and closes, except for `open_ended` paths. It keeps the requests'
    heads."""

    def __init__(self, *, answers: Answers, open_ended: frozenset[str] = frozenset()) -> None:
        self._answers = answers
        self._open_ended = open_ended
        self.requests: list[bytes] = []
        self.done = asyncio.Event()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.requests.append(head)
        path = head.split(b" ")[1].decode()
        writer.write(self._answers[path])
        await writer.drain()
        if path in self._open_ended:
            await self.done.wait()


class Web:
    """A public web of one server: every name resolves to one public address, which leads to this server."""

    def __init__(self, *, server: Server, port: int, tls: ssl.SSLContext | None = None) -> None:
        self.server = server
        self.dial = Dialled(port=port)
        self.looked_up: list[str] = []
        self.fetcher = GuardedFetcher(rules=read_rules(), resolve=self._resolve, dial=self.dial, tls=tls)

    async def _resolve(self, host: str, port: int) -> Sequence[str]:
        self.looked_up.append(host)
        return ["93.184.216.34"]

    async def get(self, path: str = "/", *, max_bytes: int = 1_000_000, timeout: float = 5.0) -> Fetched:
        return await self.fetcher.fetch(f"http://example.com{path}", max_bytes=max_bytes, timeout=timeout)


@asynccontextmanager
async def web(answers: Answers, *, open_ended: Sequence[str] = (), https: Path | None = None) -> AsyncIterator[Web]:
    server = Server(answers=answers, open_ended=frozenset(open_ended))
    serving, trusting = _tls(https) if https else (None, None)
    async with listening(server.talk, tls=serving) as port:
        try:
            yield Web(server=server, port=port, tls=trusting)
        finally:
            server.done.set()


def _tls(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return a TLS context for a server named example.com, and one for clients that trust it."""
    key, certificate = str(folder / "key.pem"), str(folder / "certificate.pem")
    command = [str(require("openssl", "install openssl (Debian: apt-get install openssl)")), "req", "-x509", "-nodes"]
    command += ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "2", "-subj", "/CN=example.com"]
    command += ["-addext", "subjectAltName=DNS:example.com", "-keyout", key, "-out", certificate]
    subprocess.run(command, check=True, capture_output=True)
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(certificate, key)
    return serving, ssl.create_default_context(cafile=certificate)


def body(content: bytes, *headers: bytes) -> bytes:
    lines = [*headers, b"Content-Length: %d" % len(content), b"Connection: close"]
    return OK + b"\r\n".join(lines) + b"\r\n\r\n" + content


def redirect(code: int, location: str) -> bytes:
    return (
        f"HTTP/1.1 {code} X\r\nLocation: {location}\r\nSet-Cookie: id=1; Path=/\r\nContent-Length: 0\r\n\r\n".encode()
    )


async def failure(web: Web, path: str = "/", *, max_bytes: int = 1_000_000, timeout: float = 5.0) -> str:
    with pytest.raises(FetchFailed) as caught:
        await web.get(path, max_bytes=max_bytes, timeout=timeout)
    return str(caught.value)


async def test_an_answer_arrives_whole() -> None:
    page = body("<p>é</p>".encode("latin-1"), b"Content-Type: Text/HTML; charset=ISO-8859-1")
    async with web({"/a?b=c%20d": page}) as public:
        answer = await public.get("/a?b=c d#e")
    assert answer == Fetched(
        "http://example.com/a?b=c%20d", 200, "text/html", "ISO-8859-1", b"<p>\xe9</p>", truncated=False
    )
    assert public.dial.peers == [("93.184.216.34", 80)]


@pytest.mark.parametrize("status", [204, 304, 400, 401, 404, 500, 503])
async def test_any_status_is_an_answer(status: int) -> None:
    async with web({"/": b"HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n" % status}) as public:
        assert (await public.get()).status == status


async def test_without_a_type_nothing_is_claimed() -> None:
    async with web({"/": body(b"x")}) as public:
        answer = await public.get()
    assert (answer.content_type, answer.charset) == ("", None)


async def test_nothing_of_ours_is_sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text("machine example.com login us password hush\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    way = {"/": redirect(302, "/next"), "/next": redirect(307, "http://other.example.com/end"), "/end": body(b"end")}
    async with web(way) as public:
        assert (await public.get()).url == "http://other.example.com/end"
    sent = [line.split(b":")[0] for head in public.server.requests for line in head.split(b"\r\n")[1:] if line]
    assert set(sent) == {b"Host", b"User-Agent", b"Accept", b"Accept-Encoding", b"Connection"}
    assert public.server.requests[0].startswith(b"GET / HTTP/1.1\r\n")


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_three_redirects_are_followed_each_with_one_lookup(code: int) -> None:
    way = {f"/{step}": redirect(code, f"/{step + 1}") for step in range(3)} | {"/3": body(b"here")}
    async with web(way) as public:
        answer = await public.get("/0")
    assert (answer.body, answer.url) == (b"here", "http://example.com/3")
    assert public.looked_up == ["example.com"] * 4
    assert all(head.startswith(b"GET ") for head in public.server.requests)


async def test_four_redirects_are_too_many() -> None:
    async with web({"/": redirect(302, "/")}) as public:
        assert "more than 3 times" in await failure(public)
    assert len(public.server.requests) == 4


@pytest.mark.parametrize("head", [b"HTTP/1.1 300 X\r\nLocation: /a\r\n", b"HTTP/1.1 302 X\r\n"])
async def test_what_leads_nowhere_is_the_answer(head: bytes) -> None:
    async with web({"/": head + b"Content-Length: 0\r\n\r\n"}) as public:
        assert (await public.get()).status in {300, 302}


async def test_a_redirect_may_be_written_in_raw_utf_8() -> None:
    async with web({"/": redirect(302, "/ä ö"), "/%C3%A4%20%C3%B6": body(b"found")}) as public:
        assert (await public.get()).body == b"found"


async def test_https_is_checked_by_the_name_that_was_asked_for(tmp_path: Path) -> None:
    async with web({"/": body(b"safe")}, https=tmp_path) as public:
        assert (await public.fetcher.fetch("https://example.com/")).body == b"safe"
        for url in ("https://other.example.com/", "https://93.184.216.34/"):
            with pytest.raises(FetchFailed, match="certificate"):
                await public.fetcher.fetch(url)
        distrusting = GuardedFetcher(rules=read_rules(), resolve=public._resolve, dial=public.dial)
        with pytest.raises(FetchFailed, match="certificate"):
            await distrusting.fetch("https://example.com/")
    assert len(public.server.requests) == 1


async def test_https_never_leads_to_http(tmp_path: Path) -> None:
    async with web({"/": redirect(301, "http://example.com/"), "/up": redirect(301, "/")}, https=tmp_path) as public:
        for path in ("/", "/up"):
            with pytest.raises(FetchRefused, match="from https to http"):
                await public.fetcher.fetch(f"https://example.com{path}")
    assert {port for _, port in public.dial.peers} == {443}


async def test_more_than_was_asked_for_is_cut() -> None:
    async with web({"/": body(b"x" * 1000)}) as public:
        exact, cut = await public.get(max_bytes=1000), await public.get(max_bytes=999)
    assert (len(exact.body), exact.truncated) == (1000, False)
    assert (len(cut.body), cut.truncated) == (999, True)


async def test_an_endless_body_is_cut() -> None:
    async with web({"/": OK + b"\r\n" + b"x" * 200_000}, open_ended=["/"]) as public:
        answer = await public.get(max_bytes=100_000)
    assert (len(answer.body), answer.truncated) == (100_000, True)


def packed(content: bytes, wbits: int) -> bytes:
    packer = zlib.compressobj(9, wbits=wbits)
    return packer.compress(content) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "wbits"), [("gzip", 31), ("x-gzip", 31), ("GZIP", 31), ("deflate", 15), ("deflate", -15)]
)
async def test_packed_answers_are_unpacked(encoding: str, wbits: int) -> None:
    content = bytes(range(256)) * 100
    async with web({"/": body(packed(content, wbits), b"Content-Encoding: " + encoding.encode())}) as public:
        assert (await public.get()).body == content
        cut = await public.get(max_bytes=1000)
    assert (cut.body, cut.truncated) == (content[:1000], True)


async def test_identity_is_no_packing() -> None:
    async with web({"/": body(b"x", b"Content-Encoding: identity")}) as public:
        assert (await public.get()).body == b"x"


@pytest.mark.parametrize(
    "encoding", ["br", "zstd", "compress", "gzip, gzip", "gzip, identity", "identity, gzip", "nonsense"]
)
async def test_other_packings_fail(encoding: str) -> None:
    async with web({"/": body(gzip.compress(b"x", mtime=0), b"Content-Encoding: " + encoding.encode())}) as public:
        assert "not requested" in await failure(public)


@pytest.mark.parametrize(("encoding", "wbits"), [("gzip", 31), ("deflate", 15), ("deflate", -15)])
async def test_a_bomb_fails_before_it_is_large(encoding: str, wbits: int) -> None:
    bomb = body(packed(bytes(100_000_000), wbits), b"Content-Encoding: " + encoding.encode())
    assert len(bomb) < 200_000
    async with web({"/": bomb}) as public:
        assert "more than 20 times" in await failure(public, max_bytes=2**40)
        small = await public.get(max_bytes=10_000)
    assert (small.body, small.truncated) == (bytes(10_000), True)


async def test_whatever_is_asked_for_fifty_megabytes_are_the_end() -> None:
    chance = Random(1)
    content = b"".join(chance.randbytes(1000) + bytes(9000) for _ in range(5100))
    packing = zlib.compress(content, 1)
    assert len(packing) * 20 > len(content) > 50_000_000
    async with web({"/": body(packing, b"Content-Encoding: deflate")}) as public:
        answer = await public.get(max_bytes=2**40)
    assert (len(answer.body), answer.truncated) == (50_000_000, True)


async def test_blanks_may_shrink_well_in_small_pages() -> None:
    async with web({"/": body(gzip.compress(b" " * 60_000, mtime=0), b"Content-Encoding: gzip")}) as public:
        assert len((await public.get()).body) == 60_000


async def test_a_stream_that_unpacks_to_nothing_ends() -> None:
    empty_blocks = b"\x00\x00\x00\xff\xff" * 100_000
    stream = b"\x78\x9c" + empty_blocks
    async with web({"/": body(stream, b"Content-Encoding: deflate")}) as public:
        assert "larger than the limit for its content" in await failure(public, max_bytes=1000)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 2",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 999999 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * 1000 + b"\r\n",
        b"HTTP/1.1 200 " + b"a" * 100_000 + b"\r\n\r\n",
        OK + b"Content-Length: nine\r\n\r\n",
        OK + b"Content-Length: 9\r\n\r\nabc",
        OK + b"Content-Length: -9\r\n\r\nabc",
        OK + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab",
        OK + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nab",
        OK + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
        OK
        + b"Content-Encoding: gzip\r\nContent-Length: 30\r\n\r\n"
        + gzip.compress(b"x" * 1000 + bytes(range(99)), mtime=0)[:30],
        OK + b"Content-Encoding: deflate\r\nContent-Length: 4\r\n\r\n\xff\xff\xff\xff",
        b"HTTP/1.1 302 X\r\nLocation: http://[::1\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ],
)
async def test_broken_answers_fail(answer: bytes) -> None:
    async with web({"/": answer}) as public:
        assert await failure(public)


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nX: a\r\n",
        OK + b"Content-Length: 10\r\n\r\nabc",
        OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
    ],
)
async def test_silence_ends_at_the_deadline(start: bytes) -> None:
    async with web({"/": start}, open_ended=["/"]) as public:
        assert "within 0.1 seconds" in await failure(public, timeout=0.1)


async def drip(piece: bytes, start: bytes, timeout: float = 0.3) -> str:
    """Return the error of a fetch whose answer continues forever in small pieces."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(start)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.001)

    async with listening(talk) as port:
        return await failure(Web(server=Server(answers={}), port=port), timeout=timeout)


@pytest.mark.parametrize(
    ("piece", "start"),
    [
        (b"x", OK + b"\r\n"),
        (b"1\r\nx\r\n", OK + b"Transfer-Encoding: chunked\r\n\r\n"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", b""),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", b""),
    ],
)
async def test_a_drip_ends_at_the_deadline(piece: bytes, start: bytes) -> None:
    assert "within 0.3 seconds" in await drip(piece, start)


async def test_headers_without_end_fail() -> None:
    assert "No answer came" in await drip(b"X: " + b"a" * 1000 + b"\r\n", OK, timeout=60)
    assert "No answer came" in await drip(b"a" * 1000, OK + b"X: ", timeout=60)


async def test_a_lookup_that_hangs_ends_at_the_deadline() -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        await asyncio.Event().wait()
        return []

    fetcher = GuardedFetcher(rules=read_rules(), resolve=resolve)
    with pytest.raises(FetchFailed, match=r"within 0\.05 seconds"):
        async with asyncio.timeout(30):
            await fetcher.fetch("http://example.com/", timeout=0.05)


async def test_a_name_that_nobody_knows_is_a_failure() -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        raise OSError("no such name")

    with pytest.raises(FetchFailed, match=r"example\.com has no address in DNS"):
        await GuardedFetcher(rules=read_rules(), resolve=resolve).fetch("http://example.com/")


async def test_errors_hold_no_secret() -> None:
    async with web({"/?key=hush": b"nonsense\r\n\r\n", "/hush": redirect(302, "http://[hush")}) as public:
        for path in ("/?key=hush", "/hush"):
            assert "hush" not in await failure(public, path)


async def test_the_machine_s_own_resolver_finds_excepted_hosts() -> None:
    server = Server(answers={"/": body(b"inside")})
    async with listening(server.talk) as port, open_fetcher(allow=[f"localhost:{port}"]) as fetcher:
        assert (await fetcher.fetch(f"http://localhost:{port}/")).body == b"inside"
        with pytest.raises(FetchRefused):
            await fetcher.fetch(f"http://127.0.0.1:{port}/")


async def test_an_excepted_host_may_redirect_only_to_what_is_allowed() -> None:
    server = Server(answers={"/": redirect(302, "http://127.0.0.1/")})
    async with listening(server.talk) as port, open_fetcher(allow=[f"127.0.0.1:{port}"]) as fetcher:
        with pytest.raises(FetchRefused):
            await fetcher.fetch(f"http://127.0.0.1:{port}/")


async def test_headers_go_to_the_host_that_was_named_and_to_no_other() -> None:
    away = b"HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n"
    answers = {"/": away % b"/here", "/here": away % b"http://other.example/there", "/there": body(b"x")}
    async with web(answers) as site:
        headers = {"authorization": "Bearer key", "accept": "application/json", "Accept-Encoding": "br"}
        await site.fetcher.fetch("http://example.com/", headers=headers)
        first, second, third = (request.decode().lower() for request in site.server.requests)
    for request in (first, second):
        assert "authorization: bearer key\r\n" in request
        assert request.count("accept: ") == 1
        assert "accept: application/json\r\n" in request
        assert "accept-encoding: br\r\n" not in request
    assert "authorization" not in third
    assert "application/json\r\n" not in third
