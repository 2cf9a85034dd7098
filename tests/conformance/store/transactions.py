"""Cases for transaction scripts: atomic, isolated from each other's failures, safe to run again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager

import pytest

from arvis.domain.errors import StoreError
from arvis.ports.store import Store, Transaction
from tests.conformance.store.scripts import AGENT, NOW, add, add_agent, get_setting, message, put_setting

OpenStore = Callable[[], AbstractAsyncContextManager[Store]]


class TransactionCases:
    """The guarantees for every script."""

    @pytest.fixture
    async def store(self, open_store: OpenStore) -> AsyncIterator[Store]:
        async with open_store() as store:
            yield store

    async def test_a_script_commits_what_it_wrote_and_answers_what_it_returned(self, store: Store) -> None:
        def script(tx: Transaction, word: str, *, times: int) -> str:
            put_setting(tx, "word", word * times)
            return word.upper()

        assert await store.write(script, "ab", times=2) == "AB"
        assert await store.read(get_setting, "word") == "abab"

    async def test_what_was_committed_is_there_after_it_was_opened_again(self, open_store: OpenStore) -> None:
        async with open_store() as store:
            await store.write(put_setting, "word", "kept")
        async with open_store() as store:
            assert await store.read(get_setting, "word") == "kept"

    async def test_an_exception_rolls_back_and_reaches_the_caller(self, store: Store) -> None:
        refusal = ValueError("no")

        def script(tx: Transaction) -> None:
            put_setting(tx, "word", "lost")
            raise refusal

        with pytest.raises(ValueError, match="no") as raised:
            await store.write(script)
        assert raised.value is refusal
        assert await store.read(get_setting, "word") is None

    async def test_a_read_sees_one_moment(self, store: Store) -> None:
        """A script that reads twice reads the same data, whatever is committed in between."""
        loop = asyncio.get_running_loop()
        first_read, written = asyncio.Event(), asyncio.Event()

        def script(tx: Transaction) -> tuple[str | None, str | None]:
            before = get_setting(tx, "word")
            loop.call_soon_threadsafe(first_read.set)
            asyncio.run_coroutine_threadsafe(written.wait(), loop).result()
            return before, get_setting(tx, "word")

        await store.write(put_setting, "word", "old")
        reading = asyncio.create_task(store.read(script))
        await first_read.wait()
        await store.write(put_setting, "word", "new")
        written.set()
        assert await reading == ("old", "old")
        assert await store.read(get_setting, "word") == "new"

    async def test_a_read_that_fails_harms_no_other(self, store: Store) -> None:
        def script(tx: Transaction) -> None:
            raise LookupError("nothing there")

        for _ in range(20):
            with pytest.raises(LookupError):
                await store.read(script)
        assert await store.read(get_setting, "word") is None

    @pytest.mark.parametrize("failure", [ValueError("no"), StopIteration(), asyncio.CancelledError(), SystemExit(1)])
    async def test_a_failing_script_takes_nobody_of_its_group_with_it(
        self, store: Store, failure: BaseException
    ) -> None:
        def script(tx: Transaction, number: int) -> int:
            put_setting(tx, f"word-{number}", "kept")
            if number % 5 == 0:
                raise failure
            return number

        # `gather` would pass a SystemExit to the event loop immediately.
        writes = [asyncio.ensure_future(_outcome(store, script, number)) for number in range(64)]
        outcomes = [await write for write in writes]
        assert outcomes == [None if number % 5 == 0 else number for number in range(64)]
        kept = [await store.read(get_setting, f"word-{number}") for number in range(64)]
        assert kept == [None if number % 5 == 0 else "kept" for number in range(64)]

    async def test_a_refused_statement_takes_nobody_of_its_group_with_it(self, store: Store) -> None:
        await store.write(add_agent)

        def script(tx: Transaction, number: int) -> int:
            put_setting(tx, f"word-{number}", "kept")
            if number == 1:
                add_agent(tx)  # its id is taken
            return number

        outcomes = await asyncio.gather(*(store.write(script, number) for number in range(4)), return_exceptions=True)
        assert [outcomes[0], *outcomes[2:]] == [0, 2, 3]
        assert isinstance(outcomes[1], StoreError)
        kept = [await store.read(get_setting, f"word-{number}") for number in range(4)]
        assert kept == ["kept", None, "kept", "kept"]

    async def test_what_would_work_after_the_commit_is_refused(self, store: Store) -> None:
        async def coroutine(tx: Transaction) -> None:
            put_setting(tx, "word", "late")

        def generator(tx: Transaction) -> Iterator[None]:
            put_setting(tx, "word", "late")
            yield

        async def async_generator(tx: Transaction) -> AsyncIterator[None]:
            put_setting(tx, "word", "late")
            yield

        def half_done(tx: Transaction) -> Iterator[str | None]:
            return (get_setting(tx, word) for word in ("word",))

        for script in (coroutine, generator, async_generator, half_done):
            with pytest.raises(TypeError, match="script"):
                await store.write(script)
            with pytest.raises(TypeError, match="script"):
                await store.read(script)
        assert await store.read(get_setting, "word") is None

    async def test_a_waiter_that_was_cancelled_strands_nobody(self, store: Store) -> None:
        writes = [asyncio.create_task(store.write(put_setting, f"word-{number}", "kept")) for number in range(32)]
        await asyncio.sleep(0)
        for write in writes[::2]:
            write.cancel()
        await asyncio.gather(*writes, return_exceptions=True)
        kept = [await store.read(get_setting, f"word-{number}") for number in range(1, 32, 2)]
        assert kept == ["kept"] * 16

    async def test_a_reader_that_was_cancelled_strands_nobody(self, store: Store) -> None:
        reads = [asyncio.create_task(store.read(get_setting, "word")) for _ in range(16)]
        await asyncio.sleep(0)
        for read in reads[::2]:
            read.cancel()
        assert await asyncio.gather(*reads[1::2]) == [None] * 8

    async def test_a_read_changes_nothing(self, store: Store) -> None:
        with pytest.raises(StoreError):
            await store.read(put_setting, "word", "lost")
        assert await store.read(get_setting, "word") is None

    async def test_an_id_is_fresh_and_later_than_the_one_before(self, store: Store) -> None:
        def script(tx: Transaction) -> list[str]:
            return [tx.new_id() for _ in range(100)]

        ids = [*await store.write(script), *await store.write(script)]
        assert ids == sorted(set(ids))
        assert {len(each) for each in ids} == {26}

    async def test_a_stopped_store_refuses_instead_of_hanging(self, open_store: OpenStore) -> None:
        async with open_store() as store:
            await store.write(put_setting, "word", "kept")
        with pytest.raises(StoreError, match="closed"):
            await store.write(put_setting, "word", "lost")
        with pytest.raises(StoreError, match="closed"):
            await store.read(get_setting, "word")

    async def test_a_script_that_was_rolled_back_leaves_no_job_behind(self, store: Store) -> None:
        def script(tx: Transaction) -> None:
            add(tx, message("a"))
            raise ValueError("no")

        with contextlib.suppress(ValueError):
            await store.write(script)
        assert (await store.write(add, message("a"))).position == 1

    async def test_agents_come_back_as_they_were_stored(self, store: Store) -> None:
        await store.write(add_agent)
        assert await store.read(lambda tx: (tx.agents.get(AGENT.id), tx.agents.by_slug("helper"))) == (AGENT, AGENT)

    async def test_blobs_are_stored_once_under_their_hash(self, store: Store) -> None:
        data = b"picture" * 1000
        names = await asyncio.gather(*(store.put_blob(data) for _ in range(16)))
        assert len(set(names)) == 1
        assert len(names[0]) == 64


async def _outcome(store: Store, script: Callable[[Transaction, int], int], number: int) -> int | None:
    """Return the result of the script; None when it failed in any way."""
    try:
        return await store.write(script, number)
    except (ValueError, RuntimeError, SystemExit):
        return None
    except asyncio.CancelledError:
        return None


__all__ = ["NOW", "OpenStore", "TransactionCases"]
