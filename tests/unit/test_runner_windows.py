"""No call exceeds its model's window: which accounts are skipped, how long a reply may be, and which limits a call reports."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import Account, RunRequest, RunResult, Turn
from arvis.llm.attempts import RunFailed, Trail
from arvis.llm.model_limits import SMALLEST_REPLY, ModelLimits, limit_in
from arvis.llm.runner import Runner
from arvis.llm.tokens import estimator_of, measure_request
from arvis.ports.conversations import Calibration
from arvis.ports.provider import Provider
from arvis.providers import failures
from arvis.testing.clock import SteppedClock
from arvis.testing.providers import GivenProviders
from tests.unit.test_runner import Scripted, ignore

KINDS = ProviderErrorKind
SMALL = Account(name="small", provider="near", model="small", priority=1)
LARGE = Account(name="large", provider="far", model="large", priority=2)
WINDOWS = {"near/small": 2_000, "far/large": 50_000}


def runner(providers: dict[str, Provider], *accounts: Account, windows: dict[str, int] | None = None) -> Runner:
    return Runner(
        providers=GivenProviders(providers),
        accounts=lambda: accounts,
        clock=SteppedClock(),
        new_id=lambda: "call",
        random=lambda: 1.0,
        limits=ModelLimits(windows=WINDOWS if windows is None else windows),
    )


def request(characters: int) -> RunRequest:
    return RunRequest("", (Turn("user", "x" * characters),), None, "Helper")


async def test_who_is_too_small_is_passed_over_without_a_call() -> None:
    small, large = Scripted([]), Scripted(["Hi"])
    made = runner({"near": small, "far": large}, SMALL, LARGE)
    run = await made.run(request(10_000), model=None, on_text=ignore)
    assert run.result.account == "large"
    assert [call.account for call in run.calls] == ["large"]
    assert small.requests == []


async def test_when_all_are_too_small_the_run_fails_as_too_long() -> None:
    small, large = Scripted([]), Scripted([])
    made = runner({"near": small, "far": large}, SMALL, LARGE)
    with pytest.raises(RunFailed, match="50000") as caught:
        await made.run(request(400_000), model=None, on_text=ignore)
    assert caught.value.error.kind is KINDS.TOO_LONG
    assert caught.value.calls == ()
    assert small.requests == large.requests == []


async def test_too_long_for_one_and_refused_by_the_other_is_too_long() -> None:
    """With a shorter prompt, the first account could answer."""
    refusing = Scripted([ProviderError(KINDS.AUTH, "no")])
    with pytest.raises(RunFailed) as caught:
        await runner({"near": Scripted([]), "far": refusing}, SMALL, LARGE).run(
            request(10_000), model=None, on_text=ignore
        )
    assert caught.value.error.kind is KINDS.TOO_LONG


@pytest.mark.parametrize("part", ["system", "changing", "now"])
async def test_every_part_of_a_request_counts(part: str) -> None:
    small = Scripted(["Hi"])
    made = runner({"near": small}, SMALL)
    asked = replace(request(1), **{part: "x" * 8_000})  # type: ignore[arg-type]
    with pytest.raises(RunFailed):
        await made.run(asked, model=None, on_text=ignore)
    assert small.requests == []


async def test_a_reply_may_take_half_of_what_is_left() -> None:
    small = Scripted(["Hi", "Hi"])
    made = runner({"near": small}, SMALL)
    for characters in (7, 3_500):
        await made.run(request(characters), model=None, on_text=ignore)
    assert [asked.max_tokens for asked in small.requests] == [(2_000 - 2 - 8) // 2, (2_000 - 1_000 - 8) // 2]


@given(st.integers(0, 12_000))
def test_prompt_and_reply_never_exceed_the_window(characters: int) -> None:
    async def play() -> None:
        small = Scripted(["Hi"])
        made = runner({"near": small}, SMALL)
        asked = request(characters)
        needed = estimator_of(None).of(measure_request(asked))
        if needed + 2 * SMALLEST_REPLY > 2_000:
            with pytest.raises(RunFailed):
                await made.run(asked, model=None, on_text=ignore)
        else:
            await made.run(asked, model=None, on_text=ignore)
            assert needed + 2 * small.requests[0].max_tokens <= 2_000

    asyncio.run(play())


async def test_without_counting_nothing_is_too_long() -> None:
    plain = Scripted(["Hi"])
    made = Runner(
        providers=GivenProviders({"near": plain}),
        accounts=lambda: (SMALL,),
        clock=SteppedClock(),
        new_id=lambda: "call",
        random=lambda: 1.0,
    )
    await made.run(request(4_000_000), model=None, on_text=ignore)
    assert plain.requests[0].max_tokens == 4_096
    assert made.profile(None).window == 200_000


# --- The first account to be asked --- ---


async def test_the_window_is_that_of_whoever_is_asked_first() -> None:
    refusing = Scripted([ProviderError(KINDS.RATE_LIMIT, "slow down")])
    made = runner({"near": refusing, "far": Scripted(["Hi"])}, SMALL, LARGE)
    assert (made.profile(None).window, made.profile(None).name) == (2_000, "near/small")
    assert (made.profile("far/large").window, made.profile("far/large").name) == (50_000, "far/large")
    assert (made.profile("far/other", ("near/small",)).window, made.profile("far/other").name) == (200_000, "far/other")
    await made.run(request(10), model=None, on_text=ignore)  # the small one has a cooldown now
    assert (made.profile(None).window, made.profile(None).name) == (50_000, "far/large")


async def test_what_is_stored_counts() -> None:
    small = Scripted(["Hi"])
    made = runner({"near": small}, SMALL, windows={})
    assert made.profile(None).window == 200_000
    made.learn((), [Calibration("near/small", (), 0, 1_500)])
    assert made.profile(None).window == 1_500
    double = (2 / 3.5, 2 / 3.5, 0.0, 2.4, 1.2, 8.0, 0.0, *[0.0] * 57)
    made.learn((), [Calibration("near/small", double, 9, 1_500)])
    with pytest.raises(RunFailed):
        await made.run(request(3_500), model=None, on_text=ignore)


# --- Results of a run --- ---


async def test_a_reply_tells_how_its_model_counts() -> None:
    refusing = Scripted([ProviderError(KINDS.RATE_LIMIT, "slow down")])
    answering = Scripted([RunResult("Hi", "large-0613", "far", "large", input_tokens=321, window=48_000)])
    trail, asked = Trail(), request(1_000)
    made = runner({"near": refusing, "far": answering}, SMALL, LARGE)
    await made.run(asked, model=None, on_text=ignore, trail=trail)
    assert trail.counted == [("far/large", measure_request(asked), 321)]
    assert trail.limits == [("far/large", 48_000)]


async def test_a_server_that_counts_nothing_teaches_nothing() -> None:
    trail = Trail()
    made = runner({"near": Scripted([RunResult("Hi", "small", "near", "small")])}, SMALL)
    await made.run(request(10), model=None, on_text=ignore, trail=trail)
    assert trail.counted == []
    assert trail.limits == []


async def test_a_refusal_tells_the_window() -> None:
    words = "This model's maximum context length is 1800 tokens. However, you requested 2100 tokens."
    trail = Trail()
    with pytest.raises(RunFailed):
        await runner({"near": Scripted([ProviderError(KINDS.TOO_LONG, words)])}, SMALL).run(
            request(10), model=None, on_text=ignore, trail=trail
        )
    assert trail.limits == [("near/small", 1_800)]


REFUSALS = [
    ("This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.", 8_192),
    ("This endpoint's maximum context length is 163840 tokens. However, you requested about 200000 tokens", 163_840),
    ("Input length (265330) exceeds model's maximum context length (262144).", 262_144),
    ("prompt is too long: 207155 tokens > 200000 maximum", 200_000),
    ("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease it", 200_000),
    ("The input token count (1,200,000) exceeds the maximum number of tokens allowed (1,048,576).", 1_048_576),
    ("request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it", 8_192),
    ("This model's maximum prompt length is 131072 but the request contains 140000 tokens.", 131_072),
    ("Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32_768),
    ("However, the model is loaded with context length of only 4096 tokens, which is not enough", 4_096),
    ("Input length 131393 exceeds the maximum allowed input length of 131040 tokens.", 131_040),
    ("Prompt too long: 5152 tokens exceeds max_seq_len 2048 (leave room for output tokens)", 2_048),
]


@pytest.mark.parametrize(("words", "window"), REFUSALS)
def test_vendors_name_their_windows_in_many_ways(words: str, window: int) -> None:
    account = Account(name="main 90000", provider="custom", model="m")
    refused = failures.from_answer(account, 400, {}, {"error": {"message": words}}, SteppedClock())
    if "token count" not in words:  # Google's text is read by another reader
        assert refused.kind is KINDS.TOO_LONG
    assert limit_in(ProviderError(KINDS.TOO_LONG, refused.what)) == window
    assert limit_in(ProviderError(KINDS.BAD_REQUEST, refused.what)) is None


@pytest.mark.parametrize(
    "words",
    ["Please reduce the length of the messages.", "maximum context length is 12 tokens", "context length is 9" * 40],
)
def test_a_refusal_without_a_usable_number_tells_nothing(words: str) -> None:
    assert limit_in(ProviderError(KINDS.TOO_LONG, words)) is None


@given(st.text())
def test_any_words_are_read_without_trouble(words: str) -> None:
    assert limit_in(ProviderError(KINDS.TOO_LONG, words)) is None or any(letter.isdigit() for letter in words)
