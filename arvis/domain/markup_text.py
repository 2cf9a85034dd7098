"""The visible text of a reply after its tags were removed: trimmed, without wide gaps, returned piece by piece."""

from __future__ import annotations

import re

from arvis.domain.markup_grammar import LONGEST_MARKER, MESSAGE_MARK, is_recognisable, unfinished

_WIDE_GAP = re.compile(r"\n{3,}")

#: Prefixes that may become a fence or the message mark at the beginning of a line.
_LEADS = tuple(lead[:length] for lead in ("```", "~~~", MESSAGE_MARK) for length in range(1, len(lead)))
_LEAD = re.compile("|".join(re.escape(lead) for lead in sorted(_LEADS, key=len, reverse=True)))


def unfinished_lead(text: str, start: int) -> bool:
    """Return whether the text from `start` on may be the beginning of a token that counts only at the beginning of a
    line."""
    return _LEAD.fullmatch(text, start) is not None


class VisibleText:
    """Collects visible text. `take` returns the text since the last call that will not change any more. `blank`: the
    current line contains only white space.

    Adding only stores text; `take` handles gaps and margins, once for many additions.
    """

    def __init__(self) -> None:
        self.blank = True
        self._line = ""  # the end of the line that is being written
        self._text: list[str] = []  # what came since the last code, gaps and all
        self._ready: list[str] = []  # what came before that, without wide gaps
        self._begun = False
        self._held: list[str] = []  # white space that nothing follows yet
        self._shown = ""  # the end of what was given out

    def add(self, text: str) -> None:
        """Runs of three or more newlines become two, also across two calls."""
        self._text.append(text)
        self._follow(text)

    def add_code(self, text: str) -> None:
        """Add code unchanged. Code that is followed by text does not end with a newline."""
        self._ready += [self._without_gaps(), text]
        self._follow(text)

    def seam(self) -> None:
        """Mark the place of a removed tag. The text before and after it must not form a new tag; where it could, a
        line break separates them."""
        line = self._line
        if line and (unfinished(line) or unfinished_lead(line.lstrip(), 0)):
            self.add("\n")

    def take(self) -> str:
        text = self._without_gaps()
        lines = text.rstrip("\n")
        self._text.append(text[len(lines) :])  # it may become a wide gap
        text = "".join([*self._ready, lines])
        self._ready.clear()
        return self._within_margins(text)

    def end(self) -> str:
        """Return the last text; no text may follow. If the end looks like an incomplete tag, it must not become one
        when the text is read again."""
        text = self.take()
        return text + "…" if is_recognisable(self._shown[len(self._shown) - unfinished(self._shown) :]) else text

    def _follow(self, text: str) -> None:
        start = text.rfind("\n") + 1
        line = text[start:] if start else text
        if line and not line.isspace():
            self.blank = False
        elif start:
            self.blank = True
        self._line = (line if start else self._line + line)[-LONGEST_MARKER:]

    def _without_gaps(self) -> str:
        text = "".join(self._text)
        self._text.clear()
        return _WIDE_GAP.sub("\n\n", text) if "\n\n\n" in text else text

    def _within_margins(self, text: str) -> str:
        if not self._begun:
            text = text.lstrip()
            self._begun = bool(text)
        shown = text.rstrip()
        white = text[len(shown) :]
        if shown:
            shown = "".join([*self._held, shown])
            self._held.clear()
            self._shown = (self._shown + shown[-LONGEST_MARKER:])[-LONGEST_MARKER:]
        if white:
            self._held.append(white)
        return shown
