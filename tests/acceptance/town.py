"""The three chat platforms on this machine, each with its people and one bot, and the configuration of a daemon that
serves them.

Ann owns the bots. All other people are unpaired at first.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from arvis.domain.messages import Address
from arvis.testing.conformance.connector_stage import Shown
from arvis.testing.openai_server import ReceivedRequest, Reply
from tests.acceptance.place import PATIENCE
from tests.platforms.discord_stage import DiscordStage, discord_stage
from tests.platforms.slack_server_world import APP_TOKEN, BOT_TOKEN
from tests.platforms.slack_stage import SlackStage
from tests.platforms.telegram_stage import TOKEN, TelegramStage

PLATFORMS = ("discord", "telegram", "slack")

Found = TypeVar("Found")
AnyStage = DiscordStage | TelegramStage | SlackStage


@dataclass(frozen=True)
class Chats:
    """One platform. People and channels have plain names, as in its stage."""

    platform: str
    stage: AnyStage

    @property
    def settings(self) -> dict[str, Any]:
        """Return the settings of its bot."""
        match self.stage:
            case DiscordStage(server=server):
                return {"token": server.token, "api_url": server.api_url, "gateway_url": server.gateway_url}
            case TelegramStage(server=server):
                return {"token": TOKEN, "api_url": server.url}
            case SlackStage(server=server):
                return {"bot_token": BOT_TOKEN, "app_token": APP_TOKEN, "api_url": f"{server.root}/api"}

    @property
    def notes(self) -> int:
        """Return the number of answered clicks, each answered to the person who clicked."""
        match self.stage:
            case DiscordStage(server=server):
                return sum(asked.path.endswith("/callback") for asked in server.asked)
            case TelegramStage(server=server):
                return server.counts["answercallbackquery"]
            case SlackStage(server=server):
                return len(server.responses)

    @property
    def logins(self) -> int:
        """Return the number of the bot's connections."""
        match self.stage:
            case DiscordStage() as stage:
                return stage.server.gateway.identified
            case TelegramStage() as stage:
                return stage.server.counts["getme"]
            case SlackStage() as stage:
                return len(stage.asked("apps.connections.open"))

    def user(self, name: str) -> str:
        """Return a person by the platform's id."""
        match self.stage:
            case DiscordStage(server=server):
                return str(server.world.person(name)["id"])
            case TelegramStage() as stage:
                return str(stage.person(name)["id"])
            case SlackStage() as stage:
                return stage.user(name)

    def direct(self, user: str) -> Address:
        return self.stage.address(direct=True, user=user)

    def answers_to(self, ref: str, channel: str) -> Address:
        """Return the place of the answer to a mention in a channel: Slack opens a thread below it."""
        place = self.stage.address(channel)
        return replace(place, thread=ref) if self.platform == "slack" else place

    async def connected(self) -> None:
        """Wait until the bot is connected."""
        match self.stage:
            case DiscordStage() as discord:
                sessions = discord.server.gateway.sessions
                await until(lambda: sessions, "the gateway")
            case TelegramStage(bot=bot):
                async with asyncio.timeout(PATIENCE):
                    await bot.polled.wait()
            case SlackStage(server=server):
                async with asyncio.timeout(PATIENCE):
                    await server.connected.wait()

    def forget_connections(self) -> None:
        """Forget the connections: none counts as open any more."""
        match self.stage:
            case DiscordStage(server=server):
                server.gateway.sessions.clear()
            case TelegramStage(bot=bot):
                bot.polled.clear()
            case SlackStage(server=server):
                server.connected.clear()

    async def command(self, name: str, user: str) -> None:
        """Give a command in a direct chat, as a slash command if the platform has them."""
        match self.stage:
            case DiscordStage(server=server) as stage:
                await server.command(name, "", channel=stage.place(direct=True, user=user), user=user)
            case TelegramStage() as stage:
                entities = [{"type": "bot_command", "offset": 0, "length": len(name) + 1}]
                await stage.say(f"/{name}", user=user, entities=entities)
            case SlackStage() as stage:
                stage.direct(user)
                stage.command("/arvis", name, user=user)

    async def shows(self, place: Address, words: str) -> Shown:
        """Return the first message of the bot with this text, once it has arrived."""
        return await until(lambda: next((one for one in self.shown(place) if words in one.text), None), words)

    def shown(self, place: Address) -> list[Shown]:
        return list(self.stage.shown(place))

    def times(self, place: Address, words: str) -> int:
        return sum(words in one.text for one in self.shown(place))


@asynccontextmanager
async def town() -> AsyncIterator[Mapping[str, Chats]]:
    async with AsyncExitStack() as stack:
        stages: tuple[AnyStage, ...] = (
            await stack.enter_async_context(discord_stage()),
            await stack.enter_async_context(TelegramStage.open()),
            await stack.enter_async_context(SlackStage.open()),
        )
        yield {name: Chats(name, stage) for name, stage in zip(PLATFORMS, stages, strict=True)}


def settle_in(
    folder: Path, chats: Mapping[str, Chats], agent: Mapping[str, Any], *, owners: Sequence[str] = ("ann",)
) -> None:
    """Write the configuration of a daemon whose bots belong to one agent and to these people."""
    document = {
        "agents": [agent],
        "owners": {name: [each.user(person) for person in owners] for name, each in chats.items()},
        "bots": {name: [{**each.settings, "agent": agent["slug"]}] for name, each in chats.items()},
    }
    (folder / "config.yaml").write_text(json.dumps(document), encoding="utf-8")  # JSON is YAML


class Parrot:
    """A model that repeats the last question."""

    async def answer(self, received: ReceivedRequest) -> Any:
        return await Reply((f"Polly: {asked(received)}",)).answer(received)


@dataclass(frozen=True)
class Held:
    """An answer that waits until it is released."""

    text: str
    free: asyncio.Event

    async def answer(self, received: ReceivedRequest) -> Any:
        await self.free.wait()
        return await Reply((self.text,)).answer(received)


def asked(received: ReceivedRequest) -> str:
    """Return the newest text of people in a prompt."""
    return text_of([turn for turn in received.document["messages"] if turn["role"] == "user"][-1])


def text_of(turn: Mapping[str, Any]) -> str:
    content = turn["content"]
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content or ())


async def until(look: Callable[[], Found | None], what: str) -> Found:
    """Poll until a check returns a result."""
    end = time.monotonic() + PATIENCE
    while not (found := look()):
        assert time.monotonic() < end, f"it never came: {what}"
        await asyncio.sleep(0.01)
    return found
