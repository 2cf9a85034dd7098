"""A conversation far longer than the model's window, in four languages: every message is in the prompt or in a summary,
and no prompt is refused once the window is known. The whole length: `python -m tests.flows.long_conversation`."""

from __future__ import annotations

import pytest

from arvis.domain.runs import RunRequest, Turn
from arvis.domain.tools import ToolCall, ToolOutput
from arvis.store.open import Database
from tests.flows.app_harness import AppHarness
from tests.flows.long_talk import VARIANTS, Build, Figures, talk
from tests.flows.vendor_pairs import FORMS, incomplete

MESSAGES = 200


@pytest.mark.parametrize("variant", VARIANTS)
async def test_nothing_is_lost_and_nothing_is_too_long(database: Database, variant: str) -> None:
    """`Observer` checks the rules after each turn."""
    figures = await talk(database, variant, MESSAGES)
    assert figures.refusals == (1 if variant == "nobody" else 0)
    assert figures.failures == 0
    assert figures.usual_error <= 0.10, figures
    # One call for each answer and two for each summary; a summary comes every four or five turns.
    assert figures.answers + figures.others <= MESSAGES, figures
    assert figures.inline + figures.planned >= MESSAGES // 20, figures
    # The first turns have a short history. The command compares the times of a longer conversation.
    assert figures.growth[1] <= 3, figures


def test_builds_with_a_search_are_compared_with_one_another() -> None:
    plain, searching = [Build(1.0, 10, searched=False)] * 20, [Build(2.0, 10, searched=True)] * 20
    assert Figures(builds=[*plain, *searching]).growth == (1.0, 1.0)
    assert Figures(builds=[*plain, Build(1.5, 20, searched=False)]).growth == (1.25, 1.5)
    assert Figures(builds=[*searching, *[Build(3.0, 10, searched=True)] * 4]).growth[0] == 1.5


def test_a_call_without_its_result_is_found_in_the_form_of_each_vendor() -> None:
    """The check of `Observer` for complete pairs."""
    asked = Turn("assistant", "", calls=(ToolCall("c1", "look", {}), ToolCall("c2", "dig", {})))
    outputs = (ToolOutput("c1", "A crane."), ToolOutput("c2", "A hole."))
    last = Turn("assistant", "Seen.")
    first = Turn("user", "Look.")

    def found(*turns: Turn) -> dict[str, object]:
        return {**incomplete(RunRequest("", (first, *turns), model="model", agent_name="Helper"))}

    assert found(asked, Turn("user", "", outputs=outputs), last) == {}
    assert found(asked, Turn("user", "", outputs=outputs[:1]), last).keys() == FORMS.keys()
    assert found(last, Turn("user", "", outputs=outputs), last).keys() == FORMS.keys()


async def test_hello_to_a_plain_agent_is_three_kilobytes_at_most(app: AppHarness) -> None:
    await app.ask("hello")
    [request] = app.provider.asked
    texts = [request.system, request.changing, request.now, *(turn.content for turn in request.turns)]
    assert texts[-1] == "hello"
    assert len("".join(texts).encode()) <= 3 * 1024
