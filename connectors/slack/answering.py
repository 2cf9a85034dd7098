"""Answer the person who pressed a button: a line that only they see, and the message without its buttons.

This runs beside the acknowledgement, which it must not delay, and nothing depends on it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import aiohttp

from arvis.ports.inbox import Clicked
from connectors.slack.api import COSMETIC_SECONDS, SlackApi
from connectors.slack.files import is_slacks
from connectors.slack.formatting import silent
from connectors.slack.incoming import Event

log = logging.getLogger(__name__)

_TIMEOUT = aiohttp.ClientTimeout(total=COSMETIC_SECONDS)


class Answering:
    def __init__(self, *, api: SlackApi) -> None:
        self._api = api
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, body: Event, clicked: Clicked) -> None:
        url = str(body.get("response_url") or "")
        if is_slacks(url, self._api.base_url):
            task = asyncio.create_task(self._answer(url, body.get("message") or {}, clicked))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _answer(self, url: str, message: Event, clicked: Clicked) -> None:
        if clicked.text:
            text = {"response_type": "ephemeral", "replace_original": False, "text": silent(clicked.text)}
            await self._post(url, text)
        if clicked.done and message.get("blocks"):
            await self._post(url, {"replace_original": True, **without_buttons(message)})

    async def _post(self, url: str, body: dict[str, Any]) -> None:
        try:
            async with self._api.session.post(url, json=body, allow_redirects=False, timeout=_TIMEOUT) as response:
                if not response.ok:
                    log.info("Slack did not take the answer to a click: status %s.", response.status)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            log.info("The answer to a click did not reach Slack: %s.", type(error).__name__)


def without_buttons(message: Event) -> dict[str, Any]:
    blocks = [block for block in message["blocks"] if block.get("type") != "actions"]
    return {"text": str(message.get("text") or "…"), "blocks": blocks}
