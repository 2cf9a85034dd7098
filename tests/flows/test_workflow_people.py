"""Nodes that communicate with people in a real chat: approvals, questions, responses, transfers (seed 002)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from arvis.domain.errors import Conflict, Forbidden, Unprocessable
from arvis.domain.executions import ExecutionStatus
from arvis.domain.messages import Address, MessageStatus, Principal, PrincipalRole
from arvis.domain.triggers import Trigger
from arvis.domain.workflows import Workflow
from arvis.messaging.owner_alerts import choose_place
from arvis.ports.store import Transaction
from arvis.store.open import Database
from tests.flows.app_harness import HELPER, AppHarness, agent_with, open_app
from tests.flows.drawn_kit import drawing, node
from tests.flows.people_kit import ANN, BOB, OWNER, TRIGGER, approval, begun, decide, drawn, ended, lines, question
from tests.flows.scripted import BOT, PLATFORM


@pytest.fixture
async def app(database: Database) -> AsyncIterator[AppHarness]:
    async with open_app(database, agents=[agent_with(allow_users=("ann",))]) as app:
        yield app


# -- approvals ---------------------------------------------------------------------------------------------------------


async def test_an_approval_is_asked_where_the_run_was_begun_and_says_who_answered(app: AppHarness) -> None:
    run_id = await begun(app, await drawn(app, approval()))
    wait = await question(app)
    (shown,) = await app.until_sent(1)
    assert "Send hello?" in shown
    assert [button.label for button in app.connector.sent[0].buttons] == ["approve", "reject"]
    await decide(app, wait, "approve", note="go ahead")
    run = await ended(app, run_id)
    given = run.state["ok_approval"]
    assert {**given, "at": 0} == {"decision": "approve", "note": "go ahead", "by": "owner", "at": 0}
    assert run.state["out:ok"]["output"] == given
    assert await lines(app, run_id, "input_received") == ["approve by owner: go ahead"]
    assert (await app.until_sent(2))[1:] == ["It is sent."]


async def test_a_question_for_words_is_not_answered_by_a_mere_decision(app: AppHarness) -> None:
    document = drawing(TRIGGER, node("ask", "user-input", "Ask", prompt="What shall I write?"), ways=["go > ask"])
    run_id = await begun(app, await drawn(app, document))
    wait = await question(app)
    with pytest.raises(Unprocessable, match="needs a text"):
        await decide(app, wait, "approve")
    await app.say("approve")
    run = await ended(app, run_id)
    assert run.state["out:ask"]["output"] == "approve"


async def test_of_two_answers_at_once_one_counts_and_the_other_hears_of_it(app: AppHarness) -> None:
    run_id = await begun(app, await drawn(app, approval()))
    wait = await question(app)
    answers = (decide(app, wait, "approve"), decide(app, wait, "reject"))
    found = await asyncio.gather(*answers, return_exceptions=True)
    assert sorted(type(each).__name__ for each in found) == ["Conflict", "NoneType"]
    await ended(app, run_id)
    with pytest.raises(Conflict):
        await decide(app, wait, "approve")


@pytest.mark.parametrize(
    ("approvers", "by", "may"),
    [
        ([], BOB, False),
        (["operators"], BOB, True),
        (["members"], ANN, True),
        ([f"{PLATFORM}:ann"], ANN, True),
        ([f"{PLATFORM}:ann"], BOB, False),
        ([f"{PLATFORM}:ann"], OWNER, True),
    ],
)
async def test_who_may_answer_is_said_by_the_node(
    app: AppHarness, approvers: list[str], by: Principal, may: bool
) -> None:
    run_id = await begun(app, await drawn(app, approval(approvers=approvers)))
    wait = await question(app)
    if may:
        await decide(app, wait, "approve", by)
        assert (await ended(app, run_id)).status is ExecutionStatus.DONE
    else:
        with pytest.raises(Forbidden):
            await decide(app, wait, "approve", by)


@pytest.mark.parametrize(
    ("said", "decision"),
    [("Approve, but be quick", "approve"), ("yes", "approve"), ("reject: too early", "reject"), ("no", "reject")],
)
async def test_a_word_in_the_chat_decides(app: AppHarness, said: str, decision: str) -> None:
    run_id = await begun(app, await drawn(app, approval(approvers=["members"])))
    await question(app)
    await app.until_sent(1)
    await app.say(said)
    assert (await ended(app, run_id)).state["ok_approval"]["decision"] == decision


async def test_what_cannot_be_read_is_no_decision(app: AppHarness) -> None:
    run_id = await begun(app, await drawn(app, approval(approvers=["members"])))
    wait = await question(app)
    await app.until_sent(1)
    await app.ask("I do not approve of the weather")
    await decide(app, wait, "feedback", text="what is this?")
    again = await question(app, but=wait.id)
    assert again.prompt == wait.prompt
    assert len(await lines(app, run_id, "warning")) == 1
    await decide(app, again, "reject")
    assert (await ended(app, run_id)).state["ok_approval"]["decision"] == "reject"


@pytest.mark.parametrize(("way", "decision"), [(None, "reject"), ("reject", "reject"), ("approve", "approve")])
async def test_after_the_deadline_the_node_says_what_counts(app: AppHarness, way: str | None, decision: str) -> None:
    data = {"deadlineMinutes": 10, **({"onExpiry": way} if way else {})}
    run_id = await begun(app, await drawn(app, approval(**data)))
    await question(app)
    await app.pass_time(601)
    given = (await ended(app, run_id)).state["ok_approval"]
    assert (given["decision"], given["by"]) == (decision, "nobody")


async def test_after_the_deadline_the_run_may_fail(app: AppHarness) -> None:
    run_id = await begun(app, await drawn(app, approval(deadlineMinutes=10, onExpiry="fail")))
    await question(app)
    await app.pass_time(601)
    assert (await ended(app, run_id)).status is ExecutionStatus.FAILED


async def test_without_a_deadline_it_waits_for_ever(app: AppHarness) -> None:
    await begun(app, await drawn(app, approval()))
    assert (await question(app)).expires_at is None


async def test_an_escalated_question_is_asked_again_and_the_owners_are_told(app: AppHarness) -> None:
    await app.store.write(choose_place, Address(PLATFORM, BOT, "office"), 0)
    data = {"deadlineMinutes": 10, "onExpiry": "escalate", "escalateMinutes": 20}
    run_id = await begun(app, await drawn(app, approval(**data)))
    first = await question(app)
    await app.pass_time(601)
    second = await question(app, but=first.id)
    await app.until_sent(1, "office")
    assert len(await lines(app, run_id, "escalated")) == 1
    await app.pass_time(1201)
    given = (await ended(app, run_id)).state["ok_approval"]
    assert (given["decision"], second.prompt) == ("reject", first.prompt)


# -- questions to the person -------------------------------------------------------------------------------------------


def asking(**data: Any) -> dict[str, Any]:
    return drawing(
        TRIGGER,
        node("q", "user-input", "Colour", prompt="Which colour?", **data),
        node("r", "response", "R", template="You said {{Colour}}."),
        ways=["go > q > r"],
    )


async def test_the_next_message_of_the_person_is_the_answer(app: AppHarness) -> None:
    run_id = await begun(app, await drawn(app, asking()))
    await question(app)
    assert (await app.until_sent(1)) == ["Which colour?"]
    await app.say("Not me", user="bob")
    message = (await app.say("Blue")).message_id
    run = await ended(app, run_id)
    assert (run.state["out:q"]["output"], run.state["taint"]) == ("Blue", [])
    await app.until_status(message, MessageStatus.ANSWERED)
    assert "You said Blue." in [each.content for each in await app.deliveries()]


async def test_who_answers_in_the_persons_place_taints_the_run(app: AppHarness) -> None:
    run_id = await begun(app, await drawn(app, asking()))
    await decide(app, await question(app), "answer", text="Red")
    run = await ended(app, run_id)
    assert (run.state["out:q"]["output"], run.state["taint"]) == ("Red", ["people"])


async def test_a_question_that_nobody_answers_in_time_fails_the_run(app: AppHarness) -> None:
    run_id = await begun(app, await drawn(app, asking(deadlineMinutes=1)))
    await question(app)
    await app.pass_time(61)
    assert (await ended(app, run_id)).status is ExecutionStatus.FAILED


# -- responses ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("last", ["Second.", "First."])
async def test_what_is_said_on_the_way_is_said_once(app: AppHarness, last: str) -> None:
    document = drawing(
        TRIGGER,
        node("a", "response", "A", template="First."),
        node("w", "wait", amount=0),
        *([node("b", "response", "B", template=last)] if last != "First." else []),
        ways=["go > a > w > b"] if last != "First." else ["go > a > w"],
    )
    run_id = await begun(app, await drawn(app, document))
    await ended(app, run_id)
    await app.until_idle()
    assert [each.content for each in await app.deliveries()] == list(dict.fromkeys(["First.", last]))


async def test_an_agent_may_word_a_response(app: AppHarness) -> None:
    document = drawing(TRIGGER, node("a", "response", "A", template="It rains.", compose=True), ways=["go > a"])
    app.provider.script.append("Take an umbrella.")
    run_id = await begun(app, await drawn(app, document))
    await ended(app, run_id)
    await app.until_idle()
    assert [each.content for each in await app.deliveries()] == ["Take an umbrella."]
    assert "It rains." in app.provider.prompts[0][-1]


# -- turns -------------------------------------------------------------------------------------------------------------


def _switch_on(tx: Transaction, workflow: Workflow, words: str) -> None:
    tx.workflows.update(replace(workflow, enabled=True))
    tx.workflows.set_triggers(workflow.id, [Trigger(workflow.id, "go", "message", words=words)])


async def test_a_turn_hears_each_text_once_and_the_last_is_its_reply(app: AppHarness) -> None:
    document = drawing(
        TRIGGER,
        node("a", "response", "A", template="I begin."),
        node("q", "user-input", "Q", prompt="Which colour?"),
        node("b", "response", "B", template="So {{PREVIOUS_OUTPUT}}."),
        ways=["go > a > q > b"],
    )
    workflow = await drawn(app, document)
    await app.store.write(_switch_on, workflow, "paint")
    message = (await app.say("paint it")).message_id
    await app.until_sent(2)
    answer = (await app.say("Blue")).message_id
    assert (await app.until_status(message, MessageStatus.ANSWERED)).reply == "So Blue."
    await app.until_status(answer, MessageStatus.ANSWERED)
    await app.until_idle()
    assert [each.content for each in await app.deliveries()] == ["I begin.", "Which colour?", "So Blue."]


async def test_a_turn_that_is_transferred_is_answered_by_the_other_workflow(app: AppHarness) -> None:
    there = drawing(TRIGGER, node("r", "response", "R", template="From there: {{trigger}}"), ways=["go > r"])
    await drawn(app, there, "there")
    away = drawing(
        TRIGGER,
        node("a", "response", "A", template="One moment."),
        node("t", "transfer", "T", workflow="there"),
        ways=["go > a > t"],
    )
    await app.store.write(_switch_on, await drawn(app, away), "over")
    message = (await app.say("over to you")).message_id
    assert (await app.until_status(message, MessageStatus.ANSWERED)).reply == "From there: One moment."
    await app.until_idle()
    assert [each.content for each in await app.deliveries()] == ["One moment.", "From there: One moment."]


async def test_an_approval_of_a_turn_is_asked_in_its_chat(app: AppHarness) -> None:
    await app.store.write(_switch_on, await drawn(app, approval(approvers=["members"])), "send")
    message = (await app.say("send it")).message_id
    await app.until_status(message, MessageStatus.WAITING)
    (shown,) = await app.until_sent(1)
    assert "Anyone who may use this agent can answer" in shown
    await app.say("reject")
    assert (await app.until_status(message, MessageStatus.ANSWERED)).reply == "It is not sent."


@pytest.mark.parametrize(("role", "status"), [("member", ExecutionStatus.FAILED), ("owner", ExecutionStatus.DONE)])
async def test_a_drawing_opens_no_door_to_a_stronger_agent(app: AppHarness, role: str, status: ExecutionStatus) -> None:
    strong = replace(HELPER, id="agent-strong", slug="strong", name="Strong", tools=("rm",))
    await app.store.write(lambda tx: tx.agents.add(strong, 0))
    document = drawing(TRIGGER, node("a", "agent", "A", agent="strong", userPrompt="Go."), ways=["go > a"])
    run = await ended(app, await begun(app, await drawn(app, document), user=role, role=PrincipalRole(role)))
    assert run.status is status
    assert ("may not be used in this run" in (run.error or "")) == (status is ExecutionStatus.FAILED)
