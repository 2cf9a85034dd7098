"""Pictures from an API in OpenAI's format (`/images/generations`).

Services treat the form of the result differently: some return addresses unless the request names `response_format`, and
others refuse this field. A service that refuses it gets the request again without it.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from typing import Any

from arvis.domain.errors import ToolError
from arvis.domain.text import storable
from arvis.ports.http import HttpClient, HttpError
from arvis.ports.images import Generated
from arvis.providers.speech import ApiAccess

_MOST_ANSWER = 33_554_432
_LONGEST_REASON = 300
_FORMAT = "response_format"
_REFUSING = frozenset({400, 422})
_KEY_REFUSED = frozenset({401, 403})
_TOO_MANY = 429


class ApiImages:
    """Implements `ImageGenerator`. `access` is called before every request, because accounts change while the daemon
    runs. It returns None if there is no account. `seconds` is the time limit of a request."""

    def __init__(
        self, *, http: HttpClient, access: Callable[[], ApiAccess | None], model: str, size: str, seconds: float
    ) -> None:
        self._http = http
        self._access = access
        self._model = model
        self._size = size
        self._seconds = seconds

    async def generate(self, prompt: str, size: str) -> Generated:
        access = self._access()
        if access is None:
            raise ToolError("No account can generate pictures here. An owner must set `images.account`.")
        document = {"model": self._model, "prompt": prompt, "n": 1, "size": size or self._size, _FORMAT: "b64_json"}
        status, answer = await self._ask(access, document)
        if status in _REFUSING and _FORMAT in _reason(answer):
            document.pop(_FORMAT)
            status, answer = await self._ask(access, document)
        if status not in range(200, 300):
            raise ToolError(_refusal(status, answer))
        return _generated(answer)

    async def _ask(self, access: ApiAccess, document: Mapping[str, Any]) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {access.api_key}"} if access.api_key else {}
        try:
            async with self._http.post(
                f"{access.base_url.rstrip('/')}/images/generations",
                headers=headers,
                json=document,
                timeout=self._seconds,
                idle_timeout=self._seconds,
                max_bytes=_MOST_ANSWER,
            ) as response:
                return response.status, _parsed(await response.body())
        except HttpError as error:
            raise ToolError(f"The image service does not answer: {error}. Try again later.") from None


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _generated(answer: Any) -> Generated:
    match answer:
        case {"data": [{"b64_json": str(text), **more}, *_]} if text:
            try:
                data = base64.b64decode(text, validate=True)
            except (binascii.Error, ValueError):
                raise ToolError("The image service sent a damaged picture. Try again.") from None
            return Generated(data, prompt=_text(more.get("revised_prompt")))
        case {"data": [{"url": str(url), **more}, *_]} if url:
            return Generated(url=url, prompt=_text(more.get("revised_prompt")))
    raise ToolError("The image service sent an answer in an unexpected form. An owner must check `images.account`.")


def _refusal(status: int, answer: Any) -> str:
    if status in _KEY_REFUSED:
        return "The image service rejected the key of the account. An owner must check the key."
    if status == _TOO_MANY:
        return "The image service has received too many requests. Try again later."
    reason = _reason(answer)
    return f"The image service refused the request (HTTP {status}){f': {reason}' if reason else ''}."


def _reason(answer: Any) -> str:
    match answer:
        case {"error": {"message": str(text)}} | {"error": str(text)} | {"message": str(text)}:
            return " ".join(storable(text).split())[:_LONGEST_REASON]
    return ""


def _text(value: Any) -> str:
    return storable(value) if isinstance(value, str) else ""
