"""The tool loop: each call of a model is made once, its output is returned to the model, and all of it is limited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from arvis.domain.errors import ProviderError, ProviderErrorKind, StoreError, ToolError
from arvis.domain.messages import MessageStatus
from arvis.domain.runs import RunRequest
from arvis.domain.tools import Permit, ToolCall
from arvis.store.open import Database
from tests.flows.app_harness import AppHarness, agent_with, open_app, steps_of
from tests.flows.scripted import Held, asking, call

ALL = ("look", "srv.dig", "pay", "rm")


@pytest.fixture
async def shed(database: Database) -> AsyncIterator[AppHarness]:
    """An app whose agent has every tool, without approvals."""
    async with open_app(database, agents=[agent_with(tools=ALL, allow_users=("ann",))]) as app:
        app.rules["exec"] = Permit.ALWAYS
        yield app


def outputs(request: RunRequest) -> list[str]:
    """Return the tool outputs in the last prompt."""
    return [output.content for output in request.turns[-1].outputs]


async def test_a_tool_is_called_and_its_output_told_to_the_model(shed: AppHarness) -> None:
    shed.provider.script += [asking(call(1, "look", words="the sky"), text="Let me see."), "It is blue."]
    timeline = await shed.ask("What colour?")
    assert timeline.reply == "It is blue."
    assert shed.tools.look.calls == [{"words": "the sky"}]
    second = shed.provider.asked[1]
    assert [turn.role for turn in second.turns] == ["user", "assistant", "user"]
    assert second.turns[1].content == "Let me see."
    assert outputs(second) == ["look of the sky"]
    assert [step.data["tool"] for step in timeline.steps if step.step == "tool"] == ["look"]
    assert steps_of(timeline).count("model_call") == 2


async def test_a_tool_learns_for_whom_it_is_called(shed: AppHarness) -> None:
    shed.provider.script += [asking(call(1, "look")), "Done."]
    await shed.ask("Go")
    (caller,) = shed.tools.look.callers
    assert (caller.agent.slug, caller.timezone, caller.call_id) == ("helper", "UTC", f"{caller.execution_id}-1-1")
    assert caller.workspace.parts[-2:] == (caller.conversation_id, "workspace")


async def test_an_agent_is_offered_its_tools_and_no_others(database: Database) -> None:
    async with open_app(database, agents=[agent_with(tools=("srv.dig", "nothing"), allow_users=("ann",))]) as app:
        app.provider.script += [asking(call(1, "look")), "I cannot look."]
        timeline = await app.ask("Look")
        assert [tool.name for tool in app.provider.asked[0].tools] == ["srv__dig"]
        assert outputs(app.provider.asked[1]) == ["There is no tool look. Your tools: srv__dig."]
        assert app.tools.look.calls == []
        assert timeline.reply == "I cannot look."


async def test_a_call_from_an_agent_without_tools_is_no_call(app: AppHarness) -> None:
    app.provider.script += [asking(call(1, "look"), text="I tried."), asking(call(1, "look"))]
    assert (await app.ask("Look")).reply == "I tried."
    assert "wrote no answer" in ((await app.ask("Look")).reply or "")
    assert app.tools.look.calls == []


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (call(1, "look", colour="red"), "The arguments are not valid. words: is all there is."),
        (
            ToolCall("1", "look", None, "{oops"),
            "Not called: the arguments are not a JSON object. Call again with a JSON object.",
        ),
    ],
)
async def test_what_does_not_fit_is_told_and_not_run(shed: AppHarness, asked: ToolCall, told: str) -> None:
    shed.provider.script += [asking(asked), "Sorry."]
    await shed.ask("Look")
    assert outputs(shed.provider.asked[1]) == [told]
    assert shed.tools.look.calls == []


async def test_calls_of_one_reply_run_at_once(shed: AppHarness) -> None:
    first, second = Held("one"), Held("two")
    shed.tools.look.script += [first, second]
    shed.provider.script += [asking(call(1, "look", words="a"), call(2, "look", words="b")), "Both."]
    asked = asyncio.create_task(shed.ask("Look twice"))
    await first.until_begun()
    await second.until_begun()
    second.go.set()
    first.go.set()
    assert (await asked).reply == "Both."
    assert outputs(shed.provider.asked[1]) == ["one", "two"]


async def test_an_error_of_a_tool_is_told_and_a_defect_only_by_its_kind(shed: AppHarness) -> None:
    shed.tools.look.script += [ToolError("The sky is closed."), KeyError("a secret")]
    shed.provider.script += [asking(call(1, "look", words="a")), asking(call(2, "look", words="b")), "Well."]
    assert (await shed.ask("Look")).reply == "Well."
    assert outputs(shed.provider.asked[1]) == ["Error: The sky is closed."]
    assert outputs(shed.provider.asked[2]) == ["Error: the tool failed (KeyError)."]


async def test_after_five_rounds_the_model_has_to_answer(shed: AppHarness) -> None:
    shed.provider.script += [asking(call(number, "look", words=str(number))) for number in range(5)]
    shed.provider.script.append("Enough.")
    assert (await shed.ask("Look around")).reply == "Enough."
    assert [request.tools_off for request in shed.provider.asked] == [False] * 5 + [True]
    assert len(shed.tools.look.calls) == 5


async def test_a_model_that_never_answers_ends_in_a_notice(shed: AppHarness) -> None:
    shed.provider.script += [asking(call(number, "look", words=str(number))) for number in range(9)]
    assert "wrote no answer" in ((await shed.ask("Look around")).reply or "")
    assert len(shed.provider.asked) == 6


async def test_the_same_call_a_third_time_is_not_made(shed: AppHarness) -> None:
    shed.provider.script += [asking(call(number, "look", words="same")) for number in range(3)]
    shed.provider.script.append("I see.")
    assert (await shed.ask("Look")).reply == "I see."
    assert len(shed.tools.look.calls) == 2
    last = shed.provider.asked[-1]
    assert last.tools_off
    assert "made this exact call several times" in outputs(last)[0]


async def test_a_tool_that_must_never_run_is_refused(shed: AppHarness) -> None:
    shed.rules["pay"] = Permit.NEVER
    shed.provider.script += [asking(call(1, "pay")), "I may not."]
    await shed.ask("Pay")
    assert outputs(shed.provider.asked[1]) == ["The tool pay is not allowed here."]
    assert shed.tools.pay.calls == []


async def test_a_huge_output_is_cut_in_the_middle(shed: AppHarness) -> None:
    shed.tools.look.script.append("a" * 100_000 + "end")
    shed.provider.script += [asking(call(1, "look")), "Long."]
    await shed.ask("Look")
    (output,) = outputs(shed.provider.asked[1])
    assert len(output) < 33_000
    assert output.endswith("end")


async def test_what_is_too_long_is_asked_once_more_in_half_the_room(database: Database) -> None:
    """Texts that no longer fit are summarised first."""
    too_long = ProviderError(ProviderErrorKind.TOO_LONG, "too long")
    async with open_app(database, agents=[agent_with(tools=ALL, context_tokens=20_000, allow_users=("ann",))]) as app:
        for _ in range(4):
            await app.ask("word " * 500)
        app.tools.look.script.append("x" * 20_000)
        app.provider.script += [asking(call(1, "look")), too_long, "Nothing to keep.", "We said word.", "Short."]
        assert (await app.ask("Look")).reply == "Short."
        _, refused, _, _, shrunk = app.provider.asked[-5:]
        assert "We said word." in shrunk.changing
        assert len(shrunk.turns) < len(refused.turns)
        assert len(outputs(shrunk)[0]) < len(outputs(refused)[0])


async def test_a_turn_stopped_in_the_middle_of_a_tool_stays_stopped(shed: AppHarness) -> None:
    held = Held()
    shed.tools.look.script.append(held)
    shed.provider.script.append(asking(call(1, "look")))
    message = await shed.say("Look")
    await held.until_begun()
    await shed.inbox.stop(shed.message("").address, "ann")
    await held.until_cancelled()
    await shed.until_status(message.message_id, MessageStatus.CANCELLED)
    assert len(shed.provider.asked) == 1


async def test_a_call_that_was_made_counts_although_its_tool_is_gone(shed: AppHarness) -> None:
    held = Held()
    shed.tools.look.script.append(held)
    shed.provider.script += [asking(call(1, "pay", words="rent"), call(2, "look")), "Done."]
    message = (await shed.say("Pay")).message_id
    await held.until_begun()
    shed.tools.gone.add("pay")
    await shed.restart()
    await shed.until_status(message, MessageStatus.ANSWERED)
    assert outputs(shed.provider.asked[-1])[0] == "pay of rent"
    assert len(shed.tools.pay.calls) == 1


async def test_a_call_that_may_have_been_made_is_asked_about_although_its_tool_is_gone(shed: AppHarness) -> None:
    held = Held()
    shed.tools.pay.script.append(held)
    shed.provider.script += [asking(call(1, "pay", words="rent")), "Done."]
    message = (await shed.say("Pay")).message_id
    await held.until_begun()
    shed.tools.gone.add("pay")
    await shed.restart()
    await shed.until_status(message, MessageStatus.WAITING)
    (wait,) = (await shed.insights.waits(open_only=True, limit=10, cursor=None)).items
    assert "may already be done" in wait.prompt


async def test_secrets_are_kept_sealed_and_shown_nowhere(database: Database) -> None:
    async with open_app(database, agents=[agent_with(tools=("vault",), allow_users=("ann",))]) as app:
        app.rules["vault"] = Permit.ALWAYS
        app.tools.vault.script.append("the-combination")
        app.provider.script += [asking(call(1, "vault")), "I know it."]
        timeline = await app.ask("Open it")
        assert outputs(app.provider.asked[1]) == ["the-combination"]
        assert "the-combination" not in str(timeline)
    assert b"the-combination" not in b"".join(file.read_bytes() for file in database.folder.rglob("arvis.db*"))


async def test_secrets_are_asked_about_unless_a_rule_says_otherwise(database: Database) -> None:
    async with open_app(database, agents=[agent_with(tools=("vault",), allow_users=("ann",))]) as app:
        app.provider.script += [asking(call(1, "vault")), "I know it."]
        message = (await app.say("Open it")).message_id
        await app.until_status(message, MessageStatus.WAITING)
        assert app.tools.vault.calls == []


async def test_outputs_share_the_room_of_a_turn(shed: AppHarness) -> None:
    shed.tools.look.script += ["x" * 40_000] * 48
    for number in range(3):
        calls = [call(number * 16 + index, "look", words=f"{number} {index}") for index in range(16)]
        shed.provider.script.append(asking(*calls))
    shed.provider.script.append("Much.")
    await shed.ask("Look everywhere")
    told = [output.content for turn in shed.provider.asked[-1].turns for output in turn.outputs]
    assert len(told) == 48
    assert sum(map(len, told)) < 130_000
    assert len({len(text) for text in told}) == 1


async def test_more_calls_than_a_reply_may_make_are_refused(shed: AppHarness) -> None:
    shed.provider.script += [asking(*(call(index, "look", words=str(index)) for index in range(40))), "Some."]
    await shed.ask("Look")
    assert len(shed.tools.look.calls) == 16
    assert sum("at most 16 calls" in text for text in outputs(shed.provider.asked[1])) == 24


async def test_what_the_store_cannot_hold_is_taken_out_of_an_output(shed: AppHarness) -> None:
    shed.tools.look.script.append("bad \ud800 and \0 good")
    shed.provider.script += [asking(call(1, "look")), "Odd."]
    assert (await shed.ask("Look")).reply == "Odd."
    assert outputs(shed.provider.asked[1]) == ["bad \ufffd and  good"]


async def test_a_tool_that_is_gone_stays_named_while_the_turn_has_used_it(shed: AppHarness) -> None:
    shed.provider.script += [asking(call(1, "look")), asking(call(2, "look", words="again")), "Gone."]
    held = Held()
    shed.tools.look.script.append(held)
    message = (await shed.say("Look")).message_id
    await held.until_begun()
    shed.tools.gone |= {"look", "srv.dig", "pay", "rm"}
    held.go.set()
    await shed.until_status(message, MessageStatus.ANSWERED)
    assert [spec.name for spec in shed.provider.asked[-1].tools] == ["look"]


async def test_a_call_that_ended_while_another_broke_the_turn_is_not_made_again(shed: AppHarness) -> None:
    """Such an error comes from the daemon, not from the tool."""
    held = Held("a hole")
    shed.tools.dig.script.append(held)
    shed.tools.look.script.append(StoreError("away"))
    shed.provider.script += [asking(call(1, "look"), call(2, "srv__dig")), "Done."]
    message = (await shed.say("Look and dig")).message_id
    await held.until_begun()
    held.go.set()
    await shed.until_noted(message, "retried")
    await shed.pass_time(200)
    await shed.until_status(message, MessageStatus.ANSWERED)
    assert (len(shed.tools.dig.calls), len(shed.tools.look.calls)) == (1, 2)


@pytest.mark.parametrize(("minutes", "same"), [(5, True), (31, False)])
async def test_the_time_that_a_model_is_told_changes_within_a_turn_only_where_it_lasts(
    shed: AppHarness, minutes: int, same: bool
) -> None:
    """A prompt with an unchanged beginning costs less."""
    slow = Held("nothing")
    shed.tools.look.script.append(slow)
    shed.provider.script += [asking(call(1, "look")), "Done."]
    asked = await shed.say("Go")
    await slow.until_begun()
    shed.clock.put_forward(60 * minutes)
    slow.go.set()
    await shed.until_status(asked.message_id, MessageStatus.ANSWERED)
    first, second = (request.now for request in shed.provider.asked)
    assert (first == second) is same
