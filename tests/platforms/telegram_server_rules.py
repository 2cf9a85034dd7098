"""Telegram's rules for messages: lengths, entities, keyboards and notifications."""

from __future__ import annotations

import re
from typing import Any

from tests.platforms.telegram_server_state import ApiError, Chat, Json

TEXT_LIMIT = 4096
CAPTION_LIMIT = 1024
_MENTION = re.compile(r"(?<!\w)@([A-Za-z]\w{1,31})", re.ASCII)
_TYPES = {
    *("mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number", "bold", "italic", "underline"),
    *("strikethrough", "spoiler", "blockquote", "expandable_blockquote", "code", "pre", "text_link", "text_mention"),
    *("custom_emoji", "date_time"),
}


def units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def checked_text(text: str, limit: int = TEXT_LIMIT) -> str:
    """Return the text as it is shown: trimmed. Raise `ApiError` if it is empty or too long."""
    shown = text.strip()
    if not shown.strip("\u200b\u2060\ufeff"):
        raise ApiError(400, "Bad Request: message text is empty")
    return checked_length(shown, limit, "message is too long")


def checked_length(text: str, limit: int, complaint: str) -> str:
    if units(text) > limit:
        raise ApiError(400, f"Bad Request: {complaint}")
    return text


def checked_entities(text: str, entities: list[Json]) -> list[Json]:
    """Return the entities. Each must begin and end between characters and be of a kind that bots may send."""
    encoded = text.encode("utf-16-le", "surrogatepass")
    for entity in entities:
        start, end = 2 * entity["offset"], 2 * (entity["offset"] + entity["length"])
        if entity["type"] not in _TYPES or start < 0 or end <= start:
            raise ApiError(400, "Bad Request: can't parse entities: unsupported or invalid entity")
        for at in (start, end):
            if at < len(encoded) and 0xDC <= encoded[at + 1] <= 0xDF:
                raise ApiError(400, f"Bad Request: can't parse entities: entity splits a UTF-16 symbol at {at // 2}")
    return [entity for entity in entities if 2 * entity["offset"] < len(encoded)]


def called(message: Json) -> list[str]:
    """Return the people that a message notifies: names outside code, and links to people."""
    text = message.get("text") or message.get("caption") or ""
    entities = message.get("entities") or message.get("caption_entities") or []
    encoded = bytearray(text.encode("utf-16-le", "surrogatepass"))
    people = []
    for entity in entities:
        start, end = 2 * entity["offset"], 2 * (entity["offset"] + entity["length"])
        if entity["type"] in {"code", "pre"}:
            encoded[start:end] = "x".encode("utf-16-le") * (entity["length"])
        if entity["type"] == "text_mention" or str(entity.get("url", "")).startswith("tg://user"):
            people.append(encoded[start:end].decode("utf-16-le", "replace"))
    return people + _MENTION.findall(encoded.decode("utf-16-le", "replace"))


def checked_keyboard(markup: Any) -> Json | None:
    if not markup:
        return None
    for row in markup.get("inline_keyboard", []):
        for button in row:
            if not 1 <= len(button.get("callback_data", "").encode()) <= 64:
                raise ApiError(400, "Bad Request: BUTTON_DATA_INVALID")
            if not button.get("text"):
                raise ApiError(400, "Bad Request: inline keyboard button text must be non-empty")
    return dict(markup) if markup.get("inline_keyboard") else None


def checked_thread(chat: Chat, thread: Any) -> int | None:
    if thread is None:
        return None
    if int(thread) not in chat.topics:
        raise ApiError(400, "Bad Request: message thread not found")
    return int(thread)


def replied(chat: Chat, parameters: Any) -> Json | None:
    if not parameters:
        return None
    found = chat.messages.get(int(parameters["message_id"]))
    if found is None and not parameters.get("allow_sending_without_reply"):
        raise ApiError(400, "Bad Request: message to be replied not found")
    return found
