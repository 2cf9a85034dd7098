"""The data of a workspace and the rules for its messages, from Slack's public documentation."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

TEAM = "T0TEAM001"
BOT_USER, BOT_ID, APP_ID = "U0BOTUSER", "B0BOT0001", "A0APP0001"
BOT_TOKEN, APP_TOKEN, SIGNING_SECRET = "xoxb-loopback-token", "xapp-loopback-token", "loopback-signing-secret"

ALL_SCOPES = frozenset(
    [
        "app_mentions:read",
        "assistant:write",
        "channels:history",
        "channels:read",
        "chat:write",
        "commands",
        "files:read",
        "files:write",
        "groups:history",
        "groups:read",
        "im:history",
        "im:read",
        "metadata.message:read",
        "mpim:history",
        "reactions:read",
        "users:read",
    ]
)

_MARKDOWN_LIMIT = 12_000
_TEXT_LIMIT = 40_000
_PINGS = re.compile(r"<(!(?:here|channel|everyone|subteam)[^>]*|@[UW][A-Z0-9]+)[^>]*>")


class Refused(Exception):
    """An error answer of Slack (`ok: false`)."""

    def __init__(self, code: str, **more: Any) -> None:
        super().__init__(code)
        self.body = {"ok": False, "error": code, **more}


@dataclass
class Channel:
    """A channel. `kind` is `channel`, `group`, `im` or `mpim`."""

    id: str
    kind: str = "channel"
    member: bool = True
    archived: bool = False
    messages: list[Json] = field(default_factory=list)

    @property
    def history_scope(self) -> str:
        return {"channel": "channels:history", "group": "groups:history"}.get(self.kind, f"{self.kind}:history")

    def find(self, ts: str) -> Json | None:
        return next((message for message in self.messages if message["ts"] == ts), None)

    def roots(self) -> list[Json]:
        """Return the messages of the history, newest first. Replies appear only as counts, except those sent to the
        channel too."""
        shown = [one for one in self.messages if not is_reply(one) or one.get("subtype") == "thread_broadcast"]
        return [self._with_replies(message) for message in reversed(shown)]

    def thread(self, ts: str) -> list[Json]:
        root = self.find(ts)
        if root is None:
            raise Refused("thread_not_found")
        return [self._with_replies(root), *(one for one in self.messages if is_reply(one) and one["thread_ts"] == ts)]

    def _with_replies(self, root: Json) -> Json:
        replies = [one for one in self.messages if is_reply(one) and one["thread_ts"] == root["ts"]]
        if not replies:
            return root
        latest = {"reply_count": len(replies), "latest_reply": replies[-1]["ts"]}
        return {**root, "thread_ts": root["ts"], **latest}


@dataclass
class World:
    """The data of a workspace. `names` maps user ids to display names."""

    scopes: set[str] = field(default_factory=lambda: set(ALL_SCOPES))
    channels: dict[str, Channel] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=lambda: {BOT_USER: "arvis"})
    _last: int = 0

    def next_ts(self) -> str:
        """Return a timestamp that is unique in the workspace and larger than all earlier ones."""
        self._last = max(self._last + 1, int(time.time() * 1_000_000))
        return f"{self._last // 1_000_000}.{self._last % 1_000_000:06}"

    def open_channel(self, channel: str) -> Channel:
        """Return a channel to which the bot may write. Raise `Refused` otherwise."""
        found = self.channels.get(channel)
        if found is None:
            raise Refused("channel_not_found")
        if found.archived:
            raise Refused("is_archived")
        if not found.member:
            raise Refused("not_in_channel" if found.kind == "channel" else "channel_not_found")
        return found

    def need(self, scope: str) -> None:
        if scope not in self.scopes:
            raise Refused("missing_scope", needed=scope, provided=",".join(sorted(self.scopes)))


def is_reply(message: Json) -> bool:
    return bool(message.get("thread_ts")) and message["thread_ts"] != message["ts"]


def check_message(text: str, blocks: list[Json]) -> None:
    """Raise `Refused` for a message that Slack does not accept."""
    if not text.strip() and not blocks:
        raise Refused("no_text")
    if len(text) > _TEXT_LIMIT:
        raise Refused("msg_too_long")
    markdown = [str(block.get("text") or "") for block in blocks if block.get("type") == "markdown"]
    buttons = [button for block in blocks for button in block.get("elements") or ()]
    ids = [button.get("action_id") for button in buttons]
    wrong = (
        len(blocks) > 50
        or any(not each.strip() for each in markdown)
        or _units("".join(markdown)) > _MARKDOWN_LIMIT
        or any(_wrong_section(block) for block in blocks)
        or any(not button["text"]["text"] or len(button["text"]["text"]) > 75 for button in buttons)
        or any(len(button.get("value") or "") > 2_000 for button in buttons)
        or len(set(ids)) < len(ids)
        or any(block.get("type") == "actions" and not 1 <= len(block["elements"]) <= 25 for block in blocks)
    )
    if wrong:
        raise Refused("invalid_blocks")


def _wrong_section(block: Json) -> bool:
    return block.get("type") == "section" and not 1 <= len(block["text"]["text"]) <= 3_000


def check_metadata(metadata: Json | None) -> None:
    if metadata is not None and not (metadata.get("event_type") and isinstance(metadata.get("event_payload"), dict)):
        raise Refused("invalid_metadata_format")


def text_shown(message: Json) -> str:
    """Return the text that people see: the blocks with text if there are any, else the text."""
    texts = []
    for block in message.get("blocks") or ():
        if block.get("type") == "markdown":
            texts.append(str(block["text"]))
        elif block.get("type") == "section":
            texts.append(str(block["text"]["text"]))
    return "\n".join(texts) or ("" if message.get("blocks") else str(message.get("text") or ""))


def pings_of(message: Json) -> tuple[str, ...]:
    everything = f"{text_shown(message)}\n{message.get('text') or ''}"
    return tuple(match[1] for match in _PINGS.finditer(everything))


def buttons_of(message: Json) -> list[Json]:
    return [
        one for block in message.get("blocks") or () for one in block.get("elements") or () if one["type"] == "button"
    ]


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
