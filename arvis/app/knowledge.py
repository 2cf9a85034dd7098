"""Builds the task that indexes knowledge bases, when the first one is created."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from arvis.app.foundation import Base
from arvis.app.toolbox import build_sandbox
from arvis.knowledge.folders import Folder
from arvis.knowledge.indexer import KnowledgeIndexer
from arvis.media.structure import StructureReader
from arvis.ports.http import Fetcher
from arvis.process.subprocesses import GuardedPrograms


def build_indexer(*, base: Base, fetcher: Callable[[], Awaitable[Fetcher]]) -> KnowledgeIndexer:
    reader = StructureReader(programs=GuardedPrograms(), sandbox=build_sandbox(base))
    folders = [
        Folder(Path(each.path), each.knowledge_base, each.every / 1000) for each in base.config.knowledge.folders
    ]
    return KnowledgeIndexer(
        store=base.store, bus=base.bus, clock=base.clock, reader=reader, fetcher=fetcher, folders=folders
    )
