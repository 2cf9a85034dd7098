"""A platform as `ConnectorConformance` sees it: people who write, and what stands in their chats.

Each connector's tests give a `Stage`: a server on this machine that does what the platform's documents say, and the
connector with the platform's real client library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from arvis.domain.messages import Address
from arvis.ports.connector import Connector

#: What platforms may have besides text that comes and goes, as `Stage.can` names it.
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
    """A message of the bot as people see it. `text` is what the platform shows or, where it renders Markdown itself, what it
    was given; `reply_ref` is the message that it replies to; `buttons` are the ids that a click brings back, `files` the
    names; `pings` are those whom it calls."""

    platform_id: str
    text: str
    reply_ref: str | None = None
    buttons: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    pings: tuple[str, ...] = ()


class Stage(Protocol):
    """Opened as an asynchronous context by `ConnectorConformance.stage`. People are named by plain names (`ann`), channels,
    too; `direct` is the chat of a person alone with the bot. `ref` is the platform's id of a message, as
    `IncomingMessage.platform_ref` has it. What a platform cannot do need not be written when its stage is a subclass."""

    @property
    def can(self) -> frozenset[str]:
        """Some of `ABILITIES`."""
        ...

    @property
    def text_limit(self) -> int:
        """The longest text that the platform takes, by `length`; 0 for one that takes any."""
        ...

    def length(self, text: str) -> int:
        """In the platform's unit."""
        ...

    async def connector(self, **values: Any) -> Connector:
        """A connector with these settings besides those that it needs; closed with the stage."""
        ...

    def address(self, channel: str = "room", *, direct: bool = False, thread: str = "", user: str = "ann") -> Address:
        """Where a message written there comes from."""
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
        """Somebody writes; in a group with a mention of the bot before the text if `addressed`. The `ref`."""
        ...

    async def say_file(
        self, name: str, content_type: str, data: bytes, *, voice: bool = False, user: str = "ann", text: str = ""
    ) -> str:
        """Somebody sends a file in their direct chat. The `ref`."""
        raise NotImplementedError

    async def say_as_bot(self, text: str, *, own: bool) -> None:
        """A program writes in the group `room`: this bot, or another one."""
        raise NotImplementedError

    async def edit(self, ref: str, text: str) -> None:
        raise NotImplementedError

    async def delete(self, ref: str) -> None:
        """Take back what somebody wrote, or a message of the bot."""
        raise NotImplementedError

    async def click(self, platform_id: str, button_id: str, *, user: str = "ann") -> None:
        """Press a button of a message that is shown."""
        raise NotImplementedError

    async def redeliver(self, ref: str) -> None:
        """Bring the event of this message once more."""
        raise NotImplementedError

    async def drop_connections(self) -> None:
        """Cut every connection; new ones are taken."""
        raise NotImplementedError

    def refuse_sends(self, count: int, *, status: int = 429, retry_after: float | None = None) -> None:
        """Answer the next sends with this, and do nothing; 0 ends it."""
        raise NotImplementedError

    def reset_sends(self, count: int, *, after: bool) -> None:
        """Cut the connection of the next sends, before or after they were carried out."""
        raise NotImplementedError

    def close_channel(self, *, user: str = "ann") -> None:
        """Take nothing from the bot any more in the direct chat of a person: it was blocked, or put out."""
        raise NotImplementedError

    def shown(self, address: Address) -> Sequence[Shown]:
        """The bot's messages there, in order."""
        ...

    @property
    def sends(self) -> Sequence[float]:
        """When requests came that send something (`time.monotonic`)."""
        ...
