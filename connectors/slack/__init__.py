"""Slack: Socket Mode or HTTP events in, Block Kit messages out (docs/11-slack.md)."""

from connectors.slack.connector import create

__all__ = ["create"]
