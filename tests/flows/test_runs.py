"""Runs without a chat message: their results are posted into the agent's conversation, so that people can reply."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.executions import Execution, ExecutionStatus, WaitKind
from arvis.domain.jobs import JobKind, Priority
from arvis.domain.messages import Address, MessageStatus, PrincipalRole
from arvis.domain.runs import RunResult
from arvis.domain.schedules import Cause, Occurrence, OccurrenceStatus
from arvis.domain.taint import CLEAN, Label, Taint
from arvis.domain.tools import Permit
from arvis.engine.graph import Call, Decision, End, Graph, NodeContext
from arvis.ports.operations import WaitAnswer
from arvis.ports.store import Transaction
from arvis.store.open import Database
from arvis.tasks.state import BY_DAEMON, TaskSpec, WorkOutcome, child_end
from arvis.tasks.task import NewRun, begin_run, child_state
from tests.flows.app_harness import HELPER, AppHarness, agent_with, open_app
from tests.flows.scripted import BOT, PLATFORM, Held, asking, call

PLACE = Address(PLATFORM, BOT, "room")
NOW = 1_700_000_000_000
DONE = "<AGENT_DONE><KEY_RESULT>{}</KEY_RESULT></AGENT_DONE>"


def begin(tx: Transaction, task: TaskSpec, graph: str, principal_id: str | None, now: int) -> str:
    agent = tx.agents.get(HELPER.id)
    assert agent is not None
    run = NewRun(agent, task, PLACE, principal_id, "schedule:s1", graph)
    begun = begin_run(tx, run, kind=JobKind.CRON, lane="schedule:s1", priority=Priority.BACKGROUND, now=now, key="k")
    assert begun is not None
    tx.occurrences.add(Occurrence("o1", "s1", now, Cause.DUE, OccurrenceStatus.RUNNING, begun.id, "", now))
    return begun.id


async def run(app: AppHarness, task: TaskSpec, graph: str = "agent", principal_id: str | None = None) -> str:
    return await app.store.write(begin, task, graph, principal_id, app.clock.now())


async def ended(app: AppHarness, execution_id: str) -> Execution:
    async def check() -> Execution | None:
        found = await app.store.read(lambda tx: tx.executions.get(execution_id))
        return found if found and found.status not in {ExecutionStatus.RUNNING, ExecutionStatus.PAUSED} else None

    return await app.until(check)


async def occurrence(app: AppHarness) -> Occurrence:
    async def check() -> Occurrence | None:
        found = await app.store.read(lambda tx: tx.occurrences.newest("s1", 1)[0])
        return found if found.ended_at is not None else None

    return await app.until(check)


@pytest.fixture
async def worker(database: Database) -> AsyncIterator[AppHarness]:
    async with open_app(database, agents=[agent_with(tools=("look", "rm"), allow_users=("ann",))]) as app:
        yield app


async def test_a_run_has_no_history_and_posts_what_it_has_to_say(app: AppHarness) -> None:
    await app.ask("Hello")
    app.provider.script.append("It is cold.")
    await run(app, TaskSpec("Tell the weather.", instructions="Be short."))
    assert (await app.until_sent(2))[-1] == "It is cold."
    assert app.provider.prompts[1] == ["user: Tell the weather."]
    assert "Be short." in app.provider.asked[1].system


async def test_answers_to_what_was_posted_make_sense(app: AppHarness) -> None:
    app.provider.script.append("It is cold.")
    await run(app, TaskSpec("Tell the weather."))
    await app.until_sent(1)
    await app.ask("How cold?")
    assert "It is cold." in str(app.provider.prompts[-1])


async def test_what_is_not_worth_telling_is_not_told(app: AppHarness) -> None:
    app.provider.script.append("All as before. [SILENT]")
    execution = await ended(app, await run(app, TaskSpec("Look after the shop.")))
    assert execution.status is ExecutionStatus.DONE
    assert (await occurrence(app)).status is OccurrenceStatus.SILENT
    assert await app.deliveries() == []


async def test_a_run_that_says_nothing_of_itself_is_asked_once(app: AppHarness) -> None:
    app.provider.script += ["The report.", DONE.format("said")]
    await run(app, TaskSpec("Report.", completion="explicit"))
    assert await app.until_sent(1) == ["The report."]
    assert (await occurrence(app)).status is OccurrenceStatus.DONE


async def test_nobody_hears_a_run_on_its_way(app: AppHarness) -> None:
    app.provider.script += ["<AGENT_CONTINUE>Half.</AGENT_CONTINUE>", "Whole."]
    await run(app, TaskSpec("Report."))
    assert await app.until_sent(1) == ["Whole."]
    assert not [event for event in app.events if type(event).__name__ == "Delta"]


async def test_a_question_of_a_run_is_asked_where_it_would_post(worker: AppHarness) -> None:
    owner = await worker.store.write(
        lambda tx: tx.principals.seen(PLATFORM, "owner", "Owner", PrincipalRole.OWNER, NOW)
    )
    worker.provider.script += [asking(call(1, "rm", words="all")), "Gone."]
    await run(worker, TaskSpec("Tidy up."), principal_id=owner.id)
    assert "wants to use the tool rm" in (await worker.until_sent(1))[0]
    (wait,) = (await worker.insights.waits(open_only=True, limit=10, cursor=None)).items
    await worker.operations.answer_wait(wait.id, WaitAnswer("approve"), owner)
    assert (await worker.until_sent(2))[-1] == "Gone."
    assert worker.tools.rm.calls == [{"words": "all"}]


async def test_one_run_of_a_key_at_a_time(app: AppHarness) -> None:
    held = Held("late")
    app.provider.script.append(held)
    await run(app, TaskSpec("Wait."))
    await held.until_begun()
    with pytest.raises(AssertionError):
        await run(app, TaskSpec("Again."))
    held.go.set()
    await app.until_idle()


async def test_a_failed_run_is_written_down(database: Database) -> None:
    async with open_app(database) as app:
        await run(app, TaskSpec("Do it."), graph="nowhere")
        found = await occurrence(app)
        assert (found.status, "graph nowhere is not installed" in found.report) == (OccurrenceStatus.FAILED, True)


# -- children ----------------------------------------------------------------------------------------------


def parent_graph(taint: Taint = CLEAN) -> Graph:
    """Return a graph that calls a child and ends with its result."""

    async def ask(context: NodeContext) -> Decision:
        if context.answer is None:
            return Call("agent", child_state(context.state, TaskSpec("Find it.", tools=["look", "rm"], taint=taint)))
        found = child_end(context.answer)
        outcome = found.outcome or WorkOutcome.from_json({"status": "blocked", "reason": found.error})
        return End(RunResult(outcome.visible, "", "", "").to_json() | {"outcome": outcome.to_json()}, read=BY_DAEMON)

    return Graph("parent", "ask", {"ask": ask}, {})


async def test_a_child_works_for_a_turn_and_its_parent_reads_what_came_of_it(database: Database) -> None:
    agent = agent_with(graph="parent", tools=("look", "rm"), allow_users=("ann",))
    async with open_app(database, agents=[agent], graphs=[parent_graph()]) as app:
        app.provider.script += [asking(call(1, "look")), "Found. [MEMORY:fact] It is there."]
        received = await app.say("Where is it?")
        timeline = await app.until_status(received.message_id, MessageStatus.ANSWERED)
        assert timeline.reply == "Found."
        facts = await app.store.read(lambda tx: tx.facts.of(HELPER.id, [f"principal:{_asker(tx)}"], limit=10))
        assert [fact.content for fact in facts] == ["It is there."]


def _asker(tx: Transaction) -> str:
    person = tx.principals.find(PLATFORM, "ann")
    assert person is not None
    return person.id


async def test_a_childs_question_is_asked_in_the_chat_and_a_turn_at_work_is_not_waiting(database: Database) -> None:
    agent = agent_with(graph="parent", tools=("look", "rm"), allow_users=("ann",))
    async with open_app(database, agents=[agent], graphs=[parent_graph()]) as app:
        app.rules["exec"] = Permit.ASK
        thinking = Held("")
        app.provider.script += [thinking, asking(call(1, "rm")), "Done."]
        received = await app.say("Tidy up")
        await thinking.until_begun()
        assert (await app.timeline(received.message_id)).status is MessageStatus.RUNNING
        thinking.text = "<AGENT_CONTINUE>on</AGENT_CONTINUE>"
        thinking.go.set()
        await app.until_status(received.message_id, MessageStatus.WAITING)
        waits = (await app.insights.waits(open_only=True, limit=10, cursor=None)).items
        assert [wait.kind for wait in waits] == [WaitKind.APPROVAL]
        assert "wants to use the tool rm" in (await app.until_sent(1))[-1]


async def test_stop_ends_a_turn_with_its_child(database: Database) -> None:
    async with open_app(database, agents=[agent_with(graph="parent")], graphs=[parent_graph()]) as app:
        thinking = Held("")
        app.provider.script.append(thinking)
        received = await app.say("Do it")
        await thinking.until_begun()
        await app.say("/stop")
        await app.until_status(received.message_id, MessageStatus.CANCELLED)
        await thinking.until_cancelled()


async def test_q3_nobody_overtakes_a_turn_whose_child_works(database: Database) -> None:
    async with open_app(database, agents=[agent_with(graph="parent")], graphs=[parent_graph()]) as app:
        thinking = Held("One.")
        app.provider.script += [thinking, "Two."]
        first = await app.say("one")
        await thinking.until_begun()
        second = await app.say("two")
        assert len(app.provider.asked) == 1
        thinking.go.set()
        await app.until_status(second.message_id, MessageStatus.ANSWERED)
        assert (await app.timeline(first.message_id)).reply == "One."
        assert await app.until_sent(2) == ["One.", "Two."]


async def test_while_a_child_waits_for_a_person_the_talk_goes_on(database: Database) -> None:
    agents = [agent_with(graph="parent", tools=("look", "rm"), allow_users=("ann", "bob", "owner"))]
    async with open_app(database, agents=agents, graphs=[parent_graph()]) as app:
        app.provider.script += [asking(call(1, "rm")), "Two.", "One."]
        first = await app.say("one")
        await app.until_status(first.message_id, MessageStatus.WAITING)
        second = await app.say("two", user="bob")
        assert (await app.until_status(second.message_id, MessageStatus.ANSWERED)).reply == "Two."
        await app.say("yes", user="owner")
        assert (await app.until_status(first.message_id, MessageStatus.ANSWERED)).reply == "One."


async def test_a_schedule_is_not_run_again_while_its_child_works(database: Database) -> None:
    async with open_app(database, graphs=[parent_graph()]) as app:
        thinking = Held("One.")
        app.provider.script.append(thinking)
        await run(app, TaskSpec("Work."), graph="parent")
        await thinking.until_begun()
        with pytest.raises(AssertionError):
            await run(app, TaskSpec("Again."), graph="parent")
        thinking.go.set()
        assert await app.until_sent(1) == ["One."]


# -- ends of runs ----------------------------------------------------------------------------------------------


async def waiting_run(worker: AppHarness) -> str:
    """Start a run that waits for an approval, and return its id."""
    worker.provider.script += [asking(call(1, "rm", words="all")), "Gone."]
    ann = await worker.store.write(lambda tx: tx.principals.seen(PLATFORM, "ann", "Ann", None, 0).id)
    execution_id = await run(worker, TaskSpec("Tidy up."), principal_id=ann)
    await worker.until_sent(1)
    await worker.until_idle()
    return execution_id


async def test_a_run_that_waits_for_a_person_can_be_cancelled_and_its_schedule_knows(worker: AppHarness) -> None:
    await waiting_run(worker)
    (job,) = await worker.jobs("cron")
    await worker.operations.cancel_job(job.id)
    assert (await occurrence(worker)).status is OccurrenceStatus.CANCELLED


async def test_a_waiting_run_that_is_cancelled_by_its_id_is_over_for_its_schedule(worker: AppHarness) -> None:
    await worker.operations.cancel_execution(await waiting_run(worker))
    assert (await occurrence(worker)).status is OccurrenceStatus.CANCELLED


async def test_a_failed_run_that_is_retried_by_hand_and_ends_well_has_gone_well(app: AppHarness) -> None:
    app.provider.script += [ProviderError(ProviderErrorKind.AUTH, "No entry"), "Well."]
    await run(app, TaskSpec("Do it."))
    assert (await occurrence(app)).status is OccurrenceStatus.FAILED
    (job,) = await app.jobs("cron")
    await app.operations.retry_job(job.id)
    assert await app.until_sent(1) == ["Well."]
    assert (await occurrence(app)).status is OccurrenceStatus.DONE


async def test_who_waits_for_a_childs_question_is_told_so(database: Database) -> None:
    agents = [agent_with(graph="parent", tools=("look", "rm"), allow_users=("ann", "owner"))]
    async with open_app(database, agents=agents, graphs=[parent_graph()]) as app:
        app.provider.script += [asking(call(1, "rm")), "One."]
        first = await app.say("one")
        await app.until_status(first.message_id, MessageStatus.WAITING)
        await app.say("yes", user="owner")
        await app.until_status(first.message_id, MessageStatus.ANSWERED)
        assert app.statuses(first.message_id)[:3] == ["running", "waiting", "running"]


async def test_a_change_that_a_child_wants_is_asked_about_in_the_chat(database: Database) -> None:
    agent = agent_with(graph="parent")
    graphs = [parent_graph(frozenset({Label.TOOLS}))]
    async with open_app(database, agents=[agent], graphs=graphs) as app:
        sticky = "Kept. [MEMORY:sticky] Never sell. [/MEMORY]"
        app.provider.script.append(sticky)
        received = await app.say("Remember it")
        await app.until_status(received.message_id, MessageStatus.ANSWERED)
        assert any("wants to store a fact" in text for text in await app.until_sent(2))


async def test_a_change_that_a_run_wants_is_asked_about_where_it_posts(app: AppHarness) -> None:
    app.provider.script.append("[MEMORY:sticky] Never sell. [/MEMORY]")
    await run(app, TaskSpec("Read the news.", taint=frozenset({Label.TOOLS})))
    assert any("wants to store a fact" in text for text in await app.until_sent(2))
