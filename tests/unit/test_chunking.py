"""A text is divided along its structure; nothing is lost, and hostile texts take linear time."""

from __future__ import annotations

import time

import pytest

from arvis.domain.chunking import SIZE, chunks_of, title_in
from arvis.domain.knowledge import PATH, cited_in, number_of


def test_headings_begin_chunks_and_stay_above_them() -> None:
    body = "Each employee gets thirty days of leave. " * 20
    text = f"# Handbook\n\n## Leave\n\n{body}\n\n### Sick leave\n\n{body}\n\nTravel\n------\n\n{body}"
    chunks = [*chunks_of(text, title_in(text), markdown=True)]
    assert [chunk.heading.split(PATH) for chunk in chunks] == [
        ["Handbook", "Leave"],
        ["Handbook", "Leave", "Sick leave"],
        ["Handbook", "Travel"],
    ]
    assert [chunk.position for chunk in chunks] == [0, 1, 2]


def test_short_sections_share_a_chunk() -> None:
    text = "\n\n".join(f"## Question {number}\n\nYes." for number in range(5))
    [chunk] = chunks_of(text, "FAQ", markdown=True)
    assert chunk.heading.split(PATH) == ["FAQ", "Question 0"]
    assert "## Question 4\n\nYes." in chunk.content


def test_a_long_table_repeats_its_first_row() -> None:
    rows = "\n".join(f"| city {number} | hotel number {number} |" for number in range(100))
    chunks = [*chunks_of(f"| city | hotel |\n| --- | --- |\n{rows}", "Prices", markdown=True)]
    assert len(chunks) > 2
    assert all(chunk.content.startswith("| city | hotel |\n| --- | --- |\n| city ") for chunk in chunks)
    assert sum(chunk.content.count("hotel number") for chunk in chunks) == 100


def test_code_is_not_searched_for_headings() -> None:
    [chunk] = chunks_of("Before.\n\n```sh\n# no heading\nls\n```\n\nAfter.", "Guide", markdown=True)
    assert chunk.heading == "Guide"
    assert "# no heading\nls" in chunk.content


def test_pages_are_counted() -> None:
    page = "A sentence about the harbour. " * 20
    chunks = [*chunks_of(f"\f{page}\f\f{page}", "Report", markdown=False)]
    assert [chunk.page for chunk in chunks] == [2, 4]
    assert [chunk.page for chunk in chunks_of(page, "Report", markdown=False)] == [None]


@pytest.mark.parametrize("markdown", [True, False])
@pytest.mark.parametrize(
    "text",
    ["x" * 400_000, "# " * 100_000, "| " * 200_000, "\n".join(["#" * 6 + " h"] * 50_000), "```\n" * 50_000, "- " * 150_000,
     "。" * 200_000, "\f" * 50_000, "a. " * 130_000, "==\n" * 100_000],
    ids=range(10),
)  # fmt: skip
def test_hostile_texts_take_linear_time(text: str, markdown: bool) -> None:
    begun = time.process_time()
    chunks = [*chunks_of(text, "T", markdown=markdown)]
    assert all(len(chunk.content) <= 2 * SIZE for chunk in chunks)
    assert time.process_time() - begun < 3


def test_no_word_is_lost() -> None:
    words = [f"word{number}" for number in range(5_000)]
    text = "".join(
        word + ("\n\n" if number % 7 == 0 else ". " if number % 3 == 0 else " ") for number, word in enumerate(words)
    )
    found = " ".join(chunk.content for chunk in chunks_of(text, "T", markdown=False)).replace(".", "").split()
    assert found == words


def test_marks_of_a_reply() -> None:
    assert cited_in("One [K1]. Two [K2, K33] and [K5;6]. Again [K1]. No K7, [k8], [K], [KX9], [K-1].") == [
        1,
        2,
        33,
        5,
        6,
    ]
    assert [number_of(each) for each in ("K12", "[K12]", "k12", "12", "K", "K1x", "")] == [
        12,
        12,
        12,
        12,
        None,
        None,
        None,
    ]
