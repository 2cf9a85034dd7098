"""Runs: what an agent does without a message of a chat is posted into its conversation, so that answers to it make sense."""

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
from arvis.tasks.state import BY_DAEMON, WorkOutcome, child_end
from arvis.tasks.task import NewRun, TaskSpec, begin_run, child_state
from tests.flows.house import HELPER, House, agent_with, open_house
from tests.flows.scripted import BOT, PLATFORM, Held, asking, call

PLACE = Address(PLATFORM, BOT, "room")
NOW = 1_700_000_000_000
DONE = "<AGENT_DONE><KEY_RESULT>{}</KEY_RESULT></AGENT_DONE>"


def begin(tx: Transaction, errand: TaskSpec, graph: str, principal_id: str | None, now: int) -> str:
    agent = tx.agents.get(HELPER.id)
    assert agent is not None
    run = NewRun(agent, errand, PLACE, principal_id, "schedule:s1", graph)
    begun = begin_run(tx, run, kind=JobKind.CRON, lane="schedule:s1", priority=Priority.BACKGROUND, now=now, key="k")
    assert begun is not None
    tx.occurrences.add(Occurrence("o1", "s1", now, Cause.DUE, OccurrenceStatus.RUNNING, begun.id, "", now))
    return begun.id


async def run(house: House, errand: TaskSpec, graph: str = "agent", principal_id: str | None = None) -> str:
    return await house.store.write(begin, errand, graph, principal_id, house.clock.now())


async def ended(house: House, execution_id: str) -> Execution:
    async def check() -> Execution | None:
        found = await house.store.read(lambda tx: tx.executions.get(execution_id))
        return found if found and found.status not in {ExecutionStatus.RUNNING, ExecutionStatus.PAUSED} else None

    return await house.until(check)


async def occurrence(house: House) -> Occurrence:
    async def check() -> Occurrence | None:
        found = await house.store.read(lambda tx: tx.occurrences.newest("s1", 1)[0])
        return found if found.ended_at is not None else None

    return await house.until(check)


@pytest.fixture
async def worker(database: Database) -> AsyncIterator[House]:
    async with open_house(database, agents=[agent_with(tools=("look", "rm"), allow_users=("ann",))]) as house:
        yield house


async def test_a_run_has_no_history_and_posts_what_it_has_to_say(house: House) -> None:
    await house.ask("Hello")
    house.provider.script.append("It is cold.")
    await run(house, TaskSpec("Tell the weather.", instructions="Be short."))
    assert (await house.until_sent(2))[-1] == "It is cold."
    assert house.provider.prompts[1] == ["user: Tell the weather."]
    assert "Be short." in house.provider.asked[1].system


async def test_answers_to_what_was_posted_make_sense(house: House) -> None:
    house.provider.script.append("It is cold.")
    await run(house, TaskSpec("Tell the weather."))
    await house.until_sent(1)
    await house.ask("How cold?")
    assert "It is cold." in str(house.provider.prompts[-1])


async def test_what_is_not_worth_telling_is_not_told(house: House) -> None:
    house.provider.script.append("All as before. [SILENT]")
    execution = await ended(house, await run(house, TaskSpec("Look after the shop.")))
    assert execution.status is ExecutionStatus.DONE
    assert (await occurrence(house)).status is OccurrenceStatus.SILENT
    assert await house.deliveries() == []


async def test_a_run_that_says_nothing_of_itself_is_asked_once(house: House) -> None:
    house.provider.script += ["The report.", DONE.format("said")]
    await run(house, TaskSpec("Report.", completion="explicit"))
    assert await house.until_sent(1) == ["The report."]
    assert (await occurrence(house)).status is OccurrenceStatus.DONE


async def test_nobody_hears_a_run_on_its_way(house: House) -> None:
    house.provider.script += ["<AGENT_CONTINUE>Half.</AGENT_CONTINUE>", "Whole."]
    await run(house, TaskSpec("Report."))
    assert await house.until_sent(1) == ["Whole."]
    assert not [event for event in house.events if type(event).__name__ == "Delta"]


async def test_a_question_of_a_run_is_asked_where_it_would_post(worker: House) -> None:
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


async def test_one_run_of_a_key_at_a_time(house: House) -> None:
    held = Held("late")
    house.provider.script.append(held)
    await run(house, TaskSpec("Wait."))
    await held.until_begun()
    with pytest.raises(AssertionError):
        await run(house, TaskSpec("Again."))
    held.go.set()
    await house.until_idle()


async def test_a_failed_run_is_written_down(database: Database) -> None:
    async with open_house(database) as house:
        await run(house, TaskSpec("Do it."), graph="nowhere")
        found = await occurrence(house)
        assert (found.status, "no graph" in found.report) == (OccurrenceStatus.FAILED, True)


# -- children ----------------------------------------------------------------------------------------------


def parent_graph(taint: Taint = CLEAN) -> Graph:
    """Lets a child do the work and ends with what it heard."""

    async def ask(context: NodeContext) -> Decision:
        if context.answer is None:
            return Call("agent", child_state(context.state, TaskSpec("Find it.", tools=["look", "rm"], taint=taint)))
        found = child_end(context.answer)
        outcome = found.outcome or WorkOutcome.from_json({"status": "blocked", "reason": found.error})
        return End(RunResult(outcome.visible, "", "", "").to_json() | {"outcome": outcome.to_json()}, read=BY_DAEMON)

    return Graph("parent", "ask", {"ask": ask}, {})


async def test_a_child_works_for_a_turn_and_its_parent_reads_what_came_of_it(database: Database) -> None:
    agent = agent_with(graph="parent", tools=("look", "rm"), allow_users=("ann",))
    async with open_house(database, agents=[agent], graphs=[parent_graph()]) as house:
        house.provider.script += [asking(call(1, "look")), "Found. [MEMORY:fact] It is there."]
        received = await house.say("Where is it?")
        timeline = await house.until_status(received.message_id, MessageStatus.ANSWERED)
        assert timeline.reply == "Found."
        facts = await house.store.read(lambda tx: tx.facts.of(HELPER.id, [f"principal:{_asker(tx)}"], limit=10))
        assert [fact.content for fact in facts] == ["It is there."]


def _asker(tx: Transaction) -> str:
    person = tx.principals.find(PLATFORM, "ann")
    assert person is not None
    return person.id


async def test_a_childs_question_is_asked_in_the_chat_and_a_turn_at_work_is_not_waiting(database: Database) -> None:
    agent = agent_with(graph="parent", tools=("look", "rm"), allow_users=("ann",))
    async with open_house(database, agents=[agent], graphs=[parent_graph()]) as house:
        house.rules["exec"] = Permit.ASK
        thinking = Held("")
        house.provider.script += [thinking, asking(call(1, "rm")), "Done."]
        received = await house.say("Tidy up")
        await thinking.until_begun()
        assert (await house.timeline(received.message_id)).status is MessageStatus.RUNNING
        thinking.text = "<AGENT_CONTINUE>on</AGENT_CONTINUE>"
        thinking.go.set()
        await house.until_status(received.message_id, MessageStatus.WAITING)
        waits = (await house.insights.waits(open_only=True, limit=10, cursor=None)).items
        assert [wait.kind for wait in waits] == [WaitKind.APPROVAL]
        assert "wants to use the tool rm" in (await house.until_sent(1))[-1]


async def test_stop_ends_a_turn_with_its_child(database: Database) -> None:
    async with open_house(database, agents=[agent_with(graph="parent")], graphs=[parent_graph()]) as house:
        thinking = Held("")
        house.provider.script.append(thinking)
        received = await house.say("Do it")
        await thinking.until_begun()
        await house.say("/stop")
        await house.until_status(received.message_id, MessageStatus.CANCELLED)
        await thinking.until_cancelled()


async def test_q3_nobody_overtakes_a_turn_whose_child_works(database: Database) -> None:
    async with open_house(database, agents=[agent_with(graph="parent")], graphs=[parent_graph()]) as house:
        thinking = Held("One.")
        house.provider.script += [thinking, "Two."]
        first = await house.say("one")
        await thinking.until_begun()
        second = await house.say("two")
        assert len(house.provider.asked) == 1
        thinking.go.set()
        await house.until_status(second.message_id, MessageStatus.ANSWERED)
        assert (await house.timeline(first.message_id)).reply == "One."
        assert await house.until_sent(2) == ["One.", "Two."]


async def test_while_a_child_waits_for_a_person_the_talk_goes_on(database: Database) -> None:
    agents = [agent_with(graph="parent", tools=("look", "rm"), allow_users=("ann", "bob", "owner"))]
    async with open_house(database, agents=agents, graphs=[parent_graph()]) as house:
        house.provider.script += [asking(call(1, "rm")), "Two.", "One."]
        first = await house.say("one")
        await house.until_status(first.message_id, MessageStatus.WAITING)
        second = await house.say("two", user="bob")
        assert (await house.until_status(second.message_id, MessageStatus.ANSWERED)).reply == "Two."
        await house.say("yes", user="owner")
        assert (await house.until_status(first.message_id, MessageStatus.ANSWERED)).reply == "One."


async def test_a_schedule_is_not_run_again_while_its_child_works(database: Database) -> None:
    async with open_house(database, graphs=[parent_graph()]) as house:
        thinking = Held("One.")
        house.provider.script.append(thinking)
        await run(house, TaskSpec("Work."), graph="parent")
        await thinking.until_begun()
        with pytest.raises(AssertionError):
            await run(house, TaskSpec("Again."), graph="parent")
        thinking.go.set()
        assert await house.until_sent(1) == ["One."]


# -- ends ------------------------------------------------------------------------------------------------------


async def waiting_run(worker: House) -> str:
    """A run that asks for a person's word; its id."""
    worker.provider.script += [asking(call(1, "rm", words="all")), "Gone."]
    ann = await worker.store.write(lambda tx: tx.principals.seen(PLATFORM, "ann", "Ann", None, 0).id)
    execution_id = await run(worker, TaskSpec("Tidy up."), principal_id=ann)
    await worker.until_sent(1)
    await worker.until_idle()
    return execution_id


async def test_a_run_that_waits_for_a_person_can_be_cancelled_and_its_schedule_knows(worker: House) -> None:
    await waiting_run(worker)
    (job,) = await worker.jobs("cron")
    await worker.operations.cancel_job(job.id)
    assert (await occurrence(worker)).status is OccurrenceStatus.CANCELLED


async def test_a_waiting_run_that_is_cancelled_by_its_id_is_over_for_its_schedule(worker: House) -> None:
    await worker.operations.cancel_execution(await waiting_run(worker))
    assert (await occurrence(worker)).status is OccurrenceStatus.CANCELLED


async def test_a_failed_run_that_is_retried_by_hand_and_ends_well_has_gone_well(house: House) -> None:
    house.provider.script += [ProviderError(ProviderErrorKind.AUTH, "No entry"), "Well."]
    await run(house, TaskSpec("Do it."))
    assert (await occurrence(house)).status is OccurrenceStatus.FAILED
    (job,) = await house.jobs("cron")
    await house.operations.retry_job(job.id)
    assert await house.until_sent(1) == ["Well."]
    assert (await occurrence(house)).status is OccurrenceStatus.DONE


async def test_who_waits_for_a_childs_question_is_told_so(database: Database) -> None:
    agents = [agent_with(graph="parent", tools=("look", "rm"), allow_users=("ann", "owner"))]
    async with open_house(database, agents=agents, graphs=[parent_graph()]) as house:
        house.provider.script += [asking(call(1, "rm")), "One."]
        first = await house.say("one")
        await house.until_status(first.message_id, MessageStatus.WAITING)
        await house.say("yes", user="owner")
        await house.until_status(first.message_id, MessageStatus.ANSWERED)
        assert house.statuses(first.message_id)[:3] == ["running", "waiting", "running"]


async def test_a_change_that_a_child_wants_is_asked_about_in_the_chat(database: Database) -> None:
    agent = agent_with(graph="parent")
    graphs = [parent_graph(frozenset({Label.TOOLS}))]
    async with open_house(database, agents=[agent], graphs=graphs) as house:
        sticky = "Kept. [MEMORY:sticky] Never sell. [/MEMORY]"
        house.provider.script.append(sticky)
        received = await house.say("Remember it")
        await house.until_status(received.message_id, MessageStatus.ANSWERED)
        assert any("wants to remember" in text for text in await house.until_sent(2))


async def test_a_change_that_a_run_wants_is_asked_about_where_it_posts(house: House) -> None:
    house.provider.script.append("[MEMORY:sticky] Never sell. [/MEMORY]")
    await run(house, TaskSpec("Read the news.", taint=frozenset({Label.TOOLS})))
    assert any("wants to remember" in text for text in await house.until_sent(2))
