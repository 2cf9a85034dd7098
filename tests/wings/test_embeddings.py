"""Vectors from the servers of each vendor: requests as they are sent, answers, and failures."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from arvis.app.providers import ProviderPool, open_providers
from arvis.domain.embeddings import EmbeddingRequest, EmbeddingResult, Purpose
from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import Account, CallTimeouts
from arvis.ports.provider import EmbeddingProvider
from arvis.process.clock import SystemClock
from arvis.testing.openai_server import Failure, OpenAIServer, Raw
from tests.fixtures.embedding_server import SIZE, embedding_server, vector_of

REQUEST = EmbeddingRequest(("a car", "ein Wagen"), "embed-1", None, Purpose.QUERY)


@pytest.fixture
async def providers(tmp_path: Path) -> AsyncIterator[ProviderPool]:
    async with open_providers(clock=SystemClock(), timeouts=CallTimeouts(60, 60), folder=tmp_path) as pool:
        yield pool


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with embedding_server() as server:
        yield server


async def embed(
    providers: ProviderPool, server: OpenAIServer, vendor: str, request: EmbeddingRequest = REQUEST
) -> EmbeddingResult:
    provider = await providers.get(vendor)
    assert isinstance(provider, EmbeddingProvider)
    return await provider.embed(request, Account("main", vendor, "chat", "sk-secret-key-1234567890", server.base_url))


@pytest.mark.parametrize("dimensions", [None, 64])
@pytest.mark.parametrize("vendor", ["openai", "openrouter", "custom", "ollama", "google"])
async def test_each_vendor_returns_the_vectors_in_the_order_of_the_texts(
    providers: ProviderPool, server: OpenAIServer, vendor: str, dimensions: int | None
) -> None:
    found = await embed(providers, server, vendor, replace(REQUEST, dimensions=dimensions))
    size = dimensions or SIZE
    assert [[number * 16 for number in vector] for vector in found.vectors] == [
        vector_of(text)[:size] for text in REQUEST.texts
    ]
    assert found.input_tokens == (None if vendor == "google" else 4)


async def test_requests_as_they_are_sent(providers: ProviderPool, server: OpenAIServer) -> None:
    for vendor in ("custom", "ollama", "google"):
        await embed(providers, server, vendor, replace(REQUEST, dimensions=64))
    assert [request.path for request in server.requests] == [
        "/embeddings",
        "/api/embed",
        "/models/embed-1:batchEmbedContents",
    ]
    plain = {"model": "embed-1", "input": ["a car", "ein Wagen"], "dimensions": 64}
    assert [request.document for request in server.requests[:2]] == [plain, plain]
    assert server.requests[2].document["requests"][1] == {
        "model": "models/embed-1",
        "content": {"parts": [{"text": "ein Wagen"}]},
        "taskType": "RETRIEVAL_QUERY",
        "outputDimensionality": 64,
    }


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (401, "invalid_api_key", ProviderErrorKind.AUTH),
        (429, "rate_limit_exceeded", ProviderErrorKind.RATE_LIMIT),
        (400, "context_length_exceeded", ProviderErrorKind.TOO_LONG),
        (500, None, ProviderErrorKind.OVERLOADED),
    ],
)
async def test_failures_have_the_kinds_of_model_calls(
    providers: ProviderPool, server: OpenAIServer, status: int, code: str | None, kind: ProviderErrorKind
) -> None:
    server.script.append(Failure(status, code, "no: sk-secret-key-1234567890"))
    with pytest.raises(ProviderError) as caught:
        await embed(providers, server, "openai")
    assert caught.value.kind is kind
    assert "secret" not in caught.value.what


ONE = [0.5] * 8


@pytest.mark.parametrize("vendor", ["openai", "google"])
@pytest.mark.parametrize(
    "vectors",
    [
        [ONE],
        [ONE, ONE[:-1]],
        [ONE, [*ONE, "1"]],
        [ONE, [1.0]],
        [ONE, [float("nan")] * 8],
        [ONE, [10**400] * 8],
        [ONE, None],
        "x",
    ],
)
async def test_unreadable_answers_are_temporary_failures(
    providers: ProviderPool, server: OpenAIServer, vendor: str, vectors: object
) -> None:
    if isinstance(vectors, list):
        name = "embedding" if vendor == "openai" else "values"
        vectors = [{name: vector} for vector in vectors]
    document = {"data" if vendor == "openai" else "embeddings": vectors}
    server.script.append(Raw((json.dumps(document).encode(),)))
    with pytest.raises(ProviderError, match="unreadable") as caught:
        await embed(providers, server, vendor)
    assert caught.value.kind is ProviderErrorKind.OVERLOADED
