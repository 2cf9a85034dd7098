"""The files that a turn will send with its reply, in the state of its execution: names and hashes, never bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from arvis.domain.messages import FileKind, OutgoingFile, StoredMessage
from arvis.domain.runs import Image
from arvis.ports.store import Store

# The pictures of a turn on their way to a model: their names in the state, their bytes only in the request.


#: Of one request: pictures, and bytes of all of them. The newest go first.
MOST_PICTURES = 10
MOST_BYTES = 20_000_000


def pictures_of(messages: Sequence[StoredMessage]) -> list[list[str]]:
    """Name, media type and hash of those that go along, in order."""
    shown = [file for message in messages for file in message.attachments if file.kind is FileKind.IMAGE]
    kept: list[list[str]] = []
    room = MOST_BYTES
    for file in reversed([file for file in shown if not file.problem]):
        room -= file.size
        if room < 0 or len(kept) == MOST_PICTURES:
            break
        kept.append([file.filename, file.content_type, file.sha256])
    return kept[::-1]


async def load_pictures(store: Store, pictures: Sequence[Sequence[str]]) -> tuple[Image, ...]:
    """With their bytes; without those whose bytes are gone."""
    found = [(name, media_type, await store.get_blob(sha256)) for name, media_type, sha256 in pictures]
    return tuple(Image(media_type, data, name) for name, media_type, data in found if data is not None)


#: Of one reply.
MOST_FILES = 10


def files_of(state: Mapping[str, Any]) -> tuple[OutgoingFile, ...]:
    return tuple(OutgoingFile(**each) for each in state.get("files", ()))


def with_files(state: Mapping[str, Any], more: Sequence[OutgoingFile]) -> dict[str, Any]:
    """The change of state that adds these, each once; no change without any."""
    files = dict.fromkeys((*files_of(state), *more))
    return {"files": [asdict(file) for file in [*files][:MOST_FILES]]} if more else {}
