"""The connector for Telegram's Bot API. It has its own poll loop, and uses python-telegram-bot only to make requests."""

from __future__ import annotations

from arvis.ports.connector import BotSettings, Connector, ConnectorServices
from connectors.settings import read_settings
from connectors.telegram.connector import TelegramConnector
from connectors.telegram.settings import TelegramConfig


def create(settings: BotSettings, services: ConnectorServices) -> Connector:
    """Return the connector for these settings. Raise `BadSetting`."""
    return TelegramConnector(name=settings.name, config=read_settings(TelegramConfig, settings), services=services)
