"""A daemon before the damage: traffic, a backup in between, and a clean or unclean end."""

from __future__ import annotations

import json
import shutil
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

from tests.acceptance.daemon import Daemon

USERS = 8
PATIENCE = 30.0
#: Shares of the folders without a backup, and of the folders whose daemon is killed.
WITHOUT_BACKUP = 0.15
KILLED = 0.7


class DamagedDaemon:
    """A daemon with its data folder. All random values come from the seed. `whole` is a copy of the folder before the
    damage."""

    def __init__(self, folder: Path, code: Path, seed: str) -> None:
        self.rng = Random(seed)
        self.data = folder / "data"
        self.whole = folder / "whole"
        self._daemon = Daemon(
            folder, settings={"PYTHONPATH": str(code), "ARVIS__LIMITS__MESSAGES_PER_MINUTE": "1000000"}
        )
        self._log_read = 0

    def run_before_damage(self) -> None:
        """Run it with the choices of the seed."""
        self.run(backup=self.rng.random() >= WITHOUT_BACKUP, killed=self.rng.random() < KILLED)

    def run(self, *, backup: bool, killed: bool) -> None:
        """Send messages, make a backup, send more, end the daemon, and copy its data folder."""
        before, after, pause = self.rng.randrange(10, 150), self.rng.randrange(5, 100), self.rng.uniform(0.05, 1.5)
        self._daemon.start()
        with ThreadPoolExecutor(USERS) as users:
            self._send_all(users, before)
            if backup:
                self._post("backups", {})
            if killed:
                self._begin_to_send(users, 400)
                time.sleep(pause)
                self._daemon.kill()
                users.shutdown(cancel_futures=True)
            else:
                self._send_all(users, after)
                self._daemon.stop()
        shutil.copytree(self.data, self.whole)

    def start_again(self) -> list[dict[str, Any]] | None:
        """Start and stop it once more. Return its log entries, or None if the daemon refused to start."""
        try:
            self._daemon.start()
        except AssertionError:
            assert self._daemon.end() == 1, self._daemon.log()
            return None
        self._daemon.stop()
        return self._entries()

    def refusal(self) -> str:
        """Return the end of the log, where an operator looks for the reason."""
        return self._daemon.log()

    def close(self) -> None:
        self._daemon.close()

    def _send_all(self, users: ThreadPoolExecutor, messages: int) -> None:
        for sending in self._begin_to_send(users, messages):
            sending.result()

    def _begin_to_send(self, users: ThreadPoolExecutor, messages: int) -> list[Future[None]]:
        sizes = [self.rng.choice([20, 200, 2000, 9000]) for _ in range(messages)]
        return [users.submit(self._send, number, size) for number, size in enumerate(sizes)]

    def _send(self, number: int, size: int) -> None:
        words = f"{number}-{size} " * (size // 8)
        message = {
            "content": f"demo: say {words}",
            "userId": "u",
            "userName": "U",
            "channelId": f"room-{number % USERS}",
        }
        self._post("messages", message)

    def _post(self, path: str, body: object) -> None:
        headers = {"Authorization": f"Bearer {self._daemon.api_key}", "Content-Type": "application/json"}
        request = urllib.request.Request(  # noqa: S310 the daemon's own address
            f"{self._daemon.url}/api/{path}", json.dumps(body).encode(), headers
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310 as above
            answer.read()

    def _entries(self) -> list[dict[str, Any]]:
        lines = (self.data.parent / "daemon.log").read_text(errors="replace").splitlines()
        new, self._log_read = lines[self._log_read :], len(lines)
        entries = []
        for line in new:
            with suppress(json.JSONDecodeError):
                entries.append(json.loads(line))
        return entries


@contextmanager
def damaged_daemon(folder: Path, code: Path, seed: str) -> Iterator[DamagedDaemon]:
    """Yield a daemon in an empty folder with the program in `code`. No process remains after the block."""
    daemon = DamagedDaemon(folder, code, seed)
    try:
        yield daemon
    finally:
        daemon.close()
