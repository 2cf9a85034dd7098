"""The daemon as its user starts it, for the page tests, with its address, its login link, and a sudden death."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from pathlib import Path
from typing import Any

import aiohttp
from playwright._impl._api_structures import SetCookieParam

from tests.environment import daemon_environment, fork_server
from tests.fork_server import AsyncForkedProcess, fork

READY = re.compile(r"Arvis is ready at (?P<address>http://127\.0\.0\.1:(?P<port>\d+))")
LINK = re.compile(r"http://\S+#login=\S+")
START_SECONDS = 60


class Daemon:
    """A daemon that can be started several times with one data folder and one port, which the first start chooses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._port = 0
        self._process: AsyncForkedProcess | None = None
        self.address = ""
        self.login_link = ""

    async def start(self) -> None:
        """Return when the daemon is ready; the first start sets `login_link`, too."""
        first = self._port == 0
        with (self.folder / "daemon.log").open("ab") as log:
            self._process = await fork(
                fork_server(),
                ["run", "--data", str(self.folder / "data")],
                cwd=self.folder,
                env=daemon_environment(ARVIS__WEB__PORT=str(self._port)),
                stderr=log.fileno(),
            )
        ready = await self._line(READY)
        self.address, self._port = ready["address"], int(ready["port"])
        if first:
            self.login_link = (await self._line(LINK))[0]

    async def restarted(self) -> None:
        """Wait until the daemon, which restarts by itself, is ready again. Its port is another one if the first start
        chose it."""
        self.address = (await self._line(READY))["address"]

    async def api(self, method: str, path: str, body: object = None, *, status: int | None = None) -> Any:
        """Call the API with the daemon's key, and expect this status (None: any success)."""
        headers = {"Authorization": f"Bearer {self.key}"}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.request(method, self.address + path, json=body) as response,
        ):
            text = await response.text()
            assert response.ok if status is None else response.status == status, f"{method} {path}: {text}"
            return json.loads(text)

    async def cookie(self) -> SetCookieParam:
        """Log in as the owner, and return the cookie."""
        code = (await self.api("POST", "/api/auth/codes"))["code"]
        async with (
            aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session,
            session.post(f"{self.address}/api/auth/login", json={"code": code}) as response,
        ):
            assert response.status == 200, await response.text()
            return {"name": "arvis_session", "value": response.cookies["arvis_session"].value, "url": self.address}

    @property
    def key(self) -> str:
        return (self.folder / "data" / "api-key").read_text().strip()

    async def kill(self) -> None:
        """Send SIGKILL, and wait for the end of the process. Fail if the daemon has already ended."""
        assert self._process is not None
        self._process.kill()
        assert await self._process.wait() == -signal.SIGKILL, self._log()

    async def close(self) -> None:
        """End the process, whatever happened before."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def _line(self, pattern: re.Pattern[str]) -> re.Match[str]:
        assert self._process is not None
        async with asyncio.timeout(START_SECONDS):
            line = (await self._process.stdout.readline()).decode()
        found = pattern.search(line)
        assert found is not None, f"unexpected line {line!r}; the log ends with:\n{self._log()}"
        return found

    def _log(self) -> str:
        return (self.folder / "daemon.log").read_text(errors="replace")[-4000:]
