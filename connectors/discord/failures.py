"""What Discord's refusals mean for a message on its way."""

from __future__ import annotations

from http import HTTPStatus

import aiohttp
from discord.errors import HTTPException, LoginFailure, RateLimited

from arvis.ports.connector import SendError
from connectors.discord.http import ServerTrouble

#: Everything that a request may raise.
REQUEST_ERRORS = (HTTPException, RateLimited, LoginFailure, ServerTrouble, aiohttp.ClientError, OSError, TimeoutError)

UNKNOWN_CHANNEL = 10003
UNKNOWN_MESSAGE = 10008
#: Codes with which Discord says that a place takes nothing from this bot any more: no such channel or guild, no access or
#: permission, no direct messages (closed, or no guild in common). Not of a locked or archived thread: others are open.
_GONE = frozenset({UNKNOWN_CHANNEL, 10004, 50001, 50007, 50013, 50278})
#: Seconds to wait when Discord says "too many" and not for how long, and when it does not take the token.
_LONG = 60.0
#: Seconds until a Discord that nothing reached is tried again: its being away counts as no attempt.
_AWAY = 30.0


def send_error(error: Exception) -> SendError:
    """`error` is one of `REQUEST_ERRORS`."""
    match error:
        case RateLimited():
            return SendError("Discord asks to wait.", retry_after=error.retry_after)
        case LoginFailure():
            return SendError("Discord does not accept the bot's token.", retry_after=_LONG)
        case HTTPException():
            return _refusal(error)
        case ServerTrouble():
            return SendError(str(error), uncertain=True)
        case aiohttp.ClientConnectorError():
            return SendError("Discord cannot be reached.", retry_after=_AWAY)
        case _:
            return SendError("The connection to Discord was lost.", uncertain=True)


def _refusal(error: HTTPException) -> SendError:
    text = f"Discord refused it with status {error.status}, code {error.code}: {error.text[:200]}"
    if error.status == HTTPStatus.TOO_MANY_REQUESTS:
        return SendError(text, retry_after=_waiting(error))
    if error.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.REQUEST_TIMEOUT):
        return SendError(text, retry_after=_LONG)
    return SendError(text, permanent=True, gone=error.code in _GONE)


def _waiting(error: HTTPException) -> float:
    """What a 429 without Discord's own body says in its header."""
    try:
        return float(error.response.headers["Retry-After"])
    except (KeyError, ValueError):
        return _LONG
