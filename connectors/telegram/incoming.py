"""Converts Telegram's updates to the types of the inbox, with pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import telegram
from telegram.constants import ChatMemberStatus, ChatType, MessageEntityType

from arvis.domain.dataclass import dataclass
from arvis.domain.messages import Address, FeedPosition, FileRef, IncomingMessage, Sender
from arvis.domain.platforms import Click, MessageEdit
from arvis.domain.quotations import Quotation, QuotationKind, Writer
from arvis.domain.reactions import ReactionChange
from connectors.telegram.formatting import sound
from connectors.telegram.settings import TelegramConfig

PLATFORM: Final = "telegram"
#: The one feed of a bot: Telegram keeps one queue of updates for all its chats.
FEED: Final = "updates"
#: The types of updates that the connector requests. Telegram sends no updates of other types.
KINDS: Final = (
    "message",
    "edited_message",
    "channel_post",
    "edited_channel_post",
    "callback_query",
    "my_chat_member",
    "message_reaction",
)

_NAME_LIMIT: Final = 200
_OUT: Final = {
    ChatMemberStatus.LEFT: "The bot is no longer in this chat.",
    ChatMemberStatus.BANNED: "The bot was removed from this chat.",
    ChatMemberStatus.RESTRICTED: "The bot may not write in this chat.",
}


@dataclass(frozen=True, slots=True)
class Move:
    """A group that got a new id because it became a supergroup."""

    old: Address
    new_channel: str
    position: FeedPosition


@dataclass(frozen=True, slots=True)
class Access:
    """A change of the bot's permission to write in a place. `reason` says why the bot may not write there; it is empty
    if the bot may write."""

    place: Address
    reason: str
    position: FeedPosition


Event = IncomingMessage | MessageEdit | Click | Move | Access | ReactionChange


class Incoming:
    def __init__(self, *, bot: str, me: BotIdentity, config: TelegramConfig) -> None:
        """`bot`: the name of the bot in the configuration."""
        self._bot = bot
        self._me = me
        self._config = config

    def read(self, update: telegram.Update) -> Event | None:
        """Return the event for an update; None for an update that Arvis ignores."""
        position = FeedPosition(FEED, update.update_id)
        if (message := update.message or update.channel_post) is not None:
            return (
                self._moved(message, position) or self._reopened(message, position) or self._message(message, position)
            )
        if (message := update.edited_message or update.edited_channel_post) is not None:
            return self._edit(message, position)
        if update.callback_query is not None:
            return self._click(update.callback_query, position)
        if update.my_chat_member is not None:
            return self._access(update.my_chat_member, position)
        if update.message_reaction is not None:
            return self._reaction(update.message_reaction, position)
        return None

    def _message(self, message: telegram.Message, position: FeedPosition) -> IncomingMessage | None:
        sender = self._sender(message)
        parsed = text_of(message, self._me)
        files = tuple(_files(message))
        content = "\n".join(filter(None, (parsed.text, things(message))))
        if parsed.named and not content and not files:
            content = f"@{self._me.username}"
        if sender is None or not self._listens(message.chat) or not (content or files):
            return None
        direct = message.chat.type == ChatType.PRIVATE
        return IncomingMessage(
            address=self._address(message),
            event_id=f"u{position.position}",
            sender=sender,
            content=content,
            is_direct=direct,
            addressed=direct or (not parsed.elsewhere and (parsed.named or self._is_answer(message))),
            assigned_agent=self._config.agent,
            files=files,
            respond=self._config.respond,
            observe=self._config.observe,
            platform_ref=str(message.message_id),
            room="" if direct else title_of(message.chat),
            sent_at=int(message.date.timestamp() * 1000),
            album=message.media_group_id,
            position=position,
            in_reply_to=_replied_to(message),
            quotations=tuple(quotations(message, self._me)),
        )

    def _edit(self, message: telegram.Message, position: FeedPosition) -> MessageEdit | None:
        sender = self._sender(message)
        content = text_of(message, self._me).text
        if sender is None or not content or not self._listens(message.chat):
            return None
        address, ref = self._address(message), str(message.message_id)
        return MessageEdit(address, f"u{position.position}", ref, sender, content, position)

    def _click(self, query: telegram.CallbackQuery, position: FeedPosition) -> Click | None:
        shown = query.message
        if shown is None or query.data is None:
            return None
        place = self._address(shown) if isinstance(shown, telegram.Message) else self._place(shown.chat)
        who = Sender(str(query.from_user.id), name_of(query.from_user), bot=query.from_user.is_bot)
        return Click(place, f"q{query.id}", who, sound(query.data), str(shown.message_id), position)

    def _moved(self, message: telegram.Message, position: FeedPosition) -> Move | None:
        """Return the move of a group to a new id, if the message reports one; None for other messages. Telegram
        reports each move twice, in the old group and in the new one."""
        if message.migrate_to_chat_id is not None:
            return Move(self._place(message.chat), str(message.migrate_to_chat_id), position)
        if message.migrate_from_chat_id is not None:
            old = Address(PLATFORM, self._bot, str(message.migrate_from_chat_id))
            return Move(old, str(message.chat.id), position)
        return None

    def _reopened(self, message: telegram.Message, position: FeedPosition) -> Access | None:
        """If the message reports that a topic was reopened, return the event that the bot may write there again. Return
        None for other messages."""
        if message.forum_topic_reopened is None:
            return None
        return Access(self._address(message), "", position)

    def _access(self, change: telegram.ChatMemberUpdated, position: FeedPosition) -> Access:
        now = change.new_chat_member
        reason = _OUT.get(ChatMemberStatus(now.status), "")
        if isinstance(now, telegram.ChatMemberRestricted) and now.is_member and now.can_send_messages:
            reason = ""
        if reason and change.chat.type == ChatType.PRIVATE:
            reason = "The person has blocked the bot."
        return Access(self._place(change.chat), reason, position)

    def _reaction(self, change: telegram.MessageReactionUpdated, position: FeedPosition) -> ReactionChange | None:
        """Return the change of a person's reactions; None if the person is anonymous or the bot does not listen."""
        if change.user is None or change.user.is_bot or not self._listens(change.chat):
            return None
        before, after = (list(map(_emoji, each)) for each in (change.old_reaction, change.new_reaction))
        return ReactionChange(
            address=self._place(change.chat),
            sender=Sender(str(change.user.id), name_of(change.user)),
            ref=str(change.message_id),
            added=tuple(each for each in after if each not in before),
            removed=tuple(each for each in before if each not in after),
            event_id=f"u{position.position}",
            position=position,
        )

    def _sender(self, message: telegram.Message) -> Sender | None:
        """Return the sender; None for a sender to whom the bot does not listen. If a person writes as a group or
        channel, the sender is that chat."""
        if message.sender_chat is not None:
            return Sender(str(message.sender_chat.id), title_of(message.sender_chat))
        user = message.from_user
        if user is None or user.id == self._me.id or (user.is_bot and not self._allows(user)):
            return None
        return Sender(str(user.id), name_of(user), bot=user.is_bot)

    def _allows(self, bot: telegram.User) -> bool:
        names = {name.removeprefix("@").lower() for name in self._config.allow_bots}
        return str(bot.id) in names or (bot.username or "").lower() in names

    def _listens(self, chat: telegram.Chat) -> bool:
        """Return whether the bot listens to this chat. `allowed_channels` limits only groups and channels; the inbox
        decides who may write direct messages."""
        allowed = self._config.allowed_channels
        return not allowed or chat.type == ChatType.PRIVATE or str(chat.id) in allowed

    def _is_answer(self, message: telegram.Message) -> bool:
        """Return True if the message is a reply to the bot. In a topic, each message that is not a reply refers to the
        note that opened the topic; such a reference does not count."""
        answered = message.reply_to_message
        if answered is None or answered.forum_topic_created is not None:
            return False
        return answered.from_user is not None and answered.from_user.id == self._me.id

    def _address(self, message: telegram.Message) -> Address:
        thread = str(message.message_thread_id) if message.is_topic_message and message.message_thread_id else ""
        return Address(PLATFORM, self._bot, str(message.chat.id), thread)

    def _place(self, chat: telegram.Chat) -> Address:
        return Address(PLATFORM, self._bot, str(chat.id))


def _emoji(reaction: telegram.ReactionType) -> str:
    match reaction:
        case telegram.ReactionTypeEmoji(emoji=emoji):
            return sound(emoji)
        case telegram.ReactionTypePaid():
            return "⭐"
        case _:
            return ":custom:"


def _replied_to(message: telegram.Message) -> str | None:
    """Return the id of the message to which this message replies. The note that opened a topic does not count."""
    replied = message.reply_to_message
    if replied is None or replied.forum_topic_created is not None:
        return None
    return str(replied.message_id)


def _files(message: telegram.Message) -> Iterator[FileRef]:
    if message.photo:
        best = max(message.photo, key=lambda size: size.width * size.height)
        yield FileRef(f"photo-{best.file_unique_id}.jpg", "image/jpeg", best.file_size, best.file_id)
    if (voice := message.voice) is not None:
        kind = _kind(voice.mime_type, "audio/ogg")
        # A forwarded recording is not the sender's own statement.
        own = message.forward_origin is None
        yield FileRef(f"voice-{voice.file_unique_id}.ogg", kind, voice.file_size, voice.file_id, voice=own)
    if (note := message.video_note) is not None:
        yield FileRef(f"video-note-{note.file_unique_id}.mp4", "video/mp4", note.file_size, note.file_id)
    # Telegram reports an animation twice: as itself and, for old clients, as a document.
    named = message.animation or message.document or message.audio or message.video
    if named is not None:
        kind = _kind(named.mime_type, "application/octet-stream")
        name = sound(named.file_name or "").replace("/", "_")[-_NAME_LIMIT:].strip()
        yield FileRef(name or f"file-{named.file_unique_id}", kind, named.file_size, named.file_id)


def _kind(declared: str | None, otherwise: str) -> str:
    return sound(declared)[:_NAME_LIMIT].strip().lower() if declared else otherwise


# The content of a message as text: mentions resolved, and other content named in brackets.


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """The bot's own user. `reads_all`: the bot sees every message of its groups (privacy mode is off)."""

    id: int
    username: str
    reads_all: bool = False


@dataclass(frozen=True, slots=True)
class MessageText:
    """The text of a message. `named`: True if the text mentions the bot or is a command for it. `elsewhere`: True if
    the text is a command for another bot."""

    text: str
    named: bool = False
    elsewhere: bool = False


def text_of(message: telegram.Message, me: BotIdentity) -> MessageText:
    """Return the text or caption of a message. Mentions of the bot are removed, `/command@Bot` becomes `/command`, and
    mentions of people without a user name become `@Name`."""
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
    """Return the content other than text and files, such as a location, in brackets; empty if there is none."""
    return sound(" ".join(f"[{thing}]" for thing in _things(message)))


def name_of(user: telegram.User) -> str:
    return sound(user.full_name)[:_NAME_LIMIT].strip() or str(user.id)


def title_of(chat: telegram.Chat) -> str:
    return sound(chat.title or chat.username or "")[:_NAME_LIMIT].strip() or str(chat.id)


# The messages that a message answers, quotes or forwards.


@dataclass(frozen=True, slots=True)
class _Author:
    name: str
    #: Empty if Telegram does not report the id, because the person hides it.
    id: str = ""


def quotations(message: telegram.Message, me: BotIdentity) -> Iterator[Quotation]:
    """Yield the message to which a message replies, and the origin of a forwarded message. A reply to a message of
    another chat contains only the origin of that message and the part that the person selected."""
    replied, elsewhere = message.reply_to_message, message.external_reply
    if replied is not None and replied.forum_topic_created is None:
        forwarded = replied.forward_origin
        author = _author_of(replied) if forwarded is None else _origin(forwarded)
        yield _reply(message, author, _content(replied, me), me, ref=str(replied.message_id))
    elif elsewhere is not None:
        yield _reply(message, _origin(elsewhere.origin), "", me)
    if message.forward_origin is not None:
        author = _origin(message.forward_origin)
        yield Quotation(QuotationKind.FORWARD, _writer(author, message, me), author=author.name, author_id=author.id)


def _reply(
    message: telegram.Message, author: _Author, text: str, me: BotIdentity, *, ref: str | None = None
) -> Quotation:
    selected = sound(message.quote.text).strip() if message.quote is not None else ""
    return Quotation(
        QuotationKind.REPLY,
        _writer(author, message, me),
        text=selected or text,
        author=author.name,
        author_id=author.id,
        ref=ref,
        partial=bool(selected) and selected != text,
    )


def _content(message: telegram.Message, me: BotIdentity) -> str:
    """Return the text of a quoted message, and the names of its files."""
    files = " ".join(f"[{file.filename}]" for file in _files(message))
    return "\n".join(filter(None, (text_of(message, me).text, things(message), files)))


def _writer(author: _Author, message: telegram.Message, me: BotIdentity) -> Writer:
    sender = message.sender_chat or message.from_user
    if author.id == str(me.id):
        return Writer.AGENT
    return Writer.SENDER if sender is not None and author.id == str(sender.id) else Writer.OTHER


def _author_of(message: telegram.Message) -> _Author:
    if message.sender_chat is not None:
        return _Author(title_of(message.sender_chat), str(message.sender_chat.id))
    user = message.from_user
    return _Author("") if user is None else _Author(name_of(user), str(user.id))


def _origin(origin: telegram.MessageOrigin) -> _Author:
    match origin:
        case telegram.MessageOriginUser(sender_user=user):
            return _Author(name_of(user), str(user.id))
        case telegram.MessageOriginHiddenUser(sender_user_name=name):
            return _Author(sound(name)[:_NAME_LIMIT])
        case telegram.MessageOriginChat(sender_chat=chat) | telegram.MessageOriginChannel(chat=chat):
            return _Author(title_of(chat), str(chat.id))
        case _:
            return _Author("")


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
    """Return the number of bytes to skip after a removed name: the following space, if there is also a space before the
    name."""
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
