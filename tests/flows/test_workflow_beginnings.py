"""Starts of workflow runs by messages, commands, schedules, webhooks and agents, and the effects of their ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from arvis.cli.commands.explain import story
from arvis.domain.agents import Agent
from arvis.domain.errors import NotFound, ProviderError, ProviderErrorKind, Unprocessable
from arvis.domain.executions import Execution, ExecutionStatus
from arvis.domain.messages import Address, MessageStatus
from arvis.domain.schedules import Cause, Missed, OccurrenceStatus, Schedule, ScheduleKind
from arvis.domain.taint import taint_in
from arvis.domain.webhooks import Preset, Webhook
from arvis.domain.workflows import Workflow
from arvis.ports.store import Transaction
from arvis.scheduler import beginning
from arvis.services.graph_selection import matching
from arvis.services.schedules import Rules, add_schedule
from arvis.services.webhooks import HookCall, add_webhook, take_call
from arvis.services.workflow_runs import NewWorkflowRun, begin, find, place_of
from arvis.store.open import Database
from arvis.tasks.task import is_run
from arvis.turns import cancellation
from arvis.web.http.views import TimelineView
from tests.flows.app_harness import HELPER, AppHarness, agent_with, open_app
from tests.flows.scripted import BOT, PLATFORM, Held
from tests.flows.workflow_kit import asks, chain, draw, ended_run, log_of, node, runs_of, triggered

BAD = ProviderError(ProviderErrorKind.BAD_REQUEST, "The model said no.")
_NONE: dict[str, Any] = {"last_run": None, "next_run": None, "created_at": 0, "updated_at": 0}


async def test_one_matching_trigger_takes_the_message_and_its_result_is_the_reply(app: AppHarness) -> None:
    workflow = await draw(app, "Deploys", triggered("deploy, ship"))
    app.provider.script.append("It is shipped.")
    answered = await app.ask("Please SHIP it")
    assert answered.reply is not None
    assert answered.reply == "It is shipped."
    (run,) = await runs_of(app, workflow)
    assert not is_run(run)
    log = await log_of(app, run.id)
    assert log[0] == ("system", "start_prompt", "Please SHIP it")
    assert [each for each in log if each[1] == "run_end"] == [("system", "run_end", "completed")]
    row = await app.store.read(lambda tx: tx.workflow_runs.get(run.id))
    assert row is not None
    assert (row.source, row.version, row.entry) == ("message", 1, "begin")


async def test_a_warning_of_the_run_is_part_of_the_story_of_its_message(app: AppHarness) -> None:
    document = chain(
        node("begin", "trigger", kind="message"), node("Sort", "router", routes=[{"label": "Delete"}]), asks()
    )
    document["connections"][1]["sourceHandle"] = "route-0"
    workflow = await draw(app, "Sorting", document)
    app.provider.script += ["hmm, none of them", "none", "It is gone."]
    answered = await app.ask("What now?")
    (run,) = await runs_of(app, workflow)
    (warning,) = [content for _, kind, content in await log_of(app, run.id) if kind == "warning"]
    told = await app.timeline(answered.message.id)
    shown = TimelineView.of(told).to_json()
    (step,) = [step for step in shown["steps"] if step["step"] == "warning"]
    assert (step["node"], step["warning"]) == ("Sort", warning)
    assert any(f"after a warning at Sort: {warning}" in line for line in story(shown))


@pytest.mark.parametrize("text", ["Shipping is fine", "Hello", "deployment"])
async def test_a_message_without_the_words_is_the_agents(app: AppHarness, text: str) -> None:
    workflow = await draw(app, "Deploys", triggered("deploy, ship"))
    assert (await app.ask(text)).reply is not None
    assert await runs_of(app, workflow) == []


@pytest.mark.parametrize(
    "trigger",
    [
        {"channel": "elsewhere"},
        {"platform": "telegram"},
        {"kind": "dashboard"},
        {"agent": "conductor"},
    ],
)
async def test_a_trigger_that_does_not_fit_the_place_or_the_agent(app: AppHarness, trigger: dict[str, str]) -> None:
    workflow = await draw(app, "All", triggered(**trigger))
    await app.ask("Hello")
    assert await runs_of(app, workflow) == []


@pytest.mark.parametrize(
    ("kind", "platform", "thread", "begins"),
    [
        ("dashboard", "web", "owner", True),
        ("dashboard", "web", "v1/key-1/one", False),
        ("chat-completions", "web", "v1/key-1/one", True),
        ("chat-completions", "web", "owner", False),
        ("chat-completions", PLATFORM, "", False),
        ("chat-app", PLATFORM, "", True),
        ("chat-app", "web", "v1/key-1/one", False),
        ("message", "web", "v1/key-1/one", True),
    ],
)
async def test_programs_over_the_api_of_models_have_triggers_of_their_own(
    app: AppHarness, kind: str, platform: str, thread: str, begins: bool
) -> None:
    await draw(app, "All", triggered(kind=kind))
    place = Address(platform, platform, "agent:helper", thread=thread)
    found = await app.store.read(lambda tx: matching(tx, place, "Hello"))
    assert bool(found) is begins


async def test_one_that_is_switched_off_begins_nothing_by_itself(app: AppHarness) -> None:
    workflow = await draw(app, "All", triggered(), on=False)
    await app.ask("Hello")
    assert await runs_of(app, workflow) == []


@pytest.mark.parametrize(("said", "chosen"), [("2", 1), ("Number 1.", 0), ("0", None), ("7", None), ("both?", None)])
async def test_of_several_a_model_chooses(app: AppHarness, said: str, chosen: int | None) -> None:
    first = await draw(app, "First", triggered(), description="does the first thing")
    second = await draw(app, "Second", triggered())
    app.provider.script += [said, "The answer."]
    answered = await app.ask("Hello there")
    assert answered.reply is not None
    assert answered.reply == "The answer."
    asked = app.provider.prompts[0][-1]
    assert "1. First: does the first thing" in asked
    assert "Hello there\n</message>" in asked
    counts = [len(await runs_of(app, each)) for each in (first, second)]
    assert counts == [int(chosen == 0), int(chosen == 1)]
    if chosen is not None:
        (run,) = await runs_of(app, (first, second)[chosen])
        assert (await log_of(app, run.id))[0] == ("system", "start_prompt", "Hello there")
        assert (await log_of(app, run.id))[-1][1] == "run_end"


async def test_where_the_choice_fails_the_agent_answers(app: AppHarness) -> None:
    await draw(app, "First", triggered())
    await draw(app, "Second", triggered())
    app.provider.script += [BAD, "I do it."]
    answered = await app.ask("Hello")
    assert answered.reply is not None
    assert answered.reply == "I do it."


async def test_a_failed_workflow_answers_with_a_notice_and_its_log_ends(app: AppHarness) -> None:
    workflow = await draw(app, "All", triggered())
    app.provider.script.append(BAD)
    received = await app.say("Hello")
    told = await app.until_status(received.message_id, MessageStatus.FAILED)
    assert told.reason == "workflow_failed"
    assert told.reply is not None
    assert told.reply.startswith("Sorry, this did not work: ")
    run = await ended_run(app, workflow)
    assert run.status is ExecutionStatus.FAILED
    log = await log_of(app, run.id)
    assert log[-1][1:] == ("run_end", "failed")
    assert sum(kind == "run_end" for _, kind, _ in log) == 1


async def test_an_agent_that_is_a_workflow(database: Database) -> None:
    async with open_app(database, agents=[agent_with(graph="workflow:every")]) as app:
        workflow = await draw(app, "Every", chain(node("s", "start"), asks("Do: {{PREVIOUS_OUTPUT}}")))
        app.provider.script.append("Done.")
        answered = await app.ask("this")
        assert answered.reply is not None
        assert answered.reply == "Done."
        assert app.provider.prompts[0][-1] == "user: Do: this"
        assert len(await runs_of(app, workflow)) == 1


async def test_an_agent_whose_workflow_is_gone_says_so(database: Database) -> None:
    async with open_app(database, agents=[agent_with(graph="workflow:gone")]) as app:
        received = await app.say("Hello")
        told = await app.until_status(received.message_id, MessageStatus.FAILED)
        assert told.reply is not None
        assert "There is no workflow 'gone'." in told.reply
        assert not app.provider.asked


# -- /run --------------------------------------------------------------------------------------------------


async def said_to(app: AppHarness, text: str, user: str) -> str:
    received = await app.say(text, user=user)
    timeline = await app.until_status(received.message_id, MessageStatus.ANSWERED)
    assert timeline.reply is not None
    return timeline.reply


async def test_run_begins_what_the_place_allows_and_posts_what_comes_of_it(app: AppHarness) -> None:
    daily = await draw(app, "Daily", chain(node("s", "start"), asks()), description="every day")
    await draw(app, "Local", triggered("xyz", channel="room"))
    assert (await said_to(app, "/run", "ann")).splitlines()[1:] == ["- local"]
    assert "There is no workflow 'daily' here." in await said_to(app, "/run daily", "ann")
    assert "- daily: every day" in await said_to(app, "/run", "owner")
    app.provider.script.append("The digest.")
    assert "“Daily” has started" in await said_to(app, "/run daily of today", "owner")
    run = await ended_run(app, daily)
    assert run.state["run"]["source"] == "chat"
    assert app.provider.prompts[-1][-1].endswith("of today")
    await app.until_idle()
    assert "The digest." in app.connector.texts


async def test_stop_ends_a_run_with_its_children(app: AppHarness) -> None:
    workflow = await draw(app, "Daily", chain(node("s", "start"), asks()))
    held = Held()
    app.provider.script.append(held)
    await said_to(app, "/run daily", "owner")
    await held.until_begun()
    assert await said_to(app, "/stop", "owner") == "The workflow was stopped."
    await held.until_cancelled()
    run = await ended_run(app, workflow)
    assert run.status is ExecutionStatus.CANCELLED
    assert (await log_of(app, run.id))[-1] == ("system", "run_end", "cancelled: Owner")


# -- schedules and webhooks -------------------------------------------------------------------------------


def scheduled(tx: Transaction, graph: str, now: int) -> tuple[str, str | None]:
    wanted = Schedule(
        id="", kind=ScheduleKind.CRON, agent_id=HELPER.id, name="", schedule="@daily", timezone=None, prompt="Look.",
        platform=PLATFORM, connector=BOT, channel="room", thread="", script=None, missed=Missed.ONCE, enabled=True,
        principal_id=None, graph=graph, **_NONE,
    )  # fmt: skip
    schedule = add_schedule(tx, wanted, Rules(), now)
    occurrence = beginning.begin(tx, schedule, now, Cause.DUE, now)
    assert occurrence is not None
    return schedule.id, occurrence.execution_id


async def test_a_schedule_runs_a_workflow_and_its_result_is_posted(app: AppHarness) -> None:
    nodes = (node("timed", "trigger", kind="calendar"), asks("{{trigger}}"))
    workflow = await draw(app, "Daily", chain(*nodes))
    app.provider.script.append("All is well.")
    schedule, execution = await app.store.write(scheduled, "workflow:DAILY".lower(), app.clock.now())
    run = await ended_run(app, workflow)
    assert (run.id, run.state["workflow"]["entry"]) == (execution, "timed")
    await app.until_sent(1)
    assert app.connector.texts == ["All is well."]
    (occurrence,) = await app.store.read(lambda tx: tx.occurrences.newest(schedule, 5))
    assert (occurrence.status, occurrence.report) == (OccurrenceStatus.DONE, "All is well.")


async def test_a_schedules_failed_run_is_a_failed_time(app: AppHarness) -> None:
    workflow = await draw(app, "Daily", chain(node("s", "start"), asks()))
    app.provider.script.append(BAD)
    schedule, _ = await app.store.write(scheduled, "workflow:daily", app.clock.now())
    await ended_run(app, workflow)
    (occurrence,) = await app.store.read(lambda tx: tx.occurrences.newest(schedule, 5))
    assert occurrence.status is OccurrenceStatus.FAILED
    assert app.connector.texts == []


async def test_a_schedule_names_only_a_workflow_that_is_there(app: AppHarness) -> None:
    with pytest.raises(Unprocessable, match="no workflow"):
        await app.store.write(scheduled, "workflow:none", app.clock.now())


async def test_a_web_hook_runs_a_workflow_with_what_came(app: AppHarness) -> None:
    workflow = await draw(app, "Calls", chain(node("hook", "trigger", kind="webhook"), asks()))

    def take(tx: Transaction, now: int) -> str:
        wanted = Webhook(
            id="", path="/calls", name="", agent_id=HELPER.id, preset=Preset.PLAIN, template="{{payload}}",
            platform=PLATFORM, connector=BOT, channel="room", thread="", secret="", secret_end="", enabled=True,
            principal_id=None, last_triggered=None, trigger_count=0, created_at=0, updated_at=0, graph="workflow:calls",
        )  # fmt: skip
        return take_call(tx, HookCall(add_webhook(tx, wanted, now), "id:1", "It broke."), now).execution_id

    app.provider.script.append("I look into it.")
    begun = await app.store.write(take, app.clock.now())
    run = await ended_run(app, workflow)
    assert run.id == begun
    assert run.state["workflow"] | {"trigger": ""} == {
        "id": workflow.id, "version": 1, "entry": "hook", "trigger": "", "input": "It broke.",
    }  # fmt: skip
    assert "tools" in {str(label) for label in taint_in(run.state)}
    await app.until_sent(1)
    assert app.connector.texts == ["I look into it."]


# -- runs of the API ---------------------------------------------------------------------------------------


def by_hand(tx: Transaction, name: str, now: int) -> Execution:
    workflow: Workflow = find(tx, name)
    agent = tx.agents.get(HELPER.id)
    assert agent is not None
    return begin(tx, NewWorkflowRun(workflow, agent, place_of(workflow), "api", input={"a": 1}), now)


async def test_what_the_api_began_is_not_posted(app: AppHarness) -> None:
    workflow = await draw(app, "By hand", chain(node("s", "start"), asks()), on=False)
    app.provider.script.append("Here it is.")
    begun = await app.store.write(by_hand, "by-hand", app.clock.now())
    run = await ended_run(app, workflow)
    assert (run.id, run.status) == (begun.id, ExecutionStatus.DONE)
    assert run.result["output"] == "Here it is."
    await app.until_idle()
    place = Address("web", "web", "workflow-by-hand")
    assert list(await app.insights.deliveries_after(place, 0, 10)) == []


async def test_a_cancelled_run_ends_its_log_once(app: AppHarness) -> None:
    workflow = await draw(app, "Long", chain(node("s", "start"), node("w", "wait", amount=1, unit="days"), asks()))
    begun = await app.store.write(by_hand, "long", app.clock.now())
    await app.until_idle()
    for _ in range(2):
        await app.store.write(cancellation.cancel_turn, begun.id, "an operator", app.clock.now())
    run = await ended_run(app, workflow)
    assert run.status is ExecutionStatus.CANCELLED
    assert [each for each in await log_of(app, run.id) if each[1] == "run_end"] == [
        ("system", "run_end", "cancelled: an operator")
    ]


async def test_what_is_not_there_or_not_whole_begins_nothing(app: AppHarness) -> None:
    with pytest.raises(NotFound, match="no workflow"):
        await app.store.write(by_hand, "none", app.clock.now())
    await draw(app, "Gone", chain(node("s", "start"), asks()))

    def unwhole(tx: Transaction) -> None:
        tx.workflows.update(replace(find(tx, "gone"), runnable=None))

    await app.store.write(unwhole)
    with pytest.raises(Unprocessable, match="no version that can run"):
        await app.store.write(by_hand, "gone", app.clock.now())


async def test_the_runs_agent_is_the_documents_else_the_given_one(database: Database) -> None:
    writer = Agent(id="agent-writer", slug="writer", name="Writer")
    async with open_app(database, agents=[HELPER, writer]) as app:
        workflow = await draw(app, "Daily", chain(node("s", "start"), asks(), agent="writer"))
        await said_to(app, "/run daily", "owner")
        run = await ended_run(app, workflow)
        assert run.state["agent"] == writer.id
