"""Two bots do not answer each other forever."""

from __future__ import annotations

from arvis.domain.messages import Address
from arvis.inbox.accept import MOST_BOT_TURNS, MOST_IN_CHANNEL, PAUSE_MS, may_begin_turn
from arvis.ports.store import Store

NOW = 1_800_000_000_000
HERE = Address("chat", "main", "room")


async def begins(store: Store, *, bot: bool = True, at: int = NOW, place: Address = HERE) -> bool:
    return await store.write(may_begin_turn, place, bot=bot, now=at)


async def test_bots_stop_after_a_few_turns_until_a_person_speaks(store: Store) -> None:
    assert [await begins(store) for _ in range(MOST_BOT_TURNS + 2)] == [True] * MOST_BOT_TURNS + [False] * 2
    assert await begins(store, place=Address("chat", "main", "room", "thread"))
    assert await begins(store, bot=False)
    assert [await begins(store) for _ in range(MOST_BOT_TURNS + 1)] == [True] * MOST_BOT_TURNS + [False]


async def test_a_pause_ends_a_talk(store: Store) -> None:
    for _ in range(MOST_BOT_TURNS):
        await begins(store)
    assert not await begins(store, at=NOW + PAUSE_MS - 1)
    assert await begins(store, at=NOW + PAUSE_MS)
    reports = [await begins(store, at=NOW + number * PAUSE_MS) for number in range(2, 30)]
    assert all(reports)


async def test_a_new_thread_each_time_is_no_way_round(store: Store) -> None:
    threads = [Address("chat", "main", "room", str(number)) for number in range(MOST_IN_CHANNEL + 2)]
    assert [await begins(store, place=place) for place in threads] == [True] * MOST_IN_CHANNEL + [False] * 2
    assert await begins(store, place=Address("chat", "main", "elsewhere", "1"))
    assert await begins(store, place=threads[0], bot=False)
    assert await begins(store, place=threads[-1])
