"""Telegram as a stage: people in chats, for the conformance suite and the crash harness."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from arvis.domain.messages import Address
from arvis.ports.connector import BotSettings, CommandHint, Connector, ConnectorServices
from arvis.process.clock import SystemClock
from arvis.testing.conformance.connector_stage import ABILITIES, Shown
from connectors.telegram import create
from tests.platforms.telegram_server import TelegramServer, telegram_server
from tests.platforms.telegram_server_rules import called, units
from tests.platforms.telegram_server_state import ApiError, Bot, Chat, Json

TOKEN = "123456:AAtestTESTtestTESTtestTESTtestTEST"
_FAILURES = {
    400: "Bad Request: wrong parameter specified",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
}


class TelegramStage:
    can = frozenset(ABILITIES) - {"deletions", "own threads"}
    text_limit = 4096

    def __init__(self, *, server: TelegramServer, settings: Mapping[str, Any]) -> None:
        """`settings` are used for all its connectors."""
        self.server = server
        self._settings = settings
        self.bot = server.world.bots[TOKEN] = Bot(123456, TOKEN, "arvis_bot")
        self._connectors: list[Connector] = []
        self._ids = itertools.count(1)
        self._people: dict[str, Json] = {}
        self._rooms: dict[str, Chat] = {}
        self._threads: dict[tuple[str, str], int] = {}
        #: Message id -> its chat and its update.
        self._said: dict[str, tuple[Chat, Json]] = {}

    @classmethod
    @asynccontextmanager
    async def open(cls, **settings: Any) -> AsyncIterator[TelegramStage]:
        async with telegram_server() as server:
            stage = cls(server=server, settings=settings)
            try:
                yield stage
            finally:
                for connector in stage._connectors:
                    await connector.close()

    def length(self, text: str) -> int:
        return units(text)

    async def connector(self, **values: Any) -> Connector:
        settings = BotSettings("main", {"token": TOKEN, "api_url": self.server.url, **self._settings, **values})
        commands = (CommandHint("help", "What there is"), CommandHint("stop", "Stop the answer"))
        services = ConnectorServices(clock=SystemClock(), commands=commands)
        connector = create(settings, services)
        self._connectors.append(connector)
        return connector

    def address(self, channel: str = "room", *, direct: bool = False, thread: str = "", user: str = "ann") -> Address:
        chat = self.private(user) if direct else self.room(channel)
        topic = str(self.topic(channel, thread)) if thread else ""
        return Address("telegram", "main", str(chat.id), topic)

    async def say(
        self,
        text: str,
        *,
        user: str = "ann",
        direct: bool = True,
        addressed: bool = True,
        channel: str = "room",
        thread: str = "",
        **content: Any,
    ) -> str:
        chat = self.private(user) if direct else self.room(channel)
        if addressed and not direct:
            text = f"@{self.bot.username} {text}"
            content["entities"] = [{"type": "mention", "offset": 0, "length": len(self.bot.username) + 1}]
        topic = self.topic(channel, thread) if thread else None
        return self.tell(chat, self.person(user), text=text, message_thread_id=topic, **content)

    async def say_file(
        self, name: str, content_type: str, data: bytes, *, voice: bool = False, user: str = "ann", text: str = ""
    ) -> str:
        file = self.server.world.keep(name, data)
        document: Json = {
            "file_id": file.id,
            "file_unique_id": file.id,
            "file_size": len(data),
            "mime_type": content_type,
        }
        document |= {"duration": 3} if voice else {"file_name": name}
        kind: Json = {"voice" if voice else "document": document}
        return self.tell(self.private(user), self.person(user), caption=text or None, **kind)

    async def say_as_bot(self, text: str, *, own: bool) -> None:
        other = {"id": 777, "is_bot": True, "first_name": "Other", "username": "other_bot"}
        self.tell(self.room("room"), self.bot.user if own else other, text=text)

    def tell(self, chat: Chat, sender: Json | None, **content: Any) -> str:
        """Add a message with these fields of the Bot API, and return its id."""
        message = chat.add(sender, **content)
        update = self.bot.push("channel_post" if chat.type == "channel" else "message", message)
        ref = str(message["message_id"])
        self._said[ref] = (chat, update)
        return ref

    async def edit(self, ref: str, text: str) -> None:
        chat, _ = self._said[ref]
        message = chat.messages[int(ref)] = chat.messages[int(ref)] | {"text": text, "edit_date": 1}
        self.bot.push("edited_message", message)

    async def delete(self, ref: str) -> None:
        """Delete a message. Bots get no update for this."""
        for chat in self.server.world.chats.values():
            chat.messages.pop(int(ref), None)

    async def click(self, platform_id: str, button_id: str, *, user: str = "ann") -> None:
        chats = self.server.world.chats.values()
        message = next(chat.messages[int(platform_id)] for chat in chats if int(platform_id) in chat.messages)
        query = f"{next(self._ids):016d}"
        self.bot.queries.add(query)
        content = {"id": query, "from": self.person(user), "message": message, "chat_instance": "1", "data": button_id}
        self.bot.push("callback_query", content)

    async def redeliver(self, ref: str) -> None:
        self.bot.again.append(self._said[ref][1])
        self.bot.news.set()

    async def drop_connections(self) -> None:
        self.server.drop_connections()

    def refuse_sends(self, count: int, *, status: int = 429, retry_after: float | None = None) -> None:
        if status == 429:
            seconds = int(retry_after or 1)
            error = ApiError(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)
        else:
            error = ApiError(status, _FAILURES[status])
        self.server.refuse_sends(count, error)

    def reset_sends(self, count: int, *, after: bool) -> None:
        self.server.reset_sends(count, after=after)

    def close_channel(self, *, user: str = "ann") -> None:
        self.private(user).refusal = ApiError(403, "Forbidden: bot was blocked by the user")

    def shown(self, address: Address) -> Sequence[Shown]:
        thread = int(address.thread) if address.thread else None
        messages = self.server.world.chats[int(address.channel)].messages.values()
        return [
            _shown(message) for message in messages if "own" in message and message.get("message_thread_id") == thread
        ]

    @property
    def sends(self) -> Sequence[float]:
        return [request.at for request in self.server.sends]

    def person(self, name: str) -> Json:
        number = 1001 + len(self._people)
        person = {"id": number, "is_bot": False, "first_name": name.title(), "username": f"{name}_user"}
        return self._people.setdefault(name, person)

    def private(self, user: str) -> Chat:
        person = self.person(user)
        return self.server.world.chats.setdefault(person["id"], Chat(person["id"], "private", person["first_name"]))

    def room(self, name: str) -> Chat:
        """Return a supergroup with topics."""
        if name not in self._rooms:
            number = len(self._rooms)
            # Message ids of rooms must not overlap, because the stage finds a message by its id alone.
            last = 5_000 * (number + 1)
            chat = Chat(-1_001_000_000_000 - number, "supergroup", name, is_forum=True, last_message=last)
            self._rooms[name] = self.server.world.chats[chat.id] = chat
        return self._rooms[name]

    def topic(self, channel: str, name: str) -> int:
        key = (channel, name)
        if key not in self._threads:
            room = self.room(channel)
            created = room.add(self.person("ann"), forum_topic_created={"name": name, "icon_color": 1})
            room.topics.add(created["message_id"])
            self._threads[key] = created["message_id"]
        return self._threads[key]


def _shown(message: Json) -> Shown:
    buttons = [button for row in message.get("reply_markup", {}).get("inline_keyboard", []) for button in row]
    kinds = [message[kind] for kind in ("document", "voice", "audio", "video") if kind in message]
    answered = message.get("reply_to_message")
    rich = message.get("rich_message", {}).get("html", "")
    return Shown(
        platform_id=str(message["message_id"]),
        text=message.get("text") or message.get("caption") or rich,
        reply_ref=str(answered["message_id"]) if answered else None,
        buttons=tuple(button["callback_data"] for button in buttons),
        files=tuple(kind["file_name"] for kind in kinds) + (("photo",) if "photo" in message else ()),
        pings=tuple(called(message)),
    )
