"""Replies that end before their end: what is left of them, with a mark that people and the model can read."""

from __future__ import annotations

from dataclasses import replace

from arvis.agents import notices
from arvis.domain.markup import closed
from arvis.domain.runs import RunResult

_FENCE = "```"


def marked(result: RunResult) -> RunResult:
    """Return the reply as it can be used. One that was cut loses the tag that its end leaves open, so that half a wish is not
    carried out, and says that it was cut."""
    if not result.cut or result.calls:
        return result
    text = closed(result.content)
    if not text.strip():
        return replace(result, content=notices.CUT_EMPTY)
    return replace(result, content=with_mark(text, notices.CUT if result.truncated else notices.CUT_TOKENS))


def with_mark(text: str, mark: str) -> str:
    """Return a text that is not whole with a mark behind it, outside of the code that its end leaves open."""
    open_fence = sum(line.lstrip().startswith(_FENCE) for line in text.splitlines()) % 2
    end = f"\n{_FENCE}" if open_fence else ""
    return f"{text}{end}{mark}"
