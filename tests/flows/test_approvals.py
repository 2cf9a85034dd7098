"""Risky calls wait for a person's word, which is about exactly one call."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from arvis.domain.errors import Forbidden
from arvis.domain.executions import Wait
from arvis.domain.messages import MessageStatus, Principal, PrincipalRole
from arvis.ports.operations import WaitAnswer
from arvis.store.opening import Database
from tests.flows.house import House, agent_with, open_house
from tests.flows.scripted import PLATFORM, asking, call
from tests.flows.test_tools import outputs

ANSWERED, WAITING = MessageStatus.ANSWERED, MessageStatus.WAITING
OWNER = Principal("owner", PLATFORM, "owner", "Owner", PrincipalRole.OWNER)
MEMBER = Principal("ann", PLATFORM, "ann", "Ann", PrincipalRole.MEMBER)


@pytest.fixture
async def shed(either_database: Database) -> AsyncIterator[House]:
    async with open_house(either_database, agents=[agent_with(tools=("look", "rm"), allow_users=("ann",))]) as house:
        yield house


async def paused(house: House, *words: str) -> tuple[str, Wait]:
    """A turn that waits for approval of `rm`, once for each word; its message and the first question."""
    house.provider.script += [asking(*(call(number, "rm", words=word) for number, word in enumerate(words))), "Done."]
    message = (await house.say("Tidy up")).message_id
    await house.until_status(message, WAITING)
    return message, await open_wait(house)


async def open_wait(house: House) -> Wait:
    async def look() -> Wait | None:
        page = await house.insights.waits(open_only=True, limit=10, cursor=None)
        return page.items[0] if page.items else None

    return await house.until(look)


async def decide(house: House, wait: Wait, decision: str, by: Principal = OWNER, **more: Any) -> None:
    await house.operations.answer_wait(wait.id, WaitAnswer(decision, **more), by)


async def test_the_chat_is_shown_exactly_what_will_run(shed: House) -> None:
    _, wait = await paused(shed, "the attic")
    assert wait.prompt == "Helper wants to use the tool rm for Ann:\nwords: the attic"
    (shown,) = await shed.until_sent(1)
    assert wait.prompt in shown
    assert wait.id in shown
    assert shed.tools.rm.calls == []


async def test_an_approved_call_runs_once_also_after_a_restart(shed: House) -> None:
    message, wait = await paused(shed, "the attic")
    await shed.restart()
    await decide(shed, wait, "approve")
    timeline = await shed.until_status(message, ANSWERED)
    assert timeline.reply == "Done."
    assert shed.tools.rm.calls == [{"words": "the attic"}]


async def test_a_rejected_call_does_not_run_and_the_model_hears_of_it(shed: House) -> None:
    message, wait = await paused(shed, "the attic")
    await decide(shed, wait, "reject", note="Not today.")
    await shed.until_status(message, ANSWERED)
    assert outputs(shed.provider.asked[-1]) == ["A person did not allow this call. Not today."]
    assert shed.tools.rm.calls == []


async def test_edited_arguments_are_what_runs(shed: House) -> None:
    message, wait = await paused(shed, "the attic")
    await decide(shed, wait, "edit", arguments={"words": "the cellar"})
    await shed.until_status(message, ANSWERED)
    assert shed.tools.rm.calls == [{"words": "the cellar"}]


async def test_edited_arguments_that_do_not_fit_do_not_run(shed: House) -> None:
    message, wait = await paused(shed, "the attic")
    await decide(shed, wait, "edit", arguments={"colour": "red"})
    await shed.until_status(message, ANSWERED)
    assert shed.tools.rm.calls == []
    assert "does not fit" in outputs(shed.provider.asked[-1])[0]


async def test_feedback_reaches_the_model_instead(shed: House) -> None:
    message, wait = await paused(shed, "the attic")
    await decide(shed, wait, "feedback", text="Ask me tomorrow.")
    await shed.until_status(message, ANSWERED)
    assert outputs(shed.provider.asked[-1]) == ["A person did not allow this call, and says: Ask me tomorrow."]


async def test_each_call_is_asked_about_by_itself(shed: House) -> None:
    message, first = await paused(shed, "the attic", "the cellar")
    await decide(shed, first, "reject")
    second = await open_wait(shed)
    assert "the cellar" in second.prompt
    await decide(shed, second, "approve")
    await shed.until_status(message, ANSWERED)
    assert shed.tools.rm.calls == [{"words": "the cellar"}]


async def test_nobody_answers_in_time(shed: House) -> None:
    message, _ = await paused(shed, "the attic")
    await shed.pass_time(86_401)
    await shed.until_status(message, ANSWERED)
    assert shed.tools.rm.calls == []
    assert outputs(shed.provider.asked[-1]) == ["A person did not allow this call. Nobody answered in time."]


async def test_who_asked_may_not_approve(shed: House) -> None:
    _, wait = await paused(shed, "the attic")
    with pytest.raises(Forbidden):
        await decide(shed, wait, "approve", by=MEMBER)
