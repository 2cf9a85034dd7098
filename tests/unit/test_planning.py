"""A reply is sent in pieces, or as its beginning and a file."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from arvis.domain.messages import Address, Button, OutgoingFile
from arvis.domain.platforms import Piece
from arvis.testing.conformance.connector_stage import delivery
from connectors.formatting.planning import pieces
from connectors.formatting.splitting import divide, split

PLACE = Address("chat", "main", "room")
BUTTON = Button("yes", "Yes")
PICTURE = OutgoingFile("a.png", "image/png", 3, sha256="00")

short = partial(split, limit=60)


def test_a_short_text_is_one_piece() -> None:
    planned = delivery(PLACE, "  hello\n", buttons=[BUTTON], files=[PICTURE])
    assert pieces(planned, short, 5) == [Piece("  hello", (BUTTON,), (PICTURE,))]


def test_buttons_and_files_leave_with_the_last_piece() -> None:
    planned = delivery(PLACE, f"{'a' * 50}\n\n{'b' * 50}", buttons=[BUTTON], files=[PICTURE])
    assert pieces(planned, short, 2) == [Piece("a" * 50), Piece("b" * 50, (BUTTON,), (PICTURE,))]


def test_a_long_text_is_a_beginning_and_a_file() -> None:
    text = "Ä word of it. " * 40
    [piece] = pieces(delivery(PLACE, text, buttons=[BUTTON], files=[PICTURE]), partial(split, limit=90), 5)
    assert piece.content == "Ä word of it. Ä word of it. Ä word of it.\n\n… the whole answer is in the file."
    picture, whole = piece.files
    assert (picture, piece.buttons) == (PICTURE, (BUTTON,))
    assert whole == OutgoingFile("answer.md", "text/markdown", len(text.rstrip().encode()), content=text.rstrip())


def test_no_more_is_divided_than_may_be_sent() -> None:
    made: list[str] = []

    def divided(text: str) -> Iterator[str]:
        for part in divide(text, 90):
            made.append(part)
            yield part

    pieces(delivery(PLACE, "A word of it. " * 1_000), divided, 5)
    assert len(made) == 7


def test_the_beginning_of_code_is_closed() -> None:
    [piece] = pieces(delivery(PLACE, "```py\n" + "x = 1\n" * 90 + "```"), partial(split, limit=80), 5)
    assert piece.content.startswith("```py\nx = 1\n")
    assert piece.content.endswith("\n```\n\n… the whole answer is in the file.")


def test_files_leave_without_a_text() -> None:
    assert pieces(delivery(PLACE, " \n", files=[PICTURE]), short, 5) == [Piece("", (), (PICTURE,))]


def test_there_is_always_a_piece() -> None:
    assert pieces(delivery(PLACE, " \n"), short, 5) == [Piece("")]
