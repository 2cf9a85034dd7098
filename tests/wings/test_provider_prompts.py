"""The order of a prompt's parts for each vendor: changing parts come after constant ones, and the time after the user's
text."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import pytest

from arvis.domain.runs import RunRequest, Turn
from arvis.domain.tools import ToolCall, ToolOutput, ToolSpec
from arvis.providers.anthropic_messages import document_of
from arvis.providers.claude_cli import prompt_of, system_text
from arvis.testing.openai_server import Behaviour, Reply
from tests.wings import anthropic_scene, chat_scene, google_scene, ollama_scene
from tests.wings.scene import HttpScene

SUM = ToolSpec("sum", "Add numbers.", {"type": "object"})
CHANGING = "[Memory] They like tea."
NOWS = ("Now: Sunday, 09:05", "Now: Monday, 10:10", "Now: Tuesday, 11:15", "Now: Wednesday, 12:20")


@dataclass(frozen=True, slots=True)
class Vendor:
    """A provider, and the place of the messages in its documents."""

    name: str
    open: Callable[[], AbstractAsyncContextManager[HttpScene]]
    says: Callable[[], Behaviour]
    messages: str = "messages"


VENDORS = (
    Vendor("openai", chat_scene.open_scene, Reply),
    Vendor("anthropic", anthropic_scene.open_scene, lambda: anthropic_scene.says("x")),
    Vendor("google", google_scene.open_scene, lambda: google_scene.says("x"), "contents"),
    Vendor("ollama", ollama_scene.open_scene, lambda: ollama_scene.says("x")),
)


@pytest.fixture(params=VENDORS, ids=lambda vendor: vendor.name)
def vendor(request: pytest.FixtureRequest) -> Vendor:
    found: Vendor = request.param
    return found


@asynccontextmanager
async def asking(vendor: Vendor) -> AsyncIterator[Callable[..., Any]]:
    """Yield a function that makes a call and returns the document that the vendor received."""
    async with vendor.open() as scene:

        async def ask(**changes: Any) -> dict[str, Any]:
            await scene.complete(vendor.says(), **changes)
            return dict(scene.server.requests[-1].document)

        yield ask


def text_of(document: object) -> str:
    return json.dumps(document, ensure_ascii=False)


def growing() -> list[tuple[Turn, ...]]:
    """Return a conversation as it is at each of its calls; one of its turns calls a tool."""
    whole = (
        Turn("user", "Hello"),
        Turn("assistant", "Hi"),
        Turn("user", "Look: 東京"),
        Turn("assistant", "", calls=(ToolCall("c1", "sum", {"of": [1, 2]}),)),
        Turn("user", "", outputs=(ToolOutput("c1", "one"), ToolOutput("c2", "two"))),
        Turn("assistant", "Three."),
        Turn("user", "Thanks"),
    )
    return [whole[:length] for length in (1, 3, 5, 7)]


async def test_what_changes_stands_behind_what_stays(vendor: Vendor) -> None:
    async with asking(vendor) as ask:
        plain = text_of(await ask())
        both = text_of(await ask(changing=CHANGING))
        alone = text_of(await ask(system="", changing=CHANGING))
    assert CHANGING not in plain
    assert both.index("Be short.") < both.index(CHANGING)
    assert CHANGING in alone
    assert "Be short." not in alone


def newest_words(turns: tuple[Turn, ...]) -> int:
    """Return the index of the user's newest text."""
    return max(place for place, turn in enumerate(turns) if turn.role == "user" and turn.content)


def message_with(said: str, messages: Sequence[object]) -> int:
    """Return the index of the message with this text. Some formats have several messages for the outputs of one
    turn."""
    return next(place for place, message in enumerate(messages) if said in text_of(message))


async def test_the_time_stands_behind_the_newest_words_and_never_behind_outputs(vendor: Vendor) -> None:
    async with asking(vendor) as ask:
        for turns in growing():
            messages = (await ask(turns=turns, tools=(SUM,), now=NOWS[0]))[vendor.messages]
            text, said = text_of(messages), turns[newest_words(turns)].content
            assert text.count(NOWS[0]) == 1
            assert NOWS[0] in text_of(messages[message_with(said, messages)])
            assert text.index(NOWS[0]) > text.rindex(said)


async def test_the_time_stands_with_the_system_text_where_the_user_said_nothing(vendor: Vendor) -> None:
    turns = growing()[2][3:]
    async with asking(vendor) as ask:
        document = await ask(turns=turns, tools=(SUM,), now=NOWS[0])
    assert text_of(document).count(NOWS[0]) == 1
    behind = [message for message in document[vendor.messages] if message["role"] != "system"]
    assert NOWS[0] not in text_of(behind)


async def test_the_time_adds_no_message(vendor: Vendor) -> None:
    async with asking(vendor) as ask:
        for turns in growing():
            plain = (await ask(turns=turns))[vendor.messages]
            timed = (await ask(turns=turns, now=NOWS[0]))[vendor.messages]
            assert [message["role"] for message in timed] == [message["role"] for message in plain]
            different = [place for place, (one, other) in enumerate(zip(plain, timed, strict=True)) if one != other]
            assert different == [message_with(turns[newest_words(turns)].content, plain)]


async def test_prompts_of_a_growing_conversation_begin_alike_whatever_the_time(vendor: Vendor) -> None:
    """The prompts of two turns are equal up to the user's newest text. The prompts of two rounds of one turn have the
    same time and are equal to the end of the first."""
    talk = growing()
    times = (NOWS[0], NOWS[1], NOWS[1], NOWS[2])
    async with asking(vendor) as ask:
        documents = [await ask(turns=turns, changing=CHANGING, now=now) for turns, now in zip(talk, times, strict=True)]
    for number, (before, after) in enumerate(pairwise(documents)):
        messages = before[vendor.messages]
        asked = len(messages) if times[number] == times[number + 1] else newest_words(talk[number])
        asked += messages[0]["role"] == "system" and times[number] != times[number + 1]
        kept = text_of(without_marks(messages[:asked]))[:-1]
        assert text_of(without_marks(after[vendor.messages])).startswith(kept)
        assert {**before, vendor.messages: []} == {**after, vendor.messages: []}


def without_marks(value: Any) -> Any:
    """Return the document without cache marks, which are not part of the vendor's cache."""
    match value:
        case dict():
            return {name: without_marks(member) for name, member in value.items() if name != "cache_control"}
        case list():
            return [without_marks(member) for member in value]
    return value


# --- Anthropic's marks ---


def test_marks_stand_before_what_changes() -> None:
    request = replace(anthropic_scene.REQUEST, changing=CHANGING, now=NOWS[0])
    document = document_of(request, "m")
    stays, changes = document["system"]
    assert "cache_control" in stays
    assert changes == {"type": "text", "text": CHANGING}
    for turns in growing():
        messages = document_of(replace(request, turns=turns), "m")["messages"]
        assert messages[newest_words(turns)]["content"][-1]["text"] == NOWS[0]
        assert "cache_control" not in text_of(messages[-1])


def test_a_round_of_tools_reads_all_that_the_round_before_has_cached() -> None:
    request = replace(anthropic_scene.REQUEST, changing=CHANGING, now=NOWS[0])
    talk = growing()
    asked, went_on = (document_of(replace(request, turns=turns), "m")["messages"] for turns in talk[1:3])
    assert without_marks(went_on[: len(asked)]) == without_marks(asked)
    assert any("cache_control" in text_of(message) for message in went_on[len(asked) - 1 :])


def test_tools_are_marked_when_all_of_the_system_text_changes() -> None:
    document = document_of(replace(anthropic_scene.REQUEST, system="", changing=CHANGING, tools=(SUM,)), "m")
    assert "cache_control" in document["tools"][-1]
    assert "cache_control" not in text_of(document["system"])


# --- The `claude` program ---


@pytest.mark.parametrize("turns", growing())
def test_the_program_reads_the_time_at_the_end(turns: tuple[Turn, ...]) -> None:
    request = RunRequest("Be short.", turns, None, "Helper", changing=CHANGING, now=f"{NOWS[0]} @home")
    assert system_text(request) == f"Be short.\n\n{CHANGING}"
    text = json.loads(prompt_of(request))["message"]["content"][-1]["text"]
    assert text.endswith(f"\n\n{NOWS[0]} \u2060@home")
    assert text.startswith(json.loads(prompt_of(replace(request, now="")))["message"]["content"][-1]["text"])
