"""Reads the home of a program that Arvis can replace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from arvis.domain.errors import Unprocessable
from arvis.interchange.peers.draft import Choice, Draft
from arvis.interchange.peers.hermes import read_hermes
from arvis.interchange.peers.home import Home, ReadTables
from arvis.interchange.peers.nanobot import read_nanobot
from arvis.interchange.peers.openclaw import read_openclaw

_READERS: Mapping[str, Callable[[Draft], None]] = {
    "openclaw": read_openclaw,
    "hermes": read_hermes,
    "nanobot": read_nanobot,
}
#: Files and folders of which a home has at least one, and the usual place of a home.
_SIGNS = {
    "openclaw": (("openclaw.json", "clawdbot.json", "moltbot.json", "agents"), "~/.openclaw"),
    "hermes": (("config.yaml", "state.db", "memories", "SOUL.md"), "~/.hermes"),
    "nanobot": (("config.json", "workspace"), "~/.nanobot"),
}


def read_peer(program: str, root: Path, *, tables: ReadTables, choice: Choice) -> Draft:
    """Return the records of a copy of the home of `program`. Raise `Unprocessable` if the directory is not such a
    home."""
    signs, usual = _SIGNS[program]
    if not root.is_dir() or not any((root / sign).exists() for sign in signs):
        raise Unprocessable(
            f"{root} is not the home of {program}.",
            why=f"It is not a directory with {', '.join(signs[:-1])} or {signs[-1]}.",
            fix=f"Stop {program}, copy {usual} from its machine, and name the copy.",
        )
    draft = Draft(Home(root, tables=tables), program, choice)
    _READERS[program](draft)
    return draft
