"""Graph `handover`: agents hand over a turn to one another (seed 003)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from arvis.domain.agents import Agent, AgentStatus
from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.events import AgentMoved, Delta
from arvis.domain.executions import Answer, Execution, WaitKind
from arvis.domain.jobs import JobStatus
from arvis.domain.messages import Address, IncomingMessage, MessageStatus, Sender
from arvis.domain.taint import Label
from arvis.domain.tools import Permit
from arvis.engine import lifecycle
from arvis.store.open import Database
from tests.flows.app_harness import AppHarness, open_app
from tests.flows.scripted import asking, call

MAIN = Agent(id="a-main", slug="helper", name="Helper", graph="handover", helpers=("writer", "critic", "ghost"))
WRITER = Agent(id="a-writer", slug="writer", name="Writer", helpers=("critic",))
CRITIC = Agent(id="a-critic", slug="critic", name="The Critic")
OTHER = Agent(id="a-other", slug="other", name="Other")


def to(name: str, text: str, attribute: str = "destinationAgent") -> str:
    """Return a reply that hands over."""
    block = f"<response-metadata><attributes><{attribute}>{name}</{attribute}></attributes></response-metadata>"
    return f"{block}\nMESSAGE TO SEND:\n{text}"


@asynccontextmanager
async def company(database: Database, *agents: Agent, **about: Any) -> AsyncIterator[AppHarness]:
    async with open_app(database, agents=agents or (MAIN, WRITER, CRITIC, OTHER), **about) as home:
        home.bus.subscribe(AgentMoved, home._listen)
        yield home


@pytest.fixture
async def home(database: Database) -> AsyncIterator[AppHarness]:
    async with company(database) as opened:
        yield opened


@pytest.fixture
async def either_home(either_database: Database) -> AsyncIterator[AppHarness]:
    async with company(either_database) as opened:
        yield opened


def newest(home: AppHarness) -> list[str]:
    """Return the last message of each prompt, without its author."""
    return [prompt[-1].removeprefix("user: ") for prompt in home.provider.prompts]


def speakers(home: AppHarness) -> list[str]:
    return [request.agent_name for request in home.provider.asked]


def moves_of(home: AppHarness) -> list[tuple[str, str, str]]:
    """Return the handovers of a message: the message, the agent that hands over, and the next agent."""
    moves = [event for event in home.events if isinstance(event, AgentMoved)]
    return [(move.message_id, move.source, move.target) for move in moves]


async def answered(home: AppHarness, text: str, **about: Any) -> str:
    """Ask, wait for the answer, and return the id of the message."""
    received = await home.say(text, **about)
    await home.until_status(received.message_id, MessageStatus.ANSWERED)
    return received.message_id


async def turn_of(home: AppHarness, message_id: str) -> Execution:
    def script(tx: Any) -> Execution:
        found: Execution = tx.executions.get(tx.messages.get(message_id).execution_id)
        return found

    return await home.store.read(script)


async def test_a_talk_that_is_handed_over_comes_back_with_the_senders_name(either_home: AppHarness) -> None:
    home = either_home
    home.provider.script.extend([to("writer", "A poem, please."), "Roses.", "Here: Roses."])
    answer = await home.ask("Write something")
    assert answer.reply == "Here: Roses."
    assert speakers(home) == ["Helper", "Writer", "Helper"]
    assert newest(home)[1:] == [
        "[Message from the agent Helper]\nA poem, please.",
        "[Message from the agent Writer]\nRoses.",
    ]
    assert home.provider.prompts[2][:2] == ["user: Write something", "assistant: A poem, please."]


async def test_an_answer_without_destination_goes_down_the_stack_one_by_one(home: AppHarness) -> None:
    home.provider.script.extend([to("writer", "one"), to("The Critic", "two"), "three", "four", "five"])
    assert (await home.ask("Go")).reply == "five"
    assert speakers(home) == ["Helper", "Writer", "The Critic", "Writer", "Helper"]
    assert newest(home)[3:] == ["[Message from the agent The Critic]\nthree", "[Message from the agent Writer]\nfour"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nobody", "no agent has that name"),
        ("other", "you may not hand over to that agent"),
        ("HELPER", "that agent is you"),
        ("ghost", "no agent has that name"),
        ("critic", "that agent is not active"),
    ],
)
async def test_who_may_not_be_handed_to_leaves_the_talk_with_the_same_agent(
    database: Database, name: str, why: str
) -> None:
    paused = replace(CRITIC, status=AgentStatus.PAUSED)
    async with company(database, MAIN, WRITER, paused, OTHER) as home:
        home.provider.script.extend([to(name, "psst"), "Then I say it."])
        answer = await home.ask("Go")
        assert answer.reply == "Then I say it."
        assert speakers(home) == ["Helper", "Helper"]
        assert f"{why}. Your text was not sent." in newest(home)[1]
        assert moves_of(home) == []


async def test_who_is_refused_again_and_again_answers(home: AppHarness) -> None:
    home.provider.script.extend([to("nobody", str(number)) for number in range(9)])
    assert (await home.ask("Go")).reply == "2"
    assert len(home.provider.asked) == 3


async def test_the_other_name_of_the_attribute_counts_and_letters_of_either_case(home: AppHarness) -> None:
    home.provider.script.extend([to("WRITER", "Go", "agentNameToWhichSendTheMessage"), "Done.", "Fine."])
    await home.ask("Go")
    assert speakers(home) == ["Helper", "Writer", "Helper"]


async def test_whoever_names_the_agent_that_waits_answers_it(home: AppHarness) -> None:
    home.provider.script.extend([to("writer", "Go"), to("helper", "Back."), "Fine."])
    assert (await home.ask("Go")).reply == "Fine."
    assert speakers(home) == ["Helper", "Writer", "Helper"]


async def test_people_see_where_a_talk_goes(home: AppHarness) -> None:
    home.provider.script.extend([to("writer", "Go"), "Done.", "Fine."])
    asked = await answered(home, "Go")
    await home.until_sent(3)
    assert home.connector.texts == ["→ Writer", "→ Helper", "Fine."]
    assert moves_of(home) == [(asked, "helper", "writer"), (asked, "writer", "helper")]


async def test_what_is_said_on_the_way_streams_to_whom_the_turn_answers(home: AppHarness) -> None:
    home.provider.script.extend([to("writer", "Go"), "Roses are red.", "Fine."])
    asked = await answered(home, "Go")
    streamed = [(event.message_id, event.text) for event in home.events if isinstance(event, Delta)]
    assert {message_id for message_id, _ in streamed} == {asked}
    assert "Roses" in "".join(text for _, text in streamed)


async def test_each_agent_keeps_its_own_thread_of_the_conversation(either_home: AppHarness) -> None:
    home = either_home
    home.provider.script.extend([to("writer", "A poem."), "Roses.", "Here: Roses."])
    await home.ask("Write")
    home.provider.script.extend([to("writer", "Another."), "Violets.", "Here: Violets."])
    await home.ask("More")
    _, _, _, again, writer, _ = home.provider.prompts
    assert again == ["user: Write", "assistant: Here: Roses.", "user: More"]
    assert writer == [
        "user: [Message from the agent Helper]\nA poem.",
        "assistant: Roses.",
        "user: [Message from the agent Helper]\nAnother.",
    ]


async def test_another_conversation_has_other_threads(home: AppHarness) -> None:
    home.provider.script.extend([to("writer", "A poem."), "Roses.", "Here: Roses."])
    await home.ask("Write")
    home.provider.script.extend([to("writer", "Another."), "Violets.", "Here: Violets."])
    await home.ask("More", channel="elsewhere")
    assert len(home.provider.prompts[4]) == 1


async def test_text_of_replies_that_call_tools_is_no_message(database: Database) -> None:
    main, writer = replace(MAIN, tools=("look",)), replace(WRITER, tools=("look",))
    async with company(database, main, writer) as home:
        home.provider.script.extend([to("writer", "Go"), asking(call(1, "look"), text="I am done!"), "Now.", "Fine."])
        await home.ask("Go", user="owner")
        assert newest(home)[3] == "[Message from the agent Writer]\nNow."
        assert len(home.tools.look.calls) == 1


async def test_what_agents_wrote_taints_the_answer_and_an_answer_of_its_own_does_not(home: AppHarness) -> None:
    home.provider.script.extend([to("writer", "Go"), "Done.", "Fine.", "Plain."])
    tainted = await turn_of(home, await answered(home, "Go"))
    assert tainted.state["taint"] == [Label.AGENTS]
    plain = await turn_of(home, await answered(home, "And?", channel="elsewhere"))
    assert plain.state["taint"] == []


async def test_taint_of_one_agents_tools_goes_on_to_the_next(database: Database) -> None:
    main, writer = replace(MAIN, tools=("look",)), replace(WRITER, tools=("look",))
    async with company(database, main, writer) as home:
        home.provider.script.extend([to("writer", "Go"), asking(call(1, "look")), "Now.", "Fine."])
        turn = await turn_of(home, await answered(home, "Go", user="owner"))
        assert turn.state["taint"] == [Label.AGENTS, Label.TOOLS]


@pytest.mark.parametrize(("user", "speak"), [("ann", ["Helper", "Helper"]), ("owner", ["Helper", "Writer", "Helper"])])
async def test_rights_only_shrink(database: Database, user: str, speak: list[str]) -> None:
    """The person who runs the daemon may reach an agent with tools that the first agent lacks."""
    async with company(database, MAIN, replace(WRITER, tools=("look",))) as home:
        home.provider.script.extend([to("writer", "Go"), "Done.", "Fine."])
        await home.ask("Go", user=user)
        assert speakers(home) == speak


async def test_who_may_not_ask_an_agent_does_not_reach_it_by_another_one(database: Database) -> None:
    async with company(database, MAIN, replace(WRITER, allow_users=("bob",))) as home:
        home.provider.script.extend([to("writer", "Go"), "Fine."])
        await home.ask("Go", user="ann")
        assert "the person who asks may not use that agent" in newest(home)[1]
        home.provider.script.extend([to("writer", "Go"), "Done.", "Fine."])
        await home.ask("Go", user="bob", channel="elsewhere")
        assert speakers(home)[2:] == ["Helper", "Writer", "Helper"]


@pytest.mark.parametrize(
    "powers",
    [{"tools": ("look",)}, {"plugins": ("workspace",)}, {"graph": "code"}],
    ids=lambda powers: next(iter(powers)),
)
async def test_powers_that_the_first_agent_lacks_are_reached_by_nobody_else(
    database: Database, powers: dict[str, Any]
) -> None:
    async with company(database, MAIN, replace(WRITER, allow_users=("ann",), **powers)) as home:
        home.provider.script.extend([to("writer", "Go"), "Fine."])
        await home.ask("Go", user="ann")
        assert speakers(home) == ["Helper", "Helper"]


async def test_only_who_can_be_reached_is_offered(database: Database) -> None:
    async with company(database, MAIN, replace(WRITER, allow_users=("bob",)), CRITIC, OTHER) as home:
        await home.ask("Go", user="ann")
        told = home.provider.asked[0].system
        assert "- critic: The Critic" in told
        assert "- writer:" not in told.partition("# Other agents")[2]


async def test_an_agent_that_fails_is_told_to_who_waits(home: AppHarness) -> None:
    refused = ProviderError(ProviderErrorKind.REFUSED, "no")
    home.provider.script.extend([to("writer", "Go"), refused, "Then without."])
    assert (await home.ask("Go")).reply == "Then without."
    assert newest(home)[2] == "[The agent Writer could not answer.]"


async def test_where_the_first_agent_fails_people_hear_of_it(home: AppHarness) -> None:
    home.provider.script.append(ProviderError(ProviderErrorKind.REFUSED, "no"))
    assert (await home.ask("Go")).reply == (
        "Sorry, I could not answer this: the model, or the content filter of its vendor, declined to answer. "
        "Please ask in a different way."
    )


async def test_a_talk_without_end_ends(database: Database) -> None:
    ring = [Agent(id=f"r{n}", slug=f"r{n}", name=f"R{n}", helpers=(f"r{(n + 1) % 3}",)) for n in range(3)]
    async with company(database, replace(ring[0], graph="handover"), *ring[1:]) as home:
        home.provider.script.extend([to(f"r{(n + 1) % 3}", "you") for n in range(8)])
        # From here on, handovers are refused; the model is told so, and answers at last.
        home.provider.script.extend([to("r0", "you")] * 50)
        received = await home.say("Go", assigned_agent="r0")
        await home.until_status(received.message_id, MessageStatus.ANSWERED)
        turn = await turn_of(home, received.message_id)
        assert turn.state["progress"]["hops"] <= 20
        assert len(home.provider.asked) <= 63


async def test_a_tool_is_allowed_in_the_chat_of_the_turn_and_the_stack_stays(database: Database) -> None:
    main, writer = replace(MAIN, tools=("rm",)), replace(WRITER, tools=("rm",))
    async with company(database, main, writer) as home:
        home.rules["exec"] = Permit.ASK
        home.provider.script.extend([to("writer", "Go"), asking(call(1, "rm", words="x")), "Gone.", "Fine."])
        received = await home.say("Go", user="owner")
        await home.until_status(received.message_id, MessageStatus.WAITING)
        await home.until_sent(2)
        assert "Writer wants to use the tool rm." in home.connector.texts[1]
        [wait] = (await home.insights.waits(open_only=True, limit=10, cursor=None)).items
        assert wait.kind is WaitKind.APPROVAL
        assert (await turn_of(home, received.message_id)).state["progress"]["stack"] == [MAIN.id]
        await home.restart()
        given = Answer({"decision": "approve"}, "owner")
        await home.store.write(lifecycle.answer, wait.id, given, home.clock.now())
        home.queue.look()
        assert (await home.until_status(received.message_id, MessageStatus.ANSWERED)).reply == "Fine."
        assert [len(home.tools.rm.calls), len(home.provider.asked)] == [1, 4]


async def test_tasks_of_whoever_speaks_count_below_the_turn(home: AppHarness) -> None:
    tasks = "[DELEGATE:other] Look. [/DELEGATE][DELEGATE:helper] Look. [/DELEGATE]"
    home.provider.script.extend([to("writer", "Go"), f"Asked. {tasks}", "Fine.", "Looked."])
    asked = await answered(home, "Go")
    await home.until_idle()
    turn = await turn_of(home, asked)
    [given] = await home.insights.delegations(turn.id)
    assert (given.root_id, given.depth, given.path) == (turn.id, 1, (MAIN.id, WRITER.id, OTHER.id))


async def test_what_another_agent_asks_for_leaves_no_thread(database: Database) -> None:
    boss = Agent(id="a-boss", slug="boss", name="Boss")
    async with company(database, boss, MAIN, WRITER) as home:
        home.provider.script.extend(["[DELEGATE:helper] Write. [/DELEGATE]", to("writer", "Go"), "Done.", "Fine."])
        await home.ask("Go", assigned_agent="boss")
        await home.until_idle()
        assert speakers(home) == ["Boss", "Helper", "Writer", "Helper"]
        talks = await home.store.read(lambda tx: tx.conversations.in_place(home.message("").address))
        assert [await home.store.read(lambda tx, talk: tx.handover_threads.names(talk.id), talk) for talk in talks] == [
            [],
            [],
        ]


async def test_a_chat_key_limits_whoever_speaks_and_their_tasks(home: AppHarness) -> None:
    home.provider.script.extend([to("writer", "Go"), "Asked. [DELEGATE:critic] Look. [/DELEGATE]", "Fine."])
    key = Sender("key:site", "Site", agents=("helper", "writer"))
    question = IncomingMessage(Address("web", "web", "dashboard-agent-helper"), "1", key, "hi", is_direct=True)
    received = await home.inbox.receive(question)
    await home.until_status(received.message_id, MessageStatus.ANSWERED)
    assert speakers(home) == ["Helper", "Writer", "Helper"]
    assert await home.insights.delegations((await turn_of(home, received.message_id)).id) == []


async def test_what_other_people_said_is_theirs(home: AppHarness) -> None:
    await answered(home, "I am Bob", user="bob", is_direct=False, addressed=True)
    turn = await turn_of(home, await answered(home, "Who am I?", user="ann", is_direct=False, addressed=True))
    assert turn.state["taint"] == [Label.PEOPLE]
    assert "Bob #" in home.provider.asked[1].turns[0].content


async def test_what_limits_a_key_travels_through_a_task_to_whoever_speaks(database: Database) -> None:
    boss = Agent(id="a-boss", slug="boss", name="Boss")
    async with company(database, boss, MAIN, WRITER, CRITIC) as home:
        home.provider.script.extend(["[DELEGATE:helper] Write. [/DELEGATE]", to("critic", "Go"), to("writer", "Go")])
        home.provider.script.extend(["Asked. [DELEGATE:critic] Look. [/DELEGATE]", "Fine."])
        key = Sender("key:site", "Site", agents=("boss", "helper", "writer"))
        question = IncomingMessage(Address("web", "web", "dashboard-agent-boss"), "1", key, "hi", is_direct=True)
        received = await home.inbox.receive(question)
        await home.until_status(received.message_id, MessageStatus.ANSWERED)

        async def all_have_spoken() -> bool | None:
            jobs = [*await home.jobs("message"), *await home.jobs("advance")]
            return None if any(job.status is not JobStatus.DONE for job in jobs) else True

        await home.until(all_have_spoken)
        assert speakers(home) == ["Boss", "Helper", "Helper", "Writer", "Helper"]
