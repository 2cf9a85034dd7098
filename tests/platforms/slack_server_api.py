"""The Web API of the Slack server. Each method follows its page in Slack's documentation."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from tests.platforms.slack_server_world import (
    APP_ID,
    BOT_ID,
    BOT_USER,
    TEAM,
    Channel,
    Json,
    Refused,
    World,
    check_message,
    check_metadata,
)


class WebApi:
    """The methods of the Web API. `emit` sends an event to the app; `root` is the server's address."""

    def __init__(self, world: World, emit: Callable[[Json], object]) -> None:
        self.world = world
        self.root = ""
        self.uploads: dict[str, Json] = {}
        self.statuses: list[Json] = []
        self._emit = emit

    def call(self, method: str, values: Json) -> Json:
        """Call a method. Raise `Refused` for an error."""
        handler = getattr(self, "do_" + method.replace(".", "_"), None)
        if handler is None:
            raise Refused("unknown_method")
        answer: Json = handler(values)
        return {"ok": True, **answer}

    def do_auth_test(self, _values: Json) -> Json:
        return {
            "url": f"{self.root}/",
            "team": "Loopback",
            "user": "arvis",
            "team_id": TEAM,
            "user_id": BOT_USER,
            "bot_id": BOT_ID,
        }

    def do_users_info(self, values: Json) -> Json:
        self.world.need("users:read")
        user = str(values.get("user"))
        if user not in self.world.names:
            raise Refused("user_not_found")
        name = self.world.names[user]
        return {"user": {"id": user, "name": name.lower(), "profile": {"display_name": name, "real_name": name}}}

    def do_conversations_info(self, values: Json) -> Json:
        channel = self._known(values)
        self.world.need({"channel": "channels:read", "group": "groups:read"}.get(channel.kind, f"{channel.kind}:read"))
        name = channel.id.removeprefix("C0").lower()
        state = {"is_archived": channel.archived, "is_member": channel.member}
        return {"channel": {"id": channel.id, "name": name, **state}}

    def do_chat_postMessage(self, values: Json) -> Json:  # noqa: N802  (named after Slack's methods)
        self.world.need("chat:write")
        channel = self.world.open_channel(str(values.get("channel")))
        message = self._message(values)
        message["ts"] = self.world.next_ts()
        if values.get("thread_ts"):
            message["thread_ts"] = str(values["thread_ts"])
        for name in ("unfurl_links", "unfurl_media", "link_names"):
            message[f"asked_{name}"] = values.get(name)
        return self.post(channel, message)

    def post(self, channel: Channel, message: Json) -> Json:
        channel.messages.append(message)
        self._emit({"type": "message", "channel": channel.id, "channel_type": channel.kind, **public(message)})
        return {"channel": channel.id, "ts": message["ts"], "message": public(message)}

    def do_chat_update(self, values: Json) -> Json:
        self.world.need("chat:write")
        channel = self.world.open_channel(str(values.get("channel")))
        message = channel.find(str(values.get("ts")))
        if message is None:
            raise Refused("message_not_found")
        if message.get("bot_id") != BOT_ID:
            raise Refused("cant_update_message")
        before = public(message)
        # Without new metadata, the message keeps its old metadata.
        message.update(self._message(values), edited={"user": BOT_USER, "ts": self.world.next_ts()})
        self.changed(channel, message, before)
        return {"channel": channel.id, "ts": message["ts"], "text": message["text"], "message": public(message)}

    def changed(self, channel: Channel, message: Json, before: Json) -> None:
        self._emit(
            {
                "type": "message",
                "subtype": "message_changed",
                "hidden": True,
                "channel": channel.id,
                "channel_type": channel.kind,
                "ts": self.world.next_ts(),
                "message": public(message),
                "previous_message": before,
            }
        )

    def do_chat_delete(self, values: Json) -> Json:
        self.world.need("chat:write")
        channel = self._known(values)
        message = channel.find(str(values.get("ts")))
        if message is None:
            raise Refused("message_not_found")
        if message.get("bot_id") != BOT_ID:
            raise Refused("cant_delete_message")
        channel.messages.remove(message)
        return {"channel": channel.id, "ts": message["ts"]}

    def _message(self, values: Json) -> Json:
        text, blocks = str(values.get("text") or ""), _decoded(values.get("blocks")) or []
        metadata = _decoded(values.get("metadata"))
        check_message(text, blocks)
        check_metadata(metadata)
        message = {
            "type": "message",
            "user": BOT_USER,
            "bot_id": BOT_ID,
            "app_id": APP_ID,
            "text": text,
            "blocks": blocks,
        }
        return message if metadata is None else {**message, "metadata": metadata}

    def do_conversations_history(self, values: Json) -> Json:
        channel = self._readable(values)
        return self._page(channel.roots(), values)

    def do_conversations_replies(self, values: Json) -> Json:
        channel = self._readable(values)
        root, *replies = channel.thread(str(values.get("ts")))
        page = self._page(replies, values)
        page["messages"].insert(0, self._seen(root, values))
        return page

    def _readable(self, values: Json) -> Channel:
        channel = self._known(values)
        self.world.need(channel.history_scope)
        if not channel.member:
            raise Refused("not_in_channel")
        return channel

    def _known(self, values: Json) -> Channel:
        channel = self.world.channels.get(str(values.get("channel")))
        if channel is None:
            raise Refused("channel_not_found")
        return channel

    def _page(self, messages: list[Json], values: Json) -> Json:
        oldest, latest = float(values.get("oldest") or 0), float(values.get("latest") or "inf")
        inclusive = _flag(values.get("inclusive"))
        found = [one for one in messages if _inside(float(one["ts"]), oldest, latest, inclusive=inclusive)]
        limit = min(int(values.get("limit") or 100), 999)
        start = int(base64.b64decode(values["cursor"])) if values.get("cursor") else 0
        page = {"messages": [self._seen(one, values) for one in found[start : start + limit]], "has_more": False}
        if len(found) > start + limit:
            cursor = base64.b64encode(str(start + limit).encode()).decode()
            page |= {"has_more": True, "response_metadata": {"next_cursor": cursor}}
        return page

    def _seen(self, message: Json, values: Json) -> Json:
        """Return the message. Metadata is included only if the app asks for it and has the scope; its absence is not
        reported."""
        allowed = _flag(values.get("include_all_metadata")) and "metadata.message:read" in self.world.scopes
        seen = public(message)
        return {**seen, "metadata": message["metadata"]} if allowed and "metadata" in message else seen

    def do_files_getUploadURLExternal(self, values: Json) -> Json:  # noqa: N802
        self.world.need("files:write")
        if not values.get("filename") or int(values.get("length") or 0) <= 0:
            raise Refused("invalid_arguments")
        file = f"F{len(self.uploads) + 1:08}"
        self.uploads[file] = {
            "id": file,
            "name": str(values["filename"]),
            "length": int(values["length"]),
            "data": None,
        }
        return {"file_id": file, "upload_url": f"{self.root}/upload/v1/{file}"}

    def do_files_completeUploadExternal(self, values: Json) -> Json:  # noqa: N802
        self.world.need("files:write")
        files = [self._uploaded(each) for each in _decoded(values.get("files")) or []]
        if not files:
            raise Refused("invalid_arguments")
        if values.get("channel_id"):
            channel = self.world.open_channel(str(values["channel_id"]))
            message: Json = {
                "type": "message",
                "user": BOT_USER,
                "bot_id": BOT_ID,
                "app_id": APP_ID,
                "ts": self.world.next_ts(),
            }
            message |= {"text": str(values.get("initial_comment") or ""), "files": files}
            if values.get("thread_ts"):
                message["thread_ts"] = str(values["thread_ts"])
            self.post(channel, message)
        return {"files": [{"id": file["id"], "title": file["title"]} for file in files]}

    def _uploaded(self, wanted: Json) -> Json:
        upload = self.uploads.get(str(wanted.get("id")))
        if upload is None or upload["data"] is None:
            raise Refused("file_not_found")
        return {"id": upload["id"], "name": upload["name"], "title": wanted.get("title") or upload["name"]}

    def do_assistant_threads_setStatus(self, values: Json) -> Json:  # noqa: N802
        self.world.need("assistant:write")
        if not values.get("thread_ts"):
            raise Refused("invalid_arguments")
        self.statuses.append(values)
        return {}


def public(message: Json) -> Json:
    """Return the public part of a message."""
    return {key: value for key, value in message.items() if key != "metadata" and not key.startswith("asked_")}


def _inside(ts: float, oldest: float, latest: float, *, inclusive: bool) -> bool:
    return oldest <= ts <= latest if inclusive else oldest < ts < latest


def _flag(value: Any) -> bool:
    return value in {True, "1", "true", "True"}


def _decoded(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) and value else value
