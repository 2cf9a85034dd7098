"""The terminal as a platform: two files in a folder replace keyboard and screen."""

from __future__ import annotations

import os
import re
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from arvis.domain.messages import Address
from arvis.domain.platforms import Part
from arvis.ports.connector import BotSettings, Connector, ConnectorServices, Receipt
from arvis.testing.clock import SteppedClock
from arvis.testing.conformance.connector import Shown, Stage
from connectors.console import Console, ConsoleConfig
from connectors.settings import read_settings

_MESSAGE = re.compile(r"^helper: ", re.MULTILINE)
_OPTION = re.compile(r"^ +\d+\. .*\n?", re.MULTILINE)


class RecordedConsole(Console):
    """A console that records the ids of its messages, because a terminal does not show them."""

    def __init__(self, *, ids: list[str], config: ConsoleConfig, services: ConnectorServices) -> None:
        super().__init__(name="main", config=config, services=services)
        self._ids = ids

    async def send(self, part: Part) -> Receipt:
        receipt = await super().send(part)
        self._ids.append(receipt.platform_id)
        return receipt


class ConsoleStage(Stage):
    PLACE = Address("console", "main", "console")

    can = frozenset[str]()
    text_limit = 0
    sends = ()

    def __init__(self, folder: Path) -> None:
        self._keyboard, self._screen = folder / "keyboard", folder / "screen"
        self._clock = SteppedClock(now=round(time.time() * 1000))
        os.mkfifo(self._keyboard)
        self._said = 0
        self._ids: list[str] = []
        self._typing = os.open(self._keyboard, os.O_RDWR)

    @classmethod
    @asynccontextmanager
    async def open(cls, folder: Path) -> AsyncIterator[ConsoleStage]:
        stage = cls(folder)
        try:
            yield stage
        finally:
            os.close(stage._typing)

    def length(self, text: str) -> int:
        return len(text)

    async def connector(self, **values: Any) -> Connector:
        paths = {"input": str(self._keyboard), "output": str(self._screen)}
        config = read_settings(ConsoleConfig, BotSettings("main", paths | values))
        return RecordedConsole(ids=self._ids, config=config, services=ConnectorServices(clock=self._clock, commands=()))

    def address(self, channel: str = "room", *, direct: bool = False, thread: str = "", user: str = "ann") -> Address:
        return self.PLACE

    async def say(
        self,
        text: str,
        *,
        user: str = "ann",
        direct: bool = True,
        addressed: bool = True,
        channel: str = "room",
        thread: str = "",
    ) -> str:
        line = f"{text}\n".encode()
        os.write(self._typing, line)
        self._said += len(line)
        return f"{self._clock.now()}.{self._said}"

    def shown(self, address: Address) -> Sequence[Shown]:
        text = self._screen.read_text(encoding="utf-8") if self._screen.exists() else ""
        _, *messages = _MESSAGE.split(text)
        texts = [_OPTION.sub("", one).rstrip("\n") for one in messages]
        return [Shown(platform_id, text) for platform_id, text in zip(self._ids, texts, strict=True)]
