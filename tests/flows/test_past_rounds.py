"""The tool calls of earlier turns in later prompts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

from arvis.domain.agents import Agent
from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.messages import MessageStatus
from arvis.domain.past_rounds import Excerpt
from arvis.domain.runs import RunRequest, Turn
from arvis.domain.taint import Label
from arvis.domain.tools import Permit
from arvis.ports.store import Transaction
from arvis.store.open import Database
from arvis.tasks.past_rounds import MOST_CALLS, MOST_OUTPUT
from tests.flows.app_harness import HELPER, AppHarness, agent_with, open_app
from tests.flows.scripted import asking, call, said

TABLE = "city | people\nOslo | 709,000\nBern | 134,000"


@pytest.fixture
async def shed(database: Database) -> AsyncIterator[AppHarness]:
    async with open_app(database, agents=[agent_with(tools=("look", "vault"), allow_users=("ann",))]) as app:
        app.rules["vault"] = Permit.ALWAYS
        yield app


def shape(turns: Sequence[Turn]) -> list[str]:
    return ["calls" if turn.calls else "outputs" if turn.outputs else turn.role for turn in turns]


def past_outputs(request: RunRequest) -> list[str]:
    return [output.content for turn in request.turns for output in turn.outputs]


async def become(app: AppHarness, agent: Agent) -> None:
    await app.store.write(lambda tx: tx.agents.update(agent, 0))


async def test_later_questions_about_a_table_see_it(shed: AppHarness) -> None:
    shed.tools.look.script.append(TABLE)
    shed.provider.script += [
        asking(call(1, "look", words="cities"), text="Let me see."),
        "Oslo and Bern.",
        "Oslo.",
        "Bern.",
    ]
    for question in ("Which cities?", "Which is larger?", "And the other?"):
        await shed.ask(question)
    first, second, third = (request.turns for request in shed.provider.asked[1:])
    assert shape(second) == ["user", "calls", "outputs", "assistant", "user"]
    assert (second[1].content, second[1].calls[0].name, second[1].calls[0].arguments) == (
        "Let me see.",
        "look",
        {"words": "cities"},
    )
    assert past_outputs(shed.provider.asked[2]) == [TABLE]
    assert second[2].outputs[0].call_id == second[1].calls[0].id
    assert third[: len(second)] == second, "the prompt is extended"
    assert first[1].calls[0].arguments == second[1].calls[0].arguments


async def test_calls_of_all_turns_have_different_ids(shed: AppHarness) -> None:
    for number in range(3):
        shed.provider.script += [asking(call(1, "look"), call(2, "look", words="x")), f"Answer {number}"]
        await shed.ask("Look")
    ids = [each.id for turn in shed.provider.asked[-1].turns for each in turn.calls]
    assert len(ids) == len(set(ids)) == 6


async def test_without_tools_calls_are_text(shed: AppHarness) -> None:
    shed.tools.look.script.append(TABLE)
    shed.provider.script += [asking(call(1, "look", words="cities")), "Oslo and Bern.", "Oslo."]
    await shed.ask("Which cities?")
    await become(shed, HELPER)
    await shed.ask("Which is larger?")
    request = shed.provider.asked[-1]
    assert (request.tools, shape(request.turns)) == ((), ["user", "assistant", "user"])
    assert "> Oslo | 709,000" in request.turns[0].content
    assert "709,000" not in request.turns[1].content, "models imitate what they seem to have said"


async def test_tools_that_are_gone_are_still_described(shed: AppHarness) -> None:
    shed.provider.script += [asking(call(1, "look")), "Seen.", "Yes."]
    await shed.ask("Look")
    shed.tools.gone.add("look")
    await shed.ask("Did you?")
    request = shed.provider.asked[-1]
    assert [tool.description for tool in request.tools if tool.name == "look"] == ["This tool no longer exists."]
    assert shape(request.turns) == ["user", "calls", "outputs", "assistant", "user"]


async def test_secret_outputs_are_in_no_later_prompt(shed: AppHarness) -> None:
    shed.tools.vault.script.append("the-combination")
    shed.provider.script += [asking(call(1, "vault")), "I know it.", "No."]
    await shed.ask("Open it")
    asked = await shed.ask("Tell me")
    assert past_outputs(shed.provider.asked[-1]) == [
        "[A secret output, which is not kept. Call the tool again if you need it.]"
    ]

    def kept(tx: Transaction) -> list[Excerpt]:
        history = tx.messages.history(asked.message.conversation_id or "", 9)
        return [each.output for message in history for made in message.rounds for each in made.calls]

    assert await shed.store.read(kept) == [Excerpt("", 0)]


async def test_a_turn_that_failed_has_its_rounds_and_their_taint(shed: AppHarness) -> None:
    shed.provider.script += [asking(call(1, "look")), ProviderError(ProviderErrorKind.REFUSED, "no"), "Well."]
    message = (await shed.say("Look")).message_id
    await shed.until_status(message, MessageStatus.FAILED)
    await shed.ask("Did you look?")
    assert past_outputs(shed.provider.asked[-1]) == ["look of nothing"]

    def taint(tx: Transaction) -> set[Label]:
        conversation = (tx.messages.get(message) or pytest.fail("the message is gone")).conversation_id or ""
        return {label for each in tx.messages.history(conversation, 9) if each.rounds for label in each.taint}

    assert await shed.store.read(taint) == {Label.TOOLS}


async def test_what_is_kept_of_a_turn_is_bounded(shed: AppHarness) -> None:
    for round_ in range(4):
        calls = [call(index, "look", words=f"{round_} {index} " + "y" * 9_000) for index in range(14)]
        shed.tools.look.script += ["x" * 20_000] * len(calls)
        shed.provider.script.append(asking(*calls, text="z" * 9_000))
    shed.provider.script += ["Much.", "Yes."]
    await shed.ask("Look everywhere")
    await shed.ask("Did you?")
    turns = shed.provider.asked[-1].turns
    outputs = past_outputs(shed.provider.asked[-1])
    assert 20 < len(outputs) <= MOST_CALLS
    assert sum(map(len, outputs)) < MOST_OUTPUT + 100 * len(outputs)
    assert turns[1].content.startswith("[28 earlier calls of this turn are left out.]")
    assert all(len(turn.content) < 4_200 for turn in turns)
    assert all(len(str(each.arguments)) < 4_200 for turn in turns for each in turn.calls)


async def test_tags_beside_calls_are_not_repeated(shed: AppHarness) -> None:
    shed.provider.script += [asking(call(1, "look"), text="One moment. [STATE:mood] good"), said("Seen."), "Yes."]
    await shed.ask("Look")
    await shed.ask("Did you?")
    assert shed.provider.asked[-1].turns[1].content == "One moment."
