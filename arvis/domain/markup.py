"""The one tokenizer for tags, in which a model writes everything that addresses the system.

`find_tags` reads the tags from the final text of a model, and from no other text. `visible` is the text without them,
for people. `escape` makes untrusted text harmless before it enters a prompt. For any text x: `find_tags(escape(x))`
and `find_tags(visible(x))` are empty, `visible(visible(x)) == visible(x)`, and all of them take time in proportion to
its length. `arvis.tags` gives the tags their meaning; `markup_grammar` lists them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

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

_WIDE_GAP = re.compile(r"\n{3,}")

#: Prefixes that may become a fence or the message mark at the beginning of a line.
_LEADS = tuple(lead[:length] for lead in ("```", "~~~", MESSAGE_MARK) for length in range(1, len(lead)))
_UNFINISHED_LEAD = re.compile("|".join(re.escape(lead) for lead in sorted(_LEADS, key=len, reverse=True)))


def unfinished_lead(text: str, start: int) -> bool:
    """Return whether the text from `start` on may be the beginning of a token that counts only at the beginning of a
    line."""
    return _UNFINISHED_LEAD.fullmatch(text, start) is not None


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


#: Limits for one text: the number of tags, and the bytes of each.
MOST_TAGS = 64
MOST_BYTES = 8 * 1024

_BLANK = r"[^\S\n]*+"
_LEAD = rf"{_BLANK}(?P<lead>`{{3}}|~{{3}}|{MESSAGE_MARK})"
_LEAD_HERE = re.compile(_LEAD)
_BLANKS = re.compile(_BLANK)

#: Points at which plain text ends.
_POINT = re.compile(rf"\n{_LEAD}|{BARE}|{OPENING}")

_FENCE = re.compile(r"(?P<run>`{3,}|~{3,})(?P<rest>.*)", re.DOTALL)
_CLOSING = re.compile(rf"(?<![^\n]){_BLANK}(?P<run>`{{3,}}+|~{{3,}}+){_BLANK}(?![^\n])")

#: Lines that look like a fence but are code themselves, and complete fences of few lines; one or more in a row.
_WHOLE_CODE = re.compile(
    rf"""(?:\n{{0,2}}{_BLANK}
        (?P<run>(?P<mark>[`~])(?P=mark){{2,}}+)
        (?>[^\n]*(?P=mark){{3}}{_BLANK}
          |[^\n]*+\n(?:[^\n]*+\n){{0,100}}?{_BLANK}(?P=run)(?P=mark)*+{_BLANK})
        (?=\n))++""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag as written. `name` is in capitals; `argument` is the text after its colon. `problem` explains why it must
    not be carried out; then `body` is empty."""

    name: str
    argument: str
    body: str
    problem: str | None = None


class _Mode(Enum):
    TEXT = "text"
    FENCE_LINE = "the line that opens a fence"
    CODE = "fenced code"
    OVER = "the text is over"


class Scanner:
    """Splits model output in one pass into visible text and tags. Pass it pieces, then close it; both return the
    visible text that is certain. `tags` are the tags found so far.

    It reads each character only a few times. If a decision needs text that has not arrived yet, it waits and returns
    nothing, so pieces and whole texts give the same result. Rules:

    - Tags do not nest: everything inside a tag is its body. Only an opening marker of the same name shows that the
      tag before it was never closed; then the scanner removes that tag and does not return it.
    - A block that is never closed takes the remaining text with it.
    - Fenced code contains no tags. A fence begins and ends with lines of the *visible* text; an unclosed fence never
      ends.
    - The text of a reply with metadata ends where a second block of metadata begins (behaviour 5.2).
    """

    def __init__(self) -> None:
        self.tags: list[Tag] = []
        self._visible = VisibleText()
        self._mode = _Mode.TEXT
        self._rest = ""
        self._awaited: re.Pattern[str] | None = None  # what must come before the rest can be read
        self._pieces: list[str] = []  # that came meanwhile
        self._seen = ""  # the end of the text in which the awaited was looked for
        self._line: list[str] = []  # the line of code that is being read
        self._run = ""  # the fence that is open
        self._enveloped = False
        self._final = False
        self.unclosed = 0  # characters from the opener of a tag that the end of the text leaves open to that end

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
        """Scan as far as possible; the remaining text waits."""
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
        """Scan up to a fence or the end; return the position at which to continue."""
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
        """Scan text without any marker, except an incomplete one at its end."""
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
        """Remove the tag that begins here; return where the text continues."""
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
        """Finding out whether it is closed needs the text up to the next marker of its name."""
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
        """Find the end of a tag. If it may still arrive, the remaining text waits for it."""
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
                problem = f"this reply holds more than {MOST_TAGS} tags; this one and what follows it is left out"
            elif len(body) > MOST_BYTES or len(body.encode("utf-8", "surrogatepass")) > MOST_BYTES:
                problem = f"it is longer than {MOST_BYTES} bytes"
            self.tags.append(Tag(name, argument_of(opening), "" if problem else body.strip(), problem))
        return end

    # -- fenced code ---------------------------------------------------------------------------------------------------

    def _read_fence(self, text: str, position: int) -> int:
        """Skip all code that is completely available, otherwise up to its line."""
        whole = _WHOLE_CODE.match(text, position)
        if whole is None:
            self._mode = _Mode.FENCE_LINE
            return position
        self._visible.add_code(whole[0])
        return whole.end()

    def _read_fence_line(self, text: str, position: int) -> int:
        """A line such as ```` ```code``` ```` opens no fence."""
        end = text.find("\n", position)
        if end < 0:
            return self._keep_line(text, position)
        self._visible.add_code(text[position:end])
        fence = _FENCE.fullmatch("".join([*self._line, text[position:end]]))
        assert fence is not None  # noqa: S101 the mode begins with it
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
    """Return the first `MOST_TAGS` tags, in order; excess or oversized tags carry a problem."""
    return list(scan(text).tags)


def visible(text: str) -> str:
    """Return the trimmed text without tags, including incomplete tags and tags that no code reads."""
    return scan(text).visible


def closed(text: str) -> str:
    """Return the text without the tag that its end leaves open: for a truncated text."""
    scanner = Scanner()
    scanner.feed(text)
    scanner.close()
    return text[: len(text) - scanner.unclosed].rstrip() if scanner.unclosed else text


# -- untrusted text in prompts -----------------------------------------------------------------------------------------

#: Full-width brackets and colon, which no tag contains.
_WIDE = {"[": "\uff3b", "<": "\uff1c", ":": "\uff1a"}
_NARROW = {wide: narrow for narrow, wide in _WIDE.items()}

_MESSAGE = MESSAGE_MARK[:-1]


def _openers(square: str, angle: str, colon: str) -> re.Pattern[str]:
    """Return a pattern for openers written with these brackets and colon, up to their last character. It matches all
    beginnings of markers, and some more."""
    return re.compile(
        rf"{square}(?=(?ai:/?(?:{OPENER_NAMES['[']})(?:[ \t]*[:\]]|\Z)))"
        rf"|{angle}(?=(?ai:/?(?:{OPENER_NAMES['<']})(?![A-Z0-9_-])))"
        rf"|{_MESSAGE}{colon}"
    )


_OPENERS = _openers(r"\[", "<", ":")
_ESCAPED = _openers(*_WIDE.values())


def escape(text: str) -> str:
    """Return the text with the openers of tags in full width, so that it contains no tag."""
    if "[" not in text and "<" not in text and _MESSAGE not in text:
        return text
    return _OPENERS.sub(lambda found: found[0][:-1] + _WIDE[found[0][-1]], text)


def unescape(text: str) -> str:
    """Undo `escape`."""
    return _ESCAPED.sub(lambda found: found[0][:-1] + _NARROW[found[0][-1]], text)
