"""What a client of `/v1` tells of an earlier conversation: as text for the agent, and as labels of where its words came from.

The client can write anything there, also in the name of a tool or of the agent. So the text says that the program tells it,
quotes every line, and carries taint (ADR 0017): what an answer wants to set going on its account is asked first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from arvis.domain.taint import Label, Taint

SYSTEM_ROLES = frozenset({"system", "developer"})
_LABELS: Mapping[str, Label] = {
    "user": Label.PEOPLE,
    "assistant": Label.AGENTS,
    "tool": Label.TOOLS,
    "function": Label.TOOLS,
}


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """A message of the request: its text, the files of its parts as fields of the inbox, and as JSON what else it says: whose it is,
    and calls of tools that the client has made."""

    role: str
    text: str
    files: tuple[Mapping[str, str], ...] = ()
    more: str = ""


def history_text(before: Sequence[HistoryMessage], most_bytes: int) -> str:
    """The messages as text: each under its role, each of its lines behind `> `, so that no line of theirs can pass for
    one of ours. Of the newest as much as `most_bytes` hold."""
    blocks: list[str] = []
    left = most_bytes
    for number, message in enumerate(reversed(before)):
        block = _block(message)
        left -= len(block.encode()) + 1
        if left < 0:
            blocks.append(f"[… {len(before) - number} earlier messages are left out]")
            break
        blocks.append(block)
    return "\n".join(reversed(blocks))


def taint_of_told(before: Iterable[HistoryMessage], *, owner: bool) -> Taint:
    """Where the words of these messages may have come from. The system text of an owner's key counts as the owner's own;
    that of any other key may be anybody's."""
    labels = {
        Label.PEOPLE if each.role in SYSTEM_ROLES else _LABELS[each.role] for each in before if not _own(each, owner)
    }
    return frozenset(labels)


def _own(message: HistoryMessage, owner: bool) -> bool:
    return owner and message.role in SYSTEM_ROLES


def _block(message: HistoryMessage) -> str:
    # All that any reader takes for the end of a line counts as one.
    text = "\n".join(part for part in (message.text, message.more) if part)
    return "\n".join([f"[{message.role}]", *(f"> {line}" for line in text.splitlines() or [""])])
