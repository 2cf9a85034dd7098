"""Conformance of the Slack connector to the `Connector` port, with Slack's own client."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from arvis.testing.conformance.connector import ConnectorConformance, Stage
from tests.platforms.slack_stage import SlackStage


class TestSlack(ConnectorConformance):
    def stage(self) -> AbstractAsyncContextManager[Stage]:
        return SlackStage.open()
