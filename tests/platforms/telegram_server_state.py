"""The data of the Telegram server: bots with their queues of updates, chats with their messages, files."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

#: Kinds of updates that a bot must ask for.
_ON_REQUEST = {"chat_member", "message_reaction", "message_reaction_count"}


class ApiError(Exception):
    """An error answer, as documented under "Making requests"."""

    def __init__(self, code: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        self.code = code
        self.parameters = parameters

    @property
    def document(self) -> Json:
        answer: Json = {"ok": False, "error_code": self.code, "description": str(self)}
        return answer | ({"parameters": self.parameters} if self.parameters else {})


@dataclass
class Bot:
    """A bot. `pending` are its unconfirmed updates; `again` are confirmed ones that are sent once more."""

    id: int
    token: str
    username: str
    reads_all: bool = True
    next_update: int = 1000
    pending: list[Json] = field(default_factory=list)
    again: list[Json] = field(default_factory=list)
    past: list[Json] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)
    webhook: str = ""
    commands: list[Json] = field(default_factory=list)
    queries: set[str] = field(default_factory=set)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    poll: asyncio.Future[None] | None = None
    #: Set when a poll waits.
    polled: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def user(self) -> Json:
        return {"id": self.id, "is_bot": True, "first_name": "Helper", "username": self.username}

    def push(self, kind: str, content: Json) -> Json:
        """Add an update, unless the bot did not ask for this kind."""
        update = {"update_id": self.next_update, kind: content}
        if kind in self.allowed or (not self.allowed and kind not in _ON_REQUEST):
            self.next_update += 1
            self.pending.append(update)
            self.past.append(update)
            self.news.set()
        return update

    def confirm(self, offset: int) -> None:
        """Delete the updates before `offset`. A negative offset counts from the end."""
        if offset < 0:
            self.pending = self.pending[offset:]
        elif offset > 0:
            self.pending = [update for update in self.pending if update["update_id"] >= offset]

    def take(self, limit: int) -> list[Json]:
        again, self.again = self.again, []
        found = sorted(again + self.pending, key=lambda update: int(update["update_id"]))[:limit]
        if not self.pending and not self.again:
            self.news.clear()
        return found


@dataclass
class Chat:
    """A chat. `messages` are by id; `status` is the bot's. `refusal` is the error for the bot's sends, if the chat
    refuses them."""

    id: int
    type: str
    title: str = ""
    is_forum: bool = False
    topics: set[int] = field(default_factory=set)
    messages: dict[int, Json] = field(default_factory=dict)
    drafts: dict[int, str] = field(default_factory=dict)
    actions: list[str] = field(default_factory=list)
    refusal: ApiError | None = None
    last_message: int = 0

    @property
    def document(self) -> Json:
        chat: Json = {"id": self.id, "type": self.type}
        chat |= {"first_name": self.title} if self.type == "private" else {"title": self.title}
        return chat | ({"is_forum": True} if self.is_forum else {})

    def next_id(self) -> int:
        self.last_message += 1
        return self.last_message

    def add(self, sender: Json | None, **content: Any) -> Json:
        """Add a message to this chat. Parameters that are None are left out."""
        message: Json = {"message_id": self.next_id(), "date": int(time.time()), "chat": self.document}
        if sender is not None:
            message["from"] = sender
        message |= {key: value for key, value in content.items() if value is not None}
        if message.get("message_thread_id") in self.topics:
            message["is_topic_message"] = True
        self.messages[message["message_id"]] = message
        return message


@dataclass
class StoredFile:
    id: str
    name: str
    data: bytes

    @property
    def path(self) -> str:
        return f"files/{self.id}"


class World:
    def __init__(self) -> None:
        self.bots: dict[str, Bot] = {}
        self.chats: dict[int, Chat] = {}
        self.files: dict[str, StoredFile] = {}

    def chat(self, chat_id: object) -> Chat:
        """Return a chat to which the bot may write. Raise `ApiError` otherwise."""
        try:
            chat = self.chats[int(str(chat_id))]
        except (KeyError, ValueError):
            raise ApiError(400, "Bad Request: chat not found") from None
        if chat.refusal is not None:
            raise chat.refusal
        return chat

    def keep(self, name: str, data: bytes) -> StoredFile:
        file = StoredFile(f"file{len(self.files) + 1:06d}", name, data)
        self.files[file.id] = file
        return file
