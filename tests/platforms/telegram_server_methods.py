"""The methods of the Bot API (10.1) that the server has, by their names in lower case."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from tests.platforms.telegram_server_rules import (
    CAPTION_LIMIT,
    checked_entities,
    checked_keyboard,
    checked_length,
    checked_text,
    checked_thread,
    replied,
)
from tests.platforms.telegram_server_state import ApiError, Bot, Json, StoredFile, World

#: Maximum bytes of a file for getFile.
DOWNLOAD_LIMIT = 20 * 1024 * 1024
_MEDIA = {
    "sendphoto": "photo",
    "senddocument": "document",
    "sendvoice": "voice",
    "sendaudio": "audio",
    "sendvideo": "video",
}
_UNCHANGED = (
    "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a"
    " current content and reply markup of the message"
)


class Methods:
    def __init__(self, *, world: World) -> None:
        self.world = world
        self.unknown: set[str] = set()
        self._table: dict[str, Callable[[Bot, Json], Awaitable[Any]]] = {
            name.removeprefix("_do_"): getattr(self, name) for name in dir(self) if name.startswith("_do_")
        } | dict.fromkeys(_MEDIA, self._send_media)

    async def call(self, bot: Bot, method: str, parameters: Json) -> Any:
        """Call a method. Raise `ApiError` for an error."""
        name = method.lower()
        if name not in self._table or name in self.unknown:
            raise ApiError(404, "Not Found")
        if name in _MEDIA:
            parameters = parameters | {"kind": _MEDIA[name]}
        return await self._table[name](bot, parameters)

    async def _do_getme(self, bot: Bot, parameters: Json) -> Json:
        return bot.user | {
            "can_join_groups": True,
            "can_read_all_group_messages": bot.reads_all,
            "supports_inline_queries": False,
        }

    async def _do_getupdates(self, bot: Bot, parameters: Json) -> list[Json]:
        """Poll for updates. A second poll ends the first."""
        if bot.webhook:
            text = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
            raise ApiError(409, text)
        if bot.poll is not None and not bot.poll.done():
            text = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
            bot.poll.set_exception(ApiError(409, text))
        if "allowed_updates" in parameters:
            bot.allowed = parameters["allowed_updates"]
        bot.confirm(int(parameters.get("offset", 0)))
        await self._until_news(bot, float(parameters.get("timeout", 0)))
        return bot.take(min(max(int(parameters.get("limit", 100)), 1), 100))

    async def _until_news(self, bot: Bot, seconds: float) -> None:
        if bot.pending or bot.again:
            return
        bot.news.clear()
        poll = bot.poll = asyncio.get_running_loop().create_future()
        news = asyncio.ensure_future(bot.news.wait())
        bot.polled.set()
        try:
            await asyncio.wait([poll, news], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if poll.done():
                poll.result()
        finally:
            news.cancel()
            poll.cancel()

    async def _do_setwebhook(self, bot: Bot, parameters: Json) -> bool:
        bot.webhook = parameters.get("url", "")
        return True

    async def _do_deletewebhook(self, bot: Bot, parameters: Json) -> bool:
        bot.webhook = ""
        if parameters.get("drop_pending_updates") in {True, "true"}:
            bot.pending.clear()
        return True

    async def _do_getwebhookinfo(self, bot: Bot, parameters: Json) -> Json:
        return {"url": bot.webhook, "has_custom_certificate": False, "pending_update_count": len(bot.pending)}

    async def _do_getmycommands(self, bot: Bot, parameters: Json) -> list[Json]:
        return bot.commands

    async def _do_setmycommands(self, bot: Bot, parameters: Json) -> bool:
        bot.commands = parameters["commands"]
        return True

    async def _do_getchat(self, bot: Bot, parameters: Json) -> Json:
        chat = self.world.chat(parameters.get("chat_id"))
        return chat.document | {"accent_color_id": 0, "max_reaction_count": 11, "accepted_gift_types": {}}

    async def _do_getchatmember(self, bot: Bot, parameters: Json) -> Json:
        self.world.chat(parameters.get("chat_id"))
        return {"status": "member", "user": bot.user}

    async def _do_sendchataction(self, bot: Bot, parameters: Json) -> bool:
        chat = self.world.chat(parameters.get("chat_id"))
        checked_thread(chat, parameters.get("message_thread_id"))
        chat.actions.append(parameters["action"])
        return True

    async def _do_sendmessage(self, bot: Bot, parameters: Json) -> Json:
        text = parameters.get("text", "")
        entities = checked_entities(text, parameters.get("entities") or [])
        options = parameters.get("link_preview_options")
        content = {"text": checked_text(text), "entities": entities or None, "link_preview_options": options}
        return self._post(bot, parameters, content)

    async def _do_sendrichmessage(self, bot: Bot, parameters: Json) -> Json:
        return self._post(bot, parameters, {"rich_message": _rich(parameters)})

    async def _do_sendmessagedraft(self, bot: Bot, parameters: Json) -> bool:
        chat = self.world.chat(parameters.get("chat_id"))
        if chat.type != "private" or not int(parameters.get("draft_id", 0)):
            raise ApiError(400, "Bad Request: TEXTDRAFT_PEER_INVALID")
        text = parameters.get("text", "")
        checked_entities(text, parameters.get("entities") or [])
        chat.drafts[int(parameters["draft_id"])] = checked_length(text, 4096, "message is too long")
        return True

    async def _send_media(self, bot: Bot, parameters: Json) -> Json:
        file = self._uploaded(parameters, parameters[parameters["kind"]])
        return self._post(bot, parameters, _media(parameters["kind"], file, parameters))

    async def _do_editmessagetext(self, bot: Bot, parameters: Json) -> Json:
        message = self._own(bot, parameters)
        if "rich_message" in parameters:
            return _change(message, {"rich_message": _rich(parameters)}, parameters)
        if not {"text", "rich_message"} & set(message):
            raise ApiError(400, "Bad Request: there is no text in the message to edit")
        text = parameters.get("text", "")
        entities = checked_entities(text, parameters.get("entities") or [])
        return _change(message, {"text": checked_text(text), "entities": entities or None}, parameters)

    async def _do_editmessagemedia(self, bot: Bot, parameters: Json) -> Json:
        message = self._own(bot, parameters)
        media = parameters["media"]
        file = self._uploaded(parameters, media["media"])
        return _change(message, _media(media["type"], file, media), parameters)

    async def _do_editmessagereplymarkup(self, bot: Bot, parameters: Json) -> Json:
        return _change(self._own(bot, parameters), {}, parameters)

    async def _do_deletemessage(self, bot: Bot, parameters: Json) -> bool:
        chat = self.world.chat(parameters.get("chat_id"))
        if chat.messages.pop(int(parameters["message_id"]), None) is None:
            raise ApiError(400, "Bad Request: message to delete not found")
        return True

    async def _do_answercallbackquery(self, bot: Bot, parameters: Json) -> bool:
        if parameters["callback_query_id"] not in bot.queries:
            text = "Bad Request: query is too old and response timeout expired or query ID is invalid"
            raise ApiError(400, text)
        bot.queries.remove(parameters["callback_query_id"])
        checked_length(parameters.get("text", ""), 200, "MESSAGE_TOO_LONG")
        return True

    async def _do_getfile(self, bot: Bot, parameters: Json) -> Json:
        file = self.world.files.get(parameters.get("file_id", ""))
        if file is None:
            raise ApiError(400, "Bad Request: wrong file_id or the file is temporarily unavailable")
        if len(file.data) > DOWNLOAD_LIMIT:
            raise ApiError(400, "Bad Request: file is too big")
        return {"file_id": file.id, "file_unique_id": file.id, "file_size": len(file.data), "file_path": file.path}

    def _post(self, bot: Bot, parameters: Json, content: Json) -> Json:
        chat = self.world.chat(parameters.get("chat_id"))
        message = chat.add(
            None if chat.type == "channel" else bot.user,
            message_thread_id=checked_thread(chat, parameters.get("message_thread_id")),
            reply_to_message=replied(chat, parameters.get("reply_parameters")),
            reply_markup=checked_keyboard(parameters.get("reply_markup")),
            **content,
        )
        message["own"] = bot.id
        chat.drafts.clear()
        return message

    def _own(self, bot: Bot, parameters: Json) -> Json:
        chat = self.world.chat(parameters.get("chat_id"))
        message = chat.messages.get(int(parameters["message_id"]))
        if message is None:
            raise ApiError(400, "Bad Request: message to edit not found")
        if message.get("own") != bot.id:
            raise ApiError(400, "Bad Request: message can't be edited")
        return message

    def _uploaded(self, parameters: Json, value: Any) -> StoredFile:
        if isinstance(value, str) and value.startswith("attach://"):
            value = parameters[value.removeprefix("attach://")]
        if isinstance(value, str):
            if value not in self.world.files:
                raise ApiError(400, "Bad Request: wrong file identifier/HTTP URL specified")
            return self.world.files[value]
        name, data = value
        if not data:
            raise ApiError(400, "Bad Request: file must be non-empty")
        return self.world.keep(name, data)


def _rich(parameters: Json) -> Json:
    rich = parameters["rich_message"]
    text = rich.get("html") or rich.get("markdown") or ""
    if not text or len(text.encode()) > 32768:
        raise ApiError(400, "Bad Request: rich message is empty or too long")
    return dict(rich)


def _media(kind: str, file: StoredFile, parameters: Json) -> Json:
    if kind == "photo" and not file.data.startswith((b"\x89PNG", b"\xff\xd8", b"RIFF")):
        raise ApiError(400, "Bad Request: IMAGE_PROCESS_FAILED")
    size: Json = {"file_id": file.id, "file_unique_id": file.id, "file_size": len(file.data)}
    timed = {"duration": 1, "width": 1, "height": 1, "mime_type": "application/octet-stream", "file_name": file.name}
    content = [size | {"width": 1, "height": 1}] if kind == "photo" else size | timed
    caption = checked_length(parameters.get("caption", ""), CAPTION_LIMIT, "message caption is too long")
    entities = checked_entities(caption, parameters.get("caption_entities") or [])
    return {kind: content, "caption": caption or None, "caption_entities": entities or None}


def _change(message: Json, content: Json, parameters: Json) -> Json:
    """Replace the content and its keyboard. All other fields stay."""
    stays = {"message_id", "date", "chat", "from", "own", "reply_to_message", "message_thread_id", "is_topic_message"}
    kept = stays | (set() if content else set(message) - {"reply_markup"}) | {"link_preview_options"}
    changed = {key: value for key, value in message.items() if key in kept}
    changed |= {key: value for key, value in content.items() if value is not None}
    if (markup := checked_keyboard(parameters.get("reply_markup"))) is not None:
        changed["reply_markup"] = markup
    if json.dumps(changed | {"edit_date": 0}, sort_keys=True) == json.dumps(message | {"edit_date": 0}, sort_keys=True):
        raise ApiError(400, _UNCHANGED)
    message.clear()
    message.update(changed | {"edit_date": changed["date"]})
    return message
