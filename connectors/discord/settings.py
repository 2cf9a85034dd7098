"""The settings of a Discord bot."""

from __future__ import annotations

from connectors.settings import BotConfig, Token, Url


class DiscordConfig(BotConfig):
    """The settings of a Discord bot. `api_url` is the address of the REST API with its version. `gateway_url` is the
    address of the gateway for the first connection. If a value is None, Discord's own address is used."""

    token: Token
    api_url: Url | None = None
    gateway_url: Url | None = None
