"""The content of a Telegram message as text: mentions resolved, and other content named in brackets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import telegram
from telegram.constants import MessageEntityType

from connectors.telegram.formatting import sound

_NAME_LIMIT: Final = 200


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """The bot itself. `reads_all`: it sees every message of its groups (privacy mode is off)."""

    id: int
    username: str
    reads_all: bool = False


@dataclass(frozen=True, slots=True)
class MessageText:
    """The text of a message. `named`: the bot was mentioned, or given a command; `elsewhere`: it is a command for
    another bot."""

    text: str
    named: bool = False
    elsewhere: bool = False


def text_of(message: telegram.Message, me: BotIdentity) -> MessageText:
    """Return the text or caption. The bot's own name is cut out, `/command@Bot` becomes `/command`, and people
    without a user name are written as `@Name`."""
    text = message.text or message.caption or ""
    entities = message.entities or message.caption_entities
    units = text.encode("utf-16-le", "surrogatepass")
    pieces: list[str] = []
    done, named, elsewhere = 0, False, False
    for entity in sorted(entities, key=lambda entity: entity.offset):
        start, end = 2 * entity.offset, 2 * (entity.offset + entity.length)
        if start < done:
            continue
        shown = _decoded(units[start:end])
        read = _command(shown, me) if _is_command(entity) else _mention(entity, shown, me)
        pieces += (_decoded(units[done:start]), read.text)
        named, elsewhere, done = named or read.named, elsewhere or read.elsewhere, end
        if read.named and not read.text:
            done += _space(units[end : end + 2], pieces)
    pieces.append(_decoded(units[done:]))
    return MessageText(sound("".join(pieces)).strip(), named, elsewhere)


def things(message: telegram.Message) -> str:
    """Return the content besides text and files, in brackets; empty when people would see none."""
    return sound(" ".join(f"[{thing}]" for thing in _things(message)))


def name_of(user: telegram.User) -> str:
    return sound(user.full_name)[:_NAME_LIMIT].strip() or str(user.id)


def title_of(chat: telegram.Chat) -> str:
    return sound(chat.title or chat.username or "")[:_NAME_LIMIT].strip() or str(chat.id)


def origin(message: telegram.Message) -> str:
    """Return a line that names the author of a forwarded message; empty when the text is the sender's own."""
    match message.forward_origin:
        case None:
            return ""
        case telegram.MessageOriginUser(sender_user=user):
            who = name_of(user)
        case telegram.MessageOriginHiddenUser(sender_user_name=name):
            who = sound(name)[:_NAME_LIMIT]
        case telegram.MessageOriginChat(sender_chat=chat) | telegram.MessageOriginChannel(chat=chat):
            who = title_of(chat)
        case _:
            who = "somebody"
    return f"[Forwarded from {who}]\n"


def _decoded(units: bytes) -> str:
    return units.decode("utf-16-le", "surrogatepass")


def _is_command(entity: telegram.MessageEntity) -> bool:
    return entity.type == MessageEntityType.BOT_COMMAND and entity.offset == 0


def _command(shown: str, me: BotIdentity) -> MessageText:
    command, at, bot = shown.partition("@")
    if at and bot.lower() != me.username.lower():
        return MessageText(shown, elsewhere=True)
    return MessageText(command, named=True)


def _mention(entity: telegram.MessageEntity, shown: str, me: BotIdentity) -> MessageText:
    if entity.type == MessageEntityType.MENTION and shown.lower() == f"@{me.username.lower()}":
        return MessageText("", named=True)
    if entity.type == MessageEntityType.TEXT_MENTION and entity.user is not None:
        return MessageText("", named=True) if entity.user.id == me.id else MessageText(f"@{name_of(entity.user)}")
    if entity.type == MessageEntityType.TEXT_LINK and entity.url:
        return MessageText(f"{shown} ({entity.url})")
    return MessageText(shown)


def _space(following: bytes, before: Iterable[str]) -> int:
    """Return the number of bytes of white space to remove with a name that was cut out, so that none is doubled."""
    stands_free = (text := "".join(before)) == "" or text[-1].isspace()
    return 2 if stands_free and _decoded(following).isspace() else 0


def _things(message: telegram.Message) -> Iterator[str]:
    if message.sticker is not None:
        yield f"Sticker {message.sticker.emoji or ''}".rstrip()
    if message.venue is not None:
        yield f"Place: {message.venue.title}, {message.venue.address}, {_where(message.venue.location)}"
    elif message.location is not None:
        yield f"Location: {_where(message.location)}"
    if message.contact is not None:
        name = " ".join(filter(None, (message.contact.first_name, message.contact.last_name)))
        yield f"Contact: {name}, {message.contact.phone_number}"
    if message.poll is not None:
        yield f"Poll: {message.poll.question} ({' / '.join(option.text for option in message.poll.options)})"
    if message.dice is not None:
        yield f"Dice {message.dice.emoji}: {message.dice.value}"
    if message.story is not None:
        yield "Story"


def _where(location: telegram.Location) -> str:
    return f"{location.latitude:.6f}, {location.longitude:.6f}"
