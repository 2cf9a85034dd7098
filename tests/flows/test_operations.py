"""Retry, cancel, delete and answer: the states and roles that allow them, and their effects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from arvis.approvals import checked_answer
from arvis.domain.errors import Conflict, Forbidden, NotFound, ProviderError, ProviderErrorKind, Unprocessable
from arvis.domain.executions import Wait, WaitKind
from arvis.domain.jobs import Job, JobStatus, NewJob
from arvis.domain.messages import MessageStatus, Principal, PrincipalRole
from arvis.engine.graph import Decision, End, Graph, NodeContext, Pause
from arvis.ports.operations import WaitAnswer
from arvis.ports.store import Transaction
from arvis.store.open import Database
from arvis.tasks.state import BY_DAEMON
from tests.flows.app_harness import AppHarness, agent_with, open_app
from tests.flows.scripted import Held, said

ANSWERED, FAILED, WAITING = MessageStatus.ANSWERED, MessageStatus.FAILED, MessageStatus.WAITING
APPROVE = WaitAnswer("approve")


def asks(kind: WaitKind, *choices: str) -> Graph:
    """Return a graph that asks, and replies with the answer."""

    async def ask(context: NodeContext) -> Decision:
        if context.answer is None:
            return Pause(kind, "May I?", choices=choices)
        return End(said(f"{context.answer.value['decision']} by {context.answer.by}").to_json(), read=BY_DAEMON)

    return Graph(name=kind.value, start="ask", nodes={"ask": ask}, edges={})


KINDS = (WaitKind.USER, WaitKind.APPROVAL, WaitKind.REVIEW)


@pytest.fixture
async def asking(either_database: Database) -> AsyncIterator[AppHarness]:
    agents = [agent_with(id=f"agent-{kind}", slug=kind.value, name=kind.value, graph=kind.value) for kind in KINDS]
    async with open_app(either_database, agents=agents, graphs=[asks(kind) for kind in KINDS]) as app:
        yield app


async def asked(app: AppHarness, kind: WaitKind, user: str = "ann") -> tuple[str, Wait]:
    """Send a message whose turn waits for an answer."""
    message = await app.say("Do it", user=user, assigned_agent=kind.value)
    await app.until_status(message.message_id, WAITING)
    (wait,) = (await app.insights.waits(open_only=True, limit=10, cursor=None)).items
    return message.message_id, wait


async def person(app: AppHarness, user: str, role: PrincipalRole = PrincipalRole.MEMBER) -> Principal:
    def seen(tx: Transaction) -> Principal:
        return tx.principals.seen("chat", user, user, role, app.clock.now())

    return await app.store.write(seen)


# -- answers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
async def test_an_owner_answers_every_question(asking: AppHarness, kind: WaitKind) -> None:
    message, wait = await asked(asking, kind)
    owner = await person(asking, "owner", PrincipalRole.OWNER)
    await asking.operations.answer_wait(wait.id, APPROVE, owner)
    timeline = await asking.until_status(message, ANSWERED)
    assert timeline.reply == f"approve by {owner.id}"
    await asking.until_told(message, "waiting", "running", "answered")


@pytest.mark.parametrize("kind", [WaitKind.REVIEW, WaitKind.USER])
async def test_an_operator_answers_what_is_no_approval(asking: AppHarness, kind: WaitKind) -> None:
    message, wait = await asked(asking, kind)
    await asking.operations.answer_wait(wait.id, APPROVE, await person(asking, "olga", PrincipalRole.OPERATOR))
    await asking.until_status(message, ANSWERED)


@pytest.mark.parametrize("kind", [WaitKind.APPROVAL, WaitKind.REVIEW])
async def test_nobody_approves_their_own_wish(asking: AppHarness, kind: WaitKind) -> None:
    message, wait = await asked(asking, kind)
    with pytest.raises(Forbidden):
        await asking.operations.answer_wait(wait.id, APPROVE, await person(asking, "ann"))
    assert (await asking.timeline(message)).status is WAITING


async def test_a_question_is_answered_by_the_person_it_was_put_to_and_by_no_other(asking: AppHarness) -> None:
    message, wait = await asked(asking, WaitKind.USER)
    with pytest.raises(Forbidden):
        await asking.operations.answer_wait(wait.id, APPROVE, await person(asking, "bob"))
    await asking.operations.answer_wait(wait.id, WaitAnswer("answer", text="yes"), await person(asking, "ann"))
    await asking.until_status(message, ANSWERED)


async def test_the_first_answer_wins(asking: AppHarness) -> None:
    message, wait = await asked(asking, WaitKind.APPROVAL)
    owner = await person(asking, "owner", PrincipalRole.OWNER)
    answers = [
        asking.operations.answer_wait(wait.id, WaitAnswer(decision), owner)
        for decision in ("approve", "reject", "approve", "reject")
    ]
    results = await asyncio.gather(*answers, return_exceptions=True)
    assert [type(result) for result in results].count(Conflict) == 3
    await asking.until_status(message, ANSWERED)
    with pytest.raises(Conflict):
        await asking.operations.answer_wait(wait.id, APPROVE, owner)


async def test_an_unknown_question_is_not_found(asking: AppHarness) -> None:
    with pytest.raises(NotFound):
        await asking.operations.answer_wait("nothing", APPROVE, await person(asking, "ann"))


async def test_an_unusable_answer_leaves_the_question_open(asking: AppHarness) -> None:
    message, wait = await asked(asking, WaitKind.USER)
    with pytest.raises(Unprocessable):
        await asking.operations.answer_wait(wait.id, WaitAnswer("perhaps"), await person(asking, "ann"))
    assert (await asking.timeline(message)).status is WAITING


WAIT = Wait("w", "e", "c", WaitKind.REVIEW, "?", ("left", "right"), 1, None)


@pytest.mark.parametrize(
    "answer",
    [
        WaitAnswer("perhaps"),
        WaitAnswer(""),
        WaitAnswer("edit"),
        WaitAnswer("feedback"),
        WaitAnswer("feedback", text=""),
        WaitAnswer("answer"),
        WaitAnswer("answer", text="up"),
    ],
)
def test_what_says_too_little_is_no_answer(answer: WaitAnswer) -> None:
    with pytest.raises(Unprocessable) as refused:
        checked_answer(WAIT, answer)
    assert refused.value.what


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        (WaitAnswer("accept"), "approve"),
        (WaitAnswer("reject", note="too dear"), "reject"),
        (WaitAnswer("edit", arguments={}), "edit"),
        (WaitAnswer("feedback", text="shorter"), "feedback"),
        (WaitAnswer("answer", text="left"), "answer"),
    ],
)
def test_what_says_enough_reaches_the_graph(answer: WaitAnswer, decision: str) -> None:
    given = checked_answer(WAIT, answer)
    assert given == {
        "decision": decision,
        "note": answer.note,
        "arguments": answer.arguments,
        "text": answer.text,
    }


# -- jobs --------------------------------------------------------------------------------------------------


async def failed_job(app: AppHarness) -> Job:
    app.provider.script.append(ProviderError(ProviderErrorKind.AUTH, "wrong key"))
    message = await app.say("Hello")
    job = (await app.until_status(message.message_id, FAILED)).job
    assert job is not None
    return job


async def test_only_what_failed_is_retried(app: AppHarness) -> None:
    job = (await app.ask("Hello")).job
    assert job is not None
    with pytest.raises(Conflict):
        await app.operations.retry_job(job.id)
    with pytest.raises(NotFound):
        await app.operations.retry_job("nothing")
    assert (await app.insights.job(job.id)) == job


async def test_two_people_who_retry_at_once_start_one_run(either_app: AppHarness) -> None:
    app = either_app
    job = await failed_job(app)
    results = await asyncio.gather(*(app.operations.retry_job(job.id) for _ in range(4)), return_exceptions=True)
    assert [type(result) for result in results].count(Conflict) == 3
    await app.until_idle()
    assert len(app.provider.asked) == 2


async def test_what_lives_is_not_deleted(app: AppHarness) -> None:
    held = Held()
    app.provider.script.append(held)
    await app.say("Hello")
    await held.until_begun()
    (job,) = await app.jobs("message")
    with pytest.raises(Conflict):
        await app.operations.delete_job(job.id)
    held.go.set()
    await app.until_idle()
    assert (await app.jobs("message"))[0].status is JobStatus.DONE


async def test_a_deleted_job_leaves_the_message_and_its_notice(app: AppHarness) -> None:
    job = await failed_job(app)
    await app.operations.delete_job(job.id)
    assert await app.insights.job(job.id) is None
    assert job.message_id is not None
    assert (await app.timeline(job.message_id)).status is FAILED
    with pytest.raises(NotFound):
        await app.operations.delete_job(job.id)


async def test_cancelling_a_job_whose_turn_is_over_answers_nobody_twice(either_database: Database) -> None:
    """Such a job is created when a question is answered while another branch ends the turn."""
    async with open_app(either_database) as app:
        timeline = await app.ask("Hello")
        execution = timeline.message.execution_id
        assert execution is not None
        await app.until_idle()
        await app.queue.stop()

        def add_late(tx: Transaction) -> str:
            return tx.jobs.add(NewJob.advance(execution, "late", 5), app.clock.now()).id

        late = await app.store.write(add_late)
        await app.operations.cancel_job(late)
        job = await app.insights.job(late)
        assert job is not None
        assert job.status is JobStatus.CANCELLED
        assert (await app.timeline(timeline.message.id)).reply == "Re: Hello"
        assert len(await app.deliveries()) == 1
