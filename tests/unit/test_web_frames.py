"""Any data from a client is accepted within the limits, or answered with one of our errors."""

from __future__ import annotations

import asyncio
import contextlib
import json

from hypothesis import given
from hypothesis import strategies as st

from arvis.config.sections import Limits
from arvis.domain.errors import ArvisError
from arvis.domain.messages import Address, IncomingMessage, MessageStatus, Sender
from arvis.ports.inbox import Received
from arvis.process.clock import SystemClock
from arvis.web.api.message_input import Draft, MessageParser, NewMessage
from arvis.web.http.requests import parse_fields
from tests.platforms.recording_inbox import RecordingInbox

LIMITS = Limits(message_bytes=64, attachment_bytes=64)
VALUES: st.SearchStrategy[object] = st.deferred(
    lambda: (
        st.none()
        | st.booleans()
        | st.floats()
        | st.integers()
        | st.text()
        | st.lists(VALUES, max_size=3)
        | st.dictionaries(st.text(max_size=5), VALUES, max_size=3)
    )
)
NAMES = st.sampled_from(["content", "id", "attachments", "buttonId", "data", "filename", "contentType", "type"])
FILES = st.lists(st.dictionaries(NAMES, VALUES, max_size=4), max_size=2)


class NoInbox(RecordingInbox):
    async def receive(self, message: IncomingMessage) -> Received:
        return Received("m1", MessageStatus.ACCEPTED, message.event_id)

    async def stop(self, address: Address, by: str) -> int:
        return len(address.channel) + len(by)


async def draft_of(text: str | bytes) -> Draft:
    intake = MessageParser(inbox=NoInbox(), limits=LIMITS, new_token=lambda: "fresh", clock=SystemClock())
    fields = await parse_fields(text, intake.body_limit)
    draft = await intake.draft(NewMessage.read(fields.values, lenient=True))
    await intake.send(draft, Address("web", "web", "room", "thread"), Sender("u", "U"))
    return draft


def check(text: str | bytes) -> None:
    with contextlib.suppress(ArvisError):
        draft = asyncio.run(draft_of(text))
        assert len(draft.content.encode()) <= LIMITS.message_bytes
        assert "\0" not in draft.content + draft.event_id
        assert all(len(upload.data) <= LIMITS.attachment_bytes for upload in draft.uploads)
        assert not [upload for upload in draft.uploads if {"/", "\\", "\0"} & set(upload.filename)]


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_any_bytes(text: str | bytes) -> None:
    check(text)


@given(st.dictionaries(NAMES, VALUES | FILES, max_size=5))
def test_any_fields(fields: dict[str, object]) -> None:
    check(json.dumps(fields))
