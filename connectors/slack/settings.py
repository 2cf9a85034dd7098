"""The settings of a Slack bot."""

from __future__ import annotations

from arvis.ports.connector import BadSetting, BotSettings, ConnectorServices
from connectors.settings import BotConfig, Token, Url, read_settings


class SlackConfig(BotConfig):
    """The settings of a Slack bot. `bot_token` (xoxb-…) sends and reads messages. `app_token` (xapp-…) opens the
    socket. `signing_secret` checks requests that Slack makes to the public address. `api_url` is the part of the
    address before the names of the methods."""

    bot_token: Token
    app_token: Token | None = None
    signing_secret: Token | None = None
    api_url: Url = "https://slack.com/api"

    @property
    def token(self) -> str:
        return self.bot_token.get_secret_value()


def read_config(settings: BotSettings, services: ConnectorServices) -> SlackConfig:
    """Read the settings. Raise `BadSetting`, for example if the settings allow neither Socket Mode nor HTTP requests by
    Slack."""
    config = read_settings(SlackConfig, settings)
    if config.app_token is None and config.signing_secret is None:
        raise BadSetting(
            "app_token",
            "is missing, so no events can arrive",
            fix="Add `app_token` (Socket Mode), or `signing_secret` and `web.public_url` (HTTP events).",
        )
    if config.app_token is None and services.public_url is None:
        raise BadSetting(
            "signing_secret",
            "needs an address that Slack can reach",
            fix="Set `web.public_url`, or add `app_token` and use Socket Mode.",
        )
    return config
