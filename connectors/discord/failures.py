"""The meaning of Discord's refusals for a message that is being sent."""

from __future__ import annotations

import aiohttp

from arvis.ports.connector import SendError
from connectors import answers
from connectors.answers import Failure, RetryLater, Uncertain
from connectors.discord.http import CallFailed

#: Every error that a request may raise.
REQUEST_ERRORS = (CallFailed, aiohttp.ClientError, OSError, TimeoutError)

UNKNOWN_CHANNEL = 10003
UNKNOWN_MESSAGE = 10008
MISSING_PERMISSION = 50013
TOO_LARGE = 40005
#: Codes with which Discord says that a place accepts no messages of this bot any more: no such channel or guild, no
#: access or permission, no direct messages (closed, or no guild in common). A locked or archived thread is not among
#: them, because other threads of its channel are open.
_GONE = frozenset({UNKNOWN_CHANNEL, 10004, 50001, 50007, MISSING_PERMISSION, 50278})
#: Seconds until the next try when Discord rejects the token.
_REJECTED = 15.0
#: Seconds until the next try when Discord is unreachable; this counts as no attempt.
_AWAY = 30.0


def failure_of(error: Exception) -> Failure:
    """Return the outcome for an error, which is one of `REQUEST_ERRORS`."""
    match error:
        case CallFailed():
            return error.failure
        case aiohttp.ClientConnectorError():
            return RetryLater("Discord cannot be reached.", _AWAY, "network")
        case _:
            return Uncertain("The connection to Discord was lost.")


def send_error(error: Exception) -> SendError:
    """Return the error of a send for an error of a request, which is one of `REQUEST_ERRORS`."""
    if isinstance(error, CallFailed):
        if error.rejects_token:
            return SendError("Discord does not accept the bot's token.", retry_after=_REJECTED)
        return answers.send_error(error.failure, gone=error.code in _GONE)
    return answers.send_error(failure_of(error))
