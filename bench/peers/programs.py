"""The programs that are compared: how each one is found, configured and started, and how a person chats with it."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import aiohttp
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from bench.bare_install import settings_without_extras
from bench.people import Endpoint, Exchange, person
from bench.servers import PLAIN
from tests.crash.daemon import free_port
from tests.environment import daemon_environment

#: The variables of our environment that a peer receives. A folder of tokenizer files in `TIKTOKEN_CACHE_DIR` spares it
#: a download.
_KEPT = ("PATH", "LANG", "TMPDIR", "TIKTOKEN_CACHE_DIR")


class Chat(Protocol):
    """One conversation with a program."""

    async def ask(self, text: str) -> Exchange:
        """Send a message and wait for the answer. Return when the program takes the next message as a new turn."""
        ...


@dataclass(frozen=True, slots=True)
class Launch:
    """The command that runs a program in the foreground, and its whole environment."""

    command: Sequence[str]
    environment: Mapping[str, str]


class Program(Protocol):
    """A program that answers messages with a model of the OpenAI type. It keeps its files in `folder`, and listens on
    127.0.0.1 only."""

    @property
    def name(self) -> str: ...

    @property
    def folder(self) -> Path: ...

    def launch(self, model_url: str) -> Launch:
        """Write the configuration into the empty folder, and return the way to start the program."""
        ...

    def chat(self) -> AbstractAsyncContextManager[Chat]:
        """Open a new conversation. An exception of `NOT_READY` means that the program is not ready yet."""
        ...


#: A connection is refused or a file of the start is missing; or the program refuses the handshake or ends the connection.
NOT_READY = (OSError, aiohttp.ClientError, InvalidHandshake, ConnectionClosed)


@dataclass(frozen=True, slots=True)
class Peer:
    """A program of other people: its name, its command, and the package that contains it."""

    name: str
    command: str
    package: str
    #: Return the program with this path of its command and this folder.
    program: Callable[[str, Path], Program]

    @property
    def variable(self) -> str:
        """Return the environment variable that may contain the path of the command."""
        return f"BENCH_PEER_{self.name.upper()}"

    def find(self, given: str | None) -> str | None:
        """Return the path of the command: `given`, else from the environment variable, else in the PATH. Return None if
        there is no such program."""
        return shutil.which(given or os.environ.get(self.variable) or self.command)


def version_of(command: str) -> str:
    """Return the version that a peer's command prints; "" if it prints none."""
    with tempfile.TemporaryDirectory() as home:
        environment = _own_home(Path(home))
        try:
            ended = subprocess.run(
                [command, "--version"], env=environment, capture_output=True, text=True, timeout=120, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
    found = re.search(r"\d+(\.\w+)+", ended.stdout)
    return found[0] if found else ""


class Arvis:
    """The daemon of this source tree, which finds only the packages of the default install."""

    name = "Arvis"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._port = free_port()

    def launch(self, model_url: str) -> Launch:
        settings = {
            **PLAIN,
            **settings_without_extras(self.folder),
            "OPENAI_API_KEY": "sk-bench",
            "OPENAI_BASE_URL": model_url,
            "ARVIS__WEB__PORT": str(self._port),
        }
        command = [sys.executable, "-m", "arvis", "run", "--data", str(self.folder / "data")]
        return Launch(command, {**daemon_environment(), **settings})

    @asynccontextmanager
    async def chat(self) -> AsyncIterator[Chat]:
        key = (self.folder / "data" / "api-key").read_text(encoding="utf-8").strip()
        async with person(Endpoint(f"http://127.0.0.1:{self._port}", key)) as somebody:
            yield somebody


class Nanobot:
    """nanobot's gateway with its web socket channel and its default settings."""

    name = "nanobot"

    def __init__(self, command: str, folder: Path) -> None:
        self.folder = folder
        self._command = command
        self._port = free_port()

    def launch(self, model_url: str) -> Launch:
        agent = {"workspace": str(self.folder / "workspace"), "model": "m", "provider": "custom"}
        channel = {"enabled": True, "host": "127.0.0.1", "port": self._port, "websocketRequiresToken": False}
        config = {
            "agents": {"defaults": agent},
            "providers": {"custom": {"apiKey": "sk-bench", "apiBase": model_url}},
            "gateway": {"host": "127.0.0.1", "port": free_port()},
            "channels": {"websocket": channel},
        }
        file = self.folder / "config.json"
        file.write_text(json.dumps(config), encoding="utf-8")
        return Launch([self._command, "gateway", "--foreground", "--config", str(file)], _own_home(self.folder))

    @asynccontextmanager
    async def chat(self) -> AsyncIterator[Chat]:
        async with connect(f"ws://127.0.0.1:{self._port}/?client_id=bench", compression=None) as socket:
            await socket.recv()
            yield _NanobotChat(socket)


class _NanobotChat:
    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def ask(self, text: str) -> Exchange:
        """The answer is complete at the end of its stream. The turn ends later; a message before its end would be added
        to the same turn."""
        sent, answered, pieces = time.perf_counter(), 0.0, []
        await self._socket.send(json.dumps({"content": text}))
        while (event := json.loads(await self._socket.recv()))["event"] != "turn_end":
            match event:
                case {"event": "delta", "text": piece}:
                    pieces.append(piece)
                case {"event": "message", "text": whole} if "kind" not in event:
                    pieces, answered = [whole], time.perf_counter()
                case {"event": "stream_end"}:
                    answered = time.perf_counter()
        return Exchange(sent, answered, "".join(pieces))


class Hermes:
    """Hermes Agent's gateway with its API server and its default settings. A session of the API is a conversation."""

    name = "hermes"

    def __init__(self, command: str, folder: Path) -> None:
        self.folder = folder
        self._command = command
        self._port = free_port()
        self._key = secrets.token_hex(32)

    def launch(self, model_url: str) -> Launch:
        model = {"provider": "custom", "default": "m", "base_url": model_url, "api_key": "sk-bench"}
        home = self.folder / ".hermes"
        home.mkdir()
        # By default the API server refuses the eleventh message at the same time.
        gateway = {"api_server": {"max_concurrent_runs": 0}}
        # A file of JSON is also one of YAML.
        (home / "config.yaml").write_text(json.dumps({"model": model, "gateway": gateway}), encoding="utf-8")
        settings = {
            "API_SERVER_ENABLED": "true",
            "API_SERVER_HOST": "127.0.0.1",
            "API_SERVER_PORT": str(self._port),
            "API_SERVER_KEY": self._key,
        }
        return Launch([self._command, "gateway", "run"], {**_own_home(self.folder), **settings})

    @asynccontextmanager
    async def chat(self) -> AsyncIterator[Chat]:
        headers = {"Authorization": f"Bearer {self._key}", "X-Hermes-Session-Id": secrets.token_hex(8)}
        async with aiohttp.ClientSession(f"http://127.0.0.1:{self._port}", headers=headers) as http:
            async with http.get("/health") as health:
                health.raise_for_status()
            yield _HermesChat(http)


class _HermesChat:
    def __init__(self, http: aiohttp.ClientSession) -> None:
        self._http = http

    async def ask(self, text: str) -> Exchange:
        sent = time.perf_counter()
        request = {"model": "m", "messages": [{"role": "user", "content": text}]}
        async with self._http.post("/v1/chat/completions", json=request) as response:
            response.raise_for_status()
            answer = (await response.json())["choices"][0]["message"]["content"]
        return Exchange(sent, time.perf_counter(), answer)


#: All peers that can be driven without the internet, by name.
PEERS = {
    peer.name: peer
    for peer in (
        Peer("nanobot", "nanobot", "nanobot-ai", Nanobot),
        Peer("hermes", "hermes", "hermes-agent aiohttp", Hermes),
    )
}


def _own_home(folder: Path) -> dict[str, str]:
    """Return an environment in which a program finds neither our settings and keys nor those in our home folder."""
    return {name: os.environ[name] for name in _KEPT if name in os.environ} | {"HOME": str(folder)}
