"""Conformance of the Telegram connector to the `Connector` port, with the real client library."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from arvis.testing.conformance.connector import ConnectorConformance, Stage
from tests.platforms.telegram_stage import TelegramStage


class TestTelegram(ConnectorConformance):
    def stage(self) -> AbstractAsyncContextManager[Stage]:
        return TelegramStage.open()
