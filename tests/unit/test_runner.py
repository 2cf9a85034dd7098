"""The runner: choice of account, retries inside the run, receipts, offsets, cancellation."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable
from contextlib import suppress

import pytest

from arvis.domain.errors import PERMANENT, TRANSIENT, ArvisError, ProviderError, ProviderErrorKind
from arvis.domain.runs import Account, RunRequest, RunResult, Turn
from arvis.llm.attempts import Run, RunFailed, Trail
from arvis.llm.prices import prompt_tokens
from arvis.llm.runner import Runner
from arvis.ports.provider import Provider
from arvis.providers.demo import DemoProvider
from arvis.testing.clock import SteppedClock, StoppedClock
from arvis.testing.providers import GivenProviders

KINDS = ProviderErrorKind
ACCOUNT = Account(name="main", provider="scripted", model="own")
REQUEST = RunRequest(system="", turns=(Turn("user", "Hello"),), model=None, agent_name="Helper")


class Scripted:
    """A provider that cannot stream; each entry of its script is an error or the text of an answer."""

    name = "scripted"

    def __init__(self, script: Iterable[ProviderError | RunResult | str], clock: SteppedClock | None = None) -> None:
        self.script = list(script)
        self.requests: list[RunRequest] = []
        self._clock = clock

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        self.requests.append(request)
        if self._clock is not None:
            await self._clock.sleep(0.25)
        outcome = self.script.pop(0)
        if isinstance(outcome, ProviderError):
            raise outcome
        if isinstance(outcome, RunResult):
            return outcome
        return RunResult(outcome, request.model or "?", account.provider, account.name, input_tokens=3, output_tokens=2)


class ScriptedStream(Scripted):
    """A provider that streams; before each entry of its script it sends the next text of `shown`, letter by letter."""

    def __init__(
        self, script: Iterable[ProviderError | str], shown: Iterable[str], clock: SteppedClock | None = None
    ) -> None:
        super().__init__(script, clock)
        self._shown = list(shown)

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        for letter in self._shown.pop(0):
            on_text(letter)
        return await self.complete(request, account)


def runner(
    provider: Provider, *accounts: Account, clock: SteppedClock | None = None, random: Callable[[], float] | None = None
) -> Runner:
    ids = (f"call-{number}" for number in itertools.count(1))
    return Runner(
        providers=GivenProviders({account.provider: provider for account in accounts or (ACCOUNT,)}),
        accounts=lambda: accounts or (ACCOUNT,),
        clock=clock or SteppedClock(),
        new_id=lambda: next(ids),
        random=random or (lambda: 1.0),
    )


def ignore(offset: int, piece: str) -> None:
    """Ignore a piece of text."""


async def run(made: Runner, model: str | None = None) -> Run:
    return await made.run(REQUEST, model=model, on_text=ignore)


def error(kind: ProviderErrorKind, *, retry_after: float | None = None) -> ProviderError:
    return ProviderError(kind, f"scripted {kind}", retry_after=retry_after)


async def test_a_reply_comes_with_its_receipt() -> None:
    clock = SteppedClock(now=5000)
    made = await run(runner(Scripted(["Hi"], clock), clock=clock))
    assert made.result.content == "Hi"
    [call] = made.calls
    assert (call.id, call.account, call.provider, call.model) == ("call-1", "main", "scripted", "own")
    assert (call.started_at, call.duration_ms, call.error, call.detail) == (5000, 250, None, None)
    assert (call.input_tokens, call.output_tokens, call.cost_micros) == (3, 2, 0)


async def test_a_known_model_of_a_vendor_has_a_price() -> None:
    account = Account(name="main", provider="openai", model="gpt-4.1")
    [call] = (await run(runner(Scripted(["Hi"]), account))).calls
    assert call.cost_micros == 3 * 2 + 2 * 8


@pytest.mark.parametrize("kind", sorted(TRANSIENT))
async def test_passing_failures_are_tried_three_more_times(kind: ProviderErrorKind) -> None:
    clock = SteppedClock()
    made = await run(runner(Scripted([*[error(kind)] * 3, "Hi"]), clock=clock))
    assert made.result.content == "Hi"
    assert [call.error for call in made.calls] == [kind, kind, kind, None]
    assert made.calls[0].detail == f"scripted {kind}"
    assert clock.slept == [1.0, 4.0, 15.0]


async def test_after_the_fourth_failure_the_run_has_failed() -> None:
    clock = SteppedClock()
    errors = [error(KINDS.TIMEOUT), *[error(KINDS.OVERLOADED)] * 2, error(KINDS.TIMEOUT)]
    with pytest.raises(RunFailed) as caught:
        await run(runner(Scripted(errors), clock=clock))
    assert caught.value.error is errors[-1]
    assert [call.error for call in caught.value.calls] == [each.kind for each in errors]
    assert isinstance(caught.value, ArvisError)
    assert caught.value.code == "provider_timeout"
    assert clock.slept == [1.0, 4.0, 15.0]


@pytest.mark.parametrize("kind", sorted([*PERMANENT, KINDS.RATE_LIMIT]))
async def test_other_failures_are_not_tried_again(kind: ProviderErrorKind) -> None:
    clock = SteppedClock()
    with pytest.raises(RunFailed) as caught:
        await run(runner(Scripted([error(kind), "never"]), clock=clock))
    assert caught.value.error.kind is kind
    assert len(caught.value.calls) == 1
    assert clock.slept == []


async def test_waits_are_full_jitter() -> None:
    clock = SteppedClock()
    numbers = iter([0.0, 0.5, 0.1])
    await run(runner(Scripted([*[error(KINDS.EMPTY)] * 3, "Hi"]), clock=clock, random=lambda: next(numbers)))
    assert clock.slept == [0.0, 2.0, 1.5]


@pytest.mark.parametrize(("asked", "random", "slept"), [(3.0, 0.5, 3.0), (0.2, 0.5, 0.5), (20.0, 1.0, 20.0)])
async def test_never_earlier_than_the_vendor_asks(asked: float, random: float, slept: float) -> None:
    clock = SteppedClock()
    script: list[ProviderError | str] = [error(KINDS.OVERLOADED, retry_after=asked), "Hi"]
    await run(runner(Scripted(script), clock=clock, random=lambda: random))
    assert clock.slept == [slept]


async def test_a_long_wait_is_left_to_the_queue() -> None:
    clock = SteppedClock()
    with pytest.raises(RunFailed) as caught:
        await run(runner(Scripted([error(KINDS.OVERLOADED, retry_after=20.5), "never"]), clock=clock))
    assert caught.value.error.retry_after == 20.5
    assert clock.slept == []


@pytest.mark.parametrize("blank", ["", " \n"])
async def test_a_blank_reply_is_a_passing_failure(blank: str) -> None:
    made = await run(runner(Scripted([blank, "Hi"])))
    assert [call.error for call in made.calls] == [KINDS.EMPTY, None]


async def test_a_new_try_streams_from_offset_zero() -> None:
    seen: list[tuple[int, str]] = []
    provider = ScriptedStream([error(KINDS.TIMEOUT), "né🚀x"], shown=["né", "né🚀x"])
    await runner(provider).run(REQUEST, model=None, on_text=lambda offset, piece: seen.append((offset, piece)))
    assert seen == [(0, "n"), (1, "é"), (0, "n"), (1, "é"), (2, "🚀"), (3, "x")]


async def test_cancellation_is_not_a_failure() -> None:
    clock = StoppedClock()
    made = runner(DemoProvider(clock=clock), Account(name="demo", provider="demo", model="demo"))
    request = RunRequest(system="", turns=(Turn("user", "demo: sleep 60"),), model=None, agent_name="Helper")
    task = asyncio.create_task(made.run(request, model=None, on_text=ignore))
    await clock.asleep.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_cancellation_ends_the_wait_between_tries() -> None:
    clock = StoppedClock()
    task = asyncio.create_task(run(runner(Scripted([error(KINDS.TIMEOUT), "never"]), clock=clock)))
    await clock.asleep.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# -- charges without an answer -----------------------------------------------------------------------------

PRICED = Account(name="main", provider="openai", model="gpt-4.1")
ASKED_TOKENS = prompt_tokens(REQUEST)


async def test_a_name_that_no_list_has_costs_what_was_asked_for() -> None:
    reported = RunResult("Hi", "gpt-4.1-prod-eu", "openai", "main", input_tokens=3, output_tokens=2)
    [call] = (await run(runner(Scripted([reported]), PRICED))).calls
    assert (call.model, call.priced, call.cost_micros) == ("gpt-4.1-prod-eu", True, 3 * 2 + 2 * 8)


@pytest.mark.parametrize(
    ("kind", "shown", "tokens"),
    [
        (KINDS.EMPTY, "", (ASKED_TOKENS, 0)),
        (KINDS.TIMEOUT, "", (ASKED_TOKENS, 0)),
        (KINDS.TIMEOUT, "seven b", (ASKED_TOKENS, 2)),
        (KINDS.OVERLOADED, "seven b", (ASKED_TOKENS, 2)),
        (KINDS.REFUSED, "seven b", (ASKED_TOKENS, 2)),
        (KINDS.OVERLOADED, "", (0, 0)),
        (KINDS.RATE_LIMIT, "", (0, 0)),
        (KINDS.REFUSED, "", (0, 0)),
        (KINDS.AUTH, "", (0, 0)),
    ],
)
async def test_a_try_for_which_the_vendor_worked_is_paid(
    kind: ProviderErrorKind, shown: str, tokens: tuple[int, int]
) -> None:
    trail = Trail()
    with suppress(RunFailed):
        made = runner(ScriptedStream([error(kind), "Hi"], shown=[shown, "Hi"]), PRICED)
        await made.run(REQUEST, model=None, on_text=ignore, trail=trail)
    call = trail.calls[0]
    assert (call.input_tokens, call.output_tokens) == tokens
    assert call.cost_micros == tokens[0] * 2 + tokens[1] * 8
    assert ("estimates" in (call.detail or "")) is (tokens[0] > 0)


async def test_a_blank_reply_costs_what_the_vendor_says() -> None:
    [blank, _] = (await run(runner(Scripted([" ", "Hi"]), PRICED))).calls
    assert (blank.error, blank.detail) == (KINDS.EMPTY, "the account main gave an empty reply")
    assert blank.cost_micros == 3 * 2 + 2 * 8


@pytest.mark.parametrize(("tokens_in", "tokens_out"), [(None, None), (0, 0), (None, 4), (9, None)])
async def test_what_the_server_does_not_count_is_estimated_and_paid(
    tokens_in: int | None, tokens_out: int | None
) -> None:
    answer = RunResult("seven b", "gpt-4.1", "openai", "main", input_tokens=tokens_in, output_tokens=tokens_out)
    [call] = (await run(runner(Scripted([answer]), PRICED))).calls
    assert (call.input_tokens, call.output_tokens) == (tokens_in or ASKED_TOKENS, tokens_out or 2)
    assert call.cost_micros == call.input_tokens * 2 + call.output_tokens * 8
    assert "estimates" in (call.detail or "")
    assert call.error is None


async def test_an_answer_that_used_all_its_time_is_not_asked_for_again_at_once() -> None:
    endless = ProviderError(KINDS.TIMEOUT, "it did not end", spent=True)
    provider = Scripted([endless, "never"])
    with pytest.raises(RunFailed) as caught:
        await run(runner(provider))
    assert caught.value.error is endless
    assert len(provider.requests) == 1


async def test_a_cancelled_call_leaves_its_receipt() -> None:
    clock, trail = StoppedClock(), Trail()
    provider = ScriptedStream(["never"], shown=["seven b"], clock=clock)
    run_ = runner(provider, PRICED, clock=clock).run(REQUEST, model=None, on_text=ignore, trail=trail)
    task = asyncio.create_task(run_)
    await clock.asleep.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    [call] = trail.calls
    assert (call.error, call.input_tokens, call.output_tokens) == ("cancelled", ASKED_TOKENS, 2)
    assert call.cost_micros == ASKED_TOKENS * 2 + 2 * 8


async def test_without_any_account_the_demo_answers() -> None:
    clock = SteppedClock()
    made = Runner(
        providers=GivenProviders({"demo": DemoProvider(clock=clock)}),
        accounts=tuple,
        clock=clock,
        new_id=lambda: "1",
        random=lambda: 0.0,
    )
    result = (await run(made)).result
    assert (result.provider, result.account, result.model) == ("demo", "demo", "demo")
    assert "demo" in result.content


async def test_a_provider_that_is_not_loaded() -> None:
    made = Runner(
        providers=GivenProviders({}),
        accounts=lambda: [ACCOUNT],
        clock=SteppedClock(),
        new_id=lambda: "1",
        random=lambda: 0.0,
    )
    with pytest.raises(RunFailed, match="scripted") as caught:
        await run(made)
    assert caught.value.error.kind is KINDS.AUTH
    assert [call.error for call in caught.value.calls] == ["auth"]


async def test_the_account_gets_the_name_without_its_provider() -> None:
    provider = Scripted(["Hi", "Hi"])
    made = runner(provider)
    await run(made, "scripted/family/name")
    await run(made, None)
    assert [request.model for request in provider.requests] == ["family/name", "own"]
