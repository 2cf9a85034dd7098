"""A Bot API server on the loopback interface, written from https://core.telegram.org/bots/api.

It runs in the test's event loop and outlives the connectors that use it: updates stay until they are confirmed. It can
refuse requests, cut connections before or after their effect, and repeat updates.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tests.platforms.faults.wire import TelegramDialect, Wire
from tests.platforms.telegram_server_methods import Methods
from tests.platforms.telegram_server_state import ApiError, Bot, Json, World

#: Methods that send something to a chat.
SENDS = {
    *("sendmessage", "sendrichmessage", "sendphoto", "senddocument", "sendvoice", "sendaudio", "sendvideo"),
    *("editmessagetext", "editmessagemedia"),
}


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a bot. `at` is `time.monotonic()`."""

    at: float
    method: str
    parameters: Json


@dataclass
class _Fault:
    """The fate of the next `count` sends, to any chat or to `chat`: refused with `error`, or cut off."""

    count: int
    error: ApiError | None = None
    after: bool = False
    chat: int | None = None


class TelegramServer:
    """`lag` returns the seconds between the effect of a send and its answer."""

    def __init__(self) -> None:
        self.world = World()
        self.methods = Methods(world=self.world)
        self.requests: list[Request] = []
        self.url = ""
        self.wire = Wire(TelegramDialect())
        self.lag: Callable[[], float] = lambda: 0.0
        self._faults: list[_Fault] = []
        self._open: set[asyncio.BaseTransport] = set()
        self._answered = asyncio.Event()

    @property
    def sends(self) -> list[Request]:
        return [request for request in self.requests if request.method in SENDS]

    @property
    def counts(self) -> Counter[str]:
        return Counter(request.method for request in self.requests)

    def refuse_sends(self, count: int, error: ApiError, *, chat: int | None = None) -> None:
        """Refuse the next sends with this error, without an effect."""
        self._faults = [_Fault(count, error, chat=chat)]

    def reset_sends(self, count: int, *, after: bool) -> None:
        self._faults = [_Fault(count, after=after)]

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until the condition is true. It is checked after each request."""
        async with asyncio.timeout(20):
            while not true():
                self._answered.clear()
                await self._answered.wait()

    def drop_connections(self) -> None:
        for transport in self._open:
            transport.abort()  # type: ignore[attr-defined]
        self._open.clear()

    def application(self) -> web.Application:
        app = web.Application(client_max_size=64 * 1024 * 1024, middlewares=[self.wire.middleware])
        app.router.add_route("*", "/bot{token}/{method}", self._answer)
        app.router.add_get("/file/bot{token}/{path:.*}", self._file)
        return app

    async def _answer(self, http: web.Request) -> web.Response:
        assert http.transport is not None
        self._open.add(http.transport)
        parameters = await _parameters(http)
        method = http.match_info["method"].lower()
        self.requests.append(Request(time.monotonic(), method, parameters))
        fault = self._fault(method, parameters)
        try:
            bot = self._bot(http.match_info["token"])
            if fault is not None and fault.error is not None:
                raise fault.error
            if fault is not None and not fault.after:
                return _cut(http)
            result = await self.methods.call(bot, method, parameters)
            self._answered.set()
            await asyncio.sleep(self.lag() if method in SENDS else 0)
        except ApiError as error:
            return web.json_response(error.document, status=error.code)
        if fault is not None:
            return _cut(http)
        return web.json_response({"ok": True, "result": _public(result)})

    async def _file(self, http: web.Request) -> web.Response:
        self._bot(http.match_info["token"])
        for file in self.world.files.values():
            if file.path == http.match_info["path"]:
                return web.Response(body=file.data)
        return web.json_response(ApiError(404, "Not Found").document, status=404)

    def _bot(self, token: str) -> Bot:
        number, colon, _ = token.partition(":")
        if not colon or not number.isdigit():
            raise ApiError(404, "Not Found")
        if token not in self.world.bots:
            raise ApiError(401, "Unauthorized")
        return self.world.bots[token]

    def _fault(self, method: str, parameters: Json) -> _Fault | None:
        for fault in self._faults:
            if method in SENDS and fault.count > 0 and fault.chat in {None, int(parameters.get("chat_id", 0))}:
                fault.count -= 1
                return fault
        return None


@asynccontextmanager
async def telegram_server() -> AsyncIterator[TelegramServer]:
    server = TelegramServer()
    runner = web.AppRunner(server.application(), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield server
    finally:
        server.drop_connections()
        await runner.cleanup()


async def _parameters(http: web.Request) -> Json:
    """Return the parameters of a query, a form, a form with files, or JSON. Objects inside forms are JSON."""
    if http.content_type == "application/json":
        return dict(http.query) | dict(await http.json())
    parameters: Json = dict(http.query)
    for name, value in (await http.post()).items():
        if isinstance(value, web.FileField):
            parameters[name] = (value.filename, value.file.read())
        else:
            parameters[name] = _value(str(value))
    return parameters


def _value(text: str) -> Any:
    if text[:1] not in {"[", "{"}:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _public(result: Any) -> Any:
    return {key: value for key, value in result.items() if key != "own"} if isinstance(result, dict) else result


def _cut(http: web.Request) -> web.Response:
    assert http.transport is not None
    http.transport.abort()
    return web.Response()
