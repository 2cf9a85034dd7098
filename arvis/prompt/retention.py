"""Additions to a message for the model that leave the history by age (behaviour 5.4).

Each addition (the time, the files of a workspace) states if the model sees it now and how long the history keeps it.
The displayed copy and the stored copy are made separately; the stored one has, for each part, the number of messages
for which it stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arvis.domain.plugins import Addition, Item

#: For how many messages a part stays, its own included; None: for good.
Policy = tuple[int | None, ...]

_NEWLINE = "\n"


@dataclass(frozen=True, slots=True)
class Kept:
    """A message as the history keeps it. `policy` is parallel to `content`; None: nothing was ever added to it."""

    content: tuple[str, ...]
    policy: Policy | None = None

    @property
    def text(self) -> str:
        return "".join(self.content)

    @property
    def added(self) -> str:
        """Return the text after the original of one part."""
        return "".join(self.content[1:])

    def to_json(self) -> dict[str, Any]:
        return {"content": list(self.content), "policy": None if self.policy is None else list(self.policy)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Kept:
        policy = data["policy"]
        return cls(tuple(data["content"]), None if policy is None else tuple(policy))


def display_copy(original: Sequence[str], additions: Sequence[Addition]) -> tuple[str, ...]:
    """Return the copy that the model sees in the turn itself."""
    return (*original, *(part for part, _ in _parts(additions, shown=True)))


def persistent_copy(original: Sequence[str], additions: Sequence[Addition]) -> Kept:
    """Return the copy that the history keeps. The original stays permanently, a heading as long as the longest of its
    items."""
    if not additions:
        return Kept(tuple(original))
    added = list(_parts(additions, shown=False))
    content = (*original, *(part for part, _ in added))
    return Kept(content, (*(None for _ in original), *(lasts for _, lasts in added)))


def clean(messages: Sequence[Kept]) -> list[Kept]:
    """The messages (the oldest first) without the parts whose time is over, and without those of which nothing is left.
    Age counts messages that have a policy, from the newest, which is 0."""
    cleaned: list[Kept] = []
    age = 0
    for message in reversed(messages):
        if message.policy is None:
            cleaned.append(message)
            continue
        if (left := _younger(message.content, message.policy, age)).content:
            cleaned.append(left)
        age += 1
    cleaned.reverse()
    return cleaned


def _parts(additions: Sequence[Addition], *, shown: bool) -> Iterator[tuple[str, int | None]]:
    """Yield headings and items with a newline after each, and how long they stay."""
    for addition in additions:
        chosen = [item for item in addition.items if (item.shown if shown else item.kept)]
        if chosen:
            yield addition.heading, _longest(chosen)
        for item in chosen:
            yield from ((part, item.lasts) for part in (*item.content, _NEWLINE))


def _longest(items: Sequence[Item]) -> int | None:
    lasts = [item.lasts for item in items]
    return None if None in lasts else max(each for each in lasts if each is not None)


def _younger(content: Sequence[str], policy: Policy, age: int) -> Kept:
    left = [(part, lasts) for part, lasts in zip(content, policy, strict=True) if lasts is None or lasts > age]
    return Kept(tuple(part for part, _ in left), tuple(lasts for _, lasts in left))
