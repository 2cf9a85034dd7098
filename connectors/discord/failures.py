"""What Discord's refusals mean for a message on its way."""

from __future__ import annotations

import aiohttp

from arvis.ports.connector import SendError
from connectors import answers
from connectors.answers import Failure, RetryLater, Uncertain
from connectors.discord.http import CallFailed

#: Everything that a request may raise.
REQUEST_ERRORS = (CallFailed, aiohttp.ClientError, OSError, TimeoutError)

UNKNOWN_CHANNEL = 10003
UNKNOWN_MESSAGE = 10008
MISSING_PERMISSION = 50013
TOO_LARGE = 40005
#: Codes with which Discord says that a place takes nothing from this bot any more: no such channel or guild, no access or
#: permission, no direct messages (closed, or no guild in common). Not of a locked or archived thread: others are open.
_GONE = frozenset({UNKNOWN_CHANNEL, 10004, 50001, 50007, MISSING_PERMISSION, 50278})
#: Seconds until the next try when Discord does not take the token.
_REJECTED = 15.0
#: Seconds until a Discord that nothing reached is tried again: its being away counts as no attempt.
_AWAY = 30.0


def failure_of(error: Exception) -> Failure:
    """`error` is one of `REQUEST_ERRORS`."""
    match error:
        case CallFailed():
            return error.failure
        case aiohttp.ClientConnectorError():
            return RetryLater("Discord cannot be reached.", _AWAY, "network")
        case _:
            return Uncertain("The connection to Discord was lost.")


def send_error(error: Exception) -> SendError:
    """`error` is one of `REQUEST_ERRORS`."""
    if isinstance(error, CallFailed):
        if error.rejects_token:
            return SendError("Discord does not accept the bot's token.", retry_after=_REJECTED)
        return answers.send_error(error.failure, gone=error.code in _GONE)
    return answers.send_error(failure_of(error))
