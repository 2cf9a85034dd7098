"""A second message of the same person while the agent works: it waits, steers the turn, or restarts it."""

from __future__ import annotations

import pytest

from arvis.domain.agents import Agent
from arvis.domain.messages import MessageStatus
from arvis.store.open import Database
from tests.flows.app_harness import AppHarness, agent_with, open_app
from tests.flows.scripted import Held, asking, call


async def _second_while_looking(app: AppHarness, *, user: str = "ann") -> tuple[str, str]:
    """Ask, and write again while the tool runs. Return the ids of both messages."""
    looking = Held("a view")
    app.tools.look.script.append(looking)
    first = await app.say("Look")
    await looking.until_begun()
    second = await app.say("to the left", user=user)
    looking.go.set()
    return first.message_id, second.message_id


def _agent(way: str | None, completion: str = "implicit") -> list[Agent]:
    return [agent_with(tools=("look",), allow_users=("ann", "bob"), on_new_message=way, completion=completion)]


async def test_in_a_chat_it_waits_for_its_turn(database: Database) -> None:
    async with open_app(database, agents=_agent(None)) as app:
        app.provider.script += [asking(call(1, "look")), "One.", "Two."]
        first, second = await _second_while_looking(app)
        assert (await app.until_status(first, MessageStatus.ANSWERED)).reply == "One."
        assert (await app.until_status(second, MessageStatus.ANSWERED)).reply == "Two."
        assert "to the left" not in str(app.provider.prompts[1])


@pytest.mark.parametrize(("way", "completion"), [("steer", "implicit"), (None, "explicit")])
async def test_steering_shows_it_to_the_model_before_its_next_call(
    database: Database, way: str | None, completion: str
) -> None:
    async with open_app(database, agents=_agent(way, completion)) as app:
        app.provider.script += [asking(call(1, "look")), "Both."]
        first, second = await _second_while_looking(app)
        assert (await app.until_status(first, MessageStatus.ANSWERED)).reply == "Both."
        assert (await app.until_status(second, MessageStatus.ANSWERED)).reply == "Both."
        newest = app.provider.asked[1].turns[-1]
        assert [output.content for output in newest.outputs] == ["a view"]
        assert "to the left" in newest.content
        assert len(app.provider.asked) == 2
        await app.until_idle()
        assert app.connector.texts == ["Both."]


async def test_another_persons_message_steers_nobody(database: Database) -> None:
    async with open_app(database, agents=_agent("steer")) as app:
        app.provider.script += [asking(call(1, "look")), "One.", "Two."]
        first, second = await _second_while_looking(app, user="bob")
        assert (await app.until_status(first, MessageStatus.ANSWERED)).reply == "One."
        assert (await app.until_status(second, MessageStatus.ANSWERED)).reply == "Two."


async def test_a_turn_begins_anew_with_the_newer_message(database: Database) -> None:
    async with open_app(database, agents=_agent("restart")) as app:
        app.provider.script += [asking(call(1, "look")), "Both."]
        _, second = await _second_while_looking(app)
        assert (await app.until_status(second, MessageStatus.ANSWERED)).reply == "Both."
        assert app.provider.prompts[1] == ["user: Look\n\nto the left"]


async def test_an_answer_that_a_newer_message_overtook_is_not_given(database: Database) -> None:
    async with open_app(database, agents=_agent("restart")) as app:
        thinking = Held("Too late.")
        app.provider.script += [thinking, "Both."]
        first = await app.say("Look")
        await thinking.until_begun()
        second = await app.say("to the left")
        thinking.go.set()
        assert (await app.until_status(second.message_id, MessageStatus.ANSWERED)).reply == "Both."
        assert (await app.timeline(first.message_id)).reply == "Both."
        await app.until_idle()
        assert app.connector.texts == ["Both."]
