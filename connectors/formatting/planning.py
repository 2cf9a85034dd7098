"""Divides a reply into pieces: a few texts, or a beginning and a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from arvis.domain.messages import Delivery, OutgoingFile
from arvis.domain.platforms import Piece

_FILENAME = "answer.md"
_NOTE = "… the whole answer is in the file."


def pieces(delivery: Delivery, split: Callable[[str], Iterable[str]], max_parts: int) -> list[Piece]:
    """Divide a delivery into at least one piece, in the order of sending. `split` divides Markdown into parts that the
    platform accepts; at most `max_parts` + 1 of its parts are requested. Buttons and files belong to the last piece. If
    a text has more than `max_parts` parts, its beginning is sent as a message and the whole text as a file.

    An empty text makes one piece without content, for its buttons and files. `send` refuses a piece that has no
    content, buttons or files.
    """
    text = delivery.content.rstrip()
    parts = list(islice(split(text), max_parts + 1)) or [""]
    if len(parts) > max_parts:
        return [
            Piece(
                _beginning(text, split),
                delivery.buttons,
                (*delivery.files, OutgoingFile(_FILENAME, "text/markdown", len(text.encode()), content=text)),
            )
        ]
    *first, last = parts
    return [*map(Piece, first), Piece(last, delivery.buttons, delivery.files)]


def _beginning(text: str, split: Callable[[str], Iterable[str]]) -> str:
    """Return the longest beginning of the text that fits into one part together with a note about the file."""
    # The note is first put in front of the text, so that `split` leaves space for it.
    first = next(iter(split(f"{_NOTE}\n\n{text}")))
    return f"{first.removeprefix(_NOTE).strip()}\n\n{_NOTE}".strip()


# The text that replaces a file that a platform did not accept.


def not_sent(files: Sequence[OutgoingFile], why: str) -> str:
    """Return the line that tells people which files were not sent. `why`: a clause without a full stop."""
    names = ", ".join(file.filename for file in files)
    what = f"The file {names}" if len(files) == 1 else f"The files {names}"
    whole = " The whole answer can be read on the dashboard." if any(file.content is not None for file in files) else ""
    return f"({what} could not be sent: {why}.{whole})"


def with_note(content: str, note: str) -> str:
    return f"{content.rstrip()}\n\n{note}" if content.strip() else note
