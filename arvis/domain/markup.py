"""The tokenizer for tags. A model writes tags in its reply to request actions of Arvis.

- `find_tags` returns the tags of a model's final text. No other text is searched for tags.
- `visible` returns the text for people, without tags.
- `escape` changes untrusted text for a prompt, so that it contains no tags.

For any text x, `find_tags(escape(x))` and `find_tags(visible(x))` are empty, `visible(visible(x)) == visible(x)`, and
the running time of each function is proportional to the length of x. `markup_grammar` defines the tags, and
`arvis.tags` interprets them.
"""

from __future__ import annotations

import re
from enum import Enum

from arvis.domain.dataclass import dataclass
from arvis.domain.markup_grammar import (
    BARE,
    FORMS,
    LINE_END_OR_MARKER,
    LINE_END_OR_MARKERS_OF,
    LONGEST_MARKER,
    MARKERS_OF,
    MESSAGE_MARK,
    METADATA,
    OPENER_NAMES,
    OPENING,
    READ_TAGS,
    Form,
    argument_of,
    is_recognisable,
    name_of,
    opens,
    unfinished,
)
from arvis.domain.regex import regex

_WIDE_GAP = regex(r"\n{3,}")

#: The incomplete beginnings of fences and of the message mark, which count only at the beginning of a line.
_LEADS = tuple(lead[:length] for lead in ("```", "~~~", MESSAGE_MARK) for length in range(1, len(lead)))
_UNFINISHED_LEAD = regex("|".join(re.escape(lead) for lead in sorted(_LEADS, key=len, reverse=True)))


def unfinished_lead(text: str, start: int) -> bool:
    """Return whether `text[start:]` is the incomplete beginning of a fence or of the message mark."""
    return _UNFINISHED_LEAD.fullmatch(text, start) is not None


class VisibleText:
    """The visible text of a reply, collected piece by piece. `take` returns the new text that later additions cannot
    change. `blank` is True if the current line contains only white space.

    For speed, `add` only stores text. `take` then shortens wide gaps (three or more newlines in a row) and removes
    white space at the beginning and end of the whole text.
    """

    def __init__(self) -> None:
        self.blank = True
        self._line = ""  # the last characters of the current line
        self._text: list[str] = []  # the text after the last code; wide gaps are not yet shortened
        self._ready: list[str] = []  # the text and code before `_text`, with wide gaps shortened
        self._begun = False  # True if `take` has returned more than white space
        self._held: list[str] = []  # white space that `take` returns only before other text
        self._shown = ""  # the last characters that `take` returned

    def add(self, text: str) -> None:
        """Add text. Three or more newlines in a row become two, even if several calls add them."""
        self._text.append(text)
        self._follow(text)

    def add_code(self, text: str) -> None:
        """Add code unchanged. Text that follows must begin with the newline that ends the last line of the code."""
        self._ready += [self._without_gaps(), text]
        self._follow(text)

    def seam(self) -> None:
        """Record that a tag was removed here. Add a newline if the text before and the text after the tag could form a
        new tag."""
        line = self._line
        if line and (unfinished(line) or unfinished_lead(line.lstrip(), 0)):
            self.add("\n")

    def take(self) -> str:
        text = self._without_gaps()
        lines = text.rstrip("\n")
        self._text.append(text[len(lines) :])  # trailing newlines may become part of a wide gap
        text = "".join([*self._ready, lines])
        self._ready.clear()
        return self._within_margins(text)

    def end(self) -> str:
        """Return the remaining text. Nothing may be added afterwards. If the visible text ends with an incomplete tag,
        append “…”, so that a second pass over the visible text does not remove this end."""
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


#: The maximum number of tags in a text, and the maximum number of bytes in the body of a tag.
MOST_TAGS = 64
MOST_BYTES = 8 * 1024

_BLANK = r"[^\S\n]*+"
_LEAD = rf"{_BLANK}(?P<lead>`{{3}}|~{{3}}|{MESSAGE_MARK})"
_LEAD_HERE = regex(_LEAD)
_BLANKS = regex(_BLANK)

#: The places at which plain text ends: markers, and lines that begin with a fence or the message mark.
_POINT = regex(rf"\n{_LEAD}|{BARE}|{OPENING}")

_FENCE = regex(r"(?P<run>`{3,}|~{3,})(?P<rest>.*)", re.DOTALL)
_CLOSING = regex(rf"(?<![^\n]){_BLANK}(?P<run>`{{3,}}+|~{{3,}}+){_BLANK}(?![^\n])")

#: One or more complete pieces of code in a row. A piece is a line that opens and closes a fence, or a fence with at
#: most 100 lines of code.
_WHOLE_CODE = regex(
    rf"""(?:\n{{0,2}}{_BLANK}
        (?P<run>(?P<mark>[`~])(?P=mark){{2,}}+)
        (?>[^\n]*(?P=mark){{3}}{_BLANK}
          |[^\n]*+\n(?:[^\n]*+\n){{0,100}}?{_BLANK}(?P=run)(?P=mark)*+{_BLANK})
        (?=\n))++""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Tag:
    """One tag of a reply."""

    #: In capitals.
    name: str
    #: The text after the colon of the opening marker.
    argument: str
    body: str
    #: The reason why the tag must not be carried out; `body` is then empty.
    problem: str | None = None


class _Mode(Enum):
    TEXT = "text"
    FENCE_LINE = "the line that opens a fence"
    CODE = "fenced code"
    OVER = "the text is over"


class Scanner:
    """A splitter of model output into visible text and tags, in one pass. Call `feed` with each piece of the output,
    then `close`. Each call returns the new visible text that later pieces cannot change. `tags` are the tags found so
    far.

    The scanner reads each character only a few times. If a decision needs text that has not arrived yet, the scanner
    keeps the text back. So the result does not depend on the division into pieces. Rules:

    - Tags do not nest: everything inside a tag is its body. One exception: if an open tag is followed by an opening
      marker of the same name, the scanner drops the open tag and begins a new one.
    - A block tag that is never closed extends to the end of the text.
    - Fenced code contains no tags. A fence begins and ends with lines of the *visible* text; a fence that is not closed
      extends to the end of the text.
    - If a reply has two blocks of metadata, its text ends at the beginning of the second one.
    """

    def __init__(self) -> None:
        self.tags: list[Tag] = []
        self._visible = VisibleText()
        self._mode = _Mode.TEXT
        self._rest = ""
        self._awaited: re.Pattern[str] | None = None  # scanning continues when new text contains this pattern
        self._pieces: list[str] = []  # the pieces that arrived while `_awaited` did not match
        self._seen = ""  # the last characters in which `_awaited` was searched
        self._line: list[str] = []  # the parts of an incomplete line of code
        self._run = ""  # the marks that opened the current fence, such as ```
        self._enveloped = False
        self._final = False
        self.unclosed = 0  # the length of the tag that is still open at the end of the text

    def feed(self, piece: str) -> str:
        if self._awaited is None:
            self._read(self._rest + piece)
            return self._visible.take()
        self._pieces.append(piece)
        self._seen += piece
        if self._awaited.search(self._seen):
            self._read(self._joined())
        else:
            self._seen = self._seen[-LONGEST_MARKER:]
        return self._visible.take()

    def close(self) -> str:
        self._final = True
        self._read(self._joined())
        return self._visible.end() if self._mode in {_Mode.TEXT, _Mode.OVER} else self._visible.take()

    def _joined(self) -> str:
        text = "".join([self._rest, *self._pieces])
        self._pieces.clear()
        self._awaited = None
        return text

    def _read(self, text: str) -> None:
        """Scan the text as far as possible; keep the remaining text in `_rest`."""
        position = 0
        self._rest = ""
        while position < len(text):
            match self._mode:
                case _Mode.TEXT:
                    position = self._read_text(text, position)
                case _Mode.FENCE_LINE:
                    position = self._read_fence_line(text, position)
                case _Mode.CODE:
                    position = self._read_code(text, position)
                case _Mode.OVER:
                    return

    # -- text ----------------------------------------------------------------------------------------------------------

    def _read_text(self, text: str, position: int) -> int:
        """Scan plain text up to a fence or the end. Return the position at which to continue."""
        while position < len(text):
            lead = _LEAD_HERE.match(text, position) if self._visible.blank else None
            point = lead or _POINT.search(text, position)
            if point is None:
                return self._read_end(text, position)
            lead_at = point.start("lead")
            end = point.start() if lead_at < 0 else lead_at
            if position < end:
                self._visible.add(text[position:end])
            if lead_at < 0:
                position = self._read_marker(text, point)
            elif point["lead"] == MESSAGE_MARK:
                position = point.end()
            else:
                return self._read_fence(text, lead_at)
        return position

    def _read_end(self, text: str, position: int) -> int:
        """Scan text that contains no marker, except perhaps an incomplete marker at its end."""
        end = len(text) - unfinished(text[max(position, len(text) - LONGEST_MARKER) :])
        line = max(position, text.rfind("\n", position) + 1)
        if line > position or self._visible.blank:
            blanks = _BLANKS.match(text, line)
            begun = blanks.end() if blanks else line
            end = begun if unfinished_lead(text, begun) else end
        if self._final:
            end = end if is_recognisable(text[end:]) else len(text)
        else:
            self._rest = text[end:]
        self._visible.add(text[position:end])
        return len(text)

    # -- tags ----------------------------------------------------------------------------------------------------------

    def _read_marker(self, text: str, marker: re.Match[str]) -> int:
        """Remove the tag or single marker that begins with `marker`. Return the position of the text after it."""
        if not opens(marker):
            self._visible.seam()
            return marker.end()
        name = name_of(marker)
        if name == METADATA and self._enveloped:
            self._mode = _Mode.OVER
            return len(text)
        end = self._read_tag(text, marker, name)
        if not self._rest:
            self._visible.seam()
        return end

    def _read_tag(self, text: str, opening: re.Match[str], name: str) -> int:
        if opening[0].endswith("/>"):
            return self._tell(name, opening, "", opening.end())
        match FORMS[name]:
            case Form.BLOCK:
                return self._read_block(text, opening, name)
            case Form.LINE:
                return self._read_line(text, opening, name)
            case _:
                return self._read_alone(text, opening, name)

    def _read_block(self, text: str, opening: re.Match[str], name: str) -> int:
        ending = self._find(MARKERS_OF[name], text, opening)
        if ending is None:
            self.unclosed = len(text) - opening.start()
            return len(text)
        if opens(ending):
            return ending.start()
        return self._tell(name, opening, text[opening.end() : ending.start()], ending.end())

    def _read_line(self, text: str, opening: re.Match[str], name: str) -> int:
        """Read a tag of the form `LINE`. The text up to the next marker of the same name is needed, because this marker
        decides whether the tag is closed."""
        ending = self._find(MARKERS_OF[name], text, opening)
        if self._rest:
            return len(text)
        if ending and not opens(ending):
            return self._tell(name, opening, text[opening.end() : ending.start()], ending.end())
        line_end = LINE_END_OR_MARKER.search(text, opening.end())
        self.unclosed = 0 if line_end else len(text) - opening.start()
        end = line_end.start() if line_end else len(text)
        return self._tell(name, opening, text[opening.end() : end], end)

    def _read_alone(self, text: str, opening: re.Match[str], name: str) -> int:
        ending = self._find(LINE_END_OR_MARKERS_OF[name], text, opening)
        if self._rest:
            return len(text)
        closed = ending is not None and ending[0] != "\n" and not opens(ending)
        return self._tell(name, opening, "", ending.end() if ending and closed else opening.end())

    def _find(self, awaited: re.Pattern[str], text: str, opening: re.Match[str]) -> re.Match[str] | None:
        """Return the first match of `awaited` after the opening marker, or None. If there is no match yet but more text
        may arrive, keep the text from the opening marker on."""
        found = awaited.search(text, opening.end())
        if found is None and not self._final:
            self._rest = text[opening.start() :]
            self._awaited = awaited
            self._seen = text[max(opening.end(), len(text) - LONGEST_MARKER) :]
        return found

    def _tell(self, name: str, opening: re.Match[str], body: str, end: int) -> int:
        self._enveloped = self._enveloped or name == METADATA
        if name in READ_TAGS and len(self.tags) <= MOST_TAGS:
            problem = None
            if len(self.tags) == MOST_TAGS:
                problem = f"this reply contains more than {MOST_TAGS} tags; this tag and all later ones are ignored"
            elif len(body) > MOST_BYTES or len(body.encode("utf-8", "surrogatepass")) > MOST_BYTES:
                problem = f"it is longer than {MOST_BYTES} bytes"
            self.tags.append(Tag(name, argument_of(opening), "" if problem else body.strip(), problem))
        return end

    # -- fenced code ---------------------------------------------------------------------------------------------------

    def _read_fence(self, text: str, position: int) -> int:
        """Add complete pieces of code to the visible text and return the position after them. If there is no complete
        piece, switch to the mode that reads code line by line, and return the same position."""
        whole = _WHOLE_CODE.match(text, position)
        if whole is None:
            self._mode = _Mode.FENCE_LINE
            return position
        self._visible.add_code(whole[0])
        return whole.end()

    def _read_fence_line(self, text: str, position: int) -> int:
        """Read the line that may open a fence. A line such as ```` ```code``` ```` does not open a fence."""
        end = text.find("\n", position)
        if end < 0:
            return self._keep_line(text, position)
        self._visible.add_code(text[position:end])
        fence = _FENCE.fullmatch("".join([*self._line, text[position:end]]))
        assert fence is not None  # noqa: S101 this mode begins at the marks of a fence
        self._line.clear()
        mark, rest = fence["run"][0], fence["rest"].rstrip()
        if rest.endswith(mark * 3):
            self._mode = _Mode.TEXT
            return end
        self._run = fence["run"]
        self._mode = _Mode.CODE
        self._visible.add_code("\n")
        return end + 1

    def _read_code(self, text: str, position: int) -> int:
        if self._line:
            end = text.find("\n", position)
            if end < 0:
                return self._keep_line(text, position)
            closing = _CLOSING.fullmatch("".join([*self._line, text[position:end]]))
            self._line.clear()
            self._visible.add_code(text[position:end])
            if closing and closing["run"].startswith(self._run):
                self._mode = _Mode.TEXT
                return end
            position = end
        for closing in _CLOSING.finditer(text, position):
            end = closing.end()
            if end < len(text) and closing["run"].startswith(self._run):
                self._visible.add_code(text[position:end])
                self._mode = _Mode.TEXT
                return end
        last = text.rfind("\n", position) + 1
        self._visible.add_code(text[position:last])
        return self._keep_line(text, max(last, position))

    def _keep_line(self, text: str, position: int) -> int:
        if position < len(text):
            self._visible.add_code(text[position:])
            self._line.append(text[position:])
        return len(text)


@dataclass(frozen=True, slots=True)
class Scan:
    visible: str
    tags: tuple[Tag, ...]


def scan(text: str) -> Scan:
    """Return the visible text and the tags of a text, in one pass."""
    scanner = Scanner()
    pieces = scanner.feed(text), scanner.close()
    return Scan("".join(pieces), tuple(scanner.tags))


def find_tags(text: str) -> list[Tag]:
    """Return the tags in order, at most `MOST_TAGS` + 1. Tag number `MOST_TAGS` + 1, and each tag whose body is too
    long, has a `problem`."""
    return list(scan(text).tags)


def visible(text: str) -> str:
    """Return the trimmed text without tags. This also removes incomplete tags and tags that `find_tags` does not
    return."""
    return scan(text).visible


def closed(text: str) -> str:
    """Return a truncated text without the tag that is still open at its end."""
    scanner = Scanner()
    scanner.feed(text)
    scanner.close()
    return text[: len(text) - scanner.unclosed].rstrip() if scanner.unclosed else text


# -- untrusted text in prompts -----------------------------------------------------------------------------------------

#: The full-width forms of brackets and colon. No marker of a tag contains them.
_WIDE = {"[": "\uff3b", "<": "\uff1c", ":": "\uff1a"}
_NARROW = {wide: narrow for narrow, wide in _WIDE.items()}

_MESSAGE = MESSAGE_MARK[:-1]


def _openers(square: str, angle: str, colon: str) -> re.Pattern[str]:
    """Return a pattern for every possible beginning of a marker or of the message mark that uses these brackets and
    this colon. The last character of a match is the bracket or the colon."""
    return regex(
        rf"{square}(?=(?ai:/?(?:{OPENER_NAMES['[']})(?:[ \t]*[:\]]|\Z)))"
        rf"|{angle}(?=(?ai:/?(?:{OPENER_NAMES['<']})(?![A-Z0-9_-])))"
        rf"|{_MESSAGE}{colon}"
    )


_OPENERS = _openers(r"\[", "<", ":")
_ESCAPED = _openers(*_WIDE.values())


def escape(text: str) -> str:
    """Return the text with full-width characters for each bracket or colon that could begin a tag."""
    if "[" not in text and "<" not in text and _MESSAGE not in text:
        return text
    return _OPENERS.sub(lambda found: found[0][:-1] + _WIDE[found[0][-1]], text)


def unescape(text: str) -> str:
    """Undo `escape`."""
    return _ESCAPED.sub(lambda found: found[0][:-1] + _NARROW[found[0][-1]], text)
