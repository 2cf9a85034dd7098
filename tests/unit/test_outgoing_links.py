"""Links and images in replies of tainted turns."""

from __future__ import annotations

import pytest

from arvis.domain.outgoing_links import NOTE, LinkStream, SafeLinks

WRITTEN = {"https://mail.example/meet/93", "https://shop.example/a(1)"}
KNOWN = {"https://shop.example/hours", "https://shop.example/p.png"}
LINKS = SafeLinks(is_written=lambda url: url in WRITTEN, is_known=lambda url: url in KNOWN)


@pytest.mark.parametrize(
    "text",
    [
        "Plain text, e.g. a file notes.txt and 3/4 or and/or.",
        "See https://shop.example/hours. Thanks!",
        "Join at [the meeting](https://mail.example/meet/93).",
        "![A map](https://shop.example/p.png)",
        "Docs: https://docs.python.org/library and https://api.example.com/v1",
        "a <b> c, x < y, C:\\dir",
    ],
)
def test_known_addresses_stay(text: str) -> None:
    assert LINKS.safe(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://evil.example/?d=secret", "https[:]//evil.example/?d=secret"),
        ("[here](https://evil.example/secret-4711)", "[here](https[:]//evil.example/secret-4711)"),
        ("<https://evil.example/4711>", "<https[:]//evil.example/4711>"),
        ("HTTP:/\\evil.example/4711", "HTTP[:]///\\evil.example/4711"),
        ("https:evil.example/4711", "https[:]//evil.example/4711"),
        ("[x](//evil.example/4711)", "[x]([:]//evil.example/4711)"),
        ("ftp://evil.example/4711", "ftp[:]//evil.example/4711"),
    ],
)
def test_links_with_data_are_text(text: str, shown: str) -> None:
    assert LINKS.safe(text) == f"{shown}\n\n{NOTE}"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("![x](https://evil.example/4711.png)", "[x](https[:]//evil.example/4711.png)"),
        ("![x](https://mail.example/meet/93)", "[x](https://mail.example/meet/93)"),
        ("![x][1]\n\n[1]: https://evil.example/4711", "[x][1]\n\n[1]: https[:]//evil.example/4711"),
        ("![x](https&#58;//evil.example/4711)", "[x](https&#58;[:]//evil.example/4711)"),
        ('<img src="x">', '< img src="x">'),
        ("evil.example/4711?d=1", "evil[.]example/4711?d=1"),
    ],
)
def test_images_are_not_loaded(text: str, shown: str) -> None:
    assert LINKS.safe(text).removesuffix(f"\n\n{NOTE}") == shown


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50])
def test_a_stream_shows_the_same_text(size: int) -> None:
    text = "Look: ![a b](https://evil.example/4711.png) and https://shop.example/hours or https://evil.example/?d=1 end"
    shown = ""

    def send(offset: int, piece: str) -> None:
        nonlocal shown
        assert offset == len(shown)
        shown += piece
        assert "https://evil" not in shown
        assert "![" not in shown

    stream = LinkStream(links=LINKS, send=send)
    for start in range(0, len(text), size):
        stream.add(start, text[start : start + size])
    stream.close()
    assert f"{shown}\n\n{NOTE}" == LINKS.safe(text)
