"""Converts Discord's events to the daemon's own types. The functions are pure; call them within `reading()`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.messages import Address, FeedPosition, FileRef, IncomingMessage, Respond, Sender
from arvis.domain.platforms import Click, MessageDeletion, MessageEdit
from arvis.domain.quotations import Quotation, QuotationKind, Writer
from arvis.domain.reactions import ReactionChange
from arvis.domain.regex import regex
from connectors.discord.files import source_of
from connectors.discord.rest import made_at
from connectors.discord.settings import DiscordConfig

Event = Mapping[str, Any]

_REPLY = 19
_TEXT_TYPES = frozenset({0, _REPLY})  # messages and replies; people write no other types
_VOICE_FLAG = 1 << 13
_MENTION = regex(r"<@!?(\d+)>")
_ROLE_MENTION = regex(r"<@&\d+>")
_EMOJI = regex(r"<a?(:\w+:)\d+>")


class Malformed(Exception):
    """An event that differs from Discord's documentation."""


@contextmanager
def reading() -> Iterator[None]:
    """Raise `Malformed` in place of the errors that a malformed document causes when it is read. The block must only
    read the document, because errors of any other code in the block would also become `Malformed`."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise Malformed(repr(error)) from error


@dataclass(frozen=True, slots=True)
class Spot:
    """The place where a message was written; `thread` is empty outside of threads."""

    channel: str
    thread: str = ""
    direct: bool = False
    #: The name of the channel; empty if unknown.
    name: str = ""

    @property
    def feed(self) -> str:
        """Return the id of the thread or channel whose history contains the messages of this place."""
        return self.thread or self.channel


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader of events for one bot. `bot`: the bot's name in the configuration. `me`: the bot's id at Discord."""

    bot: str
    me: str
    config: DiscordConfig

    def concerns(self, data: Event, spot: Spot) -> bool:
        """Return True if the bot handles this message: the message has content, and the bot listens to its author and
        in its channel."""
        return (
            data.get("type", 0) in _TEXT_TYPES
            and self._listens_to(data)
            and (spot.direct or self._listens_in(spot))
            and bool(self._content(data) or data.get("attachments"))
        )

    def message(self, data: Event, spot: Spot) -> IncomingMessage:
        id_ = str(data["id"])
        addressed = spot.direct or self._addressed(data)
        return IncomingMessage(
            address=self._address(self._answered_in(spot, id_, addressed)),
            event_id=id_,
            sender=sender_of(data),
            content=self._content(data),
            is_direct=spot.direct,
            addressed=addressed,
            assigned_agent=self.config.agent,
            files=_files(data),
            respond=self.config.respond,
            observe=self.config.observe,
            platform_ref=id_,
            room=spot.name,
            sent_at=made_at(id_),
            position=FeedPosition(feed=spot.feed, position=int(id_)),
            in_reply_to=_replied_to(data),
            quotations=tuple(self._quotations(data)),
        )

    def edit(self, data: Event, spot: Spot) -> MessageEdit | None:
        """Return the edit. Return None for a change that no person made: Discord also reports that it has loaded the
        preview of a link."""
        edited = data.get("edited_timestamp")
        if not edited or "content" not in data:
            return None
        id_ = str(data["id"])
        return MessageEdit(
            address=self._address(spot), event_id=f"edit:{id_}:{edited}", ref=id_,
            sender=sender_of(data), content=self._content(data),
        )  # fmt: skip

    def deletion(self, id_: str, spot: Spot) -> MessageDeletion:
        return MessageDeletion(address=self._address(spot), event_id=f"delete:{id_}", ref=id_)

    def command(self, data: Event, spot: Spot) -> IncomingMessage:
        """Return a slash command as the message that a person would type instead. The message does not move the
        channel's position, because Discord sends a command only once and keeps it in no history."""
        id_, command = str(data["id"]), data["data"]
        parts = [f"/{command['name']}", *(str(option["value"]) for option in command.get("options", ()))]
        return IncomingMessage(
            address=self._address(spot),
            event_id=id_,
            sender=sender_of(data),
            content=" ".join(parts).strip(),
            is_direct=spot.direct,
            assigned_agent=self.config.agent,
            respond=self.config.respond,
            observe=self.config.observe,
            sent_at=made_at(id_),
        )

    def click(self, data: Event, spot: Spot) -> Click:
        return Click(
            address=self._address(spot),
            event_id=str(data["id"]),
            sender=sender_of(data),
            data=str(data["data"]["custom_id"]),
            message_ref=str(data["message"]["id"]),
        )

    def reaction(self, data: Event, spot: Spot, *, added: bool) -> ReactionChange | None:
        """Return the change of a person's reactions; None for reactions of the bot itself. Discord reports the person's
        name only in guilds, and gives these events no id."""
        user, emoji = str(data["user_id"]), data["emoji"]
        if user == self.me:
            return None
        member = data.get("member") or {}
        person = member.get("user") or {"id": user}
        name = str(emoji.get("name") or "custom")
        symbol = (f":{name}:" if emoji.get("id") else name,)
        return ReactionChange(
            address=self._address(spot),
            sender=Sender(user, _name(person, member), bot=bool(person.get("bot"))),
            ref=str(data["message_id"]),
            added=symbol if added else (),
            removed=() if added else symbol,
        )

    def place(self, spot: Spot) -> Address:
        return self._address(spot)

    def allowed(self, spot: Spot) -> bool:
        """Return whether the bot accepts commands and clicks in this place."""
        return spot.direct or self._listens_in(spot)

    def _address(self, spot: Spot) -> Address:
        return Address("discord", self.bot, spot.channel, spot.thread)

    def _answered_in(self, spot: Spot, message: str, addressed: bool) -> Spot:
        # A thread that is started from a message gets the message's id, so the place is known before the thread
        # exists.
        begins = self.config.reply_in == "thread" and (addressed or self.config.respond is Respond.ALL)
        return Spot(spot.channel, message) if begins and not spot.thread and not spot.direct else spot

    def _listens_in(self, spot: Spot) -> bool:
        allowed = self.config.allowed_channels
        return not allowed or spot.channel in allowed or spot.thread in allowed

    def _listens_to(self, data: Event) -> bool:
        author = str(data["author"]["id"])
        if author == self.me:
            return False
        return not _is_program(data) or author in self.config.allow_bots

    def _addressed(self, data: Event) -> bool:
        # Mentions of everyone and of roles are in separate lists; they do not address the bot.
        replied = data.get("referenced_message") or {}
        to_me = str(replied.get("author", {}).get("id", "")) == self.me
        return to_me or any(str(user["id"]) == self.me for user in data.get("mentions", ()))

    def _content(self, data: Event) -> str:
        stickers = [f"[Sticker: {sticker['name']}]" for sticker in data.get("sticker_items") or ()]
        text = "\n".join(part for part in (data.get("content") or "", *stickers) if part)
        # A person cannot add a text to a forwarded message.
        return self._plain(text or "\n".join(_forwarded(data)), data)

    def _plain(self, text: str, data: Event) -> str:
        names = {str(user["id"]): _name(user, user.get("member")) for user in data.get("mentions", ())}
        names[self.me] = ""

        def named(match: re.Match[str]) -> str:
            name = names.get(match[1], match[1])
            return f"@{name}" if name else ""

        return _EMOJI.sub(r"\1", _ROLE_MENTION.sub("@role", _MENTION.sub(named, text))).strip()

    def _quotations(self, data: Event) -> Iterator[Quotation]:
        """Yield the message to which this message replies, and the forwarded message. Discord does not report who wrote
        a forwarded message. A message to which a person replies may have been deleted; its text is then missing."""
        ref = _replied_to(data)
        replied = data.get("referenced_message") or {}
        if ref is not None:
            author = replied.get("author") or {}
            author_id = str(author.get("id") or "")
            files = [f"[{file.get('filename') or 'file'}]" for file in replied.get("attachments") or ()]
            content = "\n".join(filter(None, (self._content(replied) if replied else "", " ".join(files))))
            writer = Writer.AGENT if author_id == self.me else Writer.OTHER
            if author_id and author_id == str(data["author"]["id"]) and not replied.get("message_snapshots"):
                writer = Writer.SENDER
            name = _name(author, None) if author_id else ""
            yield Quotation(QuotationKind.REPLY, writer, text=content, author=name, author_id=author_id, ref=ref)
        if data.get("message_snapshots"):
            own = bool(data.get("content"))
            text = self._plain("\n".join(_forwarded(data)), data) if own else ""
            yield Quotation(QuotationKind.FORWARD, Writer.OTHER, text=text)


def sender_of(data: Event) -> Sender:
    """Return the author of a message, click or command. In a guild, clicks and commands contain the user inside the
    member."""
    member = data.get("member")
    user = data.get("author") or data.get("user") or (member or {})["user"]
    return Sender(user_id=str(user["id"]), name=_name(user, member), bot=_is_program(data))


def _forwarded(data: Event) -> Iterator[str]:
    for snapshot in data.get("message_snapshots") or ():
        message = snapshot["message"]
        files = " ".join(f"[{file.get('filename') or 'file'}]" for file in message.get("attachments") or ())
        yield from filter(None, (message.get("content") or "", files))


def _replied_to(data: Event) -> str | None:
    """Return the id of the message to which this message replies."""
    reference = data.get("message_reference") or {}
    replied = data.get("type", 0) == _REPLY and reference.get("message_id")
    return str(replied) if replied else None


def _is_program(data: Event) -> bool:
    return bool((data.get("author") or {}).get("bot")) or "webhook_id" in data


def _name(user: Event, member: Event | None) -> str:
    return str((member or {}).get("nick") or user.get("global_name") or user.get("username") or user["id"])[:100]


def _files(data: Event) -> tuple[FileRef, ...]:
    voice = bool(int(data.get("flags") or 0) & _VOICE_FLAG)
    return tuple(
        FileRef(
            filename=str(file.get("filename") or "file")[:255],
            content_type=str(file.get("content_type") or "application/octet-stream")[:255],
            size=int(file["size"]) if file.get("size") is not None else None,
            source=source_of(data["channel_id"], data["id"], file),
            voice=voice,
        )
        for file in data.get("attachments") or ()
    )
