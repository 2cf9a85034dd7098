"""The common parts of the scenes of HTTP providers: a provider, a scripted server, and calls with and without
streaming."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from arvis.domain.errors import ProviderError
from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.ports.provider import StreamingProvider
from arvis.testing.openai_server import Behaviour, Hang, OpenAIServer


class HttpScene:
    """A provider and its server. `request` is the request of each call unless the test changes it."""

    def __init__(
        self, *, server: OpenAIServer, provider: StreamingProvider, account: Account, request: RunRequest
    ) -> None:
        self.server = server
        self.provider = provider
        self.account = account
        self.request = request

    def then(self, behaviour: Behaviour) -> RunRequest:
        self.server.script.append(behaviour)
        return self.request

    def hang(self) -> RunRequest:
        return self.then(Hang())

    async def called(self) -> None:
        await self.server.arrived.wait()

    async def complete(self, behaviour: Behaviour, **changes: Any) -> RunResult:
        return await self.provider.complete(replace(self.then(behaviour), **changes), self.account)

    async def stream(self, behaviour: Behaviour, **changes: Any) -> tuple[RunResult, list[str]]:
        pieces: list[str] = []
        request = replace(self.then(behaviour), **changes)
        return await self.provider.stream(request, self.account, pieces.append), pieces

    async def failure(self, behaviour: Behaviour) -> ProviderError:
        """Return the error of the call, which must be of the same kind with and without streaming."""
        with pytest.raises(ProviderError) as whole:
            await self.complete(behaviour)
        streamed = await self.stream_failure(behaviour)
        assert whole.value.kind is streamed.kind
        return streamed

    async def stream_failure(self, behaviour: Behaviour) -> ProviderError:
        with pytest.raises(ProviderError) as caught:
            await self.stream(behaviour)
        return caught.value
