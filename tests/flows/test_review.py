"""Human review by a plain message: yes, no, another form, or feedback that answers every call (seed 003, vector D4)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from arvis.agents.answers import approvers_of
from arvis.domain.messages import MessageStatus
from arvis.inbox import InboxRules
from arvis.store.opening import Database
from tests.flows.house import House, agent_with, open_house
from tests.flows.scripted import asking, call


@pytest.fixture
async def shed(database: Database) -> AsyncIterator[House]:
    agent = agent_with(tools=("rm", "look"), allow_users=("ann", "owner", "bob"))
    async with open_house(database, agents=[agent]) as house:
        yield house


async def asked(house: House, *words: str, user: str = "owner") -> str:
    """Has the agent ask for as many calls; the id of the message."""
    calls = [call(number, "rm", words=word) for number, word in enumerate(words, 1)]
    house.provider.script += [asking(*calls), "Finished."]
    received = await house.say("Tidy up", user=user)
    await house.until_status(received.message_id, MessageStatus.WAITING)
    return received.message_id


@pytest.mark.parametrize("word", ["yes", "Approve!", " OK. ", "ja", "да"])
async def test_a_word_allows_the_call(shed: House, word: str) -> None:
    first = await asked(shed, "all")
    assert (await shed.say(word, user="owner")).reason == "review"
    assert (await shed.until_status(first, MessageStatus.ANSWERED)).reply == "Finished."
    assert shed.tools.rm.calls == [{"words": "all"}]


async def test_a_word_forbids_the_call(shed: House) -> None:
    first = await asked(shed, "all")
    await shed.say("no", user="owner")
    await shed.until_status(first, MessageStatus.ANSWERED)
    assert shed.tools.rm.calls == []
    assert "did not allow" in shed.provider.asked[-1].turns[-1].outputs[0].content


async def test_edited_arguments_run(shed: House) -> None:
    first = await asked(shed, "all")
    await shed.say('edit {"words": "one"}', user="owner")
    await shed.until_status(first, MessageStatus.ANSWERED)
    assert shed.tools.rm.calls == [{"words": "one"}]


async def test_d4_feedback_answers_every_call_id(shed: House) -> None:
    first = await asked(shed, "all", "more")
    await shed.say("Leave the kitchen alone", user="owner")
    await shed.until_status(first, MessageStatus.ANSWERED)
    outputs = shed.provider.asked[-1].turns[-1].outputs
    assert [each.call_id for each in outputs] == ["call_1", "call_2"]
    assert all("Leave the kitchen alone" in each.content for each in outputs)
    assert shed.tools.rm.calls == []


async def test_who_may_not_allow_it_only_talks(shed: House) -> None:
    await asked(shed, "all", user="ann")
    shed.provider.script.clear()
    second = await shed.say("yes", user="ann")
    assert second.reason != "review"
    assert (await shed.until_status(second.message_id, MessageStatus.ANSWERED)).reply == "Re: yes"
    assert shed.tools.rm.calls == []


async def test_any_of_the_people_named_may_allow_it(shed: House) -> None:
    shed.inbox = shed.inbox_with(InboxRules(approvers=approvers_of(["chat:bob"])))
    first = await asked(shed, "all", user="ann")
    await shed.say("yes", user="bob")
    await shed.until_status(first, MessageStatus.ANSWERED)
    assert shed.tools.rm.calls == [{"words": "all"}]


async def test_where_several_talk_a_message_is_no_feedback(shed: House) -> None:
    shed.provider.script += [asking(call(1, "rm", words="all")), "Other.", "Finished."]
    first = await shed.say("Tidy up", user="owner", channel="hall", is_direct=False)
    await shed.until_status(first.message_id, MessageStatus.WAITING)
    other = await shed.say("What a day", user="owner", channel="hall", is_direct=False)
    assert (await shed.until_status(other.message_id, MessageStatus.ANSWERED)).reply == "Other."
    await shed.say("yes", user="owner", channel="hall", is_direct=False)
    await shed.until_status(first.message_id, MessageStatus.ANSWERED)
    assert shed.tools.rm.calls == [{"words": "all"}]


async def test_nobody_allows_it_twice(shed: House) -> None:
    first = await asked(shed, "all")
    await shed.say("yes", user="owner")
    await shed.until_status(first, MessageStatus.ANSWERED)
    second = await shed.say("yes", user="owner")
    await shed.until_status(second.message_id, MessageStatus.ANSWERED)
    assert second.reason != "review"
    assert len(shed.tools.rm.calls) == 1


async def test_after_a_restart_the_answer_still_counts(shed: House) -> None:
    first = await asked(shed, "all")
    await shed.restart()
    await shed.say("yes", user="owner")
    await shed.until_status(first, MessageStatus.ANSWERED)
    assert shed.tools.rm.calls == [{"words": "all"}]
