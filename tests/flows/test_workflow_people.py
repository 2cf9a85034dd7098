"""Nodes that talk with people, in a real chat: approvals, questions, responses, transfers of a turn (seed 002; vector L4)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from arvis.domain.errors import Conflict, Forbidden, Unprocessable
from arvis.domain.executions import ExecutionStatus
from arvis.domain.messages import Address, MessageStatus, Principal, PrincipalRole
from arvis.domain.workflows import Trigger, Workflow
from arvis.messaging.owner_alerts import choose_place
from arvis.ports.store import Transaction
from arvis.store.open import Database
from tests.flows.drawn_kit import drawing, node
from tests.flows.house import HELPER, House, agent_with, open_house
from tests.flows.people_kit import ANN, BOB, OWNER, TRIGGER, approval, begun, decide, drawn, ended, lines, question
from tests.flows.scripted import BOT, PLATFORM


@pytest.fixture
async def house(database: Database) -> AsyncIterator[House]:
    async with open_house(database, agents=[agent_with(allow_users=("ann",))]) as house:
        yield house


# -- approvals ---------------------------------------------------------------------------------------------------------


async def test_an_approval_is_asked_where_the_run_was_begun_and_says_who_answered(house: House) -> None:
    run_id = await begun(house, await drawn(house, approval()))
    wait = await question(house)
    (shown,) = await house.until_sent(1)
    assert "Send hello?" in shown
    assert [button.label for button in house.connector.sent[0].buttons] == ["approve", "reject"]
    await decide(house, wait, "approve", note="go ahead")
    run = await ended(house, run_id)
    given = run.state["ok_approval"]
    assert {**given, "at": 0} == {"decision": "approve", "note": "go ahead", "by": "owner", "at": 0}
    assert run.state["out:ok"]["output"] == given
    assert await lines(house, run_id, "input_received") == ["approve by owner: go ahead"]
    assert (await house.until_sent(2))[1:] == ["It is sent."]


async def test_a_question_for_words_is_not_answered_by_a_mere_decision(house: House) -> None:
    document = drawing(TRIGGER, node("ask", "user-input", "Ask", prompt="What shall I write?"), ways=["go > ask"])
    run_id = await begun(house, await drawn(house, document))
    wait = await question(house)
    with pytest.raises(Unprocessable, match="needs a text"):
        await decide(house, wait, "approve")
    await house.say("approve")
    run = await ended(house, run_id)
    assert run.state["out:ask"]["output"] == "approve"


async def test_of_two_answers_at_once_one_counts_and_the_other_hears_of_it(house: House) -> None:
    """Vector L4."""
    run_id = await begun(house, await drawn(house, approval()))
    wait = await question(house)
    answers = (decide(house, wait, "approve"), decide(house, wait, "reject"))
    found = await asyncio.gather(*answers, return_exceptions=True)
    assert sorted(type(each).__name__ for each in found) == ["Conflict", "NoneType"]
    await ended(house, run_id)
    with pytest.raises(Conflict):
        await decide(house, wait, "approve")


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
async def test_who_may_answer_is_said_by_the_node(house: House, approvers: list[str], by: Principal, may: bool) -> None:
    run_id = await begun(house, await drawn(house, approval(approvers=approvers)))
    wait = await question(house)
    if may:
        await decide(house, wait, "approve", by)
        assert (await ended(house, run_id)).status is ExecutionStatus.DONE
    else:
        with pytest.raises(Forbidden):
            await decide(house, wait, "approve", by)


@pytest.mark.parametrize(
    ("said", "decision"),
    [("Approve, but be quick", "approve"), ("yes", "approve"), ("reject: too early", "reject"), ("no", "reject")],
)
async def test_a_word_in_the_chat_decides(house: House, said: str, decision: str) -> None:
    run_id = await begun(house, await drawn(house, approval(approvers=["members"])))
    await question(house)
    await house.until_sent(1)
    await house.say(said)
    assert (await ended(house, run_id)).state["ok_approval"]["decision"] == decision


async def test_what_cannot_be_read_is_no_decision(house: House) -> None:
    run_id = await begun(house, await drawn(house, approval(approvers=["members"])))
    wait = await question(house)
    await house.until_sent(1)
    await house.ask("I do not approve of the weather")
    await decide(house, wait, "feedback", text="what is this?")
    again = await question(house, but=wait.id)
    assert again.prompt == wait.prompt
    assert len(await lines(house, run_id, "warning")) == 1
    await decide(house, again, "reject")
    assert (await ended(house, run_id)).state["ok_approval"]["decision"] == "reject"


@pytest.mark.parametrize(("way", "decision"), [(None, "reject"), ("reject", "reject"), ("approve", "approve")])
async def test_after_the_deadline_the_node_says_what_counts(house: House, way: str | None, decision: str) -> None:
    data = {"deadlineMinutes": 10, **({"onExpiry": way} if way else {})}
    run_id = await begun(house, await drawn(house, approval(**data)))
    await question(house)
    await house.pass_time(601)
    given = (await ended(house, run_id)).state["ok_approval"]
    assert (given["decision"], given["by"]) == (decision, "nobody")


async def test_after_the_deadline_the_run_may_fail(house: House) -> None:
    run_id = await begun(house, await drawn(house, approval(deadlineMinutes=10, onExpiry="fail")))
    await question(house)
    await house.pass_time(601)
    assert (await ended(house, run_id)).status is ExecutionStatus.FAILED


async def test_without_a_deadline_it_waits_for_ever(house: House) -> None:
    await begun(house, await drawn(house, approval()))
    assert (await question(house)).expires_at is None


async def test_an_escalated_question_is_asked_again_and_the_owners_are_told(house: House) -> None:
    await house.store.write(choose_place, Address(PLATFORM, BOT, "office"), 0)
    data = {"deadlineMinutes": 10, "onExpiry": "escalate", "escalateMinutes": 20}
    run_id = await begun(house, await drawn(house, approval(**data)))
    first = await question(house)
    await house.pass_time(601)
    second = await question(house, but=first.id)
    await house.until_sent(1, "office")
    assert len(await lines(house, run_id, "escalated")) == 1
    await house.pass_time(1201)
    given = (await ended(house, run_id)).state["ok_approval"]
    assert (given["decision"], second.prompt) == ("reject", first.prompt)


# -- questions to the person -------------------------------------------------------------------------------------------


def asking(**data: Any) -> dict[str, Any]:
    return drawing(
        TRIGGER,
        node("q", "user-input", "Colour", prompt="Which colour?", **data),
        node("r", "response", "R", template="You said {{Colour}}."),
        ways=["go > q > r"],
    )


async def test_the_next_message_of_the_person_is_the_answer(house: House) -> None:
    run_id = await begun(house, await drawn(house, asking()))
    await question(house)
    assert (await house.until_sent(1)) == ["Which colour?"]
    await house.say("Not me", user="bob")
    message = (await house.say("Blue")).message_id
    run = await ended(house, run_id)
    assert (run.state["out:q"]["output"], run.state["taint"]) == ("Blue", [])
    await house.until_status(message, MessageStatus.ANSWERED)
    assert "You said Blue." in [each.content for each in await house.deliveries()]


async def test_who_answers_in_the_persons_place_taints_the_run(house: House) -> None:
    run_id = await begun(house, await drawn(house, asking()))
    await decide(house, await question(house), "answer", text="Red")
    run = await ended(house, run_id)
    assert (run.state["out:q"]["output"], run.state["taint"]) == ("Red", ["people"])


async def test_a_question_that_nobody_answers_in_time_fails_the_run(house: House) -> None:
    run_id = await begun(house, await drawn(house, asking(deadlineMinutes=1)))
    await question(house)
    await house.pass_time(61)
    assert (await ended(house, run_id)).status is ExecutionStatus.FAILED


# -- responses ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("last", ["Second.", "First."])
async def test_what_is_said_on_the_way_is_said_once(house: House, last: str) -> None:
    document = drawing(
        TRIGGER,
        node("a", "response", "A", template="First."),
        node("w", "wait", amount=0),
        *([node("b", "response", "B", template=last)] if last != "First." else []),
        ways=["go > a > w > b"] if last != "First." else ["go > a > w"],
    )
    run_id = await begun(house, await drawn(house, document))
    await ended(house, run_id)
    await house.until_idle()
    assert [each.content for each in await house.deliveries()] == list(dict.fromkeys(["First.", last]))


async def test_an_agent_may_word_a_response(house: House) -> None:
    document = drawing(TRIGGER, node("a", "response", "A", template="It rains.", compose=True), ways=["go > a"])
    house.provider.script.append("Take an umbrella.")
    run_id = await begun(house, await drawn(house, document))
    await ended(house, run_id)
    await house.until_idle()
    assert [each.content for each in await house.deliveries()] == ["Take an umbrella."]
    assert "It rains." in house.provider.prompts[0][-1]


# -- turns -------------------------------------------------------------------------------------------------------------


def _switch_on(tx: Transaction, workflow: Workflow, words: str) -> None:
    tx.workflows.update(replace(workflow, enabled=True))
    tx.workflows.set_triggers(workflow.id, [Trigger(workflow.id, "go", "message", words=words)])


async def test_a_turn_hears_each_text_once_and_the_last_is_its_reply(house: House) -> None:
    document = drawing(
        TRIGGER,
        node("a", "response", "A", template="I begin."),
        node("q", "user-input", "Q", prompt="Which colour?"),
        node("b", "response", "B", template="So {{PREVIOUS_OUTPUT}}."),
        ways=["go > a > q > b"],
    )
    workflow = await drawn(house, document)
    await house.store.write(_switch_on, workflow, "paint")
    message = (await house.say("paint it")).message_id
    await house.until_sent(2)
    answer = (await house.say("Blue")).message_id
    assert (await house.until_status(message, MessageStatus.ANSWERED)).reply == "So Blue."
    await house.until_status(answer, MessageStatus.ANSWERED)
    await house.until_idle()
    assert [each.content for each in await house.deliveries()] == ["I begin.", "Which colour?", "So Blue."]


async def test_a_turn_that_is_transferred_is_answered_by_the_other_workflow(house: House) -> None:
    there = drawing(TRIGGER, node("r", "response", "R", template="From there: {{trigger}}"), ways=["go > r"])
    await drawn(house, there, "there")
    away = drawing(
        TRIGGER,
        node("a", "response", "A", template="One moment."),
        node("t", "transfer", "T", workflow="there"),
        ways=["go > a > t"],
    )
    await house.store.write(_switch_on, await drawn(house, away), "over")
    message = (await house.say("over to you")).message_id
    assert (await house.until_status(message, MessageStatus.ANSWERED)).reply == "From there: One moment."
    await house.until_idle()
    assert [each.content for each in await house.deliveries()] == ["One moment.", "From there: One moment."]


async def test_an_approval_of_a_turn_is_asked_in_its_chat(house: House) -> None:
    await house.store.write(_switch_on, await drawn(house, approval(approvers=["members"])), "send")
    message = (await house.say("send it")).message_id
    await house.until_status(message, MessageStatus.WAITING)
    (shown,) = await house.until_sent(1)
    assert "Anybody who may talk with this agent can answer" in shown
    await house.say("reject")
    assert (await house.until_status(message, MessageStatus.ANSWERED)).reply == "It is not sent."


@pytest.mark.parametrize(("role", "status"), [("member", ExecutionStatus.FAILED), ("owner", ExecutionStatus.DONE)])
async def test_a_drawing_opens_no_door_to_a_stronger_agent(house: House, role: str, status: ExecutionStatus) -> None:
    strong = replace(HELPER, id="agent-strong", slug="strong", name="Strong", tools=("rm",))
    await house.store.write(lambda tx: tx.agents.add(strong, 0))
    document = drawing(TRIGGER, node("a", "agent", "A", agent="strong", userPrompt="Go."), ways=["go > a"])
    run = await ended(house, await begun(house, await drawn(house, document), user=role, role=PrincipalRole(role)))
    assert run.status is status
    assert ("out of reach" in (run.error or "")) == (status is ExecutionStatus.FAILED)
