"""The HTTP client of one bot, opened at the first call, and the conversion of Telegram's refusals to errors."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final

import httpx
import telegram
from telegram.error import TelegramError
from telegram.request import HTTPXRequest, RequestData

from arvis.ports.connector import SendError
from connectors import answers
from connectors.answers import Done, Failure, PlatformError, PlatformResponse, Refused, RetryLater, Uncertain
from connectors.telegram.settings import TelegramConfig

_CONNECTIONS: Final = 32
_TIMEOUT: Final = 15.0
_UPLOAD_TIMEOUT: Final = 120.0
_CHUNK: Final = 64 * 1024
#: The maximum seconds of a call that is not important, such as showing that the bot is typing.
COSMETIC_SECONDS: Final = 5.0

#: The minimum levels of loggers. At lower levels, these loggers would write the address of each request, which contains
#: the token.
_TELLTALES: Final = {"httpx": logging.WARNING, "httpcore": logging.WARNING, "telegram": logging.INFO}

#: Errors that mean that the request did not reach the server, or reached it only in part.
_UNSENT: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)

#: The seconds until the next attempt if Telegram is unreachable (`_AWAY`) or rejects the token (`_REJECTED`). Such a
#: failure does not count as an attempt.
_AWAY: Final = 30.0
_REJECTED: Final = 15.0

#: Telegram's descriptions of a chat that no longer accepts messages of this bot.
_GONE: Final = (
    "chat not found",
    "user not found",
    "peer_id_invalid",
    "chat_write_forbidden",
    "chat_restricted",
    "channel_private",
    "have no rights to send a message",
    "not enough rights to send text messages",
    "need administrator rights",
    "group chat was deactivated",
)


class TelegramDialect:
    name = "Telegram"

    def platform_error(self, document: Any) -> PlatformError | None:
        if answers.value(document, "ok", kind=bool) is not False:
            return None
        code = answers.text(document, "error_code")
        text = answers.shortened(answers.text(document, "description") or "it gives no reason")
        parameters = answers.value(document, "parameters", kind=dict) or {}
        delay = answers.seconds(parameters.get("retry_after"))
        return PlatformError(code, text, delay, limited=code == "429" or delay is not None)

    def accepts(self, document: Any) -> bool:
        return answers.value(document, "ok", kind=bool) is True and "result" in document

    def result(self, document: Any) -> Any:
        return document["result"]


_DIALECT: Final = TelegramDialect()


class CallFailed(TelegramError):
    """A failed call. This error replaces the library's errors, which distinguish fewer outcomes."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.reason)
        self.failure = failure

    @property
    def refused(self) -> bool:
        """Return whether Telegram refused the call permanently, for a reason other than the token."""
        return isinstance(self.failure, Refused) and not self.rejects_token

    @property
    def rejects_token(self) -> bool:
        """Return True if the token is wrong. Telegram answers 401 for a token that it does not know. It answers 404 for
        a text that does not have the form of a token, and also for an unknown method."""
        return isinstance(self.failure, Refused) and self.failure.code in {"401", "404"}

    @property
    def conflicts(self) -> bool:
        """Return whether another client reads the bot's updates."""
        return isinstance(self.failure, Refused) and self.failure.code == "409"

    @property
    def delay(self) -> float | None:
        return self.failure.delay if isinstance(self.failure, RetryLater) else None

    def says(self, *text: str) -> bool:
        """Return whether the server's description contains one of these (lower-case) texts."""
        return any(word in self.failure.reason.lower() for word in text)


class _Request(HTTPXRequest):
    """Makes requests. After Telegram has asked for a pause in a chat, all requests that name the chat (answers, drafts,
    typing) fail until the pause is over."""

    def __init__(self, *, token: str, **options: Any) -> None:
        super().__init__(**options)
        self._token = token.encode()
        #: For each chat: the time (seconds of the event loop) until which no request may name the chat.
        self._paused_until: dict[str, float] = {}

    async def do_request(
        self, url: str, method: str, request_data: RequestData | None = None, *args: Any, **options: Any
    ) -> tuple[int, bytes]:
        now = asyncio.get_running_loop().time
        chat = str(request_data.parameters.get("chat_id", "")) if request_data is not None else ""
        if (left := self._paused_until.get(chat, 0.0) - now()) > 0:
            raise CallFailed(RetryLater("Telegram asks for a pause.", left, "ratelimited"))
        status, payload = await super().do_request(url, method, request_data, *args, **options)
        # Some servers quote the requested address, which contains the token, and their texts are shown and stored.
        outcome = answers.read(_DIALECT, PlatformResponse(status, {}, payload.replace(self._token, b"***")))
        if isinstance(outcome, Done):
            return status, payload
        if isinstance(outcome, RetryLater) and outcome.code == "ratelimited" and outcome.delay is not None:
            self._paused_until = {place: until for place, until in self._paused_until.items() if until > now()}
            if chat:
                self._paused_until[chat] = now() + outcome.delay
        raise CallFailed(outcome)


class Client:
    """A client that connects at the first call, and connects again after it was closed."""

    def __init__(self, *, config: TelegramConfig) -> None:
        self._config = config
        self._opened: tuple[telegram.Bot, HTTPXRequest] | None = None
        self._downloads: httpx.AsyncClient | None = None

    @property
    def bot(self) -> telegram.Bot:
        if self._opened is None:
            self._opened = self._open()
        return self._opened[0]

    async def call(self, method: str, *, within: float | None = None, **parameters: Any) -> Any:
        """Call a method and return its result, of any type. `within` is in seconds. Raise `CallFailed`.

        A capital first letter of the method's name bypasses the library's own methods, which fail at any answer that
        they cannot read. Telegram ignores the case of the name.
        """
        given = {key: value for key, value in parameters.items() if value is not None}
        longest = within or _TIMEOUT
        try:
            return await self.bot.do_api_request(
                method[0].upper() + method[1:],
                api_kwargs=given,
                read_timeout=longest,
                connect_timeout=min(longest, _TIMEOUT),
                pool_timeout=min(longest, _TIMEOUT),
            )
        except CallFailed:
            raise
        except TelegramError as error:
            raise CallFailed(_transport_failure(error)) from error

    async def message(self, method: str, *, within: float | None = None, **parameters: Any) -> int:
        """Return the id of the message that a method sends or changes. Raise `CallFailed`."""
        found = answers.value(await self.call(method, within=within, **parameters), "message_id", kind=int)
        if found is None:
            raise CallFailed(Uncertain(f"Telegram did not return the message that {method} made.", acknowledged=True))
        return found

    async def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened[1].shutdown()
        downloads, self._downloads = self._downloads, None
        if downloads is not None:
            await downloads.aclose()

    async def download(self, url: str, most: int, seconds: float) -> tuple[int, bytes]:
        """Return the status and at most `most` + 1 bytes of the body; the additional byte shows that the file is too
        large. The library would read a file of any size, and a local file if the server names its path. Raises the
        errors of httpx."""
        if self._downloads is None:
            self._downloads = httpx.AsyncClient(timeout=_TIMEOUT, headers={"Accept-Encoding": "identity"})
        data = bytearray()
        async with self._downloads.stream("GET", url, timeout=httpx.Timeout(_TIMEOUT, read=seconds)) as response:
            async for chunk in response.aiter_raw(_CHUNK):
                data += chunk[: most + 1 - len(data)]
                if len(data) > most:
                    break
        return response.status_code, bytes(data)

    def _open(self) -> tuple[telegram.Bot, HTTPXRequest]:
        for name, level in _TELLTALES.items():
            logger = logging.getLogger(name)
            logger.setLevel(max(logger.level, level))
        request = _Request(
            token=self._config.token.get_secret_value(),
            connection_pool_size=_CONNECTIONS,
            connect_timeout=_TIMEOUT,
            read_timeout=_TIMEOUT,
            write_timeout=_TIMEOUT,
            pool_timeout=_TIMEOUT,
            media_write_timeout=_UPLOAD_TIMEOUT,
        )
        api, files = self._config.api_url, self._config.file_url or self._config.api_url
        bot = telegram.Bot(
            self._config.token.get_secret_value(),
            base_url=f"{api}/bot",
            base_file_url=f"{files}/file/bot",
            request=request,
            get_updates_request=request,
        )
        return bot, request


def send_error(error: CallFailed) -> SendError:
    """Return the `SendError` for a failed call."""
    failure = error.failure
    if error.rejects_token:
        return SendError("Telegram does not accept the token of the bot.", retry_after=_REJECTED)
    if isinstance(failure, Refused):
        parameters = failure.document.get("parameters")
        if moved_to := answers.text(parameters, "migrate_to_chat_id"):
            return SendError(failure.reason, moved_to=moved_to)
        return answers.send_error(failure, gone=failure.code == "403" or error.says(*_GONE))
    return answers.send_error(failure)


def _transport_failure(error: TelegramError) -> Failure:
    if isinstance(error.__cause__, _UNSENT):
        return RetryLater("Telegram cannot be reached.", _AWAY, "network")
    return Uncertain("Telegram did not answer.")
