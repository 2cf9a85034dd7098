"""Slack's Web API: one session, opened at the first call, and one exception for all failures.

This module neither retries nor waits for rate limits; its callers do both. Slack limits each method separately. During
a pause that Slack has demanded for a method, `SlackApi.ask` fails at once for every caller of this method.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, cast

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from arvis.domain.dataclass import dataclass
from arvis.ports.connector import SendError
from connectors import answers
from connectors.answers import Done, Failure, PlatformError, PlatformResponse, Refused, RetryLater, Uncertain

log = logging.getLogger(__name__)

SEND_SECONDS = 30.0
#: The maximum seconds of a call that is not important, such as showing that the bot is typing.
COSMETIC_SECONDS = 5.0
#: The seconds until the next attempt if Slack is unreachable (`_AWAY`) or rejects the token (`_REJECTED`). Such a
#: failure does not count as an attempt.
_AWAY, _REJECTED = 30.0, 15.0

REFUSED_TOKENS = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type"}
)
#: Errors for a channel in which the bot can no longer write.
_GONE = frozenset({"channel_not_found", "not_in_channel", "is_archived", "user_not_found", "messages_tab_disabled"})
#: Errors of calls that may have done a part of their work, according to Slack's documentation.
_UNCERTAIN = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout"})
_LIMITED = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})


class SlackDialect:
    name = "Slack"

    def platform_error(self, document: Any) -> PlatformError | None:
        if answers.value(document, "ok", kind=bool) is not False:
            return None
        code = answers.shortened(answers.text(document, "error") or "no_reason")
        needed = answers.shortened(answers.text(document, "needed"))
        return PlatformError(
            code,
            f"{code} (needs {needed})" if needed else code,
            limited=code in _LIMITED,
            uncertain=code in _UNCERTAIN,
            passing=code in REFUSED_TOKENS,
        )

    def accepts(self, document: Any) -> bool:
        return answers.value(document, "ok", kind=bool) is True

    def result(self, document: Any) -> Any:
        return document


_DIALECT = SlackDialect()


class ApiFailed(Exception):
    """A failed call. `code`: Slack's error code, `ratelimited` or `network`; empty if the outcome is uncertain."""

    def __init__(self, method: str, failure: Failure) -> None:
        super().__init__(f"{method} of Slack failed: {failure.reason}")
        self.failure = failure
        self.code = "" if isinstance(failure, Uncertain) else failure.code

    @property
    def token_refused(self) -> bool:
        return self.code in REFUSED_TOKENS

    @property
    def retry_after(self) -> float | None:
        return self.failure.delay if isinstance(self.failure, RetryLater) else None

    @property
    def uncertain(self) -> bool:
        return isinstance(self.failure, Uncertain)

    @property
    def is_transient(self) -> bool:
        """Return whether the same call may succeed later."""
        return not isinstance(self.failure, Refused)

    def to_send_error(self) -> SendError:
        delay = _REJECTED if self.token_refused else None
        return answers.send_error(self.failure, gone=self.code in _GONE, delay=delay)


class _WebClient(AsyncWebClient):
    """Slack's client, changed to read answers as untrusted input."""

    async def _request(self, *, http_verb: str, api_url: str, req_args: dict[str, Any]) -> dict[str, Any]:
        session = cast(aiohttp.ClientSession, self.session)
        async with session.request(http_verb, api_url, **req_args) as response:
            headers = {name.lower(): text for name, text in response.headers.items()}
            outcome = answers.read(_DIALECT, PlatformResponse(response.status, headers, await response.read()))
        if isinstance(outcome, Done):
            return {"data": outcome.result, "headers": headers, "status_code": 200}
        raise ApiFailed(api_url.rsplit("/", 1)[-1], outcome)


@dataclass(frozen=True, slots=True)
class SlackResult:
    """The answer of a method. `scopes`: the scopes of the token, which Slack sends with every answer."""

    method: str
    data: dict[str, Any]
    scopes: frozenset[str]

    def lacks(self, what: str, *, acknowledged: bool = False) -> ApiFailed:
        """Return the failure for an answer that lacks a needed value. `what` is the description of the value in the
        error."""
        return ApiFailed(self.method, Uncertain(f"Slack's answer does not contain {what}.", acknowledged=acknowledged))


class SlackApi:
    def __init__(self, *, token: str, base_url: str) -> None:
        self._token = token
        self.base_url = base_url
        self._session: aiohttp.ClientSession | None = None
        #: For each method: the time (seconds of the event loop) until which the method must not be called.
        self._paused_until: dict[str, float] = {}

    @property
    def session(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=SEND_SECONDS))
        return self._session

    def client(self, token: str | None = None) -> AsyncWebClient:
        """Return a client of Slack's library that uses this object's session."""
        return _WebClient(
            token=token, base_url=self.base_url, timeout=int(SEND_SECONDS), session=self.session, retry_handlers=[]
        )

    async def ask(
        self,
        method: str,
        call: Callable[[AsyncWebClient], Awaitable[AsyncSlackResponse]],
        token: str | None = None,
        *,
        within: float = SEND_SECONDS,
    ) -> SlackResult:
        """Call a method. `within`: the timeout in seconds. Raise `ApiFailed`."""
        now = asyncio.get_running_loop().time
        if (left := self._paused_until.get(method, 0.0) - now()) > 0:
            raise ApiFailed(method, RetryLater("Slack asks for a pause.", left, "ratelimited"))
        try:
            async with asyncio.timeout(within):
                response = await call(self.client(token or self._token))
        except aiohttp.ClientConnectorError:
            raise ApiFailed(method, RetryLater("Slack cannot be reached.", _AWAY, "network")) from None
        except (aiohttp.ClientError, TimeoutError, OSError):
            raise ApiFailed(method, Uncertain("Slack did not answer.")) from None
        except ApiFailed as failed:
            if failed.code == "ratelimited" and failed.retry_after is not None:
                self._paused_until[method] = now() + failed.retry_after
            raise
        data = response.data if isinstance(response.data, dict) else {}
        return SlackResult(method, data, _scopes(response.headers))

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


def _scopes(headers: Any) -> frozenset[str]:
    return frozenset(scope.strip() for scope in str(headers.get("x-oauth-scopes", "")).split(",") if scope.strip())
