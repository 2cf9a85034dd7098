"""Conformance of the Discord connector to the `Connector` port."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from arvis.testing.conformance.connector import ConnectorConformance
from tests.platforms.discord_stage import DiscordStage, discord_stage


class TestDiscord(ConnectorConformance):
    def stage(self) -> AbstractAsyncContextManager[DiscordStage]:
        return discord_stage()
