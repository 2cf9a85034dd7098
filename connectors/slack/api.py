"""The Web API: one session, opened at the first call, and one kind of failure.

Nothing is tried again here and nothing waits for a rate limit: who asked knows better when. Slack limits each method for
itself: one that is to rest is refused here, whoever asks.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
from slack_sdk.errors import SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from arvis.ports.connector import SendError

log = logging.getLogger(__name__)

_TIMEOUT_SECONDS = 30
#: Where Slack does not say how long to wait.
_USUAL_PAUSE = 30.0
#: Seconds until a Slack that nothing reached, or that does not take the token, is tried again: it counts as no attempt.
_AWAY, _LONG = 30.0, 60.0

REFUSED_TOKENS = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type"}
)
#: The bot can write nothing here any more.
_GONE = frozenset({"channel_not_found", "not_in_channel", "is_archived", "user_not_found", "messages_tab_disabled"})
#: Slack says of these that part of the work may have been done.
_UNCERTAIN = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout"})
_LIMITED = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})


class ApiFailed(Exception):
    """A call that gave nothing. `code` is Slack's (`network` when no answer came, `http_…` when it was no answer of Slack's
    own); `uncertain`: it may have been carried out; `retry_after` in seconds."""

    def __init__(
        self, method: str, code: str, *, uncertain: bool = False, retry_after: float | None = None, needed: str = ""
    ) -> None:
        super().__init__(f"Slack's {method} failed: {code}{f' (needs {needed})' if needed else ''}.")
        self.code = code
        self.uncertain = uncertain
        self.retry_after = retry_after

    @property
    def token_refused(self) -> bool:
        return self.code in REFUSED_TOKENS

    @property
    def passes(self) -> bool:
        """Whether the same call may go well later."""
        return self.uncertain or self.token_refused or self.retry_after is not None or self.code == "network"

    def to_send_error(self) -> SendError:
        pause = _LONG if self.token_refused else _AWAY if self.code == "network" and not self.uncertain else None
        return SendError(
            str(self),
            permanent=not self.passes,
            gone=self.code in _GONE,
            retry_after=pause if self.retry_after is None else self.retry_after,
            uncertain=self.uncertain,
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """What a method answered. `scopes` are those of the token, which Slack names with every answer."""

    data: dict[str, Any]
    scopes: frozenset[str]


class SlackApi:
    def __init__(self, *, token: str, base_url: str) -> None:
        self._token = token
        self.base_url = base_url
        self._session: aiohttp.ClientSession | None = None
        #: Until when (seconds of the event loop) a method is not to be called.
        self._rests: dict[str, float] = {}

    @property
    def session(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_TIMEOUT_SECONDS))
        return self._session

    def client(self, token: str | None = None) -> AsyncWebClient:
        """Slack's own client, on the one session."""
        return AsyncWebClient(
            token=token, base_url=self.base_url, timeout=_TIMEOUT_SECONDS, session=self.session, retry_handlers=[]
        )

    async def ask(
        self, method: str, call: Callable[[AsyncWebClient], Awaitable[AsyncSlackResponse]], token: str | None = None
    ) -> Answer:
        """Raises `ApiFailed`."""
        now = asyncio.get_running_loop().time
        if (left := self._rests.get(method, 0.0) - now()) > 0:
            raise ApiFailed(method, "ratelimited", retry_after=left)
        client = self.client(token or self._token)
        try:
            response = await call(client)
        except aiohttp.ClientConnectorError:
            raise ApiFailed(method, "network") from None
        except (aiohttp.ClientError, TimeoutError, OSError):
            raise ApiFailed(method, "network", uncertain=True) from None
        except SlackClientError as error:
            failed = _failure(method, getattr(error, "response", None))
            if failed.retry_after is not None:
                self._rests[method] = now() + failed.retry_after
            raise failed from None
        return Answer(dict(response.data), _scopes(response.headers))  # type: ignore[arg-type]

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


def _failure(method: str, response: Any) -> ApiFailed:
    """`response` is Slack's answer, the raw one when it held no JSON, or nothing at all."""
    status = int(getattr(response, "status_code", 0) or getattr(response, "status", 0))
    headers = getattr(response, "headers", None) or {}
    data = getattr(response, "data", None)
    data = data if isinstance(data, dict) else {}
    code = str(data.get("error") or f"http_{status}")
    if status == 429 or code in _LIMITED:  # noqa: PLR2004  (HTTP's own number)
        return ApiFailed(method, "ratelimited", retry_after=_seconds(headers.get("Retry-After")))
    uncertain = code in _UNCERTAIN or status >= 500 or (not data and status < 400)  # noqa: PLR2004
    return ApiFailed(method, code, uncertain=uncertain, needed=str(data.get("needed") or ""))


def _seconds(text: str | None) -> float:
    try:
        return max(0.0, float(text or ""))
    except ValueError:
        return _USUAL_PAUSE


def _scopes(headers: Any) -> frozenset[str]:
    # A dictionary of the client's own, or aiohttp's, which ignores case.
    text = next((value for name, value in headers.items() if name.lower() == "x-oauth-scopes"), "")
    return frozenset(scope.strip() for scope in str(text).split(",") if scope.strip())
