"""The accounts that can answer now, later or never: the decision, and its use in runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import CIRCUIT, Account, Cooldown, Image, RunRequest, RunResult, Turn
from arvis.domain.tools import ToolOutput, ToolSpec
from arvis.llm.attempts import RunFailed, Unserved
from arvis.llm.runner import Runner
from arvis.llm.selection import FAILURES, FIRST_PROBE, LAST_PROBE, Choice, Cooldowns, Load, select
from arvis.testing.clock import SteppedClock
from arvis.testing.providers import GivenProviders
from tests.unit.test_runner import REQUEST, error, ignore

KINDS = ProviderErrorKind
NOW = 1_000_000
A, B, C = (Account(name=name, provider="scripted", model="m", priority=1) for name in "abc")
CHOICES = [Choice(account, "m") for account in (A, B, C)]


def rest(account: Account, kind: str, until: int, *, at: int = NOW, refusals: int = 1) -> Cooldown:
    return Cooldown(account.name, "m", until, refusals, kind, at)


def decide(*rests: Cooldown, choices: Sequence[Choice] = CHOICES) -> tuple[str, dict[str, int], dict[str, str]]:
    found = select(choices, Cooldowns(rests).known, NOW)
    later = {each.choice.account.name: each.at for each in found.later}
    return (
        "".join(choice.account.name for choice in found.now),
        later,
        {each.choice.account.name: each.kind for each in found.never},
    )


@pytest.mark.parametrize(
    ("rests", "now", "later", "never"),
    [
        ([], "abc", {}, {}),
        ([rest(A, "rate_limit", NOW + 5)], "bc", {"a": NOW + 5}, {}),
        ([rest(A, "rate_limit", NOW)], "abc", {}, {}),
        ([rest(A, "auth", NOW + 5), rest(B, "rate_limit", NOW + 9)], "c", {"b": NOW + 9}, {"a": "auth"}),
        # A refused key is not tried while other accounts will be available again, unless a minute has passed.
        (
            [rest(A, "auth", NOW + 5), rest(B, "rate_limit", NOW + 9), rest(C, "rate_limit", NOW + 7)],
            "",
            {"b": NOW + 9, "c": NOW + 7},
            {"a": "auth"},
        ),
        (
            [rest(A, "quota", NOW + 5, at=NOW - 60_000), rest(B, "rate_limit", NOW + 9), rest(C, "auth", NOW + 7)],
            "a",
            {"b": NOW + 9},
            {"a": "quota", "c": "auth"},
        ),
        ([rest(each, "auth", NOW + 5) for each in (A, B, C)], "abc", {}, dict.fromkeys("abc", "auth")),
        # An open circuit is probed at its time, or earlier if no other account is left.
        ([rest(A, CIRCUIT, NOW + 5)], "bc", {"a": NOW + 5}, {}),
        ([rest(A, CIRCUIT, NOW - 1)], "abc", {}, {}),
        ([rest(each, CIRCUIT, NOW + 5) for each in (A, B, C)], "abc", dict.fromkeys("abc", NOW + 5), {}),
        (
            [rest(A, CIRCUIT, NOW + 5), rest(B, "rate_limit", NOW + 2), rest(C, "auth", NOW + 9)],
            "a",
            {"a": NOW + 5, "b": NOW + 2},
            {"c": "auth"},
        ),
    ],
)
def test_the_decision(rests: list[Cooldown], now: str, later: dict[str, int], never: dict[str, str]) -> None:
    assert decide(*rests) == (now, later, never)


def test_one_request_at_a_time_probes_a_circuit() -> None:
    rests = Cooldowns([rest(A, CIRCUIT, NOW)])
    rests.started(CHOICES[0])
    busy = select(CHOICES, rests.known, NOW, probed=rests.probed)
    assert [choice.account.name for choice in busy.now] == ["b", "c"]
    rests.ended(CHOICES[0])
    assert select(CHOICES, rests.known, NOW, probed=rests.probed).now[0].account is A


def test_the_circuit_opens_after_failures_in_a_row_and_stays_open_longer_each_time() -> None:
    rests, fault, choice = Cooldowns(), error(KINDS.OVERLOADED), CHOICES[0]
    opened = [rests.failed(choice, fault, NOW, asked_at=NOW) for _ in range(FAILURES)]
    assert opened[:-1] == [None] * (FAILURES - 1)
    found, waits = opened[-1], []
    for _ in range(7):
        assert found is not None
        waits.append(found.until - found.at)
        found = rests.failed(choice, fault, found.until, asked_at=found.until)
    assert waits == [
        FIRST_PROBE,
        2 * FIRST_PROBE,
        4 * FIRST_PROBE,
        8 * FIRST_PROBE,
        16 * FIRST_PROBE,
        *[LAST_PROBE] * 2,
    ]
    closed = rests.answered(choice, NOW)
    assert closed is not None
    assert closed.refusals == 0
    assert rests.failed(choice, fault, NOW, asked_at=NOW) is None


def test_one_hang_opens_the_circuit_and_what_was_under_way_says_nothing_new() -> None:
    rests, hang = Cooldowns(), ProviderError(KINDS.TIMEOUT, "nothing came", silent=True)
    opened = rests.failed(CHOICES[0], hang, NOW, asked_at=NOW - 20_000)
    assert opened is not None
    assert (opened.kind, opened.until) == (CIRCUIT, NOW + FIRST_PROBE)
    assert rests.failed(CHOICES[0], hang, NOW + 1, asked_at=NOW - 10_000) is None


def test_an_answer_between_two_failures_keeps_the_circuit_closed() -> None:
    rests, fault = Cooldowns(), error(KINDS.OVERLOADED)
    for _ in range(9):
        assert rests.failed(CHOICES[0], fault, NOW, asked_at=NOW) is None
        rests.answered(CHOICES[0], NOW)


def test_accounts_of_one_priority_share_the_load() -> None:
    load, asked = Load(), []
    for _ in range(9):
        first = select(CHOICES, {}, NOW, load=load).now[0]
        asked.append(first.account.name)
        with load.calling(first):
            pass
    assert asked == ["a", "b", "c"] * 3
    with load.calling(CHOICES[0]), load.calling(CHOICES[1]):
        assert select(CHOICES, {}, NOW, load=load).now[0].account is C


# -- runs --------------------------------------------------------------------------------------------------


class ByName:
    """A provider whose accounts raise an error, or answer after some seconds."""

    name = "scripted"

    def __init__(self, clock: SteppedClock, **behaviour: ProviderError | float) -> None:
        self.behaviour = behaviour
        self.asked: list[str] = []
        self.bounds: list[float | None] = []
        self._clock = clock

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        self.asked.append(account.name)
        self.bounds.append(request.begin_within)
        told = self.behaviour.get(account.name, 0.0)
        if isinstance(told, ProviderError):
            raise told
        if request.begin_within is not None and told > request.begin_within:
            await self._clock.sleep(request.begin_within)
            raise ProviderError(KINDS.TIMEOUT, "nothing came", silent=True)
        await self._clock.sleep(told)
        return RunResult(account.name, request.model or "?", account.provider, account.name)


class Stand:
    """A runner over scripted accounts."""

    def __init__(self, *accounts: Account, **behaviour: ProviderError | float) -> None:
        self.clock = SteppedClock()
        self.provider = ByName(self.clock, **behaviour)
        self.runner = Runner(
            providers=GivenProviders({"scripted": self.provider, "claude_cli": self.provider}),
            accounts=lambda: accounts,
            clock=self.clock,
            new_id=lambda: "id",
            random=lambda: 1.0,
            first_byte=20.0,
        )

    async def ask(self, request: RunRequest = REQUEST, model: str | None = None) -> str:
        run = await self.runner.run(request, model=model, on_text=ignore)
        return run.result.content


async def test_a_limited_account_is_waited_for_although_others_can_never_answer() -> None:
    stand = Stand(
        A,
        B,
        C,
        a=error(KINDS.RATE_LIMIT, retry_after=90),
        b=error(KINDS.RATE_LIMIT, retry_after=45),
        c=error(KINDS.AUTH),
    )
    with pytest.raises(RunFailed) as caught:
        await stand.ask()
    assert (caught.value.error.kind, caught.value.error.retry_after) == (KINDS.RATE_LIMIT, 45)
    with pytest.raises(RunFailed) as again:
        await stand.ask()
    assert (again.value.error.kind, again.value.error.retry_after) == (KINDS.RATE_LIMIT, 45)


async def test_a_hanging_account_costs_one_short_wait_and_is_then_passed_over() -> None:
    stand = Stand(A, B, a=500.0)
    started = stand.clock.monotonic()
    assert [await stand.ask() for _ in range(4)] == ["b"] * 4
    assert stand.clock.monotonic() - started == 20.0
    assert stand.provider.asked == ["a", "b", "b", "b", "b"]


async def test_the_only_account_has_its_whole_time() -> None:
    stand = Stand(A, a=100.0)
    assert await stand.ask() == "a"
    assert stand.provider.bounds == [None]


async def test_the_last_healthy_account_has_its_whole_time_where_no_other_comes_back() -> None:
    stand = Stand(A, B, a=error(KINDS.AUTH), b=100.0)
    assert [await stand.ask() for _ in range(2)] == ["b", "b"]
    assert stand.provider.bounds[-1] is None


async def test_a_slow_account_has_more_time_in_each_round_while_another_may_come_back() -> None:
    stand = Stand(A, B, a=500.0, b=70.0)
    assert await stand.ask() == "b"
    assert stand.provider.bounds[:2] == [20.0, 40.0]
    assert max(bound or 0 for bound in stand.provider.bounds) >= 80.0


async def test_a_model_that_is_slow_everywhere_gets_more_time_in_each_round() -> None:
    stand = Stand(A, B, a=70.0, b=70.0)
    later = stand.clock.now() + LAST_PROBE
    stand.runner.learn([rest(each, CIRCUIT, later, at=stand.clock.now()) for each in (A, B)])
    assert await stand.ask() in {"a", "b"}
    assert stand.provider.bounds == [20.0, 20.0, 40.0, 40.0, 80.0]


async def test_a_circuit_closes_when_the_account_answers_again() -> None:
    stand = Stand(A, B, a=500.0)
    assert await stand.ask() == "b"
    stand.provider.behaviour["a"] = 0.0
    assert await stand.ask() == "b"
    await stand.clock.sleep(FIRST_PROBE / 1000)
    assert {await stand.ask() for _ in range(2)} == {"a", "b"}
    assert sorted([await stand.ask() for _ in range(4)]) == ["a", "a", "b", "b"]


async def test_all_circuits_open_is_no_reason_to_fail() -> None:
    stand = Stand(A, B, a=error(KINDS.OVERLOADED), b=error(KINDS.OVERLOADED))
    with pytest.raises(RunFailed):
        await stand.ask()
    stand.provider.behaviour.clear()
    assert await stand.ask() in {"a", "b"}


async def test_a_short_limit_is_waited_for_exactly() -> None:
    stand = Stand(A, a=error(KINDS.RATE_LIMIT, retry_after=1))
    for _ in range(3):
        with pytest.raises(RunFailed) as caught:
            await stand.ask()
        assert caught.value.error.retry_after == 1
        await stand.clock.sleep(1)
    stand.provider.behaviour.clear()
    assert await stand.ask() == "a"


async def test_what_one_server_does_not_know_another_may() -> None:
    unknown = ProviderError(KINDS.BAD_REQUEST, "no such model", elsewhere=True)
    assert await Stand(A, B, a=unknown).ask() == "b"


async def test_a_pinned_model_that_no_account_serves_is_told_and_not_replaced() -> None:
    with pytest.raises(Unserved, match="other/large"):
        await Stand(A, B).ask(model="other/large")


async def test_a_turn_stays_with_its_account() -> None:
    stand = Stand(A, B)
    talk = RunRequest("", (Turn("user", "Hello"),), None, "Helper", conversation="talk")
    goes_on = RunRequest(
        "", (*talk.turns, Turn("user", "", outputs=(ToolOutput("1", "4"),))), None, "Helper", conversation="talk"
    )
    first = await stand.ask(talk)
    assert [await stand.ask(goes_on) for _ in range(3)] == [first] * 3
    assert await stand.ask(talk) != first


async def test_an_agent_with_tools_prefers_accounts_that_can_use_them() -> None:
    program = Account(name="program", provider="claude_cli", model="m", priority=0)
    stand = Stand(program, A)
    with_tools = RunRequest("", REQUEST.turns, None, "Helper", tools=(ToolSpec("look", "Look.", {"type": "object"}),))
    assert await stand.ask(with_tools) == "a"
    assert await stand.ask() == "program"


async def test_cancelling_a_probe_lets_another_request_probe() -> None:
    stand = Stand(A, B, a=500.0)
    await stand.ask()
    rests = stand.runner._rests
    rests.started(CHOICES[0])
    assert rests.probed
    task = asyncio.create_task(stand.runner.run(REQUEST, model=None, on_text=ignore))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    rests.ended(CHOICES[0])
    assert not rests.probed


SEEN = replace(REQUEST, turns=(Turn("user", "Look", images=(Image("image/png", b"x", "a.png"),)),))


class Blind(ByName):
    """A provider whose server refuses pictures."""

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        if any(turn.images for turn in request.turns):
            self.asked.append(account.name)
            raise ProviderError(
                KINDS.BAD_REQUEST, "Invalid content type: image_url is only supported by certain models"
            )
        return await super().complete(request, account)


async def test_a_refused_picture_is_left_out_and_the_model_remembered() -> None:
    stand = Stand(A)
    stand.provider = Blind(stand.clock)
    stand.runner._providers = GivenProviders({"scripted": stand.provider})
    for asked in (["a", "a"], ["a", "a", "a"]):
        run = await stand.runner.run(SEEN, model=None, on_text=ignore)
        assert (run.result.content, run.result.left_out) == ("a", ("pictures",))
        assert stand.provider.asked == asked


async def test_an_answer_without_tools_says_so() -> None:
    program = Account(name="program", provider="claude_cli", model="m")
    with_tools = replace(REQUEST, tools=(ToolSpec("look", "Look.", {"type": "object"}),))
    run = await Stand(program).runner.run(with_tools, model=None, on_text=ignore)
    assert run.result.left_out == ("tools",)
    assert RunResult.from_json(run.result.to_json()).left_out == ("tools",)
