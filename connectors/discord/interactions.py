"""Answers slash commands and clicks on buttons. Discord requires an answer within three seconds. Only the person who
sent the command or clicked sees the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from arvis.domain.errors import Unavailable
from arvis.domain.messages import MessageStatus
from arvis.ports.connector import CommandHint
from arvis.ports.inbox import Clicked, Inbox
from connectors import answers
from connectors.answers import Uncertain
from connectors.discord.client import REQUEST_ERRORS, CallFailed
from connectors.discord.incoming import Event, Reader, Spot, reading
from connectors.discord.outgoing import SUPPRESS_EMBEDS
from connectors.discord.rest import COSMETIC_SECONDS, Rest

COMMAND, COMPONENT = 2, 3
#: Types of answers: a message, a request to wait after a command, a request to wait after a click on a button, and a
#: change of the message with the button.
_MESSAGE, _WAIT, _WAIT_QUIETLY, _CHANGE = 4, 5, 6, 7
#: The flag of an answer that only the person who sent the command or clicked sees.
_EPHEMERAL = 1 << 6
#: The same flag together with the flag that suppresses previews of links.
_NOTE = _EPHEMERAL | SUPPRESS_EMBEDS
#: The seconds to wait for the inbox. After this time, the connector asks Discord to wait, because Discord allows only
#: three seconds for the first answer.
_SOON = 1.5
_TEXT_OPTION = 3
_LATER = "This cannot be saved right now. Please try again in a minute."

Outcome = TypeVar("Outcome")


class Interactions:
    """A handler that answers interactions with the result of the inbox. `application`: the id of the application."""

    def __init__(self, *, reader: Reader, inbox: Inbox, rest: Rest, application: str) -> None:
        self._reader = reader
        self._inbox = inbox
        self._rest = rest
        self._application = application

    async def take(self, data: Event, spot: Spot) -> None:
        """Pass an interaction to the inbox and answer it. If the answer cannot be sent, the person sees Discord's own
        note that the bot did not respond. Raise `Malformed`."""
        with suppress(*REQUEST_ERRORS):
            if not self._reader.allowed(spot):
                await self._say(data, "I don't respond in this channel.", deferred=False)
            elif data.get("type") == COMMAND:
                await self._command(data, spot)
            elif data.get("type") == COMPONENT:
                await self._click(data, spot)

    async def _command(self, data: Event, spot: Spot) -> None:
        with reading():
            message = self._reader.command(data, spot)
        received, deferred = await self._soon(data, _WAIT, self._inbox.receive(message))
        if received is None:
            text = _LATER
        elif received.status is MessageStatus.DROPPED:
            text = "I cannot accept this from you here. If you need access, ask the person who runs this bot."
        else:
            text = "Received."
        if deferred:
            await self._original(data, {"content": text})
        else:
            await self._answer(data, _MESSAGE, {"content": text, "flags": _NOTE})

    async def _click(self, data: Event, spot: Spot) -> None:
        with reading():
            click = self._reader.click(data, spot)
        clicked, deferred = await self._soon(data, _WAIT_QUIETLY, self._inbox.click(click))
        clicked = clicked or Clicked(_LATER, done=False)
        if clicked.done and deferred:
            await self._original(data, {"components": []})
        elif clicked.done:
            await self._answer(data, _CHANGE, {"components": []})
        await self._say(data, clicked.text, deferred=deferred or clicked.done)

    async def _soon(self, data: Event, wait: int, outcome: Awaitable[Outcome]) -> tuple[Outcome | None, bool]:
        """Return the result of the inbox (None if the inbox could not store the event), and True if Discord was asked
        to wait for this result."""
        task = asyncio.ensure_future(outcome)
        done, _ = await asyncio.wait({task}, timeout=_SOON)
        if not done:
            await self._answer(data, wait, {"flags": _EPHEMERAL})
        try:
            return await task, not done
        except Unavailable:
            return None, not done

    async def _say(self, data: Event, text: str, *, deferred: bool) -> None:
        body = {"content": text, "flags": _NOTE, "allowed_mentions": {"parse": []}}
        if not text:
            return
        if deferred:
            await self._request(data, "POST", "/webhooks/{webhook_id}/{webhook_token}", self._application, body)
        else:
            await self._answer(data, _MESSAGE, body)

    async def _answer(self, data: Event, kind: int, body: dict[str, Any]) -> None:
        path = "/interactions/{webhook_id}/{webhook_token}/callback"
        await self._request(data, "POST", path, answers.text(data, "id"), {"type": kind, "data": body})

    async def _original(self, data: Event, body: dict[str, Any]) -> None:
        path = "/webhooks/{webhook_id}/{webhook_token}/messages/@original"
        await self._request(data, "PATCH", path, self._application, body)

    async def _request(self, data: Event, method: str, path: str, id_: str, body: dict[str, Any]) -> None:
        token = answers.text(data, "token")
        await self._rest.request(method, path, within=COSMETIC_SECONDS, webhook_id=id_, webhook_token=token, json=body)


async def register(rest: Rest, application: str, hints: Sequence[CommandHint]) -> None:
    """Register the commands that Discord lacks or has in a different form. Do not change commands with other names,
    because Arvis did not create them. Raise one of `REQUEST_ERRORS` if a request fails."""
    path = f"/applications/{application}/commands"
    known = answers.mappings(await rest.request("GET", path, within=COSMETIC_SECONDS))
    if known is None:
        raise CallFailed(Uncertain("Discord sent its commands in an unexpected format."))
    offered = [_essence(command) for command in known]
    for wanted in map(_offer, hints):
        if _essence(wanted) not in offered:
            await rest.request("POST", path, within=COSMETIC_SECONDS, json=wanted)


def _offer(hint: CommandHint) -> dict[str, Any]:
    option_text = {"type": _TEXT_OPTION, "name": "text", "description": "The text for the command", "required": False}
    return {"name": hint.name, "description": hint.about[:100], "type": 1, "options": [option_text]}


def _essence(command: Event) -> tuple[Any, ...]:
    options = answers.mappings(command.get("options") or []) or ()
    described = [tuple(answers.text(option, key) for key in ("name", "description", "type")) for option in options]
    name, about = answers.text(command, "name"), answers.text(command, "description")
    return name, about, answers.text(command, "type") or "1", described
