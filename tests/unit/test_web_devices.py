"""The name of a browser, read from its user agent."""

from __future__ import annotations

import pytest

from arvis.web.auth.sessions import device_of

_KIT = "AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (f"Mozilla/5.0 (X11; Linux x86_64) {_KIT} Chrome/156.0.0.0 Safari/537.36", "Chrome on Linux"),
        (f"Mozilla/5.0 (Windows NT 10.0; Win64) {_KIT} Chrome/156.0 Safari/537.36 Edg/156.0", "Edge on Windows"),
        (f"Mozilla/5.0 (Linux; Android 16; Pixel) {_KIT} Chrome/156.0 Mobile Safari/537.36", "Chrome on Android"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 15.1; rv:150.0) Gecko/20100101 Firefox/150.0", "Firefox on macOS"),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605 Version/19.0 Safari/604.1",
            "Safari on iPhone",
        ),
        (f"Mozilla/5.0 (X11; CrOS x86_64 1.0) {_KIT} Chrome/156.0 Safari/537.36", "Chrome on ChromeOS"),
        ("curl/8.9.1", "curl"),
        ("", ""),
        ("<script>alert(1)</script> x", "<script>alert(1)<"),
        ("\x1b[31mred", "[31mred"),
        ("x" * 5000, "x" * 60),
    ],
)
def test_a_device_is_a_few_words(header: str, words: str) -> None:
    assert device_of(header) == words
