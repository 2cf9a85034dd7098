"""What can be set for a bot of Telegram."""

from __future__ import annotations

from typing import Literal

from connectors.settings import BotConfig, Token, Url


class TelegramConfig(BotConfig):
    """`api_url` and `file_url` are where the Bot API and its files are (a server of one's own; the files are at the same
    address unless told). `delivery` is this bot's answer to interrupted sends (None: the daemon's). `rich`: send
    rich messages (Bot API 10.1), with headings and tables as such."""

    token: Token
    api_url: Url = "https://api.telegram.org"
    file_url: Url | None = None
    delivery: Literal["at_least_once", "at_most_once", "reserve_then_fill"] | None = None
    rich: bool = False
