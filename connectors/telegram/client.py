"""The HTTP client of one bot, opened when it is first needed, and what its errors mean to us."""

from __future__ import annotations

import asyncio
import json
import logging
from http import HTTPStatus
from typing import Any, Final

import httpx
import telegram
from telegram.error import BadRequest, ChatMigrated, Forbidden, InvalidToken, TelegramError
from telegram.request import HTTPXRequest, RequestData

from arvis.ports.connector import SendError
from connectors.telegram.settings import TelegramConfig

_CONNECTIONS: Final = 32
_TIMEOUT: Final = 15.0
_UPLOAD_TIMEOUT: Final = 120.0
_CHUNK: Final = 64 * 1024

#: The bot's address holds its token: these would write it into the log, line by line.
_TELLTALES: Final = {"httpx": logging.WARNING, "httpcore": logging.WARNING, "telegram": logging.INFO}

#: The request never reached the server, or not as a whole.
_UNSENT: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)

#: Seconds until a Telegram that nothing reached, or that does not take the token, is tried again: it counts as no attempt.
_AWAY: Final = 30.0
_LONG: Final = 60.0

#: Telegram's words for a place that takes nothing any more, or nothing from this bot.
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


class TooMany(TelegramError):
    """The server wants a pause of so many seconds. In place of the library's own error, which warns whenever it is made."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"Too many requests, to be tried again in {seconds:g} s")
        self.seconds = seconds


class _Request(HTTPXRequest):
    """A chat that is to be left alone is left alone by all requests: drafts, typing and answers."""

    def __init__(self, *, token: str, **options: Any) -> None:
        super().__init__(**options)
        self._token = token.encode()
        #: Until when (seconds of the event loop) no request may name a chat.
        self._rests: dict[str, float] = {}

    async def do_request(
        self, url: str, method: str, request_data: RequestData | None = None, *args: Any, **options: Any
    ) -> tuple[int, bytes]:
        now = asyncio.get_running_loop().time
        chat = str(request_data.parameters.get("chat_id", "")) if request_data is not None else ""
        if (left := self._rests.get(chat, 0.0) - now()) > 0:
            raise TooMany(left)
        status, payload = await super().do_request(url, method, request_data, *args, **options)
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            wanted = _wanted_pause(payload)
            self._rests = {place: until for place, until in self._rests.items() if until > now()}
            if chat:
                self._rests[chat] = now() + wanted
            raise TooMany(wanted)
        if status != HTTPStatus.OK:
            # Some servers quote the address that they were asked for, and their words are shown and kept.
            payload = payload.replace(self._token, b"***")
        return status, payload


class Client:
    """Nothing is dialled before it is asked for something, and it opens anew after it was closed."""

    def __init__(self, *, config: TelegramConfig) -> None:
        self._config = config
        self._opened: tuple[telegram.Bot, HTTPXRequest] | None = None
        self._downloads: httpx.AsyncClient | None = None

    @property
    def bot(self) -> telegram.Bot:
        if self._opened is None:
            self._opened = self._open()
        return self._opened[0]

    async def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened[1].shutdown()
        downloads, self._downloads = self._downloads, None
        if downloads is not None:
            await downloads.aclose()

    async def download(self, url: str, most: int, seconds: float) -> tuple[int, bytes]:
        """The status, and no more than one byte beyond `most`. The library would read a file of any size, and one of this
        machine where the server names its path. Raises what httpx raises."""
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


def says(error: TelegramError, *words: str) -> bool:
    """Whether the server's description holds one of these (lower-case) words."""
    text = str(error).lower()
    return any(word in text for word in words)


def was_sent(error: TelegramError) -> bool:
    """Whether the request may have been carried out although there is no answer to it."""
    return not isinstance(error.__cause__, _UNSENT)


def send_error(error: TelegramError) -> SendError:
    """Every failed request as what it means for what was to be sent."""
    text = f"Telegram: {error}"
    match error:
        case TooMany():
            return SendError("Telegram: too many messages", retry_after=error.seconds)
        case ChatMigrated():
            return SendError(text, moved_to=str(error.new_chat_id))
        case Forbidden():
            return SendError(text, gone=True)
        case BadRequest():
            return SendError(text, permanent=True, gone=says(error, *_GONE))
        case InvalidToken():
            return SendError("Telegram: the token of the bot was refused", retry_after=_LONG)
        case _ if was_sent(error):
            return SendError(text, uncertain=True)
        case _:
            return SendError(text, retry_after=_AWAY)


def _wanted_pause(payload: bytes) -> float:
    """In seconds, from the answer to a request too many; one that does not say it is met with a pause of five."""
    try:
        return max(float(json.loads(payload)["parameters"]["retry_after"]), 1.0)
    except (ValueError, KeyError, TypeError):
        return 5.0
