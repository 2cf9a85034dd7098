"""The history that a client of `/v1` sends, as text for the agent and as labels of its sources.

The client can write anything there, also in the name of a tool or of the agent. The text therefore states that the
program supplied it, quotes every line, and carries taint (ADR 0017): actions based on it need an approval.
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
    """A message of the request: its text, its files as fields of the inbox, and all other fields as JSON, such as its
    role and the tool calls that the client made."""

    role: str
    text: str
    files: tuple[Mapping[str, str], ...] = ()
    more: str = ""


def history_text(before: Sequence[HistoryMessage], most_bytes: int) -> str:
    """Return the messages as text: each under its role, each line after `> `, so that no line can be taken for one of
    ours. It keeps the newest part that fits into `most_bytes`."""
    blocks: list[str] = []
    left = most_bytes
    for number, message in enumerate(reversed(before)):
        block = _block(message)
        left -= len(block.encode()) + 1
        if left < 0:
            blocks.append(f"[… {len(before) - number} earlier messages are omitted]")
            break
        blocks.append(block)
    return "\n".join(reversed(blocks))


def taint_of_history(before: Iterable[HistoryMessage], *, owner: bool) -> Taint:
    """Return the possible sources of these messages. The system text of an owner's key counts as the owner's own;
    that of any other key may come from anyone."""
    labels = {
        Label.PEOPLE if each.role in SYSTEM_ROLES else _LABELS[each.role] for each in before if not _own(each, owner)
    }
    return frozenset(labels)


def _own(message: HistoryMessage, owner: bool) -> bool:
    return owner and message.role in SYSTEM_ROLES


def _block(message: HistoryMessage) -> str:
    # Every character that a reader may treat as a line break counts as one.
    text = "\n".join(part for part in (message.text, message.more) if part)
    return "\n".join([f"[{message.role}]", *(f"> {line}" for line in text.splitlines() or [""])])
