"""The settings of a Telegram bot."""

from __future__ import annotations

from typing import Literal

from connectors.settings import BotConfig, Token, Url


class TelegramConfig(BotConfig):
    """The settings of a Telegram bot. `api_url` and `file_url` are the addresses of the Bot API and of its files;
    change them if you run your own server. If `file_url` is None, it is derived from `api_url`. `delivery` is this
    bot's rule for interrupted sends (None: the daemon's rule). If `rich` is True, the bot sends rich messages (Bot API
    10.1), with real headings and tables."""

    token: Token
    api_url: Url = "https://api.telegram.org"
    file_url: Url | None = None
    delivery: Literal["at_least_once", "at_most_once", "reserve_then_fill"] | None = None
    rich: bool = False
