"""The shared HTTP client against real sockets: limits, timeouts, hostile answers, and forbidden requests."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
from aiohttp import web

from arvis.net.client import AiohttpClient, open_http_client
from arvis.ports.http import HttpError
from tests.wings.listening import listening

OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
Handler = Callable[[web.Request], Coroutine[Any, Any, web.StreamResponse]]


@asynccontextmanager
async def served(handler: Handler) -> AsyncIterator[str]:
    """Run a web server on a free port and yield its address."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def raw(answer: bytes, *, close: bool = True) -> AsyncIterator[str]:
    """Run a server that reads one request and sends these bytes; yield its address."""
    done = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"}")
        writer.write(answer)
        if not close:
            await done.wait()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        done.set()
        server.close()
        await server.wait_closed()


async def post(
    http: AiohttpClient, url: str, *, max_bytes: int = 1000, timeout: float = 5.0, idle: float = 5.0, key: str = "k"
) -> tuple[int, bytes]:
    headers = {"Authorization": f"Bearer {key}"}
    async with http.post(
        url, headers=headers, json={"a": "é"}, timeout=timeout, idle_timeout=idle, max_bytes=max_bytes
    ) as response:
        return response.status, await response.body()


async def test_the_document_and_headers_arrive() -> None:
    seen: list[tuple[str, str, bytes]] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append((request.headers["Authorization"], request.headers["Content-Type"], await request.read()))
        return web.Response(status=201, body=b"made", headers={"X-Thing": "1"})

    async with served(handler) as url, open_http_client() as http:
        headers = {"Authorization": "Bearer k"}
        async with http.post(
            url, headers=headers, json={"a": "é"}, timeout=5, idle_timeout=5, max_bytes=10
        ) as response:
            assert (response.status, await response.body()) == (201, b"made")
            assert response.headers["x-thing"] == "1"
    assert seen == [("Bearer k", "application/json", '{"a":"é"}'.encode())]


async def test_a_lone_surrogate_does_not_stop_a_request() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=await request.read())

    async with (
        served(handler) as url,
        open_http_client() as http,
        http.post(url, headers={}, json={"a": "\ud800"}, timeout=5, idle_timeout=5, max_bytes=100) as response,
    ):
        assert await response.body() == b'{"a":"?"}'


async def test_connections_are_kept() -> None:
    ports = set()

    async def handler(request: web.Request) -> web.Response:
        assert request.transport is not None
        ports.add(request.transport.get_extra_info("peername")[1])
        return web.Response(body=b"x")

    async with served(handler) as url, open_http_client() as http:
        for _ in range(5):
            await post(http, url)
    assert len(ports) == 1


async def test_no_cookies_and_no_redirects() -> None:
    seen: list[str | None] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Cookie"))
        return web.Response(status=307, headers={"Location": "/elsewhere", "Set-Cookie": "id=1; Path=/"})

    async with served(handler) as address, open_http_client() as http:
        url = address.replace("127.0.0.1", "localhost")  # clients keep no cookies of a bare IP address
        assert (await post(http, url))[0] == 307
        assert (await post(http, url))[0] == 307
    assert seen == [None, None]


async def test_the_proxy_of_the_environment_needs_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(text=request.headers["Host"])

    async with served(handler) as proxy, served(handler) as url:
        monkeypatch.setenv("HTTP_PROXY", proxy)
        monkeypatch.setenv("http_proxy", proxy)
        monkeypatch.setenv("NO_PROXY", "")
        monkeypatch.setenv("no_proxy", "")
        async with open_http_client() as http:
            assert (await post(http, url))[1].decode() in url
        async with open_http_client(trust_env=True) as http:
            assert (await post(http, "http://unknown.invalid/"))[1] == b"unknown.invalid"


async def test_the_limit_counts_what_arrives() -> None:
    head = OK + b"Content-Length: 1000\r\n\r\n"
    async with raw(head + b"x" * 1000) as url, open_http_client() as http:
        assert (await post(http, url, max_bytes=1000))[1] == b"x" * 1000
        with pytest.raises(HttpError) as caught:
            await post(http, url, max_bytes=999)
    assert caught.value.too_large
    assert not caught.value.timeout


async def test_the_limit_counts_decompressed_bytes() -> None:
    packer = zlib.compressobj(wbits=31)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(200)) + packer.flush()
    assert len(bomb) < 1 << 20
    head = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    async with raw(head + bomb) as url, open_http_client() as http:
        with pytest.raises(HttpError) as caught:
            await post(http, url, max_bytes=1 << 20)
    assert caught.value.too_large


async def test_silence_before_the_headers_is_a_timeout() -> None:
    async with raw(b"", close=False) as url, open_http_client() as http:
        with pytest.raises(HttpError) as caught:
            await post(http, url, timeout=600, idle=0.05)
    assert caught.value.timeout


async def test_silence_inside_the_body_is_a_timeout() -> None:
    async with raw(OK + b"Content-Length: 10\r\n\r\nabc", close=False) as url, open_http_client() as http:
        with pytest.raises(HttpError) as caught:
            await post(http, url, timeout=600, idle=0.05)
    assert caught.value.timeout


async def test_a_drip_ends_at_the_total_timeout() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x")
            await asyncio.sleep(0.01)

    async with served(handler) as url, open_http_client() as http:
        with pytest.raises(HttpError) as caught:
            await post(http, url, timeout=0.1, max_bytes=1_000_000)
    assert caught.value.timeout


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 2",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 999999 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        OK + b"Content-Length: nine\r\n\r\n",
        OK + b"Content-Length: 9\r\n\r\nabc",
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab",
        OK + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
        OK + b"Content-Encoding: deflate\r\nContent-Length: 4\r\n\r\n\xff\xff\xff\xff",
    ],
)
async def test_broken_answers_are_broken_connections(answer: bytes) -> None:
    async with raw(answer) as url, open_http_client() as http:
        with pytest.raises(HttpError) as caught:
            await post(http, url)
    assert not caught.value.timeout
    assert not caught.value.too_large


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/", "not a url", "ftp://x/", "http://", "http://a b/", "http://[::1"]
)
async def test_unreachable_and_impossible_addresses(url: str) -> None:
    async with open_http_client() as http:
        with pytest.raises(HttpError):
            await post(http, url)


async def test_a_server_without_tls_is_not_trusted() -> None:
    async def handler(request: web.Request) -> web.Response:
        raise AssertionError(f"{request.path} must not be asked for")

    async with served(handler) as url, open_http_client() as http:
        with pytest.raises(HttpError, match="TLS"):
            await post(http, url.replace("http://", "https://"))


async def test_errors_hold_no_secret() -> None:
    async with open_http_client() as http:
        async with raw(b"nonsense\r\n\r\n") as url:
            with pytest.raises(HttpError) as caught:
                await post(http, f"{url}/?key=hush")
            assert "hush" not in str(caught.value)
        for url, key in [("http://user:hush@127.0.0.1:1/?key=hush", "hush"), ("http://127.0.0.1:1/hush", "hush\nhush")]:
            with pytest.raises(HttpError) as caught:
                await post(http, url, key=key)
            assert "hush" not in str(caught.value)
            assert caught.value.__suppress_context__


async def test_leaving_early_closes_the_connection() -> None:
    gone = asyncio.Event()

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            await response.write(b"first")
            await asyncio.Event().wait()
        finally:
            gone.set()
        return response

    async with served(handler) as url, open_http_client() as http:
        async with http.post(url, headers={}, json={}, timeout=5, idle_timeout=5, max_bytes=100) as response:
            assert await anext(response.chunks()) == b"first"
        await gone.wait()


async def test_a_document_can_be_asked_for() -> None:
    seen: list[tuple[str, str, str | None]] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append((request.method, request.query_string, request.headers.get("X-Thing")))
        return web.Response(status=203, body=b"found")

    async with served(handler) as url, open_http_client() as http:
        get = partial(http.get, headers={"X-Thing": "1"}, timeout=5, idle_timeout=5)
        async with get(f"{url}/?a=b", max_bytes=5) as response:
            assert (response.status, await response.body()) == (203, b"found")
        async with get(f"{url}/", max_bytes=4) as response:
            with pytest.raises(HttpError) as caught:
                await response.body()
        with pytest.raises(HttpError):
            async with get("http://127.0.0.1:1/", max_bytes=4):
                pass
    assert caught.value.too_large
    assert seen == [("GET", "a=b", "1"), ("GET", "", "1")]


async def test_a_body_that_is_broken_while_nobody_reads_is_an_error() -> None:
    """aiohttp raises another error in this case, which does not mention HTTP."""
    broken = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"}")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\nseven b")
        await broken.wait()
        writer.write(b"ytes and more")

    async with listening(talk) as port, open_http_client() as http:
        url = f"http://127.0.0.1:{port}/"
        async with http.post(url, headers={}, json={}, timeout=5.0, idle_timeout=5.0, max_bytes=1000) as response:
            assert await anext(response.chunks()) == b"seven b"
            broken.set()
            await asyncio.sleep(0.1)
            with pytest.raises(HttpError, match="broke"):
                await anext(response.chunks())
