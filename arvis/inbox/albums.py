"""Albums: several events of a platform that are one message. It waits in the queue until no more of it comes."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.conversations import estimate_tokens
from arvis.domain.jobs import JobStatus
from arvis.domain.messages import Attachment, IncomingMessage, MessageStatus
from arvis.ports.inbox import Received
from arvis.ports.platforms import SeenEvent
from arvis.ports.store import Transaction

#: How long a message waits after its last part, in ms.
ALBUM_MS = 1_500


def belongs_to_album(tx: Transaction, message: IncomingMessage) -> bool:
    """Whether this is a further part of what the same person has asked already: only one part of an album carries the
    words that address the bot."""
    if message.album is None:
        return False
    known = tx.incoming.by_album(message.address, message.album)
    asked = known is not None and known.execution_id is not None
    principal = tx.principals.get(known.principal_id or "") if known is not None and asked else None
    return principal is not None and principal.user_id == message.sender.user_id


def join_album(tx: Transaction, message: IncomingMessage, files: Sequence[Attachment], now: int) -> Received | None:
    """Make this event part of the message that it belongs to; None when there is none, or its turn has begun: then it is a
    message of its own."""
    known = tx.incoming.by_album(message.address, message.album or "")
    if known is None or known.execution_id is None:
        return None
    waiting = [job for job in tx.jobs.live_of_execution(known.execution_id) if job.status is JobStatus.PENDING]
    if len(waiting) != 1 or not tx.jobs.defer(waiting[0].id, now + ALBUM_MS):
        return None
    tx.files.add(known.id, files)
    if message.content:
        text = f"{known.content}\n{message.content}" if known.content else message.content
        tx.incoming.replace_text(known.id, text, estimate_tokens(text))
    event = SeenEvent(known.id, MessageStatus.ACCEPTED)
    tx.events.keep(message.address.platform, message.address.connector, message.event_id, event, now)
    return Received(known.id, MessageStatus.ACCEPTED, "album")
