"""Cases for the files of messages: those still to be fetched, and their results."""

from __future__ import annotations

from dataclasses import replace

from arvis.domain.messages import Attachment, FileKind, FileState
from arvis.ports.store import Store, Transaction
from tests.conformance.store.scripts import said
from tests.conformance.store.transactions import TransactionCases

WAITING = Attachment("a.ogg", "audio/ogg", 0, "", state=FileState.WAITING, source="file-1")
PICTURE = Attachment("b.png", "image/png", 3, "0" * 64, kind=FileKind.IMAGE)


class FileCases(TransactionCases):
    async def test_files_stand_behind_those_that_are_there(self, store: Store) -> None:
        def script(tx: Transaction) -> list[Attachment]:
            tx.messages.add(said("m"))
            tx.files.add("m", [WAITING])
            tx.files.add("m", [])
            tx.files.add("m", [PICTURE, PICTURE])
            return tx.files.of_message("m")

        assert await store.write(script) == [WAITING, PICTURE, PICTURE]

    async def test_what_became_of_a_file_is_kept_whole(self, store: Store) -> None:
        heard = replace(
            WAITING, size=9, sha256="1" * 64, state=FileState.STORED, kind=FileKind.VOICE, content="Grüße 🎙"
        )
        lost = replace(PICTURE, filename="c", state=FileState.FAILED, kind=FileKind.OTHER, problem="it is gone")

        def script(tx: Transaction) -> None:
            tx.messages.add(said("m", execution="turn"))
            tx.files.add("m", [WAITING, PICTURE, PICTURE])
            tx.files.put("m", 0, heard)
            tx.files.put("m", 2, lost)
            tx.files.put("m", 7, lost)

        def look(tx: Transaction) -> list[tuple[Attachment, ...]]:
            return [tuple(tx.files.of_message("m")), *(each.attachments for each in tx.messages.of_turn("turn"))]

        await store.write(script)
        assert await store.read(look) == [(heard, PICTURE, lost)] * 2
