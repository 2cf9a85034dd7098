"""Checks at Discord that a bot is set up correctly. The checks change nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from arvis.ports.connector import SetupFinding
from connectors import answers
from connectors.discord.client import REQUEST_ERRORS, CallFailed, send_error
from connectors.discord.rest import Rest

_MESSAGE_CONTENT = 1 << 18 | 1 << 19
_ADMINISTRATOR = 1 << 3
_PERMISSIONS = {
    "View Channels": 1 << 10,
    "Send Messages": 1 << 11,
    "Attach Files": 1 << 15,
    "Read Message History": 1 << 16,
    "Create Public Threads": 1 << 35,
    "Send Messages in Threads": 1 << 38,
}
#: All permissions that the bot requests when it is invited.
INVITE_PERMISSIONS = sum(_PERMISSIONS.values())
_PORTAL = "https://discord.com/developers/applications"
_MOST_GUILDS = 5


async def check(rest: Rest) -> list[SetupFinding]:
    try:
        application = await rest.request("GET", "/applications/@me")
        guilds = await rest.request("GET", "/users/@me/guilds", params={"limit": 200})
    except REQUEST_ERRORS as error:
        if isinstance(error, CallFailed) and error.rejects_token:
            fix = f"Reset it at {_PORTAL} and enter the new one."
            return [SetupFinding("error", "Discord does not accept the token.", fix)]
        return [SetupFinding("error", str(send_error(error)), "Check the network, and Discord's status page.")]
    known = answers.mappings(guilds)
    if not answers.text(application, "id") or known is None:
        text = "Discord sent an answer in an unexpected format."
        return [SetupFinding("error", text, "Check `api_url`, and any proxy between this machine and Discord.")]
    findings = [*_of_application(application), *_of_guilds(known, answers.text(application, "id"))]
    name = answers.text(application, "name")
    return findings or [SetupFinding("ok", f"The token belongs to {name!r}; its intents and permissions are correct.")]


def _of_application(application: Mapping[str, Any]) -> Iterator[SetupFinding]:
    if not _bits(application, "flags") & _MESSAGE_CONTENT:
        fix = f"Switch on “Message Content Intent” under Bot at {_PORTAL}."
        yield SetupFinding("error", "The bot may not read messages: the message content intent is off.", fix)
    if application.get("interactions_endpoint_url"):
        fix = f"Empty “Interactions Endpoint URL” under General Information at {_PORTAL}."
        yield SetupFinding("error", "Commands and buttons go to an address on the web, not to the bot.", fix)


def _of_guilds(guilds: Sequence[Mapping[str, Any]], application: str) -> Iterator[SetupFinding]:
    invite = (
        f"https://discord.com/oauth2/authorize?client_id={application}"
        f"&scope=bot+applications.commands&permissions={INVITE_PERMISSIONS}"
    )
    if not guilds:
        yield SetupFinding(
            "warning", "The bot is in no server: people can only send it direct messages.", f"Invite it: {invite}"
        )
    lacking = [(guild, _lacking(_bits(guild, "permissions"))) for guild in guilds]
    for guild, names in [each for each in lacking if each[1]][:_MOST_GUILDS]:
        text = f"In {answers.text(guild, 'name')!r} the bot lacks: {', '.join(names)}."
        yield SetupFinding("warning", text, f"Give its role these permissions, or invite it again: {invite}")


def _bits(document: Mapping[str, Any], key: str) -> int:
    """Return a field of bits, which Discord writes as a number or as text; 0 if it is missing."""
    digits = answers.text(document, key)
    return int(digits) if digits.isdecimal() else 0


def _lacking(permissions: int) -> list[str]:
    if permissions & _ADMINISTRATOR:
        return []
    return [name for name, bit in _PERMISSIONS.items() if not permissions & bit]
