"""`speech` frames of the socket. They contain partial transcripts of a speaking person, which become messages.

Each frame contains one chunk of the transcript. A chunk is not acknowledged by itself: the `ack` of a message contains
the ids of all its chunks. A client keeps its chunks until the `ack`, and may send them again.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict

from arvis.domain.errors import Invalid, TooLarge
from arvis.ports.clock import Clock
from arvis.speech import Added, Chunk, StreamBuffer, Utterance, UtteranceDetector, UtteranceRules
from arvis.web.api.message_input import MessageParser, NewMessage, Sent
from arvis.web.http.errors import Failure, attempt
from arvis.web.http.requests import Fields, unusable
from arvis.web.realtime.connector import Client, frame

_LONGEST_ID = 150
#: The maximum number of chunks whose acknowledgement is stored. If a client sends such a chunk again, it gets the same
#: acknowledgement again.
_MOST_RECEIPTS = 10_000


class SpeechBuffers:
    """The buffers of partial transcripts, one for each person and channel. A person who reconnects keeps the buffer."""

    def __init__(
        self, *, parser: MessageParser, clock: Clock, rules: UtteranceRules, detector: UtteranceDetector
    ) -> None:
        self._parser = parser
        self._rules = rules
        self._buffer = StreamBuffer(clock=clock, rules=rules, detector=detector, deliver=self._send)
        self._speakers: dict[str, Client] = {}
        self._receipts: OrderedDict[tuple[str, str], tuple[Sent, Utterance]] = OrderedDict()

    async def hear(self, client: Client, fields: Fields) -> None:
        chunk, key = self._chunk(fields), _key(client)
        self._speakers[key] = client
        if await self._buffer.add(key, chunk) is not Added.KNOWN:
            return
        if (receipt := self._receipts.get((key, chunk.id))) is not None:
            _acknowledge(client, *receipt)

    async def leave(self, client: Client) -> None:
        """Handle the end of a connection: send the collected transcript as a message, unless the person has a newer
        connection."""
        key = _key(client)
        if self._speakers.get(key) is client:
            await self._buffer.release(key)
            if self._speakers.get(key) is client:
                del self._speakers[key]

    def _chunk(self, fields: Fields) -> Chunk:
        text, complete, id_ = fields.text("text") or "", fields.raw("complete"), fields.raw("chunkId")
        if isinstance(id_, int) and not isinstance(id_, bool):
            id_ = str(id_)
        if not isinstance(id_, str) or not 0 < len(id_) <= _LONGEST_ID or not id_.isprintable():
            raise unusable("chunkId", f"must be a whole number, or 1 to {_LONGEST_ID} printable characters")
        if complete is not None and not isinstance(complete, bool):
            raise unusable("complete", "must be true or false")
        if not text.strip() and not complete:
            raise Invalid("The chunk is empty.", fix="Send `text`, or `complete`.", code="empty")
        if len(text) > self._rules.most:
            raise TooLarge(
                f"The chunk is longer than {self._rules.most} characters.",
                fix="Send it in parts, or as a `message`.",
                code="message_too_large",
            )
        return Chunk(id_, text, bool(complete))

    async def _send(self, utterance: Utterance) -> None:
        """Send the transcript as a message over the person's newest connection."""
        client, first = self._speakers[utterance.key], utterance.chunk_ids[0]
        event_id = _event_id(client.sender.user_id, first)
        sent = await attempt(self._sent(client, NewMessage(content=utterance.text, id=event_id)))
        if isinstance(sent, Failure):
            self._buffer.forget(utterance)
            payload = {"type": "error", **sent.to_json(), "id": first, "chunkIds": list(utterance.chunk_ids)}
            client.push(frame(payload))
            return
        for chunk_id in utterance.chunk_ids:
            self._receipts[utterance.key, chunk_id] = (sent, utterance)
        while len(self._receipts) > _MOST_RECEIPTS:
            self._receipts.popitem(last=False)
        _acknowledge(client, sent, utterance)

    async def _sent(self, client: Client, message: NewMessage) -> Sent:
        return await self._parser.send(await self._parser.draft(message), client.address, client.sender)


def _acknowledge(client: Client, sent: Sent, utterance: Utterance) -> None:
    ids = list(utterance.chunk_ids)
    client.push(frame({"type": "ack", "messageId": sent.message_id, "id": ids[0], "chunkIds": ids}))


def _event_id(user_id: str, first: str) -> str:
    """Return the id of the message. It contains the user and the id of the first chunk, because other people in the
    channel may use the same chunk ids."""
    who = hashlib.blake2b(user_id.encode(errors="replace"), digest_size=8).hexdigest()
    return f"speech:{who}:{first}"


def _key(client: Client) -> str:
    return f"{client.address.lane}\n{client.sender.user_id}"
