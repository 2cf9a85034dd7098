"""Failing over: the next account is asked at once, cooldowns grow, and a run fails when no account is left."""

from __future__ import annotations

import pytest

from arvis.domain.errors import ProviderErrorKind
from arvis.domain.runs import Account, Cooldown, RunRequest, RunResult
from arvis.llm.attempts import RunFailed
from arvis.llm.runner import Runner
from arvis.llm.selection import Choice, Cooldowns, select
from arvis.testing.clock import SteppedClock
from arvis.testing.providers import GivenProviders
from tests.unit.test_runner import REQUEST, error, ignore

KINDS = ProviderErrorKind
FIRST = Account(name="first", provider="scripted", model="big", priority=1)
SECOND = Account(name="second", provider="scripted", model="small", priority=2)
THIRD = Account(name="third", provider="other", model="tiny", priority=3)
MINUTE = 60_000


class ByAccount:
    """A provider whose accounts each have a script of failures, and then answer with their name."""

    name = "scripted"

    def __init__(self, clock: SteppedClock, **scripts: list[ProviderErrorKind]) -> None:
        self.scripts = scripts
        self.asked: list[tuple[str, str | None]] = []
        self.retry_after: float | None = None
        self._clock = clock

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        self.asked.append((account.name, request.model))
        if script := self.scripts.get(account.name):
            raise error(script.pop(0), retry_after=self.retry_after)
        return RunResult(account.name, request.model or "?", account.provider, account.name)


class Bench:
    """A runner with its provider and its clock."""

    def __init__(self, *accounts: Account, **scripts: list[ProviderErrorKind]) -> None:
        self.clock = SteppedClock()
        self.provider = ByAccount(self.clock, **scripts)
        self.runner = Runner(
            providers=GivenProviders({account.provider: self.provider for account in accounts}),
            accounts=lambda: accounts,
            clock=self.clock,
            new_id=lambda: "id",
            random=lambda: 1.0,
        )

    async def ask(self, model: str | None = None, *fallbacks: str) -> str:
        run = await self.runner.run(REQUEST, model=model, fallbacks=fallbacks, on_text=ignore)
        return run.result.content

    async def fail(self) -> RunFailed:
        with pytest.raises(RunFailed) as caught:
            await self.ask()
        return caught.value


@pytest.mark.parametrize("kind", [*sorted({*KINDS} - {KINDS.BAD_REQUEST, KINDS.REFUSED, KINDS.TOO_LONG})])
async def test_the_next_account_is_asked_at_once(kind: ProviderErrorKind) -> None:
    bench = Bench(FIRST, SECOND, first=[kind])
    assert await bench.ask() == "second"
    assert bench.clock.slept == []
    assert bench.provider.asked == [("first", "big"), ("second", "small")]


@pytest.mark.parametrize("kind", [KINDS.BAD_REQUEST, KINDS.REFUSED, KINDS.TOO_LONG])
async def test_what_no_account_can_mend_ends_the_run(kind: ProviderErrorKind) -> None:
    bench = Bench(FIRST, SECOND, first=[kind])
    assert (await bench.fail()).error.kind is kind
    assert bench.provider.asked == [("first", "big")]


async def test_a_fallback_is_asked_for_its_own_model() -> None:
    bench = Bench(FIRST, THIRD, first=[KINDS.OVERLOADED])
    assert await bench.ask("scripted/huge", "other/nano") == "third"
    assert bench.provider.asked == [("first", "huge"), ("third", "nano")]


async def test_an_account_that_refused_is_left_alone_until_its_time() -> None:
    bench = Bench(FIRST, SECOND, first=[KINDS.RATE_LIMIT])
    assert [await bench.ask() for _ in range(3)] == ["second"] * 3
    assert [name for name, _ in bench.provider.asked] == ["first", "second", "second", "second"]
    await bench.clock.sleep(60)
    assert await bench.ask() == "first"


async def test_it_rests_from_that_model_only() -> None:
    bench = Bench(FIRST, first=[KINDS.RATE_LIMIT])
    assert await bench.ask("scripted/huge", "scripted/big") == "first"
    assert bench.provider.asked == [("first", "huge"), ("first", "big")]


async def test_when_all_rest_the_first_who_is_back_says_how_long() -> None:
    bench = Bench(FIRST, SECOND, first=[KINDS.RATE_LIMIT], second=[KINDS.RATE_LIMIT])
    failure = await bench.fail()
    assert (failure.error.kind, failure.error.retry_after) == (KINDS.RATE_LIMIT, 60)
    await bench.clock.sleep(20)
    failure = await bench.fail()
    assert (failure.error.kind, failure.error.retry_after, failure.calls) == (KINDS.RATE_LIMIT, 40, ())
    assert len(bench.provider.asked) == 2


async def test_a_limit_that_ends_counts_more_than_another_accounts_failures() -> None:
    bench = Bench(FIRST, SECOND, first=[KINDS.RATE_LIMIT], second=[KINDS.TIMEOUT] * 4)
    error = (await bench.fail()).error
    assert (error.kind, error.retry_after) == (KINDS.RATE_LIMIT, 30.0)  # then the circuit of the second is probed
    assert bench.clock.slept == [1.0, 4.0, 15.0]
    assert [name for name, _ in bench.provider.asked] == ["first", "second", "second", "second", "second"]


async def test_a_key_that_was_refused_is_tried_when_nobody_else_is_left() -> None:
    bench = Bench(FIRST, SECOND, first=[KINDS.AUTH])
    assert await bench.ask() == "second"
    bench.provider.scripts["second"] = [KINDS.RATE_LIMIT]
    assert await bench.ask() == "first"


async def test_a_run_ends_at_its_deadline() -> None:
    bench = Bench(FIRST, first=[KINDS.OVERLOADED] * 9)
    bench.runner._deadline = 3.0
    assert (await bench.fail()).error.kind is KINDS.OVERLOADED
    assert bench.clock.slept == [1.0]


async def test_the_rests_come_back_with_the_run() -> None:
    bench = Bench(FIRST, SECOND, first=[KINDS.RATE_LIMIT])
    run = await bench.runner.run(REQUEST, model=None, on_text=ignore)
    now = bench.clock.now()
    assert run.rests == (Cooldown("first", "big", now + MINUTE, 1, "rate_limit", now),)
    other = Bench(FIRST, SECOND)
    other.runner.learn(run.rests)
    assert await other.ask() == "second"


@pytest.mark.parametrize(
    ("refusals", "retry_after", "minutes"),
    [(1, None, 1), (2, None, 5), (3, None, 25), (4, None, 60), (9, None, 60), (1, 600.0, 10), (3, 600.0, 10)],
)
def test_rests_grow_unless_the_vendor_names_a_time(refusals: int, retry_after: float | None, minutes: int) -> None:
    rests, choice = Cooldowns(), Choice(FIRST, "big")
    found = [
        rests.refused(choice, error(KINDS.RATE_LIMIT, retry_after=retry_after), at, asked_at=at)
        for at in range(refusals)
    ]
    assert found[-1].until == refusals - 1 + minutes * MINUTE


def test_calls_that_were_under_way_together_are_refused_once() -> None:
    rests, choice = Cooldowns(), Choice(FIRST, "big")
    together = [rests.refused(choice, error(KINDS.RATE_LIMIT), 10 + at, asked_at=5) for at in range(4)]
    assert [rest.refusals for rest in together] == [1, 1, 1, 1]
    assert rests.refused(choice, error(KINDS.RATE_LIMIT), 20 + MINUTE, asked_at=15 + MINUTE).refusals == 2


def test_a_server_that_is_too_busy_is_left_alone_as_long_as_it_asks() -> None:
    rests = Cooldowns()
    assert rests.refused(Choice(FIRST, "big"), error(KINDS.OVERLOADED, retry_after=30.0), 0, asked_at=0).until == 30_000


def test_an_answer_ends_the_row_of_refusals() -> None:
    rests, choice = Cooldowns(), Choice(FIRST, "big")
    assert rests.answered(choice, 0) is None
    rests.refused(choice, error(KINDS.RATE_LIMIT), 0, asked_at=0)
    rests.refused(choice, error(KINDS.RATE_LIMIT), 1, asked_at=1)
    answered = rests.answered(choice, 2)
    assert answered is not None
    assert answered.until == 2
    assert rests.answered(choice, 3) is None
    assert rests.refused(choice, error(KINDS.RATE_LIMIT), 4, asked_at=4).until == 4 + MINUTE


def test_the_later_word_counts() -> None:
    rests = Cooldowns([Cooldown("first", "big", 500, 1, "rate_limit", 100)])
    rests.learn([Cooldown("first", "big", 900, 1, "rate_limit", 50)])
    assert select([Choice(FIRST, "big")], rests.known, 600).now == (Choice(FIRST, "big"),)
