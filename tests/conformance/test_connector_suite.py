"""The suite for connectors passes a good connector, and each case finds the flaw that it checks."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from arvis.testing.conformance.connector import ConnectorConformance
from arvis.testing.conformance.connector_stage import Stage
from tests.platforms.memory_stage import MemoryStage

FLAWS = {
    "tells too early": "test_what_the_inbox_could_not_keep_comes_again",
    "hears itself": "test_the_bot_does_not_hear_itself_nor_other_programs",
    "leaves the mention": "test_a_mention_in_a_group_is_cut_out",
    "always addressed": "test_what_is_not_for_the_bot_comes_in_as_such",
    "new ids": "test_an_event_that_comes_again_has_the_same_id",
    "loses events": "test_nothing_is_lost_when_connections_break",
    "too long": "test_a_long_text_leaves_in_order_within_the_limit",
    "never gone": "test_a_chat_that_takes_nothing_any_more_is_gone",
    "impatient": "test_nothing_is_sent_before_the_platform_wants_it",
    "sends twice": "test_what_was_cut_off_stands_there_once",
    "no reply": "test_it_replies_to_its_question",
    "calls people": "test_nobody_is_called",
    "fills nothing": "test_a_message_takes_its_content",
    "types words": "test_typing_is_shown",
    "leaves drafts": "test_a_draft_changes_and_goes",
    "takes any size": "test_a_file_is_named_and_fetched_later",
    "stays open": "test_nothing_is_left_open",
    "gives up": "test_trouble_of_the_platform_passes",
}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "test_what_was_cut_off_stands_there_once": {"after": True},
    "test_trouble_of_the_platform_passes": {"status": 503},
}


class TestMemory(ConnectorConformance):
    def stage(self) -> AbstractAsyncContextManager[Stage]:
        return MemoryStage.open()


class Flawed(ConnectorConformance):
    __test__ = False

    def __init__(self, flaw: str) -> None:
        self._flaw = flaw

    def stage(self) -> AbstractAsyncContextManager[Stage]:
        return MemoryStage.open(self._flaw)


@pytest.mark.parametrize("flaw", sorted(FLAWS))
async def test_a_flaw_is_found(flaw: str) -> None:
    case = getattr(Flawed(flaw), FLAWS[flaw])
    with pytest.raises((AssertionError, TimeoutError, pytest.fail.Exception)):
        # An event that never comes need not be awaited as long as in the suite.
        async with asyncio.timeout(0.3):
            await case(**ARGUMENTS.get(FLAWS[flaw], {}))
