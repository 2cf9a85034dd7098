"""Memory, tasks, commands, skills and long conversations of the shipped daemon, as people meet them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from arvis.messaging import notices
from arvis.testing.openai_server import ReceivedRequest, Reply
from tests.acceptance.place import Place, opened
from tests.acceptance.talking import ANN_HERSELF, BEN_HIMSELF, arvis, command, heard, listed, prompt, told

pytestmark = pytest.mark.asyncio(loop_scope="module")

#: Channels of the helper.
ANN, BEN, TASKS, WORKSHOP, ATTIC = "ann", "ben", "tasks", "workshop", "attic"
#: The channel of the clerk.
ARCHIVE = "archive"
HELPER = {
    "slug": "helper",
    "name": "Helper",
    "prompt": "You help.",
    "channels": [f"web:{room}" for room in (ANN, BEN, TASKS, WORKSHOP, ATTIC)],
}
READER = {"slug": "reader", "name": "Reader", "prompt": "You read."}
CLERK = {"slug": "clerk", "name": "Clerk", "channels": [f"web:{ARCHIVE}"], "context_tokens": 4096}
SETTINGS = {"ARVIS__AGENTS": json.dumps([HELPER, READER, CLERK])}

#: A skill with a trigger word, whose slug sorts first.
BENDS = "---\nslug: bends\nname: Bends\ntriggers: {keywords: [bowline]}\n---\nMind the loop.\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    async with opened(tmp_path_factory.mktemp("mind"), SETTINGS) as place:
        yield place


@pytest.fixture
def place(shared: Place) -> Place:
    """The shared daemon, with a model server without requests and scripts of earlier tests."""
    shared.model.script.clear()
    shared.model.requests.clear()
    return shared


# -- memory ------------------------------------------------------------------------------------------------


async def test_what_is_learnt_is_in_the_next_conversation_of_this_person_alone(place: Place) -> None:
    async def says(reply: str) -> str:
        return await heard(place, reply, ANN, **ANN_HERSELF)

    assert await says("[MEMORY:sticky] Never forget [/MEMORY]") == notices.NOTED
    assert await says("Fine.\n[MEMORY:fact] one\n[STATE:alert.max] 150") == "Fine."
    await says("[MEMORY:user_preference] prefers Python 3.11 [/MEMORY]")
    await says("[MEMORY:user_preference] prefers Python 3.12 [/MEMORY]")
    assert (await command(place, "/new", ANN, **ANN_HERSELF)).startswith("Your next message starts a new conversation")

    known = await prompt(place, ANN, **ANN_HERSELF)
    lines = known.splitlines()
    assert {"- Never forget", "- one", "- alert.max: 150", "- prefers Python 3.12"} <= set(lines)
    assert "3.11" not in known
    layers = await command(place, "/why", ANN, **ANN_HERSELF)
    assert "sticky" in layers
    assert "memory" in layers
    assert "tokens: identity" in await arvis(place, "explain")

    await command(place, "/new", ANN, **ANN_HERSELF)
    of_ben = await prompt(place, ANN, **BEN_HIMSELF) + await command(place, "/memory", BEN, **BEN_HIMSELF)
    assert not any(each in of_ben for each in ("Never forget", "alert.max", "Python"))


async def test_people_see_what_is_kept_about_them_delete_it_and_bring_it_back(place: Place) -> None:
    kept = await command(place, "/memory", ANN, **ANN_HERSELF)
    (line,) = [line for line in kept.splitlines() if "prefers Python 3.12" in line]
    assert "by Ann" in line
    number = line.split()[0]
    assert "There is no" in await command(place, f"/memory delete {number}", BEN, **BEN_HIMSELF)

    assert (await command(place, f"/memory delete {number}", ANN, **ANN_HERSELF)).startswith("Deleted: ")
    assert "Python" not in await command(place, "/memory", ANN, **ANN_HERSELF)
    assert "Python" not in await prompt(place, ANN, **ANN_HERSELF)
    assert "prefers Python 3.12" in await command(place, "/memory undo", ANN, **ANN_HERSELF)
    assert line in await command(place, "/memory", ANN, **ANN_HERSELF)


async def test_an_owner_sees_it_on_the_command_line(place: Place) -> None:
    found = json.loads(await arvis(place, "memory", "list", "--agent", "helper", "--search", "python", "--json"))
    assert [fact["content"] for fact in found["items"]] == ["prefers Python 3.12"]
    assert found["items"][0]["scope"].startswith("principal:")
    old = await listed(place, "/api/memory", agent="helper", status="superseded")
    assert [fact["content"] for fact in old] == ["prefers Python 3.11"]


# -- tasks, commands, skills -------------------------------------------------------------------------------


async def test_a_task_is_answered_in_the_same_channel_under_the_others_name_and_reported_back(place: Place) -> None:
    replies = ("I ask.\n[DELEGATE:reader report]\nRead page 7.\n[/DELEGATE]", "Page 7 is blank.", "So it is blank.")
    place.model.script.extend(Reply((reply,)) for reply in replies)
    async with place.socket(TASKS) as socket:
        await socket.say("What is on page 7?")
        answers = [await socket.until("message") for _ in replies]
    assert [(answer["agent"], answer["content"]) for answer in answers] == [
        ("helper", "I ask.\n\nDone: gave a task to “reader”."),
        ("reader", "Page 7 is blank."),
        ("helper", "So it is blank."),
    ]
    assert "You read." in told(place, 1)
    assert "[Task from the agent Helper for Owner]\nRead page 7." in told(place, 1)
    assert "[Report from the agent Reader]\nPage 7 is blank." in told(place, 2)
    assert [entry["subject"] for entry in await listed(place, "/api/audit", kind="delegate")] == ["reader"]


async def test_a_task_for_oneself_is_refused(place: Place) -> None:
    seen = await heard(place, "[DELEGATE:helper]\nDo it.\n[/DELEGATE]", TASKS)
    assert seen == "Not done: give a task to “helper” (an agent cannot give a task to itself)."


async def test_commands_are_answered_without_a_model(place: Place) -> None:
    names = [line.split(":")[0] for line in (await command(place, "/help", WORKSHOP)).splitlines()]
    assert {"/help", "/new", "/memory", "/why"} <= set(names)
    assert await command(place, "/why", WORKSHOP) == "You have sent no message in this conversation yet."
    assert "has stored no facts about you" in await command(place, "/memory", WORKSHOP, userId="cleo")
    assert "/etc/passwd" in await prompt(place, WORKSHOP, "/etc/passwd")
    assert (await command(place, "/why", WORKSHOP)).startswith("Your message “/etc/passwd”: answered after ")
    await command(place, "/new", WORKSHOP)
    assert "/etc/passwd" not in await prompt(place, WORKSHOP)


async def test_a_skill_is_in_the_prompt_of_the_turns_that_call_for_it(place: Place) -> None:
    file = place.daemon.folder / "bends.md"
    file.write_text(BENDS, encoding="utf-8")
    await arvis(place, "skills", "create", str(file))
    assert "bends" in await arvis(place, "skills", "list")
    assert "Mind the loop." in await arvis(place, "skills", "show", "bends")
    await command(place, "/new", WORKSHOP)
    assert "Mind the loop." not in await prompt(place, WORKSHOP, "Hello")
    assert "Mind the loop." in await prompt(place, WORKSHOP, "How do I tie a bowline?")
    assert "Mind the loop." not in await prompt(place, ATTIC, "Hello")
    await arvis(place, "skills", "delete", "bends")
    assert "Mind the loop." not in await prompt(place, WORKSHOP, "Another bowline?")


# -- long conversations ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Clerk:
    """A model that knows the parts of compaction prompts."""

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        task = str(received.document["messages"][0]["content"])
        if "You keep the memory" in task:
            reply = "[MEMORY:project_context] The ship is called Aurora."
        elif "Summarize it" in task:
            reply = "They spoke about a ship, part by part."
        else:
            reply = "Understood."
        return await Reply((reply,)).answer(received)


async def summed_up(place: Place) -> tuple[int, dict[str, Any]]:
    """Send the clerk parts of a tale until a summary exists, and return the number of the last part and the summary."""
    sentences = "It has three masts and a crew of nine, and it sails at dawn. " * 15
    for number in range(30):
        await place.ask(f"Part {number} of the tale. {sentences}", ARCHIVE)
        (talk,) = [each for each in await listed(place, "/api/conversations") if each["channelId"] == ARCHIVE]
        summaries = await listed(place, f"/api/conversations/{talk['id']}/summaries")
        if summaries:
            return number, summaries[0]
    raise AssertionError("there is no summary")


async def test_a_long_conversation_gives_way_to_a_summary_and_can_be_brought_back(place: Place) -> None:
    place.model.script.extend([Clerk()] * 100)
    number, summary = await summed_up(place)
    assert summary["summary"] == "They spoke about a ship, part by part."
    known = await prompt(place, ARCHIVE)
    assert summary["summary"] in known
    assert "The ship is called Aurora." in known
    assert "Part 0 of" not in known
    assert f"Part {number} of" in known
    assert "summaries" in await command(place, "/why", ARCHIVE)

    stands_for = await listed(place, f"/api/summaries/{summary['id']}/messages")
    assert stands_for[0]["content"].startswith("Part 0 of")
    status, _ = await place.call("PATCH", "/api/agents/clerk", json={"contextTokens": 96_000})
    assert status == 200
    status, restored = await place.call("POST", f"/api/summaries/{summary['id']}/restore")
    assert (status, restored["messages"]) == (200, len(stands_for))
    known = await prompt(place, ARCHIVE)
    assert summary["summary"] not in known
    assert all(f"Part {each} of" in known for each in range(number + 1))
