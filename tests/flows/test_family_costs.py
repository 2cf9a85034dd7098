"""The cost of a message includes everything that it started: its timeline counts the calls of all executions below its
turn."""

from __future__ import annotations

from arvis.store.open import Database
from tests.flows.app_harness import HELPER, AppHarness, agent_with, open_app
from tests.flows.planning_kit import PlanningModel, ask, planning_app
from tests.flows.scripted import said
from tests.flows.test_runs import parent_graph
from tests.flows.workflow_kit import asks, chain, draw, node


async def test_a_timeline_counts_the_calls_of_a_child(database: Database) -> None:
    async with open_app(database, agents=[agent_with(graph="parent")], graphs=[parent_graph()]) as app:
        app.provider.script.append(said("One."))
        timeline = await app.ask("one")
        calls = [step for step in timeline.steps if step.step == "model_call"]
        assert (len(calls), timeline.input_tokens, timeline.output_tokens) == (1, 10, 5)


async def test_a_timeline_counts_the_calls_of_a_task_that_the_turn_gave(database: Database) -> None:
    worker = agent_with(id="agent-worker", slug="worker", name="Worker")
    async with open_app(database, agents=[HELPER, worker]) as app:
        app.provider.script += [said("It goes on. [DELEGATE:worker] Dig. [/DELEGATE]"), said("Dug.")]
        asked = await app.say("Dig", user="owner")
        await app.until_sent(2)
        await app.until_idle()
        timeline = await app.timeline(asked.message_id)
        calls = [step for step in timeline.steps if step.step == "model_call"]
        assert [step.data.get("agent") for step in calls] == [None, "worker"]
        assert (timeline.input_tokens, timeline.output_tokens) == (20, 10)


async def test_a_timeline_counts_every_part_of_a_plan(database: Database) -> None:
    model = PlanningModel()
    async with planning_app(database, model) as app:
        timeline = await app.timeline((await ask(app)).message.id)
        calls = [step for step in timeline.steps if step.step == "model_call"]
        assert model.parts == ["plan_retrieval", "planner", "reasoning", "action", "skill_critic", "output"]
        assert len(calls) == len(model.asked)
        assert (timeline.input_tokens, timeline.output_tokens) == (10 * len(calls), 5 * len(calls))


async def test_a_timeline_counts_the_calls_of_the_workflow_that_answered(app: AppHarness) -> None:
    await draw(app, "Digging", chain(node("begin", "trigger", kind="message"), asks(), {**asks(), "id": "More"}))
    app.provider.script += [said("Dug."), said("Dug deeper.")]
    answered = await app.ask("Dig")
    timeline = await app.timeline(answered.message.id)
    calls = [step for step in timeline.steps if step.step == "model_call"]
    assert timeline.reply == "Dug deeper."
    assert (len(calls), timeline.input_tokens, timeline.output_tokens) == (2, 20, 10)
