"""Messages over the web: one id is one message, and displayed texts contain no hidden characters."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arvis.config.sections import Limits
from arvis.domain.errors import TooMany, Unprocessable
from arvis.domain.messages import Address, Sender, Upload
from arvis.inbox.accept import InboxRules
from arvis.process.clock import SystemClock
from arvis.services.allowances import Allowed
from arvis.web.api.message_input import Draft, MessageParser
from tests.flows.app_harness import AppHarness

ROOM = Address("web", "web", "room")
ANN = Sender("ann", "Ann")


async def test_the_id_of_a_message_with_other_words_or_files_is_refused(app: AppHarness) -> None:
    intake = MessageParser(inbox=app.inbox, limits=Limits(), new_token=app.new_id, clock=app.clock)
    draft = Draft("Hello", "one", (Upload("a.txt", "text/plain", b"hi"),), agent="helper")
    first = await intake.send(draft, ROOM, ANN)
    assert await intake.send(draft, ROOM, ANN) == first
    for other in (replace(draft, content="Delete all"), replace(draft, uploads=())):
        with pytest.raises(Unprocessable, match=first.message_id) as refused:
            await intake.send(other, ROOM, ANN)
        assert refused.value.code == "key_reused"
    elsewhere = await intake.send(replace(draft, content="Other"), replace(ROOM, channel="hall"), ANN)
    assert elsewhere.message_id != first.message_id


class NotingClock(SystemClock):
    """A clock that notes the pauses instead of waiting."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


async def test_only_a_message_beyond_the_limit_is_answered_after_a_pause(app: AppHarness) -> None:
    """So that a client that goes on at full speed cannot take the time of other people."""
    inbox, clock = app.inbox_with(InboxRules(allowed=Allowed(messages_per_minute=1))), NotingClock()
    intake = MessageParser(inbox=inbox, limits=Limits(), new_token=app.new_id, clock=clock)
    for number in range(2):  # the first message of an unknown person is not counted
        await intake.send(Draft("Hello", f"m{number}", agent="helper"), ROOM, ANN)
    assert clock.pauses == []
    with pytest.raises(TooMany):
        await intake.send(Draft("Hello", "m2", agent="helper"), ROOM, ANN)
    assert clock.pauses == [0.5]


async def test_what_hides_or_reorders_is_marked_in_replies_and_names(app: AppHarness) -> None:
    app.provider.script.append("one\x1b[2J two\u202e three\n\tf\u200ball")
    answered = await app.ask("Hello", user="ann\u202e")
    clean = "one\ufffd[2J two\ufffd three\n\tf\ufffdall"
    assert answered.reply == clean
    assert (await app.until_sent(1))[-1] == clean
    person = await app.store.read(lambda tx: tx.principals.find("chat", "ann\u202e"))
    assert person is not None
    assert person.name == "Ann\ufffd"
