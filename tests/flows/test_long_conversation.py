"""A conversation that is far longer than its model holds, in four languages: nothing leaves the prompt that no summary
stands for, and nothing is refused once the model is known. The whole length: `python -m tests.flows.long_conversation`."""

from __future__ import annotations

import pytest

from arvis.store.open import Database
from tests.flows.app_harness import AppHarness
from tests.flows.long_talk import VARIANTS, talk

MESSAGES = 200


@pytest.mark.parametrize("variant", VARIANTS)
async def test_nothing_is_lost_and_nothing_is_too_long(database: Database, variant: str) -> None:
    """What holds after each turn stands in `Observer`."""
    figures = await talk(database, variant, MESSAGES)
    assert figures.refusals == (1 if variant == "nobody" else 0)
    assert figures.failures == 0
    assert figures.usual_error <= 0.10, figures
    # One call for each answer and two for each summary, of which there is one in four or five turns.
    assert figures.answers + figures.others <= MESSAGES, figures
    assert figures.inline + figures.planned >= MESSAGES // 20, figures


async def test_hello_to_a_plain_agent_is_three_kilobytes_at_most(app: AppHarness) -> None:
    await app.ask("hello")
    [request] = app.provider.asked
    texts = [request.system, request.changing, request.now, *(turn.content for turn in request.turns)]
    assert texts[-1] == "hello"
    assert len("".join(texts).encode()) <= 3 * 1024
