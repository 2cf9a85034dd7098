"""Human review by a plain message: yes, no, edited arguments, or feedback that answers every call (seed 003)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from arvis.approvals import approvers_of
from arvis.domain.messages import MessageStatus
from arvis.inbox.accept import InboxRules
from arvis.store.open import Database
from tests.flows.app_harness import AppHarness, agent_with, open_app
from tests.flows.scripted import asking, call


@pytest.fixture
async def shed(database: Database) -> AsyncIterator[AppHarness]:
    agent = agent_with(tools=("rm", "look"), allow_users=("ann", "owner", "bob"))
    async with open_app(database, agents=[agent]) as app:
        yield app


async def asked(app: AppHarness, *words: str, user: str = "owner") -> str:
    """Let the agent ask for these calls, and return the message's id."""
    calls = [call(number, "rm", words=word) for number, word in enumerate(words, 1)]
    app.provider.script += [asking(*calls), "Finished."]
    received = await app.say("Tidy up", user=user)
    await app.until_status(received.message_id, MessageStatus.WAITING)
    return received.message_id


@pytest.mark.parametrize("word", ["yes", "Approve!", " OK. ", "ja", "да"])
async def test_a_word_allows_the_call(shed: AppHarness, word: str) -> None:
    first = await asked(shed, "all")
    assert (await shed.say(word, user="owner")).reason == "review"
    assert (await shed.until_status(first, MessageStatus.ANSWERED)).reply == "Finished."
    assert shed.tools.rm.calls == [{"words": "all"}]


async def test_a_word_forbids_the_call(shed: AppHarness) -> None:
    first = await asked(shed, "all")
    await shed.say("no", user="owner")
    await shed.until_status(first, MessageStatus.ANSWERED)
    assert shed.tools.rm.calls == []
    assert "rejected this call" in shed.provider.asked[-1].turns[-1].outputs[0].content


async def test_edited_arguments_run(shed: AppHarness) -> None:
    first = await asked(shed, "all")
    await shed.say('edit {"words": "one"}', user="owner")
    await shed.until_status(first, MessageStatus.ANSWERED)
    assert shed.tools.rm.calls == [{"words": "one"}]


async def question_ref(app: AppHarness) -> str:
    """The platform's id of the message that shows the newest question."""
    await app.until_idle()
    shown = [number for number, each in enumerate(app.connector.sent, 1) if each.buttons]
    return f"platform-{shown[-1]}"


async def test_d4_feedback_answers_every_call_id(shed: AppHarness) -> None:
    first = await asked(shed, "all", "more")
    ref = await question_ref(shed)
    assert (await shed.say("Leave the kitchen alone", user="owner", in_reply_to=ref)).reason == "review"
    await shed.until_status(first, MessageStatus.ANSWERED)
    outputs = shed.provider.asked[-1].turns[-1].outputs
    assert [each.call_id for each in outputs] == ["call_1", "call_2"]
    assert all("Leave the kitchen alone" in each.content for each in outputs)
    assert shed.tools.rm.calls == []


@pytest.mark.parametrize(
    "words",
    [
        "What is the capital of France?",
        "yes please, but later",
        "no idea",
        "approve the budget for me, please",
        "okay then",
    ],
)
async def test_a_plain_message_is_no_answer_and_the_question_stays_open(shed: AppHarness, words: str) -> None:
    first = await asked(shed, "all")
    shed.provider.script.appendleft("Paris.")
    second = await shed.say(words, user="owner")
    assert second.reason != "review"
    assert (await shed.until_status(second.message_id, MessageStatus.ANSWERED)).reply == "Paris."
    assert (await shed.timeline(first)).status is MessageStatus.WAITING
    assert shed.tools.rm.calls == []
    await shed.say("yes", user="owner")
    await shed.until_status(first, MessageStatus.ANSWERED)
    assert shed.tools.rm.calls == [{"words": "all"}]


async def test_the_question_is_shown_again_once_behind_another_answer(shed: AppHarness) -> None:
    first = await asked(shed, "all")
    for number in (1, 2):
        shed.provider.script.appendleft(f"Answer {number}.")
        other = await shed.say("And what is new?", user="owner")
        await shed.until_status(other.message_id, MessageStatus.ANSWERED)
    await shed.until_idle()
    texts = [text for text in shed.connector.texts if "rm" in text or "Answer" in text]
    assert [("Answer" in text, "still open" in text) for text in texts] == [
        (False, False),
        (True, False),
        (False, True),
        (True, False),
    ]
    assert (await shed.timeline(first)).status is MessageStatus.WAITING


async def test_a_plain_yes_behind_another_answer_is_about_that_answer(shed: AppHarness) -> None:
    first = await asked(shed, "all")
    for _ in range(2):
        shed.provider.script.appendleft("Shall I tell you more?")
        other = await shed.say("What is new?", user="owner")
        await shed.until_status(other.message_id, MessageStatus.ANSWERED)
    shed.provider.script.appendleft("There is more.")
    third = await shed.say("yes", user="owner")
    assert third.reason != "review"
    await shed.until_status(third.message_id, MessageStatus.ANSWERED)
    assert shed.tools.rm.calls == []
    assert (await shed.say("approve", user="owner")).reason == "review"
    await shed.until_status(first, MessageStatus.ANSWERED)
    assert shed.tools.rm.calls == [{"words": "all"}]


async def test_where_several_talk_only_a_reply_answers_for_another_person(shed: AppHarness) -> None:
    place = {"channel": "hall", "is_direct": False}
    shed.inbox = shed.inbox_with(InboxRules(approvers=approvers_of(["chat:bob"])))
    shed.provider.script += [asking(call(1, "rm", words="all")), "Bob spoke.", "Finished."]
    first = await shed.say("Tidy up", user="ann", **place)
    await shed.until_status(first.message_id, MessageStatus.WAITING)
    ref = await question_ref(shed)
    for words in ("no", "approve"):
        assert (await shed.say(words, user="bob", **place)).reason != "review"
        await shed.until_idle()
        shed.provider.script.appendleft("Bob spoke.") if words == "no" else None
    assert shed.tools.rm.calls == []
    assert (await shed.say("yes", user="ann", in_reply_to=ref, **place)).reason == "review"
    await shed.until_idle()
    assert shed.connector.texts[-1] == _NOT_YOURS
    assert (await shed.say("yes", user="bob", in_reply_to=ref, **place)).reason == "review"
    await shed.until_status(first.message_id, MessageStatus.ANSWERED)
    assert shed.tools.rm.calls == [{"words": "all"}]


async def test_a_reply_to_an_answered_question_says_so(shed: AppHarness) -> None:
    first = await asked(shed, "all")
    ref = await question_ref(shed)
    await shed.say("yes", user="owner", in_reply_to=ref)
    await shed.until_status(first, MessageStatus.ANSWERED)
    assert (await shed.say("no", user="owner", in_reply_to=ref)).reason == "review"
    assert (await shed.until_sent(4))[-1] == "This question has been answered already."
    talk = await shed.say("Thank you, and why?", user="owner", in_reply_to=ref)
    assert talk.reason != "review"


_NOT_YOURS = "You may not answer this question. Ask an owner to answer it."


@pytest.mark.parametrize("words", ["yes", "Approve.", 'edit {"words": "one"}'])
@pytest.mark.parametrize("replies", [True, False])
async def test_who_may_not_allow_it_is_told_who_may(shed: AppHarness, words: str, replies: bool) -> None:
    first = await asked(shed, "all", user="ann")
    ref = await question_ref(shed) if replies else None
    assert (await shed.say(words, user="ann", in_reply_to=ref)).reason == "review"
    assert (await shed.until_sent(2))[-1] == _NOT_YOURS
    await shed.until_idle()
    assert (await shed.timeline(first)).status is MessageStatus.WAITING
    assert shed.tools.rm.calls == []


@pytest.mark.parametrize("replies", [True, False])
async def test_who_may_not_allow_it_talks_on(shed: AppHarness, replies: bool) -> None:
    await asked(shed, "all", user="ann")
    shed.provider.script.clear()
    ref = await question_ref(shed) if replies else None
    second = await shed.say("Leave the kitchen alone", user="ann", in_reply_to=ref)
    assert second.reason != "review"
    assert (await shed.until_status(second.message_id, MessageStatus.ANSWERED)).reply == "Re: Leave the kitchen alone"
    assert shed.tools.rm.calls == []


async def test_any_of_the_people_named_may_allow_it(shed: AppHarness) -> None:
    shed.inbox = shed.inbox_with(InboxRules(approvers=approvers_of(["chat:bob"])))
    first = await asked(shed, "all", user="ann")
    await shed.say("yes", user="bob")
    await shed.until_status(first, MessageStatus.ANSWERED)
    assert shed.tools.rm.calls == [{"words": "all"}]


async def test_where_several_talk_a_message_is_no_feedback(shed: AppHarness) -> None:
    shed.provider.script += [asking(call(1, "rm", words="all")), "Other.", "Finished."]
    first = await shed.say("Tidy up", user="owner", channel="hall", is_direct=False)
    await shed.until_status(first.message_id, MessageStatus.WAITING)
    other = await shed.say("What a day", user="owner", channel="hall", is_direct=False)
    assert (await shed.until_status(other.message_id, MessageStatus.ANSWERED)).reply == "Other."
    await shed.say("yes", user="owner", channel="hall", is_direct=False)
    await shed.until_status(first.message_id, MessageStatus.ANSWERED)
    assert shed.tools.rm.calls == [{"words": "all"}]


async def test_nobody_allows_it_twice(shed: AppHarness) -> None:
    first = await asked(shed, "all")
    await shed.say("yes", user="owner")
    await shed.until_status(first, MessageStatus.ANSWERED)
    second = await shed.say("yes", user="owner")
    await shed.until_status(second.message_id, MessageStatus.ANSWERED)
    assert second.reason != "review"
    assert len(shed.tools.rm.calls) == 1


async def test_after_a_restart_the_answer_still_counts(shed: AppHarness) -> None:
    first = await asked(shed, "all")
    await shed.restart()
    await shed.say("yes", user="owner")
    await shed.until_status(first, MessageStatus.ANSWERED)
    assert shed.tools.rm.calls == [{"words": "all"}]
