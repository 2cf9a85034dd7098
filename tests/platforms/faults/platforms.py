"""The platforms of the matrix: server, acts of people that make a bot call every method, and the shown texts."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from arvis.domain.messages import Address
from tests.platforms.discord_stage import DiscordStage, discord_stage
from tests.platforms.faults.wire import Wire
from tests.platforms.slack_server_world import APP_TOKEN, BOT_ID, BOT_TOKEN, BOT_USER, Json, buttons_of, text_shown
from tests.platforms.slack_stage import SlackStage
from tests.platforms.telegram_stage import TOKEN, TelegramStage

PLATFORMS = ("discord", "telegram", "slack")
#: The button of a question that is no longer open.
_OLD_BUTTON = "nothing:1"
_FILE = b"the contents of a file"

Write = Callable[[str], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Platform:
    """A platform of the matrix."""

    platform: str
    wire: Wire
    bot: Mapping[str, Any]
    #: Ways of writing. Each takes a text with a token, and is answered.
    writes: Mapping[str, Write]
    #: Further acts of people.
    acts: Mapping[str, Callable[[], Awaitable[object]]]
    #: Returns all texts that the bot has shown.
    texts: Callable[[], list[str]]
    drop: Callable[[], Awaitable[object]]
    #: A place in which no person writes.
    place: Address
    #: Calls that show something which must not be lost.
    sends: frozenset[str]
    #: Calls on which nothing else depends.
    cosmetic: frozenset[str]


@asynccontextmanager
async def opened(platform: str) -> AsyncIterator[Platform]:
    match platform:
        case "discord":
            async with discord_stage() as discord:
                yield _discord(discord)
        case "telegram":
            async with TelegramStage.open() as telegram:
                yield _telegram(telegram)
        case _:
            async with SlackStage.open(retry_pauses=(0.0, 1.0, 2.0)) as slack:
                yield _slack(slack)


def _writes(stage: DiscordStage | TelegramStage | SlackStage) -> dict[str, Write]:
    return {
        "alone": lambda text: stage.say(text, user="ann"),
        "in a room": lambda text: stage.say(text, user="bob", direct=False),
        "in a thread": lambda text: stage.say(text, user="bob", direct=False, thread="talk"),
        "with a file": lambda text: stage.say_file("note.txt", "text/plain", _FILE, user="carol", text=text),
        "at length": lambda text: stage.say(f"long {text}", user="dave"),
    }


def _discord(stage: DiscordStage) -> Platform:
    server, world = stage.server, stage.server.world
    messages = "/channels/{channel}/messages"

    def texts() -> list[str]:
        ours = [one for known in world.messages.values() for one in known.values() if one["author"] is world.bot]
        return [str(one["content"]) for one in ours]

    async def click() -> None:
        place = stage.place(direct=True, user="ann")
        shown = world.add_message(place, world.bot, "A question", components=[{"type": 1, "components": []}])
        await server.press(shown["id"], _OLD_BUTTON)

    async def command() -> None:
        await server.command("help", "", channel=stage.place(direct=True, user="erin"), user="erin")

    return Platform(
        platform="discord",
        wire=server.wire,
        bot={"token": server.token, "api_url": server.api_url, "gateway_url": server.gateway_url, "reply_in": "thread"},
        writes=_writes(stage),
        acts={"click": click, "command": command},
        texts=texts,
        drop=stage.drop_connections,
        place=stage.address(direct=True, user="zoe"),
        sends=frozenset({f"POST {messages}", f"PATCH {messages}/{{message}}"}),
        cosmetic=frozenset({
            "GET /applications/{app}/commands", "POST /applications/{app}/commands",
            "PATCH /applications/{app}/commands/{command}", "PUT /applications/{app}/commands",
            "POST /channels/{channel}/typing", "POST /interactions/{id}/{token}/callback",
            "POST /webhooks/{app}/{token}", "PATCH /webhooks/{app}/{token}/messages/@original",
        }),
    )  # fmt: skip


def _telegram(stage: TelegramStage) -> Platform:
    world = stage.server.world

    def texts() -> list[str]:
        ours = [one for chat in world.chats.values() for one in chat.messages.values() if "own" in one]
        return [str(one.get("text") or one.get("caption") or "") for one in ours]

    async def click() -> None:
        chat = stage.private("ann")
        markup = {"inline_keyboard": [[{"text": "Yes", "callback_data": _OLD_BUTTON}]]}
        shown = chat.add(stage.bot.user, own=stage.bot.id, text="A question", reply_markup=markup)
        await stage.click(str(shown["message_id"]), _OLD_BUTTON)

    async def command() -> None:
        await stage.say("/help", user="erin")

    return Platform(
        platform="telegram",
        wire=stage.server.wire,
        bot={"token": TOKEN, "api_url": stage.server.url},
        writes=_writes(stage),
        acts={"click": click, "command": command},
        texts=texts,
        drop=stage.drop_connections,
        place=stage.address("apart"),
        sends=frozenset({"sendmessage", "senddocument", "editmessagetext"}),
        cosmetic=frozenset({
            "getmycommands", "setmycommands", "deletewebhook", "sendchataction", "sendmessagedraft",
            "answercallbackquery", "editmessagereplymarkup",
        }),
    )  # fmt: skip


def _slack(stage: SlackStage) -> Platform:
    numbers = itertools.count(1)

    def texts() -> list[str]:
        ours = [one for place in stage.world.channels.values() for one in place.messages if one.get("bot_id") == BOT_ID]
        return [text_shown(one) for one in ours]

    async def click() -> None:
        place = stage.direct("ann")
        button = {"type": "button", "action_id": "arvis_0", "text": {"type": "plain_text", "text": "Yes"}}
        shown: Json = {
            "type": "message",
            "user": BOT_USER,
            "bot_id": BOT_ID,
            "text": "A question",
            "ts": stage.world.next_ts(),
        }
        shown["blocks"] = [{"type": "actions", "elements": [{**button, "value": f"{_OLD_BUTTON}{next(numbers)}"}]}]
        place.messages.append(shown)
        await stage.click(str(shown["ts"]), buttons_of(shown)[0]["value"])

    async def command() -> None:
        stage.command("/help", user="erin")

    return Platform(
        platform="slack",
        wire=stage.server.wire,
        bot={"bot_token": BOT_TOKEN, "app_token": APP_TOKEN, "api_url": f"{stage.server.root}/api"},
        writes=_writes(stage),
        acts={"click": click, "command": command},
        texts=texts,
        drop=stage.drop_connections,
        place=stage.address(direct=True, user="zoe"),
        sends=frozenset({
            "chat.postMessage", "chat.update", "files.completeUploadExternal", "files.getUploadURLExternal",
            "POST /upload/v1/{file}",
        }),
        cosmetic=frozenset({"users.info", "assistant.threads.setStatus", "POST /respond/{id}"}),
    )  # fmt: skip
