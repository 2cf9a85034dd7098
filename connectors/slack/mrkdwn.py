"""Conversion of Markdown to mrkdwn, Slack's older form of formatted text."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from slackify_markdown.slackify import SlackifyMarkdown

#: Slack formats only whole words. If a mark of formatting is inside a word, this character is inserted between the mark
#: and the unformatted letters next to it.
_ZERO_WIDTH_SPACE = "\u200b"

_OPENING, _CLOSING = ({f"{name}_{side}" for name in ("em", "strong", "s")} for side in ("open", "close"))


class _Mrkdwn(SlackifyMarkdown):  # type: ignore[misc]  # it ships no types
    """A renderer of Markdown in Slack's form, with emphasis inside words."""

    def render(self, tokens: Any, options: Any, env: Any) -> str:
        for token in tokens:
            for before, after in pairwise(token.children or ()):
                if after.type in _OPENING and before.type == "text" and before.content[-1:].isalnum():
                    before.content += _ZERO_WIDTH_SPACE
                if before.type in _CLOSING and after.type == "text" and after.content[:1].isalnum():
                    after.content = _ZERO_WIDTH_SPACE + after.content
        return str(super().render(tokens, options, env))


def converted(text: str) -> str:
    return str(_Mrkdwn(text).slackify()).strip("\n")
