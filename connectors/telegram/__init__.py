"""Telegram, through its Bot API: our own poll loop, and python-telegram-bot as a client of the HTTP interface only."""

from __future__ import annotations

from arvis.ports.connector import BotSettings, Connector, ConnectorServices
from connectors.settings import read_settings
from connectors.telegram.connector import TelegramConnector
from connectors.telegram.settings import TelegramConfig


def create(settings: BotSettings, services: ConnectorServices) -> Connector:
    """Raises `BadSetting`."""
    return TelegramConnector(name=settings.name, config=read_settings(TelegramConfig, settings), services=services)
