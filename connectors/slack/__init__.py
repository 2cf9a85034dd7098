"""The connector for Slack: it receives events by Socket Mode or HTTP, and sends blocks of Slack's Block Kit
(docs/how-to/slack.md)."""

from connectors.slack.connector import create

__all__ = ["create"]
