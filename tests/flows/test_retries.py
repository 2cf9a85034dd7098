"""Turns whose model does not answer: they retry, wait, or end with a notice, but are never silent."""

from __future__ import annotations

import pytest

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.jobs import POISON_CRASHES, Job, JobStatus
from arvis.domain.messages import MessageStatus, StoredMessage
from arvis.engine.graph import Decision, Graph, NodeContext
from arvis.messaging import notices
from arvis.ports.job_store import Slots
from arvis.ports.store import Transaction
from arvis.store.open import Database
from tests.flows.app_harness import UNIT_SECONDS, AppHarness, agent_with, open_app, steps_of
from tests.flows.scripted import said

ANSWERED, FAILED, QUEUED = MessageStatus.ANSWERED, MessageStatus.FAILED, MessageStatus.QUEUED
#: Attempts inside one run of a job before the queue postpones it.
TRIES = 4
#: Time between the decision to wait and its commit, in ms.
A_SECOND = 1000


def failing(kind: ProviderErrorKind, times: int = 1, retry_after: float | None = None) -> list[ProviderError]:
    return [ProviderError(kind, f"the model said {kind}", retry_after=retry_after) for _ in range(times)]


async def job_of(app: AppHarness, message_id: str) -> Job:
    job = (await app.timeline(message_id)).job
    assert job is not None
    return job


# -- temporary errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ProviderErrorKind.OVERLOADED, ProviderErrorKind.TIMEOUT, ProviderErrorKind.EMPTY])
async def test_what_passes_within_seconds_is_nobodys_business(app: AppHarness, kind: ProviderErrorKind) -> None:
    app.provider.script += [*failing(kind, TRIES - 1), "at last"]
    timeline = await app.ask("Hello")
    assert (timeline.reply, steps_of(timeline).count("model_call")) == ("at last", TRIES)
    assert await app.until_sent(1) == ["at last"]
    assert (await job_of(app, timeline.message.id)).attempts == 0


async def test_a_model_that_says_nothing_is_asked_again(app: AppHarness) -> None:
    app.provider.script += [said(""), said(" \n"), "something"]
    assert (await app.ask("Hello")).reply == "something"


async def test_three_attempts_minutes_apart_and_then_an_apology(either_app: AppHarness) -> None:
    app = either_app
    app.provider.script += failing(ProviderErrorKind.TIMEOUT, 3 * TRIES)
    message = (await app.say("Hello")).message_id
    for attempt in (1, 2):
        timeline = await app.until_noted(message, "retried", attempt)
        job = await job_of(app, message)
        assert (timeline.status, job.status, job.attempts) == (QUEUED, JobStatus.PENDING, attempt)
        rest = job.run_at - next(s.at for s in reversed(timeline.steps) if s.step == "retried")
        assert rest == pytest.approx(2**attempt * UNIT_SECONDS * 1000, abs=A_SECOND)
        await app.until_told(message, *["running", "queued"] * attempt)
        await app.pass_time(2**attempt * UNIT_SECONDS)
    timeline = await app.until_status(message, FAILED)
    assert (timeline.reason, timeline.reply) == ("attempts", notices.failed("attempts"))
    assert steps_of(timeline).count("model_call") == 3 * TRIES
    await app.until_told(message, "running", "queued", "running", "queued", "running", "failed")
    # One notice about the delay, and one about the end.
    assert await app.until_sent(2) == [notices.delayed(2 * UNIT_SECONDS, "retry"), notices.failed("attempts")]
    told, apology = app.connector.sent
    assert (told.answers, apology.answers) == ((), (message,))


async def test_a_retry_sees_what_was_said_since_and_answers_it_too(app: AppHarness) -> None:
    app.provider.script += failing(ProviderErrorKind.TIMEOUT, TRIES)
    first = (await app.say("first")).message_id
    await app.until_noted(first, "retried")
    second = (await app.say("second")).message_id
    await app.pass_time(2 * UNIT_SECONDS)
    timeline = await app.until_status(second, ANSWERED)
    assert timeline.reply == "Re: first\n\nsecond"
    assert timeline.answers == [first, second]


async def test_a_word_on_the_way_is_no_part_of_the_conversation(app: AppHarness) -> None:
    app.provider.script += failing(ProviderErrorKind.TIMEOUT, TRIES)
    first = (await app.say("first")).message_id
    await app.until_noted(first, "retried")
    await app.pass_time(2 * UNIT_SECONDS)
    await app.until_status(first, ANSWERED)
    await app.ask("second")
    assert app.provider.prompts[-1] == ["user: first", "assistant: Re: first", "user: second"]


# -- limits ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("asked_for", "rest"), [(None, 60), (25.0, 25), (600.0, 600)])
async def test_a_limit_is_a_rest_that_counts_no_attempt(app: AppHarness, asked_for: float | None, rest: int) -> None:
    app.provider.script += failing(ProviderErrorKind.RATE_LIMIT, retry_after=asked_for)
    message = (await app.say("Hello")).message_id
    timeline = await app.until_noted(message, "snoozed")
    job = await job_of(app, message)
    assert (job.attempts, job.reason) == (0, "rate_limit")
    assert job.run_at - next(step.at for step in timeline.steps if step.step == "snoozed") == pytest.approx(
        rest * 1000, abs=A_SECOND
    )
    await app.pass_time(rest)
    await app.until_status(message, ANSWERED)
    assert await app.until_sent(2) == [notices.delayed(rest, "rate_limit"), "Re: Hello"]


async def test_a_limit_that_lasts_is_told_once_and_never_given_up(app: AppHarness) -> None:
    app.provider.script += failing(ProviderErrorKind.RATE_LIMIT, 6)
    message = (await app.say("Hello")).message_id
    for times, minutes in enumerate((1, 5, 25, 60, 60, 60), start=1):
        await app.until_noted(message, "snoozed", times)
        await app.pass_time(minutes * 60)
    await app.until_status(message, ANSWERED)
    assert len(await app.until_sent(2)) == 2


# -- permanent errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        ProviderErrorKind.AUTH,
        ProviderErrorKind.QUOTA,
        ProviderErrorKind.TOO_LONG,
        ProviderErrorKind.REFUSED,
        ProviderErrorKind.BAD_REQUEST,
    ],
)
async def test_what_no_attempt_can_mend_is_told_at_once(app: AppHarness, kind: ProviderErrorKind) -> None:
    calls = 2 if kind is ProviderErrorKind.TOO_LONG else 1  # a long prompt is sent once more at half the size
    app.provider.script += failing(kind) * calls
    message = (await app.say("Hello")).message_id
    timeline = await app.until_status(message, FAILED)
    assert (timeline.reason, timeline.reply) == (kind, notices.failed(kind))
    assert "something went wrong" not in (timeline.reply or "")
    assert steps_of(timeline).count("model_call") == calls
    job = await job_of(app, message)
    assert (job.status, job.reason, job.error) == (JobStatus.FAILED, kind, f"the model said {kind}")
    assert await app.until_sent(1) == [timeline.reply]
    await app.until_told(message, "running", "failed")


async def test_the_next_message_is_answered_after_a_failure(app: AppHarness) -> None:
    app.provider.script += failing(ProviderErrorKind.REFUSED)
    failed = await app.say("first")
    await app.until_status(failed.message_id, FAILED)
    assert (await app.ask("second")).reply == "Re: second"


# -- by a person -------------------------------------------------------------------------------------------


async def test_a_retry_by_hand_answers_in_place_of_the_notice(either_app: AppHarness) -> None:
    app = either_app
    app.provider.script += failing(ProviderErrorKind.AUTH)
    message = (await app.say("first")).message_id
    await app.until_told(message, "running", "failed")
    await app.operations.retry_job((await job_of(app, message)).id)
    timeline = await app.until_status(message, ANSWERED)
    assert (timeline.reply, timeline.reason) == ("Re: first", "bot_assignment")
    await app.until_told(message, "running", "failed", "running", "answered")
    assert await app.until_sent(2) == [notices.failed("auth"), "Re: first"]
    await app.ask("second")
    assert app.provider.prompts[-1] == ["user: first", "assistant: Re: first", "user: second"]
    assert [line.content for line in await said_in(app, timeline.message)] == [
        "first",
        "Re: first",
        "second",
        "Re: second",
    ]


async def test_a_retry_by_hand_may_fail_again(app: AppHarness) -> None:
    app.provider.script += failing(ProviderErrorKind.AUTH, 2)
    message = (await app.say("Hello")).message_id
    first = await app.until_status(message, FAILED)
    await app.operations.retry_job((await job_of(app, message)).id)
    await app.until_sent(2)
    second = await app.timeline(message)
    assert second.status is FAILED
    assert second.reply_id != first.reply_id


async def test_a_turn_retried_by_hand_is_not_folded_into_another(app: AppHarness) -> None:
    """It has its own steps and receipts."""
    app.provider.script += [*failing(ProviderErrorKind.AUTH), *failing(ProviderErrorKind.RATE_LIMIT)]
    failed = (await app.say("first")).message_id
    await app.until_status(failed, FAILED)
    resting = (await app.say("second")).message_id
    await app.until_noted(resting, "snoozed")
    await app.operations.retry_job((await job_of(app, failed)).id)
    await app.pass_time(60)
    assert (await app.until_status(failed, ANSWERED)).answers == [failed]
    assert (await app.timeline(resting)).answers == [resting]


async def said_in(app: AppHarness, message: StoredMessage) -> list[StoredMessage]:
    assert message.conversation_id is not None
    page = await app.insights.conversation_messages(message.conversation_id, limit=50, cursor=None)
    return list(reversed(page.items))


# -- crashes -----------------------------------------------------------------------------------------------


async def crash(app: AppHarness, boot: str) -> None:
    """Let a process claim all jobs and die."""
    app.clock.put_forward(60)
    now = app.clock.now()
    await app.store.write(lambda tx: tx.jobs.wake(now))
    claimed = await app.store.write(lambda tx: tx.jobs.claim(Slots(1, 1, 1), boot, "node", now, now + 30_000))
    assert len(claimed) == 1


async def test_a_turn_that_killed_its_process_five_times_ends_with_a_notice(either_database: Database) -> None:
    async with open_app(either_database, started=False) as app:
        message = (await app.say("Hello")).message_id
        for number in range(POISON_CRASHES):
            await crash(app, f"dead-{number}")
            await app.store.write(rescue, app.clock.now())
        app.clock.put_forward(60)
        await app.start()
        timeline = await app.until_status(message, FAILED)
        assert (timeline.reason, timeline.reply) == ("poison", notices.failed("poison"))
        assert app.provider.asked == []
        assert await app.until_sent(1) == [notices.failed("poison")]


async def test_a_turn_that_killed_its_process_four_times_is_answered(database: Database) -> None:
    async with open_app(database, started=False) as app:
        message = (await app.say("Hello")).message_id
        for number in range(POISON_CRASHES - 1):
            await crash(app, f"dead-{number}")
            await app.store.write(rescue, app.clock.now())
        app.clock.put_forward(60)
        await app.start()
        timeline = await app.until_status(message, ANSWERED)
        assert timeline.job is not None
        assert (timeline.job.crashes, timeline.job.attempts) == (POISON_CRASHES - 1, 0)


async def test_what_waited_behind_a_poison_is_answered(database: Database) -> None:
    async with open_app(database, started=False) as app:
        await app.say("poison", user="ann")
        behind = (await app.say("Hello", user="bob")).message_id
        for number in range(POISON_CRASHES):
            await crash(app, f"dead-{number}")
            await app.store.write(rescue, app.clock.now())
        app.clock.put_forward(60)
        await app.start()
        assert (await app.until_status(behind, ANSWERED)).reply == "Re: Bob: Hello"


def rescue(tx: Transaction, now: int) -> None:
    tx.jobs.rescue("node", "nobody", now)


async def test_a_node_that_throws_is_tried_again_and_then_apologised_for(database: Database) -> None:
    async def stumble(_context: NodeContext) -> Decision:
        raise ValueError("a defect")

    graph = Graph(name="stumbling", start="stumble", nodes={"stumble": stumble}, edges={})
    async with open_app(database, agents=[agent_with(graph="stumbling")], graphs=[graph]) as app:
        message = (await app.say("Hello")).message_id
        for attempt in (1, 2):
            await app.until_noted(message, "retried", attempt)
            await app.pass_time(2**attempt * UNIT_SECONDS)
        timeline = await app.until_status(message, FAILED)
        assert timeline.job is not None
        assert timeline.job.error == "ValueError: a defect"
        assert "ValueError" not in (timeline.reply or "")
