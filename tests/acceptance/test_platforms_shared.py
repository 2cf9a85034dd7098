"""Two daemons on one PostgreSQL with the same bots: each bot runs in one of them, and in the other one after a kill."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from arvis.testing.openai_server import OpenAIServer, openai_server
from tests.acceptance.daemon import Daemon
from tests.acceptance.town import PLATFORMS, Chats, Parrot, settle_in, town, until

#: Seconds until another process takes over a bot without a lease and connects.
TAKEN_WITHIN = 10.0
MESSAGES = 24
#: Seconds between two messages of a person.
PACE = 0.15


@dataclass
class Twins:
    daemons: Mapping[str, Daemon]
    chats: Mapping[str, Chats]
    model: OpenAIServer
    database: str

    def owner(self, platform: str) -> str | None:
        """Return the boot that runs the bot of a platform."""
        with psycopg.connect(self.database, autocommit=True) as connection:
            query = "SELECT owner FROM role_leases WHERE name = %s"
            row = connection.execute(query, (f"bot:{platform}:main",)).fetchone()
        return row[0] if row else None


@pytest.fixture
async def twins(tmp_path: Path, migrated_url: str) -> AsyncIterator[Twins]:
    async with AsyncExitStack() as stack:
        chats = await stack.enter_async_context(town())
        model = await stack.enter_async_context(openai_server(default=Parrot()))
        settings = {
            "ARVIS__DATABASE": migrated_url,
            "ARVIS__QUEUE__LEASE_SECONDS": "2",
            "OPENAI_API_KEY": "sk-none",
            "OPENAI_BASE_URL": model.base_url,
        }
        daemons = {}
        for name in ("first", "second"):
            folder = tmp_path / name
            folder.mkdir()
            settle_in(folder, chats, {"slug": "helper", "name": "Helper"})
            daemons[name] = Daemon(folder, settings=settings)
            stack.push_async_callback(asyncio.to_thread, daemons[name].close)
        yield Twins(daemons, chats, model, migrated_url)


async def test_bots_of_a_dead_process_go_on_in_the_other_and_every_message_is_answered_once(twins: Twins) -> None:
    first, second = twins.daemons.values()
    await asyncio.to_thread(first.start)
    for here in twins.chats.values():
        await here.connected()
    await asyncio.to_thread(second.start)
    holder = {name: twins.owner(name) for name in PLATFORMS}
    assert len(set(holder.values())) == 1
    assert [here.logins for here in twins.chats.values()] == [1, 1, 1]
    words = [f"number {number:02};" for number in range(MESSAGES)]
    talking = [asyncio.create_task(say_all(here, words)) for here in twins.chats.values()]
    await until(lambda: answered(twins, words) > MESSAGES // 2, "answers of the first")
    await asyncio.to_thread(first.kill)
    died = time.monotonic()
    await until(lambda: all(twins.owner(name) not in {None, holder[name]} for name in PLATFORMS), "other holders")
    assert time.monotonic() - died < TAKEN_WITHIN
    await asyncio.gather(*talking)
    await until(lambda: answered(twins, words) == len(words) * len(PLATFORMS), "every answer")
    for name, here in twins.chats.items():
        texts = [one.text for one in here.shown(here.direct("ann"))]
        # Telegram may show the reply that was being sent a second time. A reply can answer several messages.
        assert len(texts) - len(set(texts)) <= (name == "telegram"), (name, texts)
        shown = "\n".join(set(texts))
        assert [shown.count(word) for word in words] == [1] * len(words), (name, texts)


async def say_all(here: Chats, words: list[str]) -> None:
    for word in words:
        await here.stage.say(word)
        await asyncio.sleep(PACE)


def answered(twins: Twins, words: list[str]) -> int:
    return sum(answered_of(here, words) for here in twins.chats.values())


def answered_of(here: Chats, words: list[str]) -> int:
    told = "\n".join(one.text for one in here.shown(here.direct("ann")))
    return sum(word in told for word in words)
