"""The provider of the `claude` program with a program of the tests that misbehaves on demand."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import Account, CallTimeouts, RunRequest, RunResult, Turn
from arvis.net.client import open_http_client
from arvis.ports.http import HttpClient
from arvis.process.subprocesses import GuardedPrograms
from arvis.providers.claude_cli import ClaudeCliProvider, create
from arvis.testing.clock import SteppedClock
from arvis.testing.providers import provider_services

KINDS = ProviderErrorKind
KEY = "no-usual-shape-0123456789"
REQUEST = RunRequest(
    system="Be short.",
    turns=(Turn("user", "Hello"), Turn("assistant", "Hi"), Turn("user", "How are you?")),
    model="claude-sonnet-4-6",
    agent_name="Helper",
    conversation="01J0CONVERSATION",
)
USAGE = {"input_tokens": 5, "cache_creation_input_tokens": 7, "cache_read_input_tokens": 11, "output_tokens": 13}


def end(text: str, **more: Any) -> dict[str, Any]:
    """Return the last line of a successful answer."""
    good = {"type": "result", "subtype": "success", "is_error": False, "stop_reason": "end_turn", "usage": USAGE}
    return {**good, "result": text, "total_cost_usd": 0.01, **more}


def said(text: str) -> dict[str, Any]:
    return {"type": "assistant", "message": {"model": "claude-sonnet-4-6", "content": [{"type": "text", "text": text}]}}


def piece(text: str) -> dict[str, Any]:
    delta = {"type": "text_delta", "text": text}
    return {"type": "stream_event", "event": {"type": "content_block_delta", "index": 0, "delta": delta}}


def says(text: str, **more: Any) -> dict[str, Any]:
    middle = len(text) // 2
    pieces = [piece(text[:middle]), piece(text[middle:])]
    start = {"type": "system", "subtype": "init", "tools": []}
    return {
        "whole": [start, said(text), end(text, **more)],
        "stream": [start, *pieces, said(text), end(text, **more)],
    }


def fails(words: str, status: int | None = None, **more: Any) -> dict[str, Any]:
    lines = [end(words, is_error=True, api_error_status=status, **more)]
    return {"whole": lines, "stream": lines, "exit": 1}


class Scene:
    """The provider and its program in a folder of their own."""

    def __init__(self, folder: Path, timeouts: CallTimeouts, http: HttpClient) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.home = folder / "home"
        for made in (self.bin, self.home):
            made.mkdir()
        self.environ = {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(self.home), "CLAUDECODE": "1", "TOKEN": "x"}
        services = provider_services(
            http, SteppedClock(), timeouts=timeouts, programs=GuardedPrograms(), folder=folder, environ=self.environ
        )
        self.provider: ClaudeCliProvider = create("claude_cli", services)
        self.account = Account(name="main", provider="claude_cli", model="own-model", api_key=KEY)
        _install(self.bin)

    def then(self, behaviour: Mapping[str, Any]) -> RunRequest:
        (self.bin / "behaviour.json").write_text(json.dumps(behaviour), encoding="utf-8")
        return REQUEST

    def say(self, text: str) -> RunRequest:
        return self.then(says(text))

    def fail(self, kind: ProviderErrorKind) -> RunRequest:
        failures: dict[ProviderErrorKind, dict[str, Any]] = {
            KINDS.AUTH: fails(f"Invalid API key · Fix external API key {KEY}", 401),
            KINDS.QUOTA: fails("Credit balance is too low", 400),
            KINDS.RATE_LIMIT: fails("API Error: Request rejected (429) · Number of requests exceeded", 429),
            KINDS.OVERLOADED: fails("API Error: 529 Overloaded. This is a server-side issue", 529),
            KINDS.TIMEOUT: fails("API Error: Request timed out."),
            KINDS.TOO_LONG: fails("Prompt is too long", 400, terminal_reason="prompt_too_long"),
            KINDS.REFUSED: says("No.", stop_reason="refusal"),
            KINDS.BAD_REQUEST: fails("API Error: 400 messages: wrong", 400),
            KINDS.EMPTY: says(""),
        }
        return self.then(failures[kind])

    def call(self, name: str, arguments: Mapping[str, Any]) -> RunRequest:
        raise NotImplementedError("this program does not support tool calls")

    def hang(self) -> RunRequest:
        return self.then({"hang": True})

    async def called(self) -> None:
        await asyncio.to_thread(_until_there, self.bin / "hangs")

    def calls(self) -> list[dict[str, Any]]:
        """Return the recorded inputs of the program, oldest first."""
        return [json.loads(line) for line in (self.bin / "calls.jsonl").read_text(encoding="utf-8").splitlines()]

    async def complete(self, behaviour: Mapping[str, Any]) -> RunResult:
        return await self.provider.complete(self.then(behaviour), self.account)

    async def failure(self, behaviour: Mapping[str, Any]) -> ProviderError:
        with pytest.raises(ProviderError) as caught:
            await self.complete(behaviour)
        return caught.value


def _install(folder: Path) -> None:
    program = folder / "claude"
    source = Path(__file__).with_name("claude_program.py").read_text(encoding="utf-8")
    program.write_text(f"#!{sys.executable} -IS\n{source}", encoding="utf-8")
    program.chmod(0o700)


def _until_there(file: Path) -> None:
    deadline = time.monotonic() + 20
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@asynccontextmanager
async def open_scene(timeouts: CallTimeouts | None = None) -> AsyncIterator[Scene]:
    with tempfile.TemporaryDirectory() as folder:
        async with open_http_client() as http:
            yield Scene(Path(folder), timeouts or CallTimeouts(total=30.0), http)
