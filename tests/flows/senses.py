"""Files, hearing and speech for the agents of an app."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from arvis.domain.messages import Address
from arvis.graphs.agent.files import FileRules
from arvis.media import MediaReader
from arvis.ports.connector import Connector, FetchesFiles
from arvis.ports.transcriber import Speaker, Transcriber
from arvis.process.subprocesses import GuardedPrograms

#: The size limit of one file.
MOST_BYTES = 1_000_000


@dataclass(slots=True)
class Senses:
    """The settings of `file_rules`: `sessions` is the folder of the conversations' folders; with `sighted`, the model
    sees pictures."""

    sessions: Path
    transcriber: Transcriber | None = None
    speaker: Speaker | None = None
    sighted: bool = True


def file_rules(senses: Senses, connectors: Mapping[tuple[str, str], Connector]) -> FileRules:
    async def fetch(address: Address, source: str, most: int) -> bytes:
        connector = connectors[address.platform, address.connector]
        assert isinstance(connector, FetchesFiles)
        return await connector.fetch(source, most)

    return FileRules(
        fetch=fetch,
        media=MediaReader(programs=GuardedPrograms(), transcriber=senses.transcriber),
        sessions=senses.sessions,
        most_bytes=MOST_BYTES,
    )
