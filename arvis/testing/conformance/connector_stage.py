"""The platform that `ConnectorConformance` tests against: people who write, and the messages in their chats.

Each connector's tests provide a `Stage`: a server on this machine that behaves as the platform's documentation says,
and the connector with the platform's real client library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from arvis.domain.messages import Address
from arvis.ports.connector import Connector

#: The optional features of platforms, as `Stage.can` names them.
ABILITIES = {
    "buttons": "choices that are clicked",
    "changes": "the bot can change its messages",
    "connections": "connections, which can be cut",
    "deletions": "the bot hears that people take back what they wrote",
    "edits": "the bot hears that people change what they wrote",
    "failures": "sends that are refused or cut off",
    "files": "files, both ways",
    "gone": "chats that take nothing any more",
    "groups": "chats of several people",
    "own threads": "a thread can be opened for a reply",
    "redelivery": "the same event, again",
    "replies": "messages that reply to another one",
    "threads": "threads inside groups",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """A message of the bot as people see it. `text` is the displayed text or, if the platform renders Markdown
    itself, its source; `reply_ref` is the message that it replies to; `buttons` are the ids that a click returns,
    `files` the names; `pings` are the people that it notifies."""

    platform_id: str
    text: str
    reply_ref: str | None = None
    buttons: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    pings: tuple[str, ...] = ()


class Stage(Protocol):
    """A test platform, opened as an asynchronous context by `ConnectorConformance.stage`. People and channels have
    plain names (`ann`); `direct` is the direct chat of a person with the bot. `ref` is the platform's id of a
    message, as in `IncomingMessage.platform_ref`. A subclass need not implement the features that its platform lacks."""

    @property
    def can(self) -> frozenset[str]:
        """Return the supported features, some of `ABILITIES`."""
        ...

    @property
    def text_limit(self) -> int:
        """Return the maximum length of a text, by `length`; 0 if there is none."""
        ...

    def length(self, text: str) -> int:
        """Return the length in the platform's unit."""
        ...

    async def connector(self, **values: Any) -> Connector:
        """Return a connector with these settings in addition to the required ones; it is closed with the stage."""
        ...

    def address(self, channel: str = "room", *, direct: bool = False, thread: str = "", user: str = "ann") -> Address:
        """Return the address of messages written there."""
        ...

    async def say(
        self,
        text: str,
        *,
        user: str = "ann",
        direct: bool = True,
        addressed: bool = True,
        channel: str = "room",
        thread: str = "",
    ) -> str:
        """Let a person write, in a group with a mention of the bot before the text if `addressed`. Returns the `ref`."""
        ...

    async def say_file(
        self, name: str, content_type: str, data: bytes, *, voice: bool = False, user: str = "ann", text: str = ""
    ) -> str:
        """Let a person send a file in their direct chat. Returns the `ref`."""
        raise NotImplementedError

    async def say_as_bot(self, text: str, *, own: bool) -> None:
        """Let a program write in the group `room`: this bot, or another one."""
        raise NotImplementedError

    async def edit(self, ref: str, text: str) -> None:
        raise NotImplementedError

    async def delete(self, ref: str) -> None:
        """Delete a message of a person or of the bot."""
        raise NotImplementedError

    async def click(self, platform_id: str, button_id: str, *, user: str = "ann") -> None:
        """Press a button of a visible message."""
        raise NotImplementedError

    async def redeliver(self, ref: str) -> None:
        """Send the event of this message once more."""
        raise NotImplementedError

    async def drop_connections(self) -> None:
        """Close every connection; new ones are accepted."""
        raise NotImplementedError

    def refuse_sends(self, count: int, *, status: int = 429, retry_after: float | None = None) -> None:
        """Refuse the next sends with this status, without any effect; 0 ends it."""
        raise NotImplementedError

    def reset_sends(self, count: int, *, after: bool) -> None:
        """Close the connection of the next sends, before or after they were carried out."""
        raise NotImplementedError

    def close_channel(self, *, user: str = "ann") -> None:
        """Refuse all messages of the bot in the direct chat of a person, because it was blocked or removed."""
        raise NotImplementedError

    def shown(self, address: Address) -> Sequence[Shown]:
        """Return the bot's messages there, in order."""
        ...

    @property
    def sends(self) -> Sequence[float]:
        """Return the times (`time.monotonic`) of requests that send something."""
        ...
