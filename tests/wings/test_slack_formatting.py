"""Conversion of Markdown to Slack's markup."""

from __future__ import annotations

import pytest

from connectors.slack.formatting import message_of


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("foo*bar*", "foo\u200b_bar_"),
        ("*foo*bar", "_foo_\u200bbar"),
        ("5*6*78", "5\u200b_6_\u200b78"),
        ("a **b**c ~~d~~e", "a *b*\u200bc ~d~\u200be"),
        ("foo_bar_ stays", "foo_bar_ stays"),
        ("`foo*bar*`", "`foo*bar*`"),
        ("*foo* bar", "_foo_ bar"),
    ],
)
def test_emphasis_inside_of_words_is_no_underscore(markdown: str, shown: str) -> None:
    assert message_of(markdown, ())["text"] == shown
