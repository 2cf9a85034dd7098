"""Checks at Slack that a bot has valid tokens and the scopes that its features use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from arvis.ports.connector import SetupFinding
from connectors import answers
from connectors.slack.api import ApiFailed, SlackApi, SlackResult
from connectors.slack.settings import SlackConfig

_INSTALL = "Add it under OAuth & Permissions of the app, then install the app again (docs/how-to/slack.md)."

_NEEDED: Mapping[str, str] = {
    "chat:write": "to write at all",
    "app_mentions:read": "to receive messages that mention it",
    "im:history": "to receive direct messages",
}
_USEFUL: Mapping[str, str] = {
    "channels:history": "messages that were written in public channels and threads while it was offline stay unread",
    "groups:history": "private channels stay unread",
    "metadata.message:read": "after a crash it cannot find out if an answer arrived, and may send it again",
    "reactions:read": "it does not see reactions to its messages",
    "users:read": "people appear by their ids",
    "files:read": "it cannot read files",
    "files:write": "it cannot send files",
    "commands": "there are no slash commands",
}


async def check(api: SlackApi, config: SlackConfig) -> list[SetupFinding]:
    findings: list[SetupFinding] = []
    try:
        answer = await api.ask("auth.test", lambda web: web.auth_test())
    except ApiFailed as error:
        return [_refused("bot_token", error)]
    findings.append(SetupFinding("ok", f"Slack knows the bot as {_name(answer, 'user')} of {_name(answer, 'team')}."))
    findings += _missing(answer.scopes)
    if config.app_token is not None:
        findings.append(await _socket(api, config.app_token.get_secret_value()))
    else:
        text = "Events come over HTTP. Check in the app's settings that Slack sends them to this daemon."
        findings.append(SetupFinding("ok", text))
    return findings


def _name(answer: SlackResult, key: str) -> str:
    return answers.text(answer.data, key) or "(no name)"


def _missing(scopes: frozenset[str]) -> Iterator[SetupFinding]:
    for scope, purpose in _NEEDED.items():
        if scope not in scopes:
            yield SetupFinding("error", f"The bot needs the scope {scope} {purpose}.", _INSTALL)
    for scope, consequence in _USEFUL.items():
        if scope not in scopes:
            yield SetupFinding("warning", f"Without the scope {scope} {consequence}.", _INSTALL)


async def _socket(api: SlackApi, token: str) -> SetupFinding:
    try:
        await api.ask("apps.connections.open", lambda web: web.apps_connections_open(app_token=token))
    except ApiFailed as error:
        return _refused("app_token", error)
    return SetupFinding("ok", "Slack opens a socket for the app.")


def _refused(key: str, error: ApiFailed) -> SetupFinding:
    if error.token_refused or error.code == "missing_scope":
        return SetupFinding("error", f"Slack does not accept `{key}`: {error.code}.", fix_of(key))
    return SetupFinding("warning", f"{error} So `{key}` could not be checked.", "Try again.")


def fix_of(key: str) -> str:
    if key == "app_token":
        return "Create an app-level token (xapp-…) with connections:write under Basic Information, and turn Socket Mode on."
    return "Copy the Bot User OAuth Token (xoxb-…) of OAuth & Permissions; install the app again if it was removed."
