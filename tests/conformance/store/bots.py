"""Cases for stored bots, and for the states of bots."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from arvis.domain.platforms import BotState, BotStatus, StoredBot
from arvis.ports.store import Store, Transaction
from tests.conformance.store.scripts import NOW
from tests.conformance.store.transactions import TransactionCases

BOT = StoredBot("bot-1", "discord", "main", '{"respond":"all"}', "sealed", True, NOW, NOW)


def add_bot(tx: Transaction, bot: StoredBot = BOT) -> bool:
    return tx.bots.add(bot)


class BotCases(TransactionCases):
    async def test_a_bot_is_kept_changed_and_removed(self, store: Store) -> None:
        assert await store.write(add_bot)
        assert await store.read(lambda tx: tx.bots.get("discord", "main")) == BOT
        changed = replace(BOT, settings="{}", secrets="anew", enabled=False, updated_at=NOW + 1)
        await store.write(lambda tx: tx.bots.update(changed))
        assert await store.read(lambda tx: tx.bots.all()) == [changed]
        assert await store.write(lambda tx: tx.bots.remove("discord", "main"))
        assert not await store.write(lambda tx: tx.bots.remove("discord", "main"))
        assert await store.read(lambda tx: tx.bots.get("discord", "main")) is None

    async def test_a_name_is_given_once_on_each_platform(self, store: Store) -> None:
        twins = [replace(BOT, id=f"bot-{number}") for number in range(8)]
        added = await asyncio.gather(*(store.write(add_bot, twin) for twin in twins))
        assert sorted(added) == [False] * 7 + [True]
        assert await store.write(add_bot, replace(BOT, id="bot-9", platform="slack"))

    async def test_bots_come_in_the_order_of_platform_and_name(self, store: Store) -> None:
        for number, (platform, name) in enumerate((("slack", "a"), ("discord", "b"), ("discord", "a"))):
            await store.write(add_bot, replace(BOT, id=f"bot-{number}", platform=platform, name=name))
            await store.write(
                lambda tx, platform, name: tx.bots.put_status(platform, name, BotState.RUNNING, error="", now=NOW),
                platform,
                name,
            )
        expected = [("discord", "a"), ("discord", "b"), ("slack", "a")]
        assert [(bot.platform, bot.name) for bot in await store.read(lambda tx: tx.bots.all())] == expected
        statuses = await store.read(lambda tx: tx.bots.statuses())
        assert [(status.platform, status.name) for status in statuses] == expected

    async def test_a_state_keeps_its_beginning_while_it_lasts(self, store: Store) -> None:
        async def put(state: BotState, error: str, now: int) -> BotStatus:
            def script(tx: Transaction) -> BotStatus:
                tx.bots.put_status("discord", "main", state, error=error, now=now)
                (status,) = tx.bots.statuses()
                return status

            return await store.write(script)

        assert (await put(BotState.ERROR, "refused", NOW)).since == NOW
        again = await put(BotState.ERROR, "out of reach", NOW + 5)
        assert (again.since, again.error) == (NOW, "out of reach")
        running = await put(BotState.RUNNING, "", NOW + 9)
        assert (running.since, running.state, running.error) == (NOW + 9, BotState.RUNNING, "")

    async def test_who_a_bot_is_stays_known_when_its_state_changes(self, store: Store) -> None:
        def identify(tx: Transaction, user_name: str, now: int) -> None:
            tx.bots.put_identity("discord", "main", user_id="7", user_name=user_name, now=now)

        def status(tx: Transaction) -> BotStatus:
            (found,) = tx.bots.statuses()
            return found

        await store.write(identify, "Arvis", NOW)
        assert (await store.read(status)).state is BotState.STARTING
        await store.write(lambda tx: tx.bots.put_status("discord", "main", BotState.RUNNING, error="", now=NOW + 1))
        await store.write(identify, "Jarvis", NOW + 2)
        found = await store.read(status)
        assert found == BotStatus("discord", "main", BotState.RUNNING, "", "7", "Jarvis", NOW + 1)
