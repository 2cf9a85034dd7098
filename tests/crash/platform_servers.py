"""The three platforms of an episode: their servers on this machine, the people who write there, and their failures.

The servers run in the harness, so they continue after a kill: they repeat events that were not acknowledged, and keep the
messages that were shown.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from arvis.domain.messages import Address
from arvis.testing.conformance.connector_stage import Shown
from tests.crash.platform_history import CANCELLED, DISCORD, SLACK, TELEGRAM, Failure, Seen, Send
from tests.platforms.discord_stage import DiscordStage, discord_stage
from tests.platforms.slack_server import SENDS
from tests.platforms.slack_server_world import APP_TOKEN, BOT_TOKEN
from tests.platforms.slack_stage import SlackStage
from tests.platforms.telegram_stage import TOKEN, TelegramStage

PEOPLE = ("ann", "bob", "carol", "dave", "erin")
#: Range of seconds between the effect of a send and its answer, so that a kill can come in between.
ANSWER_DELAY = (0.0, 0.3)


class Stage(Protocol):
    """The methods of a stage that the campaign uses (`arvis.testing.conformance.connector_stage.Stage`)."""

    def address(
        self, channel: str = "room", *, direct: bool = False, thread: str = "", user: str = "ann"
    ) -> Address: ...

    async def say(
        self,
        text: str,
        *,
        user: str = "ann",
        direct: bool = True,
        addressed: bool = True,
        channel: str = "room",
        thread: str = "",
    ) -> str: ...

    async def redeliver(self, ref: str) -> None: ...

    async def drop_connections(self) -> None: ...

    def refuse_sends(self, count: int, *, status: int = 429, retry_after: float | None = None) -> None: ...

    def reset_sends(self, count: int, *, after: bool) -> None: ...

    def shown(self, address: Address) -> Sequence[Shown]: ...


@dataclass(frozen=True, slots=True)
class Room:
    """A place for writing on a platform: a direct chat with the bot, a room, or a thread."""

    users: tuple[str, ...]
    direct: bool = False
    thread: str = ""


ROOMS = (
    Room(("ann",), direct=True),
    Room(("bob",), direct=True),
    Room(("carol", "erin")),
    Room(("dave",), thread="talk"),
)


class PlatformServer:
    """One platform. With `opens_threads`, the bot answers a message in a room in a new thread."""

    platform = ""
    opens_threads = False

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.failures: list[Failure] = []
        self.cuts: list[float] = []
        self._addresses: dict[str, Address] = {}
        for room in ROOMS:
            self._place(self._address(room))

    @property
    def bot(self) -> Mapping[str, Any]:
        """Return the settings of the bot, as a user would write them."""
        raise NotImplementedError

    @property
    def owners(self) -> list[str]:
        raise NotImplementedError

    def sends(self) -> list[Send]:
        raise NotImplementedError

    @property
    def is_connected(self) -> bool:
        """Return whether the bot is connected and listens."""
        raise NotImplementedError

    async def write(self, text: str, room: Room, user: str) -> tuple[str, str]:
        """Write a message. Return its place and the platform's id for it."""
        ref = await self.stage.say(text, user=user, direct=room.direct, thread=room.thread)
        address = self._address(room)
        if self.opens_threads and not room.direct and not room.thread:
            address = Address(address.platform, address.connector, address.channel, ref)
        return self._place(address), ref

    def seen(self) -> dict[str, list[Seen]]:
        return {
            place: [Seen(shown.platform_id, shown.text.strip()) for shown in self.stage.shown(address)]
            for place, address in self._addresses.items()
        }

    def fail_next_send(self, kind: str, retry_after: float) -> None:
        """Cause a failure for the next send."""
        self.cancel_failure()
        match kind:
            case "refused":
                self.stage.refuse_sends(1, retry_after=retry_after)
            case "failed":
                self.stage.refuse_sends(1, status=503)
            case _:
                self.stage.reset_sends(1, after=kind == "after")
        self.failures.append(Failure(self.platform, time.monotonic(), kind, retry_after if kind == "refused" else 0.0))

    async def cut_connections(self) -> None:
        """Break all connections immediately."""
        self.cuts.append(time.monotonic())
        await self.stage.drop_connections()

    def cancel_failure(self) -> None:
        """Cancel the failure that waits for the next send."""
        self.stage.refuse_sends(0)
        self.stage.reset_sends(0, after=False)
        self.failures.append(Failure(self.platform, time.monotonic(), CANCELLED))

    def _address(self, room: Room) -> Address:
        return self.stage.address(direct=room.direct, thread=room.thread, user=room.users[0])

    def _place(self, address: Address) -> str:
        place = f"{self.platform}:{address.channel}/{address.thread}"
        self._addresses[place] = address
        return place


class DiscordAdapter(PlatformServer):
    platform = DISCORD

    def __init__(self, stage: DiscordStage) -> None:
        super().__init__(stage)
        self._server = stage.server

    @property
    def bot(self) -> Mapping[str, Any]:
        return {"token": self._server.token, "api_url": self._server.api_url, "gateway_url": self._server.gateway_url}

    @property
    def owners(self) -> list[str]:
        return [self._server.world.person(name)["id"] for name in PEOPLE]

    @property
    def is_connected(self) -> bool:
        return any(session.socket is not None for session in self._server.gateway.sessions.values())

    def sends(self) -> list[Send]:
        return [Send(DISCORD, one.path.split("/")[-2], one.at) for one in self._server.asked if one.sends]


class TelegramAdapter(PlatformServer):
    platform = TELEGRAM

    def __init__(self, stage: TelegramStage) -> None:
        super().__init__(stage)
        self._stage = stage

    @property
    def bot(self) -> Mapping[str, Any]:
        return {"token": TOKEN, "api_url": self._stage.server.url}

    @property
    def owners(self) -> list[str]:
        return [str(self._stage.person(name)["id"]) for name in PEOPLE]

    @property
    def is_connected(self) -> bool:
        return self._stage.bot.polled.is_set()

    def sends(self) -> list[Send]:
        return [
            Send(TELEGRAM, str(one.parameters["chat_id"]), one.at, str(one.parameters.get("text", "")))
            for one in self._stage.server.sends
        ]


class SlackAdapter(PlatformServer):
    platform = SLACK
    opens_threads = True

    def __init__(self, stage: SlackStage) -> None:
        super().__init__(stage)
        self._stage = stage

    @property
    def bot(self) -> Mapping[str, Any]:
        return {"bot_token": BOT_TOKEN, "app_token": APP_TOKEN, "api_url": f"{self._stage.server.root}/api"}

    @property
    def owners(self) -> list[str]:
        return [self._stage.user(name) for name in PEOPLE]

    @property
    def is_connected(self) -> bool:
        return self._stage.server.connected.is_set()

    def sends(self) -> list[Send]:
        asked = [one for one in self._stage.server.asked if one.method in SENDS]
        # Slack has a separate rate limit for each method.
        return [Send(SLACK, f"{one.method} {one.values['channel']}", one.at) for one in asked]


@asynccontextmanager
async def servers(rng: Random) -> AsyncIterator[Sequence[PlatformServer]]:
    async with (
        discord_stage() as discord,
        TelegramStage.open() as telegram,
        SlackStage.open(mentions_twice=True) as slack,
    ):
        for server in (discord.server, telegram.server, slack.server):
            server.lag = lambda: rng.uniform(*ANSWER_DELAY)
        yield DiscordAdapter(discord), TelegramAdapter(telegram), SlackAdapter(slack)
