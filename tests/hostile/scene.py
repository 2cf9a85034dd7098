"""One daemon with one hostile vendor: a data folder, a server, and a new account for every case."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from tests.crash.daemon import CHECKOUT, Daemon, free_port
from tests.crash.endpoint import Endpoint
from tests.crash.history import Shown
from tests.hostile import claude_program
from tests.hostile.cases import CLAUDE
from tests.hostile.formats import FORMATS
from tests.hostile.measure import StallProbe

MODEL = "hostile"
#: The daemon's limits for one reply (bytes) and for one call (seconds).
REPLY_BYTES = 262_144
_CALL_SECONDS, _IDLE_SECONDS = 3.0, 1.0
_DAEMON_KEY = "owner-of-the-campaign"
_LONGEST_WAIT = 30.0


@dataclass(slots=True)
class Scene:
    """The daemon, its vendor's server, a probe, and the keys of all accounts."""

    provider: str
    folder: Path
    daemon: Daemon
    endpoint: Endpoint
    probe: StallProbe
    server: str
    keys: list[str]
    account: str = ""

    async def renew_account(self) -> None:
        """Replace the account, so that a vendor's cooldown from the last case does not affect the next one."""
        name, key = f"account-{len(self.keys)}", f"hk{secrets.token_hex(12)}"
        self.keys.append(key)
        account = {"name": name, "provider": self.provider, "model": MODEL, "apiKey": key}
        if self.provider != CLAUDE:
            form = FORMATS[self.provider]
            account |= {"baseUrl": self.server + form.base, **form.account}
        await self._call("POST", "/api/accounts", account)
        if self.account:
            await self._call("DELETE", f"/api/accounts/{self.account}")
        self.account = name

    async def post(self, content: str, channel: str) -> str:
        message = {"content": content, "userId": "reader", "userName": "reader", "channelId": channel}
        return str((await self._call("POST", "/api/messages", message))["messageId"])

    async def timeline(self, message: str, wait: float = 0.0) -> dict[str, Any]:
        return await self._call("GET", f"/api/messages/{message}/wait?timeout={min(wait, _LONGEST_WAIT):.2f}")

    async def cancel(self, job: str) -> None:
        await self._call("POST", f"/api/jobs/{job}/cancel", {})

    async def asked(self, id_: str) -> int:
        """Return the number of requests about a message, or to an address that clients should not use."""
        async with self.endpoint.session.get(f"{self.server}/asked/{id_}") as response:
            return int(await response.text())

    async def transcript(self, channel: str) -> list[Shown]:
        return await self.endpoint.transcript(channel, within=20.0)

    @property
    def pid(self) -> int:
        return self.daemon._current().pid

    def secrets_in(self, texts: Iterable[str]) -> bool:
        return any(key in text for text in texts for key in self.keys)

    def leaks(self) -> list[str]:
        """Return the files of any kind that contain a key in plain text."""
        files = [file for file in self.folder.rglob("*") if file.is_file()]
        return [file.name for file in files if any(key.encode() in file.read_bytes() for key in self.keys)]

    async def _call(self, method: str, path: str, document: Any = None) -> dict[str, Any]:
        url = self.endpoint.url + path
        async with self.endpoint.session.request(method, url, json=document, headers=self.endpoint.headers) as response:
            answer = await response.json()
            assert response.status < 300, f"{method} {path}: {response.status} {answer}"
            return dict(answer)


def _configuration(port: int, channels: Iterable[str]) -> dict[str, Any]:
    """Return the daemon's configuration. `channels` are those of the agent without tools."""
    model = f"{MODEL}"
    return {
        "web": {"host": "127.0.0.1", "port": port, "api_keys": [_DAEMON_KEY]},
        "model": {"timeout_seconds": _CALL_SECONDS, "idle_seconds": _IDLE_SECONDS},
        # Many workers, because a failing turn holds one while it waits for its next try.
        "queue": {"workers": 64, "max_attempts": 2, "retry_base_seconds": 0.2},
        "limits": {"reply_bytes": REPLY_BYTES},
        "routing": {"fallback": "helper"},
        "budgets": {"daily_usd": None, "per_turn_usd": None},
        "agents": [
            {"slug": "helper", "name": "Helper", "model": model, "tools": ["calculate", "get_time"]},
            {"slug": "plain", "name": "Plain", "model": model, "channels": [f"web:{name}" for name in channels]},
        ],
    }


@asynccontextmanager
async def opened(provider: str, folder: Path, seed: str, without_tools: Iterable[str]) -> AsyncIterator[Scene]:
    """Yield a scene with a daemon that is ready, and its first account."""
    port = free_port()
    config = folder / "config.yaml"
    config.write_text(yaml.safe_dump(_configuration(port, without_tools)))
    async with _server(seed) as server, aiohttp.ClientSession() as session:
        under = _with_program(folder) if provider == CLAUDE else ()
        daemon = Daemon(under=under, code=CHECKOUT, folder=folder, config=config)
        try:
            await daemon.start()
            await daemon.ready()
            endpoint = Endpoint(session, f"http://127.0.0.1:{port}", _DAEMON_KEY, daemon.up)
            with StallProbe(endpoint.url).running() as probe:
                scene = Scene(provider, folder, daemon, endpoint, probe, server, [])
                await scene.renew_account()
                yield scene
        finally:
            await daemon.close()


def _with_program(folder: Path) -> list[str]:
    """Return the start of a command with the hostile `claude` first in its PATH, and with its own HOME."""
    bin_, home = folder / "bin", folder / "home"
    bin_.mkdir()
    home.mkdir()
    source = Path(claude_program.__file__).read_text(encoding="utf-8")
    program = bin_ / "claude"
    program.write_text(f"#!{sys.executable} -IS\n{source}", encoding="utf-8")
    program.chmod(0o700)
    return ["env", f"PATH={bin_}:{os.environ['PATH']}", f"HOME={home}"]


@asynccontextmanager
async def _server(seed: str) -> AsyncIterator[str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.hostile.server", seed),
        cwd=CHECKOUT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        yield f"http://127.0.0.1:{int(await process.stdout.readline())}"
    finally:
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), 5)
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
