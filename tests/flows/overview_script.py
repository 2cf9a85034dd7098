"""The overview part of scripted insights: nothing runs, waits or was answered."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.ports.insights import Answers, Headline, Overview

QUIET = Headline(running=0, pending=0, undelivered=0, failed=0, waiting=0, cost_micros=0)


class NoOverview:
    async def overview(self, now: int, day: str) -> Overview:
        return Overview(QUIET, 0, (), (), (), {})

    async def headline(self, day: str) -> Headline:
        return QUIET

    async def answers(self, since: int, until: int, *, minutes: int = 1) -> Sequence[Answers]:
        return ()
