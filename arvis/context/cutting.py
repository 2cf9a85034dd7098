"""Cut texts to a number of tokens: head and tail stay, a mark says how much is gone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

#: Of what the estimate says would fit, so much is taken: the kept ends may be denser than the whole.
_CAREFUL = 0.95


def cut_to_fit(text: str, room: int, count: Callable[[str], int]) -> str:
    """At most `room` tokens by `count`; "" when not even the mark fits. No tag comes of a cut: the mark begins and ends a
    line, and tags stand in one."""
    if room <= 0:
        return ""
    tokens, size, shorter = count(text), len(text), text
    while tokens > room:
        size = int(size * room / tokens * _CAREFUL)
        if size < 1:
            return ""
        shorter = _ends(text, size)
        tokens = count(shorter)
    return shorter


def fair_share(sizes: Sequence[int], room: int) -> int:
    """The largest size to which all may be cut so that they fit into `room` together."""
    left = max(room, 0)
    for position, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - position)
        if size > share:
            return share
        left -= size
    return max(sizes, default=0)


def _ends(text: str, size: int) -> str:
    head = text[: size - size // 2]
    tail = text[len(text) - size // 2 :]
    return f"{head}\n[… {len(text) - size} characters left out …]\n{tail}"
