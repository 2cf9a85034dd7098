"""What is left of a reply when its tags are gone: trimmed, without wide gaps, given out piece by piece."""

from __future__ import annotations

import re

from arvis.domain.markup_grammar import LONGEST_MARKER, MESSAGE_MARK, tells, unfinished

_WIDE_GAP = re.compile(r"\n{3,}")

#: What the beginning of a line may still become: a fence or the message mark.
_LEADS = tuple(lead[:length] for lead in ("```", "~~~", MESSAGE_MARK) for length in range(1, len(lead)))
_LEAD = re.compile("|".join(re.escape(lead) for lead in sorted(_LEADS, key=len, reverse=True)))


def unfinished_lead(text: str, start: int) -> bool:
    """Whether all of a text from `start` on is a beginning of what counts only at the beginning of a line."""
    return _LEAD.fullmatch(text, start) is not None


class VisibleText:
    """Collects visible text; `take` gives what came since and will not change any more. `blank` says whether the line
    that is being written holds nothing but white space."""

    def __init__(self) -> None:
        self.blank = True
        self._out: list[str] = []
        self._held: list[str] = []  # white space that nothing follows yet
        self._begun = False
        self._newlines = 0  # at the end of what came so far, no more than count
        self._recent = ""  # the end of what came so far
        self._shown = ""  # the end of that without white space behind it

    def add(self, text: str) -> None:
        """Runs of three or more newlines become two, also across two calls."""
        if not text.startswith("\n") and "\n\n\n" not in text:
            self._append(text)
            return
        text = _WIDE_GAP.sub("\n\n", text)
        leading = len(text) - len(text.lstrip("\n"))
        self._append(text[max(0, min(leading, self._newlines + leading - 2)) :])

    def add_code(self, text: str) -> None:
        """As it stands."""
        self._append(text)

    def seam(self) -> None:
        """A tag was taken out here. What stood before it must not become a new one with what follows: where it could,
        they are put on two lines."""
        line = self._recent[self._recent.rfind("\n") + 1 :]
        if unfinished(line) or unfinished_lead(line.lstrip(), 0):
            self.add("\n")

    def end(self) -> None:
        """Nothing follows. If it ends like a tag that was cut off, it must not be taken for one when read again."""
        if tells(self._shown[len(self._shown) - unfinished(self._shown) :]):
            self._out.append("…")

    def take(self) -> str:
        text = "".join(self._out)
        self._out.clear()
        return text

    def _append(self, text: str) -> None:
        if not text:
            return
        stripped = text.rstrip("\n")
        self._newlines = min(2, len(text) - len(stripped) + (0 if stripped else self._newlines))
        line = text[text.rfind("\n") + 1 :]
        self.blank = (self.blank or len(line) < len(text)) and (not line or line.isspace())
        self._recent = (self._recent + text[-LONGEST_MARKER:])[-LONGEST_MARKER:]
        self._show(text)

    def _show(self, text: str) -> None:
        if not self._begun:
            text = text.lstrip()
            self._begun = bool(text)
        shown = text.rstrip()
        if shown:
            self._out += [*self._held, shown]
            self._held.clear()
            self._shown = self._recent.rstrip()
        if len(shown) < len(text):
            self._held.append(text[len(shown) :])
