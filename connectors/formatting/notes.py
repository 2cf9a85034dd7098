"""The text that people read in place of a file that a platform did not accept."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.messages import OutgoingFile


def not_sent(files: Sequence[OutgoingFile], why: str) -> str:
    """Return one line for the end of a text. `why` is a clause without a full stop."""
    names = ", ".join(file.filename for file in files)
    what = f"The file {names}" if len(files) == 1 else f"The files {names}"
    whole = " The whole answer can be read on the dashboard." if any(file.content is not None for file in files) else ""
    return f"({what} could not be sent: {why}.{whole})"


def with_note(content: str, note: str) -> str:
    return f"{content.rstrip()}\n\n{note}" if content.strip() else note
