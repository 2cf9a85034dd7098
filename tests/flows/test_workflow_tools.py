"""`start_workflow` and `abort_workflow`: the turn ends with the start, and the results begin the agent's next turn."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from arvis.domain.errors import ProviderError, ProviderErrorKind, ToolError
from arvis.domain.executions import Execution, ExecutionStatus
from arvis.domain.messages import Address, MessageStatus
from arvis.domain.money import Client, ClientChannel
from arvis.domain.tools import Permit
from arvis.llm.prices import Price, Prices
from arvis.ports.insights import MessageTimeline
from arvis.ports.store import Transaction
from arvis.ports.tool import Caller, ToolServices
from arvis.services.billing import add_client, bind_channel
from arvis.store.open import Database
from arvis.tools import abort_workflow, start_workflow
from arvis.turns import cancellation
from arvis.turns.workflow_tools import MOST_STARTS, WorkflowStarter, start
from tests.flows.app_harness import AppHarness, agent_with, open_app
from tests.flows.scripted import PLATFORM, Held, asking, call
from tests.flows.workflow_kit import asks, chain, draw, ended_run, log_of, node, runs_of

TOOLS = ("start_workflow", "abort_workflow", "look")
PRICES = Prices(own={"model": Price(1, 2)})
#: The cost of a scripted call.
CALL = 10 * 1 + 5 * 2
LONG = chain(node("s", "start"), node("w", "wait", amount=1, unit="days"), asks())


@pytest.fixture
async def desk(database: Database) -> AsyncIterator[AppHarness]:
    async with open_app(database, agents=[agent_with(tools=TOOLS, allow_users=("ann",))], prices=PRICES) as app:
        services = ToolServices(
            **dict.fromkeys(("store", "clock", "fetcher", "http", "sandbox", "secrets", "search", "reader")),  # type: ignore[arg-type]
            workflows=WorkflowStarter(store=app.store, bus=app.bus, clock=app.clock),
        )
        starting = start_workflow.create(services)
        assert isinstance(starting, start_workflow.StartTool)
        await draw(app, "Daily", chain(node("s", "start"), asks("Digest {{PREVIOUS_OUTPUT}}")), description="a digest")
        await draw(app, "Long", LONG)
        app.tools.more += [await starting.current(), abort_workflow.create(services)]
        app.rules |= dict.fromkeys(TOOLS, Permit.ALWAYS)
        yield app


async def results(desk: AppHarness) -> MessageTimeline:
    """Return the turn that brings the results, once it is answered."""

    async def check() -> MessageTimeline | None:
        found = [each for each in await desk.jobs() if each.message_id is not None]
        for job in found:
            timeline = await desk.insights.message(job.message_id or "")
            if (
                timeline is not None
                and timeline.message.route == "workflow"
                and timeline.status is MessageStatus.ANSWERED
            ):
                return timeline
        return None

    return await desk.until(check)


async def test_the_turn_ends_and_the_results_are_the_next_one(desk: AppHarness) -> None:
    long = "x" * 300
    desk.provider.script += [asking(call(1, "start_workflow", workflow="daily", input="of May")), long, "Here you are."]
    answered = await desk.ask("The digest, please")
    workflow = await desk.store.read(lambda tx: tx.workflows.by_slug("daily"))
    assert workflow is not None
    run = await ended_run(desk, workflow)
    assert answered.reply == f"The workflow Daily has started (run {run.id}). I will report its results when it ends."
    told = await results(desk)
    assert told.reply == "Here you are."
    assert len(desk.provider.asked) == 3  # no further call in the turn that started it
    heard = desk.provider.prompts[2][-1]
    assert f"[The workflow Daily that you started is done (run {run.id}).]" in heard
    assert "- s: of May" in heard
    assert f"- Work: {'x' * 199}…" in heard
    assert desk.provider.prompts[2][0] == "user: The digest, please"
    assert (run.state["run"]["source"], run.principal_id) == (
        f"agent:{answered.message.execution_id}",
        told.message.principal_id,
    )


async def test_the_customer_pays_for_the_run_and_its_results_but_for_one_task(desk: AppHarness) -> None:
    customer = await desk.store.write(paying)
    desk.provider.script += [asking(call(1, "start_workflow", workflow="daily", input="x")), "Done.", "Here you are."]
    await desk.ask("The digest, please")
    await results(desk)
    assert await charged(desk, customer) == [CALL, CALL, 500 + CALL]


async def test_the_customer_pays_once_for_a_turn_that_goes_on_in_another_workflow(desk: AppHarness) -> None:
    customer = await desk.store.write(paying)
    away = node("go", "transfer", workflow="daily")
    await draw(desk, "Away", chain(node("begin", "trigger", kind="message", words="away"), asks(), away))
    desk.provider.script += ["First.", "Second."]
    assert (await desk.ask("away")).reply == "Second."
    assert await charged(desk, customer) == [CALL, 500 + CALL]


def paying(tx: Transaction) -> Client:
    """Add a customer who pays for the room."""
    client = add_client(tx, Client("", "Acme", price_per_task=500, token_factor_milli=1000), 0)
    bind_channel(tx, client.id, ClientChannel(PLATFORM, "room"), 0)
    return client


async def charged(desk: AppHarness, customer: Client) -> list[int]:
    page = await desk.insights.charges(customer.id, since=0, until=None, limit=50, cursor=None)
    return sorted(charge.amount for charge in page.items)


async def test_the_description_tells_which_there_are(desk: AppHarness) -> None:
    desk.provider.script.append("Hi.")
    await desk.ask("Hello")
    (spec,) = [each for each in desk.provider.asked[0].tools if each.name == "start_workflow"]
    assert "- daily: a digest" in spec.description
    assert "- long: Long" in spec.description


async def test_a_failed_run_comes_back_too(desk: AppHarness) -> None:
    bad = ProviderError(ProviderErrorKind.BAD_REQUEST, "The model said no.")
    desk.provider.script += [asking(call(1, "start_workflow", workflow="daily", input="x")), bad, "It went wrong."]
    await desk.ask("The digest, please")
    told = await results(desk)
    assert told.reply == "It went wrong."
    assert "that you started has failed" in desk.provider.prompts[-1][-1]
    assert "Error: Work: The model said no." in desk.provider.prompts[-1][-1]


async def test_one_that_is_not_there_leaves_the_turn_going(desk: AppHarness) -> None:
    desk.provider.script += [asking(call(1, "start_workflow", workflow="none")), "There is none."]
    answered = await desk.ask("Go")
    assert answered.reply == "There is none."
    (output,) = desk.provider.asked[1].turns[-1].outputs
    assert output.failed
    assert "There is no workflow 'none'. Workflows:\n- daily" in output.content


async def test_only_what_it_started_here_can_be_aborted(desk: AppHarness) -> None:
    workflow = await desk.store.read(lambda tx: tx.workflows.by_slug("long"))
    assert workflow is not None
    desk.provider.script.append(asking(call(1, "start_workflow", workflow="long")))
    await desk.ask("Begin")
    (run,) = await runs_of(desk, workflow)
    desk.provider.script += [asking(call(1, "abort_workflow", run=run.id)), "No."]
    other = await desk.ask("End it", channel="elsewhere")
    assert other.reply == "No."
    assert "You started no run" in desk.provider.asked[-1].turns[-1].outputs[0].content
    desk.provider.script += [asking(call(1, "abort_workflow", run=run.id)), "Ended.", "I know."]
    assert (await desk.ask("End it")).reply == "Ended."
    run = await ended_run(desk, workflow)
    assert run.status is ExecutionStatus.CANCELLED
    assert (await log_of(desk, run.id))[-1] == ("system", "run_end", "cancelled: the agent helper")
    assert (await results(desk)).reply == "I know."
    assert "was cancelled" in desk.provider.prompts[-1][-1]


async def test_what_came_back_starts_another_only_with_a_persons_word(desk: AppHarness) -> None:
    again = asking(call(1, "start_workflow", workflow="daily", input="x"))
    desk.provider.script += [again, "done", again]
    await desk.ask("Go")

    async def asked() -> str | None:
        waits = (await desk.insights.waits(open_only=True, limit=10, cursor=None)).items
        return waits[0].prompt if waits else None

    assert "start_workflow" in await desk.until(asked)


async def test_a_chain_without_a_person_is_bounded(desk: AppHarness) -> None:
    held = Held()
    desk.provider.script.append(held)
    received = await desk.say("Go")
    await held.until_begun()
    message = await desk.timeline(received.message_id)
    agent = agent_with(tools=TOOLS)

    def at_the_end(tx: Transaction) -> Execution:
        turn = tx.executions.get(message.message.execution_id or "")
        assert turn is not None
        tx.executions.save(replace(turn, state={**turn.state, "lineage": {"starts": MOST_STARTS}}))
        return turn

    turn = await desk.store.write(at_the_end)
    place = Address.from_json(turn.state["address"])
    caller = Caller(agent, turn.principal_id, turn.state["conversation"], turn.id, place, "c", Path(), "UTC")
    with pytest.raises(ToolError, match="workflows in a row"):
        await desk.store.write(start, caller, "daily", "x", desk.clock.now())


async def test_the_same_call_starts_it_once(desk: AppHarness) -> None:
    held = Held()
    desk.provider.script.append(held)
    received = await desk.say("Go")
    await held.until_begun()
    message = await desk.timeline(received.message_id)
    turn = await desk.store.read(lambda tx: tx.executions.get(message.message.execution_id or ""))
    assert turn is not None
    place = Address.from_json(turn.state["address"])
    talk = turn.state["conversation"]
    caller = Caller(agent_with(), turn.principal_id, talk, turn.id, place, "c", Path(), "UTC")
    for _ in range(2):
        assert "has started" in await desk.store.write(start, caller, "long", "", desk.clock.now())
    workflow = await desk.store.read(lambda tx: tx.workflows.by_slug("long"))
    assert workflow is not None
    assert len(await runs_of(desk, workflow)) == 1


async def test_where_others_words_may_have_led_to_it_a_person_is_asked(desk: AppHarness) -> None:
    desk.provider.script += [
        asking(call(1, "look", words="a page")),
        asking(call(2, "start_workflow", workflow="long")),
        "Not then.",
    ]
    received = await desk.say("Look there")
    await desk.until_status(received.message_id, MessageStatus.WAITING)
    (wait,) = (await desk.insights.waits(open_only=True, limit=10, cursor=None)).items
    assert "start_workflow" in wait.prompt
    await desk.store.write(cancellation.cancel_turn, wait.execution_id, "ann", desk.clock.now())


async def test_no_run_of_its_own_starts_one(desk: AppHarness) -> None:
    """A workflow's agent has the tool, but no conversation for the results."""
    desk.provider.script += [
        asking(call(1, "start_workflow", workflow="daily", input="x")),
        asking(call(1, "start_workflow", workflow="daily", input="x")),
        "I could not.",
        "So it was.",
    ]
    await desk.ask("Go")
    assert (await results(desk)).reply == "So it was."
    assert "You are not in a conversation." in desk.provider.asked[2].turns[-1].outputs[0].content


def test_both_are_installed() -> None:
    assert {"start_workflow", "abort_workflow"} <= {point.name for point in entry_points(group="arvis.tools")}
