"""The provider of the `claude` program with the real program and an emulated server of its vendor.

Both come from npm (`@anthropic-ai/claude-code`, `@copilotkit/aimock`). CI does not run these tests: the program is
large and proprietary.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.errors import ProviderError
from arvis.domain.runs import Account, CallTimeouts, RunRequest, Turn
from arvis.net.client import open_http_client
from arvis.process.subprocesses import GuardedPrograms
from arvis.providers.claude_cli import ClaudeCliProvider, create
from arvis.testing.clock import SteppedClock
from arvis.testing.providers import provider_services
from tests.parts import find, refused

FAILURES = {
    "auth": (401, "authentication_error", "invalid x-api-key"),
    "rate_limit": (429, "rate_limit_error", "Number of requests exceeded your rate limit"),
    "overloaded": (529, "overloaded_error", "Overloaded"),
    "too_long": (400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"),
    "quota": (400, "invalid_request_error", "Your credit balance is too low to access the API."),
    "bad_request": (400, "invalid_request_error", "messages: something is wrong"),
}


@asynccontextmanager
async def vendor(folder: Path) -> AsyncIterator[str]:
    """Run a server that answers `say` or fails as the text asks, and yield its address."""
    server = find("llmock")
    if server is None or find("claude") is None:
        refused("needs the programs claude and llmock (npm: @anthropic-ai/claude-code and @copilotkit/aimock)")
    fixtures: list[dict[str, Any]] = [{"match": {"userMessage": "say"}, "response": {"content": "The mock answers."}}]
    for word, (status, type_, text) in FAILURES.items():
        response = {"error": {"message": text, "type": type_}, "status": status}
        fixtures.append({"match": {"userMessage": f"fail {word}"}, "response": response})
    _write(folder / "fixtures.json", json.dumps({"fixtures": fixtures}))
    port = _free_port()
    process = await asyncio.create_subprocess_exec(
        "node",
        str(server),
        *("-p", str(port), "-f", str(folder), "--strict"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(20):
            while b"listening" not in await process.stdout.readline():
                pass
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        await process.communicate()


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@asynccontextmanager
async def scene(tmp_path: Path) -> AsyncIterator[tuple[ClaudeCliProvider, Account]]:
    async with vendor(tmp_path / "fixtures") as url, open_http_client() as http:
        services = provider_services(
            http,
            SteppedClock(),
            timeouts=CallTimeouts(total=60.0),
            programs=GuardedPrograms(),
            folder=tmp_path,
            environ={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        )
        yield (
            create("claude_cli", services),
            Account("main", "claude_cli", "claude-sonnet-4-6", api_key="dummy-0123456789", base_url=url),
        )


def asks(text: str) -> RunRequest:
    return RunRequest("Be short.", (Turn("user", text),), None, "Helper", conversation="one")


async def test_it_answers_and_streams(tmp_path: Path) -> None:
    async with scene(tmp_path) as (provider, account):
        pieces: list[str] = []
        for result in (
            await provider.complete(asks("say"), account),
            await provider.stream(asks("say"), account, pieces.append),
        ):
            assert (result.content, result.model) == ("The mock answers.", "claude-sonnet-4-6")
        assert "".join(pieces) == "The mock answers."


async def test_its_failures_have_their_kinds(tmp_path: Path) -> None:
    async with scene(tmp_path) as (provider, account):
        for kind in FAILURES:
            with pytest.raises(ProviderError) as caught:
                await provider.complete(asks(f"fail {kind}"), account)
            assert caught.value.kind == kind


async def test_it_is_not_logged_in_without_a_key(tmp_path: Path) -> None:
    async with scene(tmp_path) as (provider, account):
        with pytest.raises(ProviderError) as caught:
            await provider.complete(asks("say"), replace(account, api_key=None))
        assert caught.value.kind == "auth"


async def test_it_reads_no_file_that_a_message_names(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    _write(secret, "canary")
    async with scene(tmp_path) as (provider, account), open_http_client() as http:
        for text in (f"say @{secret}", f'say\n@"{secret}" @{tmp_path}'):
            await provider.complete(asks(text), account)
        journal = f"{account.base_url}/__aimock/journal"
        async with http.get(journal, headers={}, timeout=5, idle_timeout=5, max_bytes=1 << 24) as answer:
            seen = await answer.body()
    assert b"secret.txt" in seen
    assert b"canary" not in seen
