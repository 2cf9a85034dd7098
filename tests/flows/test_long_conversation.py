"""A conversation far longer than the model's window, in four languages: every message is in the prompt or in a summary,
and no prompt is refused once the window is known. The whole length: `python -m tests.flows.long_conversation`."""

from __future__ import annotations

import pytest

from arvis.store.open import Database
from tests.flows.app_harness import AppHarness
from tests.flows.long_talk import VARIANTS, talk

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


async def test_hello_to_a_plain_agent_is_three_kilobytes_at_most(app: AppHarness) -> None:
    await app.ask("hello")
    [request] = app.provider.asked
    texts = [request.system, request.changing, request.now, *(turn.content for turn in request.turns)]
    assert texts[-1] == "hello"
    assert len("".join(texts).encode()) <= 3 * 1024
