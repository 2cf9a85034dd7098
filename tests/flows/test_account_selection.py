"""Several accounts behind one turn, through the whole flow: which account answers, when a message waits, and which
cooldowns are stored."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.messages import MessageStatus
from arvis.domain.runs import CIRCUIT, Account, RunRequest, RunResult
from arvis.messaging import notices
from arvis.ports.store import Transaction
from arvis.store.open import Database
from tests.flows.app_harness import AppHarness, Models, agent_with, open_app, steps_of

KINDS = ProviderErrorKind
#: Time between a decision and its commit, in ms.
A_SECOND = 1000
ACCOUNTS = [
    Account(name="one", provider="scripted", model="m", priority=1),
    Account(name="two", provider="scripted", model="m", priority=2),
    Account(name="three", provider="missing", model="m", priority=3),
]


class ByName:
    """A provider whose accounts answer with their names, unless an account has an error."""

    name = "scripted"

    def __init__(self) -> None:
        self.errors: dict[str, ProviderError] = {}
        self.asked: list[str] = []

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        self.asked.append(account.name)
        if (error := self.errors.get(account.name)) is not None:
            raise error
        return RunResult(account.name, request.model or "?", account.provider, account.name)


class Missing:
    """A provider whose program is not installed."""

    name = "missing"

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        raise ProviderError(KINDS.AUTH, "the program is not installed")


@asynccontextmanager
async def open_town(
    database: Database, *, again: bool = False, **changes: object
) -> AsyncIterator[tuple[AppHarness, ByName]]:
    provider = ByName()
    models = Models({"scripted": provider, "missing": Missing()}, ACCOUNTS)
    async with open_app(database, agents=[] if again else [agent_with(**changes)], models=models) as app:
        yield app, provider


def limited(seconds: float) -> ProviderError:
    return ProviderError(KINDS.RATE_LIMIT, "slow down", retry_after=seconds)


async def test_a_message_waits_for_the_first_account_that_comes_back(database: Database) -> None:
    async with open_town(database) as (app, provider):
        provider.errors |= {"one": limited(120), "two": limited(300)}
        message = (await app.say("Hello")).message_id
        timeline = await app.until_noted(message, "snoozed")
        assert timeline.job is not None
        snoozed = next(step for step in timeline.steps if step.step == "snoozed")
        assert timeline.job.run_at - snoozed.at == pytest.approx(120_000, abs=A_SECOND)
        provider.errors.clear()
        await app.pass_time(120)
        answered = await app.until_status(message, MessageStatus.ANSWERED)
        assert answered.reply == "one"


async def test_a_message_that_comes_while_accounts_rest_waits_although_another_can_never_answer(
    database: Database,
) -> None:
    async with open_town(database) as (app, provider):
        provider.errors |= {"one": limited(120), "two": limited(300)}
        first = (await app.say("Hello")).message_id
        await app.until_noted(first, "snoozed")
        app.clock.put_forward(61)
        second = (await app.say("Me too", channel="elsewhere")).message_id
        waiting = await app.until_noted(second, "snoozed")
        assert provider.asked == ["one", "two"], "neither is asked again before its time"
        assert waiting.job is not None
        provider.errors.clear()
        await app.pass_time(60)
        for message in (first, second):
            assert (await app.until_status(message, MessageStatus.ANSWERED)).reply == "one"


async def test_a_circuit_is_kept_for_the_next_start_and_for_other_processes(database: Database) -> None:
    async with open_town(database) as (app, provider):
        provider.errors["one"] = ProviderError(KINDS.TIMEOUT, "nothing came", silent=True)
        assert (await app.ask("Hello")).reply == "two"
        [kept] = await app.store.read(lambda tx: tx.cooldowns.all())
        assert (kept.account, kept.kind) == ("one", CIRCUIT)
    async with open_town(database, again=True) as (app, provider):
        assert (await app.ask("Again")).reply == "two"
        assert provider.asked == ["two"]


async def test_a_pinned_model_that_no_account_serves_is_told(database: Database) -> None:
    async with open_town(database, model="elsewhere/large") as (app, provider):
        message = (await app.say("Hello")).message_id
        timeline = await app.until_status(message, MessageStatus.FAILED)
        assert timeline.reason == "no_model"
        assert "no account offers the model of this agent" in (timeline.reply or "")
        assert provider.asked == []
        assert "model_call" not in steps_of(timeline)


async def test_a_pinned_model_is_not_answered_by_another(database: Database) -> None:
    async with open_town(database, model="missing/m") as (app, provider):
        message = (await app.say("Hello")).message_id
        assert (await app.until_status(message, MessageStatus.FAILED)).reason == "auth"
        assert provider.asked == []


async def test_an_agent_that_loses_its_tools_says_so_once(database: Database) -> None:
    program = ByName()
    program.name = "claude_cli"
    models = Models({"claude_cli": program}, [Account(name="program", provider="claude_cli", model="m")])
    async with open_app(database, agents=[agent_with(tools=("look",))], models=models) as app:
        timeline = await app.ask("Hello", user="owner")
        assert timeline.reply == "program"
        said = notices.left_out("tools", model="m", account="program")
        assert await app.until_sent(2) == [said, "program"]


@pytest.mark.parametrize("kind", [KINDS.TIMEOUT, KINDS.RATE_LIMIT])
async def test_what_waits_for_a_model_goes_on_as_soon_as_one_answers(
    database: Database, kind: ProviderErrorKind
) -> None:
    async with open_town(database) as (app, provider):
        trouble = ProviderError(kind, "not now", retry_after=3000 if kind is KINDS.RATE_LIMIT else None)
        provider.errors |= {"one": trouble, "two": trouble}
        waiting = (await app.say("Hello")).message_id
        await app.until_noted(waiting, "snoozed" if kind is KINDS.RATE_LIMIT else "retried")
        provider.errors.clear()
        if kind is KINDS.RATE_LIMIT:
            await app.store.write(_forget, app.clock.now())
        assert (await app.ask("And you?", user="bob", channel="other")).reply in {"one", "two"}
        timeline = await app.until_status(waiting, MessageStatus.ANSWERED)
        assert timeline.job is not None
        assert timeline.job.attempts == 0


def _forget(tx: Transaction, now: int) -> None:
    """Reset an account as the accounts page does after a change or a successful test."""
    for rest in tx.cooldowns.all():
        tx.cooldowns.put(replace(rest, until=now, refusals=0, at=max(now, rest.at + 1)))
    tx.jobs.hasten(now)
