"""The account registry: it holds configured and stored accounts, and reloads them when any process changes one."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from arvis.bus import CROSSING, EventBus, decode, encode
from arvis.domain.accounts import AccountStatus, StoredAccount
from arvis.domain.errors import ProviderErrorKind
from arvis.domain.events import AccountsChanged, Event, NoticesMissed
from arvis.domain.runs import Account
from arvis.llm.accounts import AccountRegistry
from arvis.llm.attempts import RunFailed
from arvis.llm.selection import DEMO
from arvis.ports.bus import Topic
from arvis.ports.store import Store
from arvis.process.secrets import SealedBox, secrets_key_file
from arvis.store.open import Database
from tests.conformance.databases import NOW, opened

FILE = Account("file", "openai", "m", api_key="k")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(Database(tmp_path / "arvis.db", None, tmp_path)) as store:
        yield store


@pytest.fixture
def box(tmp_path: Path) -> SealedBox:
    return a_box(tmp_path)


def a_box(folder: Path, given: str | None = None) -> SealedBox:
    return SealedBox(file=secrets_key_file(folder), given=given, tell=lambda _: None)


def stored(name: str, sealed_key: str | None = None, status: AccountStatus = AccountStatus.ACTIVE) -> StoredAccount:
    return StoredAccount(id=f"id-{name}", name=name, provider="openai", model="m", sealed_key=sealed_key, status=status)


async def add(store: Store, *accounts: StoredAccount) -> None:
    for account in accounts:
        assert await store.write(lambda tx, one: tx.accounts.add(one, NOW), account)


async def test_the_demo_answers_where_nobody_gave_an_account(store: Store, box: SealedBox, tmp_path: Path) -> None:
    book = AccountRegistry(configured=(), store=store, secrets=box)
    await book.learn()
    assert book.current() == (DEMO,)
    assert not await asyncio.to_thread(secrets_key_file(tmp_path).exists)


async def test_stored_accounts_stand_beside_configured_ones(store: Store, box: SealedBox) -> None:
    book = AccountRegistry(configured=[FILE], store=store, secrets=box)
    await add(store, stored("a", box.seal("secret")), stored("b"), stored("c", status=AccountStatus.DISABLED))
    assert book.current() == (FILE,), "nothing is read before it learns"
    await book.learn()
    assert [(one.name, one.api_key) for one in book.current()] == [("file", "k"), ("a", "secret"), ("b", None)]


async def test_what_is_configured_wins(store: Store, box: SealedBox, caplog: pytest.LogCaptureFixture) -> None:
    book = AccountRegistry(configured=[FILE], store=store, secrets=box)
    await add(store, stored("file", box.seal("other")))
    with caplog.at_level(logging.WARNING):
        await book.learn()
        await book.learn()
    assert book.current() == (FILE,)
    assert len(caplog.records) == 1, "told once"
    assert "same name" in caplog.text


async def test_a_key_that_does_not_open_costs_that_account_only(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    key, other = (base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2))
    await add(store, stored("a", a_box(tmp_path, key).seal("secret")), stored("b"))
    book = AccountRegistry(configured=(), store=store, secrets=a_box(tmp_path, other))
    with caplog.at_level(logging.WARNING):
        await book.learn()
    assert [one.name for one in book.current()] == ["b"]
    assert "The account a is left out" in caplog.text
    assert "encryption_key" in caplog.text


@pytest.mark.parametrize("account", [stored("a", "v1.00000000.AAAA"), stored("a", status=AccountStatus.DISABLED)])
async def test_the_demo_does_not_stand_in_for_accounts_that_fail(
    store: Store, box: SealedBox, account: StoredAccount
) -> None:
    book = AccountRegistry(configured=(), store=store, secrets=box)
    await add(store, account)
    await book.learn()
    assert book.usable == ()
    with pytest.raises(RunFailed, match="no account can be used") as raised:
        book.current()
    assert raised.value.error.kind is ProviderErrorKind.AUTH
    await store.write(lambda tx: tx.accounts.remove("a"))
    await book.learn()
    assert book.current() == (DEMO,)


@pytest.mark.parametrize("event", [AccountsChanged(), NoticesMissed()])
async def test_it_learns_when_another_process_says_so(store: Store, box: SealedBox, event: Event) -> None:
    bus, up = EventBus(), asyncio.Event()
    book = AccountRegistry(configured=(), store=store, secrets=box)
    following = asyncio.create_task(book.follow(bus, up.set))
    async with asyncio.timeout(10):
        await up.wait()
        assert book.current() == (DEMO,)
        await add(store, stored("a"))
        bus.publish(event)
        await until(lambda: [one.name for one in book.current()] == ["a"])
    following.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await following


async def until(true: Callable[[], bool]) -> None:
    while not true():  # noqa: ASYNC110 - the book has no event of its own
        await asyncio.sleep(0.005)


def test_the_notice_crosses_to_other_processes() -> None:
    assert CROSSING[AccountsChanged] is Topic.JOBS
    assert decode(encode(AccountsChanged())) == AccountsChanged()
