"""Messages over the web: one id is one message, and displayed texts contain no hidden characters."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arvis.config.sections import Limits
from arvis.domain.errors import Unprocessable
from arvis.domain.messages import Address, Sender, Upload
from arvis.web.api.message_input import Draft, MessageParser
from tests.flows.app_harness import AppHarness

ROOM = Address("web", "web", "room")
ANN = Sender("ann", "Ann")


async def test_the_id_of_a_message_with_other_words_or_files_is_refused(app: AppHarness) -> None:
    intake = MessageParser(inbox=app.inbox, limits=Limits(), new_token=app.new_id)
    draft = Draft("Hello", "one", (Upload("a.txt", "text/plain", b"hi"),), agent="helper")
    first = await intake.send(draft, ROOM, ANN)
    assert await intake.send(draft, ROOM, ANN) == first
    for other in (replace(draft, content="Delete all"), replace(draft, uploads=())):
        with pytest.raises(Unprocessable, match=first.message_id) as refused:
            await intake.send(other, ROOM, ANN)
        assert refused.value.code == "key_reused"
    elsewhere = await intake.send(replace(draft, content="Other"), replace(ROOM, channel="hall"), ANN)
    assert elsewhere.message_id != first.message_id


async def test_what_hides_or_reorders_is_marked_in_replies_and_names(app: AppHarness) -> None:
    app.provider.script.append("one\x1b[2J two\u202e three\n\tf\u200ball")
    answered = await app.ask("Hello", user="ann\u202e")
    clean = "one\ufffd[2J two\ufffd three\n\tf\ufffdall"
    assert answered.reply == clean
    assert (await app.until_sent(1))[-1] == clean
    person = await app.store.read(lambda tx: tx.principals.find("chat", "ann\u202e"))
    assert person is not None
    assert person.name == "Ann\ufffd"
