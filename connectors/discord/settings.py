"""The settings of a Discord bot."""

from __future__ import annotations

from connectors.settings import BotConfig, Token, Url


class DiscordConfig(BotConfig):
    """The settings of a Discord bot. `api_url` is the REST API with its version, `gateway_url` the first socket to
    connect to; None: Discord's own."""

    token: Token
    api_url: Url | None = None
    gateway_url: Url | None = None
