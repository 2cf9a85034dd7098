"""Ways in which agents of the shipped daemon work, as their user sees them: plans, scripts, handovers, steering, stops,
resets and restarts. Each agent has the channel of its name."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from arvis.process.sandbox import Bubblewrap
from arvis.testing.openai_server import Behaviour, CallsTools, ReceivedRequest, Reply
from arvis.tools.code import envelope
from tests.acceptance.place import Place, opened
from tests.acceptance.talking import arvis, command, listed, told
from tests.acceptance.test_working_alone import ended, history, made
from tests.flows.planning_kit import USUAL
from tests.flows.test_converse import to
from tests.parts import refused, require

pytestmark = pytest.mark.asyncio(loop_scope="module")


def agent(slug: str, **more: Any) -> dict[str, Any]:
    return {"slug": slug, "name": slug.title(), "channels": [f"web:{slug}"], **more}


AGENTS = [
    agent("helper", tools=["calculate"]),
    agent("planner", graph="planning", tools=["calculate"]),
    agent("coder", graph="code", tools=["code_execution"]),
    agent("desk", graph="handover", handoff_to=["writer"]),
    agent("writer"),
    agent("worker", ends="explicit"),
    agent("driver", on_new_message="steer", tools=["calculate"]),
    agent("gardener"),
]
REQUEST = "Please find out how much six times seven is, with your tools, and put it online"
SUM = CallsTools((("calculate", json.dumps({"expression": "6*7"})),))
DONE = "<AGENT_DONE><KEY_RESULT>42</KEY_RESULT></AGENT_DONE>"
STUCK = (
    "I need the key. <AGENT_BLOCKED><BLOCKER_REASON>The door is locked.</BLOCKER_REASON>"
    "<UNBLOCK_REQUIREMENTS>a key</UNBLOCK_REQUIREMENTS></AGENT_BLOCKED>"
)


@dataclass(slots=True)
class Held:
    """A model behaviour that answers once the test releases it."""

    then: Behaviour
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        self.begun.set()
        await self.go.wait()
        return await self.then.answer(received)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    settings = {
        "ARVIS__AGENTS": json.dumps(AGENTS),
        "ARVIS__SPEECH__BUFFER__PAUSE_SECONDS": "0.1",
        "ARVIS__SPEECH__BUFFER__SILENCE_SECONDS": "0.2",
    }
    async with opened(tmp_path_factory.mktemp("ways"), settings) as place:
        yield place


@pytest.fixture
def place(shared: Place) -> Place:
    """The shared daemon, with a model server without requests and scripts of earlier tests."""
    shared.model.script.clear()
    shared.model.requests.clear()
    return shared


def plays(*, first: Behaviour | None = None) -> list[Behaviour]:
    """Return the replies of a planning run from its start; `first` replaces the planner's reply."""
    before = [Reply((USUAL["plan_retrieval"],)), first or Reply((USUAL["planner"],))]
    texts = [DONE, USUAL["skill_critic"], "It is 42."]
    return [*before, Reply((USUAL["reasoning"],)), SUM, *(Reply((text,)) for text in texts)]


async def test_a_planned_task_is_answered_and_its_plan_is_never_sent(place: Place) -> None:
    place.model.script += plays()
    async with place.socket("planner") as socket:
        timeline = await place.wait(await socket.say(REQUEST))
        assert (timeline["status"], timeline["reply"]) == ("answered", "It is 42.")
        over = await socket.until("transfer_data")
    assert (over["content"], over["graph"], over["waitingForUser"]) == ("graph_execution_complete", "planning", False)
    assert "42" in told(place, 4)
    assert "secret" not in json.dumps(socket.seen)
    (execution,) = await listed(place, "/api/executions", graph="planning")
    _, shown = await place.call("GET", f"/api/executions/{execution['id']}")
    nodes = [step["node"] for step in shown["path"]]
    assert [node for node in dict.fromkeys(nodes) if node in USUAL] == [
        "plan_retrieval", "planner", "reasoning", "action", "skill_critic", "output",
    ]  # fmt: skip
    assert "- [x] 1. build the page" in shown["plan"]
    explained = await arvis(place, "explain", timeline["messageId"])
    assert shown["plan"] in explained.partition("The plan:")[2]


async def test_a_script_runs_once_a_person_has_allowed_it(place: Place) -> None:
    require("bwrap", "install bubblewrap (Debian: apt-get install bubblewrap)")
    if (reason := await Bubblewrap(hidden=[]).refusal()) is not None:
        refused(reason)
    place.model.script += [Reply((envelope("print(6 * 7)", [], "I count."),)), Reply(("It is 42.",))]
    message = await place.post("Count", "coder")
    assert (await place.wait(message))["status"] == "waiting"
    (wait,) = await listed(place, "/api/questions")
    assert "print(6 * 7)" in wait["prompt"]
    status, _ = await place.call("POST", f"/api/questions/{wait['id']}/answer", json={"decision": "approve"})
    assert status == 200
    assert (await place.wait(message))["reply"] == "It is 42."
    assert "42" in told(place, -1)


async def test_a_talk_is_handed_over_and_back_and_people_see_it(place: Place) -> None:
    place.model.script += [Reply((to("writer", "A poem."),)), Reply(("Roses.",)), Reply(("Here: Roses.",))]
    async with place.socket("desk") as socket:
        await socket.say("Write something")
        shown = [(await socket.until("message"))["content"] for _ in range(3)]
    assert shown == ["→ Writer", "→ Desk", "Here: Roses."]
    moves = [(frame["from"], frame["to"]) for frame in socket.seen if frame["type"] == "agent_moved"]
    assert moves == [("desk", "writer"), ("writer", "desk")]
    assert "[Message from the agent Desk]\nA poem." in told(place, 1)


async def test_who_is_blocked_waits_for_the_person_and_goes_on(place: Place) -> None:
    place.model.script.append(Reply((STUCK,)))
    async with place.socket("worker") as socket:
        first = await socket.say("Open the door")
        blocked = await socket.until("message")
        assert blocked["content"] == "I need the key.\n\nThe door is locked.\n\na key"
        assert (await place.wait(first))["status"] == "waiting"
        place.model.script.append(Reply((f"It is open. {DONE}",)))
        second = await place.wait(await socket.say("Here is the key"))
    assert second["reply"] == "It is open."
    assert "I need the key." in told(place, -1)
    overs = [frame for frame in socket.seen if frame["type"] == "transfer_data"]
    assert [(over["stopReason"], over["waitingForUser"]) for over in overs[:1]] == [("waiting", True)]


async def test_a_message_that_comes_meanwhile_steers(place: Place) -> None:
    thinking = Held(SUM)
    place.model.script += [thinking, Reply(("To the left, 42.",))]
    first = await place.post("Drive", "driver")
    await thinking.begun.wait()
    second = await place.post("to the left", "driver")
    thinking.go.set()
    assert (await place.wait(first))["reply"] == (await place.wait(second))["reply"] == "To the left, 42."
    assert "to the left" in told(place, 1)
    assert len(place.model.requests) == 2


async def test_a_reset_begins_anew(place: Place) -> None:
    await place.ask("My name is Ann", "helper")
    await command(place, "/reset", "helper")
    await place.ask("Who am I?", "helper")
    assert "My name is Ann" not in told(place, -1)
    assert len([talk for talk in await listed(place, "/api/conversations") if talk["channelId"] == "helper"]) == 2


async def test_what_is_spoken_becomes_a_message(place: Place) -> None:
    async with place.socket("helper") as socket:
        await socket.send(type="speech", chunkId="1", text="what is the", complete=False)
        await socket.send(type="speech", chunkId="2", text="weather like today")
        ack = await socket.until("ack")
        timeline = await place.wait(ack["messageId"])
    assert (ack["chunkIds"], timeline["status"]) == (["1", "2"], "answered")
    assert "what is the weather like today" in told(place, -1)


async def test_who_is_at_work_is_shown_and_can_be_stopped(place: Place) -> None:
    thinking = Held(Reply())
    place.model.script.append(thinking)
    message = await place.post("Think", "helper")
    await thinking.begun.wait()
    (busy,) = [each for each in await listed(place, "/api/activity") if each["agent"] == "helper"]
    assert (busy["status"], busy["channelId"]) == ("running", "helper")
    assert "helper" in await arvis(place, "status")
    (running,) = await listed(place, "/api/executions", status="running")
    assert running["id"] == busy["executionId"]
    status, shown = await place.call("POST", f"/api/executions/{running['id']}/cancel")
    assert (status, shown["status"]) == (200, "cancelled")
    assert (await place.wait(message))["status"] == "cancelled"
    thinking.go.set()


async def test_what_a_kill_cut_ends_once(place: Place) -> None:
    """The kill comes in the middle of a plan, and of the second cycle of a heartbeat."""
    beat = await made(
        place, "schedules", "create", "gardener", "@yearly", "--heartbeat", "--to", "web:gardener",
        "--prompt", "Water the roses.", "--max-cycles", "3",
    )  # fmt: skip
    planning, second = Held(Reply()), Held(Reply())
    place.model.script += plays(first=planning)[:2]
    message = await place.post(REQUEST, "planner")
    await planning.begun.wait()
    place.model.script += [Reply(("Half of them.",)), Reply(("Half of them.",)), second]
    await arvis(place, "schedules", "run", beat["id"])
    await second.begun.wait()
    assert "Cycle 2 of 3" in told(place, -1)
    place.model.script.clear()
    place.model.default = ByPart()
    await asyncio.to_thread(place.daemon.kill)
    await asyncio.to_thread(place.daemon.start)
    assert (await place.wait(message))["reply"] == "It is up."
    assert (await ended(place, beat["id"]))["status"] == "done"
    assert [run["status"] for run in await history(place, beat["id"])] == ["done"]
    posts: Counter[str] = Counter()
    for talk in await listed(place, "/api/conversations"):
        if talk["channelId"] in {"planner", "gardener"}:
            said = await listed(place, f"/api/conversations/{talk['id']}/messages")
            posts.update(message["content"] for message in said)
    assert posts["All are watered."] == 1
    assert posts["It is up."] == 1


@dataclass(slots=True)
class ByPart:
    """A model that answers by its prompt, since two executions run at the same time in any order."""

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        return await Reply((part_played(received),)).answer(received)


def part_played(received: ReceivedRequest) -> str:
    said = "\n".join(str(turn["content"]) for turn in received.document["messages"])
    if "Water the roses." in said:
        return f"All are watered. {DONE}"
    parts: dict[str, str] = {
        "You plan work": USUAL["planner"],
        "You write the brief for an executor": USUAL["reasoning"],
        "Carry out a brief": DONE,
        "You check work": USUAL["skill_critic"],
        "You have worked on the request": "It is up.",
    }
    return next((text for opening, text in parts.items() if opening in said), str(USUAL["plan_retrieval"]))
