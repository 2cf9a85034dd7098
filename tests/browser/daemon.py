"""The daemon as its user starts it, for the tests of the page: its address, its login link, a sudden death."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
from playwright._impl._api_structures import SetCookieParam

READY = re.compile(r"Arvis is ready at (?P<address>http://127\.0\.0\.1:(?P<port>\d+))")
LINK = re.compile(r"http://\S+#login=\S+")
START_SECONDS = 60


class Daemon:
    """One data folder, several lives on one port. The first life takes a free port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._port = 0
        self._process: asyncio.subprocess.Process | None = None
        self.address = ""
        self.login_link = ""

    async def start(self) -> None:
        """Returns when it is ready; the first start prints the login link as well."""
        first = self._port == 0
        with (self.folder / "daemon.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "arvis", "run", "--data", str(self.folder / "data")),
                cwd=self.folder,
                env=_environment(self._port),
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        ready = await self._line(READY)
        self.address, self._port = ready["address"], int(ready["port"])
        if first:
            self.login_link = (await self._line(LINK))[0]

    async def api(self, method: str, path: str, body: object = None, *, status: int | None = None) -> Any:
        """Call the API with the daemon's own key. Fails on another status than `status` (None: any success)."""
        headers = {"Authorization": f"Bearer {self.key}"}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.request(method, self.address + path, json=body) as response,
        ):
            text = await response.text()
            assert response.ok if status is None else response.status == status, f"{method} {path}: {text}"
            return json.loads(text)

    async def cookie(self) -> SetCookieParam:
        """A fresh login of the owner."""
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
        """SIGKILL, and wait until it is gone. A daemon that has ended by itself is a failure."""
        assert self._process is not None
        self._process.kill()
        await self._process.communicate()
        assert self._process.returncode == -signal.SIGKILL, self._log()

    async def close(self) -> None:
        """Leave nothing behind, whatever happened."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.communicate()

    async def _line(self, pattern: re.Pattern[str]) -> re.Match[str]:
        assert self._process is not None
        assert self._process.stdout is not None
        async with asyncio.timeout(START_SECONDS):
            line = (await self._process.stdout.readline()).decode()
        found = pattern.search(line)
        assert found is not None, f"unexpected line {line!r}; the log ends with:\n{self._log()}"
        return found

    def _log(self) -> str:
        return (self.folder / "daemon.log").read_text(errors="replace")[-4000:]


def _environment(port: int) -> Mapping[str, str]:
    """Nothing of the caller's own settings or keys reaches the daemon, so the demo answers."""
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG", "TMPDIR"}}
    return kept | {"PYTHONPATH": str(Path(__file__).parents[2]), "ARVIS__WEB__PORT": str(port)}
