"""Convert Slack's events to the daemon's own types, with pure functions.

Slack may send one message twice, as `app_mention` and as `message`. Both events become the same message, because the
reader uses only fields that both contain.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.messages import Address, FeedPosition, FileRef, IncomingMessage, Sender
from arvis.domain.platforms import Click, MessageDeletion, MessageEdit
from arvis.domain.quotations import MOST_QUOTATIONS, Quotation, QuotationKind, Writer
from arvis.domain.reactions import ReactionChange
from arvis.domain.regex import regex
from connectors.slack.settings import SlackConfig

Event = Mapping[str, Any]

#: Subtypes of messages that people write; all others are Slack's own notes (joined, renamed, pinned …).
_WRITTEN = frozenset({None, "", "file_share", "thread_broadcast", "me_message", "bot_message"})
#: Slack's names of the symbols for feedback.
_THUMBS = {"+1": "👍", "thumbsup": "👍", "-1": "👎", "thumbsdown": "👎"}
_NO_FILES = frozenset({"tombstone", "hidden_by_limit"})

_MARKUP = regex(r"<([^<>\n]{1,3000})>")
_MENTION = regex(r"<@([UW][A-Z0-9]{1,30})(?:\|[^<>]*)?>")


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """The bot's identity, from the answer of `auth.test`."""

    team: str
    user: str
    bot: str
    name: str

    def wrote(self, message: Event) -> bool:
        """Return whether the bot itself wrote this message."""
        return message.get("user") == self.user or bool(self.bot and message.get("bot_id") == self.bot)


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader of events for one bot."""

    name: str
    config: SlackConfig
    me: BotIdentity
    commands: frozenset[str] = field(default=frozenset())

    def wants(self, event: Event) -> bool:
        """Return whether the event is a message from a person or from a program that the settings allow, and not from
        the bot itself."""
        if event.get("subtype") not in _WRITTEN or event.get("hidden") or not event.get("ts"):
            return False
        if self.me.wrote(event):
            return False
        if not (event.get("user") or event.get("bot_id")):
            return False
        return not is_program(event) or bool(_program_ids(event) & set(self.config.allow_bots))

    def listens(self, channel: str) -> bool:
        """Return whether the bot listens to this channel. It always listens to direct messages."""
        allowed = self.config.allowed_channels
        return bool(channel) and (not allowed or is_direct(channel) or channel in allowed)

    def address(self, event: Event) -> Address:
        """Return the address of the answer: the thread of the message, or a new thread if the bot was mentioned in a
        channel. The setting `reply_in` can demand or forbid the new thread."""
        channel, ts = str(event["channel"]), str(event["ts"])
        thread = thread_of(event)
        wanted = self.config.reply_in
        if (
            not thread
            and not is_direct(channel)
            and wanted != "channel"
            and (wanted == "thread" or self.mentioned(event))
        ):
            thread = ts
        return self.place(channel, thread)

    def place(self, channel: str, thread: str = "") -> Address:
        return Address("slack", self.name, channel, thread)

    def mentioned(self, event: Event) -> bool:
        return any(match[1] == self.me.user for match in _MENTION.finditer(str(event.get("text") or "")))

    def message(
        self,
        event: Event,
        names: Mapping[str, str],
        position: FeedPosition | None,
        *,
        parent: Event | None = None,
        room: str = "",
    ) -> IncomingMessage:
        """Return the message. `parent` is the first message of its thread, if it was read; `room` is the channel's name."""
        address = self.address(event)
        direct = is_direct(address.channel)
        return IncomingMessage(
            address=address,
            event_id=f"{self.me.team}:{event['ts']}",
            sender=self.sender(event, names),
            content=self._content(event, names),
            is_direct=direct,
            assigned_agent=self.config.agent,
            addressed=direct or self.mentioned(event) or event.get("parent_user_id") == self.me.user,
            files=tuple(_file(each, event) for each in event.get("files") or () if each.get("mode") not in _NO_FILES),
            respond=self.config.respond,
            observe=self.config.observe,
            platform_ref=str(event["ts"]),
            room=room,
            sent_at=microseconds(str(event["ts"])) // 1_000,
            position=position,
            in_reply_to=thread_of(event) or None,
            quotations=(*self._parent(event, names, parent), *self._shared(event, names)),
        )

    def edit(self, event: Event, names: Mapping[str, str]) -> MessageEdit | None:
        """Return an edit of the text; None for the many other changes that Slack reports (previews, replies,
        reactions)."""
        now, before = dict(event.get("message") or {}), dict(event.get("previous_message") or {})
        now["channel"] = before["channel"] = event.get("channel")
        if not self.wants(now) or (before.get("text") == now.get("text") and before.get("ts")):
            return None
        # The address is made from the previous text, because a mention in the new text must not change it.
        return self._edit(now, before if before.get("ts") else now, names)

    def found_edit(self, event: Event, names: Mapping[str, str]) -> MessageEdit:
        """Return an edit that was found in the history of a channel."""
        return self._edit(event, event, names)

    def _edit(self, now: Event, place: Event, names: Mapping[str, str]) -> MessageEdit:
        ts = str(now["ts"])
        stamp = (now.get("edited") or {}).get("ts") or ts
        # An edit changes only the sender's own text, never a shared message.
        content = self.text(str(now.get("text") or ""), names)
        return MessageEdit(
            self.address(place), f"{self.me.team}:{ts}:edit:{stamp}", ts, self.sender(now, names), content
        )

    def deletion(self, event: Event) -> MessageDeletion | None:
        deleted = dict(event.get("previous_message") or {})
        ts = str(event.get("deleted_ts") or deleted.get("ts") or "")
        deleted |= {"channel": event.get("channel"), "ts": ts}
        if not ts or deleted.get("user") == self.me.user:
            return None
        return MessageDeletion(self.address(deleted), f"{self.me.team}:{ts}:deleted", ts)

    def sender(self, event: Event, names: Mapping[str, str]) -> Sender:
        user = str(event.get("user") or event.get("bot_id"))
        profile = event.get("bot_profile") or {}
        name = names.get(user) or str(event.get("username") or profile.get("name") or user)
        return Sender(user, name, bot=is_program(event))

    def _content(self, event: Event, names: Mapping[str, str]) -> str:
        """Return the text of a message. If the sender only shares another message, return the text of the shared
        message."""
        own = self.text(str(event.get("text") or ""), names)
        shared = [self._shared_text(each, names) for each in shared_messages(event)]
        return own or "\n".join(filter(None, shared))

    def _shared_text(self, shared: Event, names: Mapping[str, str]) -> str:
        files = " ".join(f"[{file.get('name') or 'file'}]" for file in shared.get("files") or ())
        return "\n".join(filter(None, (self.text(str(shared.get("text") or ""), names), files)))

    def _shared(self, event: Event, names: Mapping[str, str]) -> Iterator[Quotation]:
        """Yield the messages that the sender shares. The sender has forwarded them with Slack's function, or named
        their addresses."""
        own = self.text(str(event.get("text") or ""), names)
        for each in shared_messages(event):
            author = str(each.get("author_id") or "")
            name = names.get(author) or str(each.get("author_name") or "")
            text = self._shared_text(each, names) if own else ""
            writer = self._writer(author, event)
            yield Quotation(QuotationKind.FORWARD, writer, text=text, author=name, author_id=author)

    def _parent(self, event: Event, names: Mapping[str, str], parent: Event | None) -> Iterator[Quotation]:
        if parent is None:
            return
        author = str(parent.get("user") or parent.get("bot_id") or "")
        writer = Writer.AGENT if self.me.wrote(parent) else self._writer(author, event)
        text, name = self._shared_text(parent, names), self.sender(parent, names).name
        ref = str(parent.get("ts") or "") or None
        yield Quotation(QuotationKind.THREAD, writer, text=text, author=name, author_id=author, ref=ref)

    def _writer(self, author: str, event: Event) -> Writer:
        if author and author in {self.me.user, self.me.bot}:
            return Writer.AGENT
        return Writer.SENDER if author and author == event.get("user") else Writer.OTHER

    def text(self, text: str, names: Mapping[str, str]) -> str:
        """Return Slack's markup as plain text, without the bot's own mention."""

        def plain(match: re.Match[str]) -> str:
            inner, _, label = match[1].partition("|")
            kind, rest = inner[:1], inner[1:]
            if kind == "@":
                return "" if rest == self.me.user else f"@{names.get(rest) or label or rest}"
            if kind == "#":
                return f"#{label or rest}"
            if kind == "!":
                return label or f"@{rest.split('^')[0]}"
            inner = inner.removeprefix("mailto:").removeprefix("tel:")
            return inner if not label or label == inner else f"{label} ({inner})"

        return html.unescape(_MARKUP.sub(plain, text)).strip()

    def command(self, payload: Event, names: Mapping[str, str]) -> IncomingMessage:
        """Read a slash command: `/arvis new` and `/new` are both the command `/new`."""
        user, channel = str(payload["user_id"]), str(payload["channel_id"])
        own = str(payload.get("command") or "").removeprefix("/").lower()
        text = self.text(str(payload.get("text") or ""), {})
        content = f"/{own} {text}".rstrip() if own in self.commands else text or "/help"
        if text.split(" ", 1)[0].lower() in self.commands and own not in self.commands:
            content = f"/{text}"
        return IncomingMessage(
            address=self.place(channel),
            event_id=f"{self.me.team}:command:{payload['trigger_id']}",
            sender=Sender(user, names.get(user) or str(payload.get("user_name") or user)),
            content=content,
            is_direct=is_direct(channel),
            assigned_agent=self.config.agent,
            respond=self.config.respond,
        )

    def reaction(self, event: Event) -> ReactionChange | None:
        """Return the change of a person's reactions. Return None if the event is not about a message, or if the
        reaction is the bot's own."""
        item, user = event.get("item") or {}, str(event.get("user") or "")
        channel, ref = str(item.get("channel") or ""), str(item.get("ts") or "")
        if item.get("type") != "message" or not channel or not ref or user in {"", self.me.user}:
            return None
        name = str(event.get("reaction") or "").partition("::")[0]
        symbol = (_THUMBS.get(name) or f":{name}:",)
        added = event.get("type") == "reaction_added"
        return ReactionChange(
            address=self.place(channel),
            sender=Sender(user, user),
            ref=ref,
            added=symbol if added else (),
            removed=() if added else symbol,
            event_id=f"{self.me.team}:reaction:{user}:{event.get('event_ts')}",
        )

    def click(self, payload: Event, names: Mapping[str, str]) -> Click | None:
        """Return the click; None if the payload lacks a button with a value, the channel or the person."""
        action = next((each for each in payload.get("actions") or () if each.get("type") == "button"), None)
        container = payload.get("container") or {}
        message = payload.get("message") or {}
        channel = str((payload.get("channel") or {}).get("id") or container.get("channel_id") or "")
        ref = str(message.get("ts") or container.get("message_ts") or "")
        user = payload.get("user") or {}
        if action is None or not action.get("value") or not channel or not user.get("id"):
            return None
        thread = str(message.get("thread_ts") or container.get("thread_ts") or "")
        return Click(
            self.place(channel, "" if thread == ref else thread),
            f"{self.me.team}:click:{payload.get('trigger_id') or action.get('action_ts')}",
            Sender(str(user["id"]), names.get(str(user["id"])) or str(user.get("name") or user["id"])),
            str(action["value"]),
            ref or None,
        )


def is_direct(channel: str) -> bool:
    return channel.startswith("D")


def is_program(event: Event) -> bool:
    return bool(event.get("bot_id")) or event.get("subtype") == "bot_message"


def _program_ids(event: Event) -> set[str]:
    return {str(event[key]) for key in ("bot_id", "user", "app_id") if event.get(key)}


def thread_of(event: Event) -> str:
    """Return the thread in which a message was written; empty for messages outside of threads and for the first message
    of a thread."""
    thread = str(event.get("thread_ts") or "")
    return "" if thread == event.get("ts") else thread


def shared_messages(event: Event) -> list[Event]:
    """Return the messages that the sender shares. Slack reports them as attachments, beside previews of pages."""
    attached = [each for each in event.get("attachments") or () if isinstance(each, Mapping)]
    return [each for each in attached if each.get("is_share") or each.get("is_msg_unfurl")][:MOST_QUOTATIONS]


def people_of(event: Event) -> list[str]:
    """Return the users whose names are needed to read a message: the sender, the mentioned users, and the authors of
    shared messages."""
    sender = [str(event["user"])] if event.get("user") and not is_program(event) else []
    shared = shared_messages(event)
    authors = [str(each["author_id"]) for each in shared if each.get("author_id")]
    texts = [str(each.get("text") or "") for each in (event, *shared)]
    mentioned = [match[1] for text in texts for match in _MENTION.finditer(text)]
    return list(dict.fromkeys([*sender, *authors, *mentioned]))


def microseconds(ts: str) -> int:
    """Convert Slack's time stamp, such as `1700000000.000100`, to microseconds. The time stamp is also the id of a
    message in its channel."""
    whole, _, rest = ts.partition(".")
    return int(whole) * 1_000_000 + int((rest + "000000")[:6])


def time_stamp(position: int) -> str:
    return f"{position // 1_000_000}.{position % 1_000_000:06}"


def _file(file: Event, event: Event) -> FileRef:
    url = str(file.get("url_private_download") or file.get("url_private") or "")
    kind = str(file.get("mimetype") or "application/octet-stream")
    size = file.get("size")
    return FileRef(
        filename=str(file.get("name") or file.get("title") or file.get("id") or "file"),
        content_type=kind,
        size=size if isinstance(size, int) else None,
        source=json.dumps({"id": file.get("id"), "url": url, "type": kind}),
        # A voice message that another person recorded and the sender shares does not count as the sender's own words.
        voice=file.get("subtype") == "slack_audio" and file.get("user") in {None, event.get("user")},
    )
