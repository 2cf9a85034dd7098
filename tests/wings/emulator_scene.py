"""The providers against an independent server: an emulator of the vendors' formats from npm.

The emulator runs on a free port and answers by `tests/fixtures/emulator/script.json`: the text of the user message
chooses the answer.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.errors import ProviderError
from arvis.domain.runs import Account, CallTimeouts, RunRequest, RunResult, Turn
from arvis.net.client import open_http_client
from arvis.ports.http import HttpClient, HttpResponse
from arvis.ports.provider import StreamingProvider
from arvis.providers import anthropic, google, ollama, openai
from arvis.testing.clock import SteppedClock
from arvis.testing.openai_server import model_server
from arvis.testing.providers import provider_services
from tests.parts import require
from tests.wings.ollama_scene import shows

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "emulator"
PROGRAM = FOLDER / "node_modules" / ".bin" / "llmock"
KEY = "no-usual-shape-0123456789"
REQUEST = RunRequest(system="Be short.", turns=(), model=None, agent_name="Helper")
_READY = "listening on "


@dataclass(frozen=True, slots=True)
class Vendor:
    """A provider that the emulator can answer."""

    create: Callable[..., Any]
    model: str
    #: The end of the account's address, as in the vendor's own address.
    path: str = ""
    #: The name of the provider, if it is not the name of the vendor here; and the account's API.
    provider: str = ""
    api: str | None = None


VENDORS: Mapping[str, Vendor] = {
    "anthropic": Vendor(anthropic.create, "claude-haiku-4-5"),
    "google": Vendor(google.create, "gemini-2.0-flash", "/v1beta"),
    "ollama": Vendor(ollama.create, "llama3.2"),
    "openai": Vendor(openai.create, "gpt-4o-mini", "/v1"),
    "responses": Vendor(openai.create, "gpt-4o-mini", "/v1", "openai", "responses"),
}


@contextmanager
def running_emulator() -> Iterator[str]:
    """Start the emulator and yield its address. Skip the test if Node or the package is missing."""
    node = require("node", "install Node 20.15 or newer")
    program = require(os.path.relpath(PROGRAM), "run `npm ci --prefix tests/fixtures/emulator`")
    command: list[str | Path] = [
        node,
        program,
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--fixtures",
        FOLDER / "script.json",
        "--strict",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield _address(process)
        finally:
            process.terminate()


def _address(process: subprocess.Popen[str]) -> str:
    """Wait until the emulator prints its address, and return it."""
    said: list[str] = []
    for line in process.stdout or ():
        said.append(line)
        _, found, address = line.partition(_READY)
        if found:
            return address.strip()
    raise AssertionError(f"the emulator did not start: {''.join(said)}")


class Detour:
    """An `HttpClient` that sends `/api/show` of Ollama to another server, because the emulator does not have it."""

    def __init__(self, *, http: HttpClient, other: str) -> None:
        self._http = http
        self._other = other

    def post(self, url: str, **more: Any) -> AbstractAsyncContextManager[HttpResponse]:
        return self._http.post(f"{self._other}/api/show" if url.endswith("/api/show") else url, **more)

    def post_form(self, url: str, **more: Any) -> AbstractAsyncContextManager[HttpResponse]:
        return self._http.post_form(url, **more)

    def get(self, url: str, **more: Any) -> AbstractAsyncContextManager[HttpResponse]:
        return self._http.get(url, **more)


class Scene:
    """A provider and its account at the emulator."""

    def __init__(self, provider: StreamingProvider, account: Account) -> None:
        self.provider = provider
        self.account = account
        self.pieces: list[str] = []

    async def ask(self, *turns: Turn, stream: bool, **changes: Any) -> RunResult:
        request = replace(REQUEST, turns=turns, **changes)
        if stream:
            self.pieces.clear()
            return await self.provider.stream(request, self.account, self.pieces.append)
        return await self.provider.complete(request, self.account)

    async def failure(self, text: str, *, stream: bool) -> ProviderError:
        with pytest.raises(ProviderError) as caught:
            await self.ask(Turn("user", text), stream=stream)
        return caught.value


@asynccontextmanager
async def open_scene(name: str, address: str) -> AsyncIterator[Scene]:
    vendor = VENDORS[name]
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(open_http_client())
        other = await stack.enter_async_context(model_server("/api/{method}", default=shows(8_192)))
        detour = Detour(http=http, other=other.base_url)
        provider = vendor.create(
            vendor.provider or name, provider_services(detour, SteppedClock(), timeouts=CallTimeouts(20.0, 10.0))
        )
        if isinstance(provider, anthropic.AnthropicProvider):
            stack.push_async_callback(provider.aclose)
        base = f"{address}{vendor.path}"
        account = Account("main", provider.name, vendor.model, api_key=KEY, base_url=base, api=vendor.api)
        yield Scene(provider, account)
