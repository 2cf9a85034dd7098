"""What the top bar and the page Now show: what runs, what waits, what failed, and how fast messages are answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from arvis.domain.executions import Wait
from arvis.domain.jobs import Job
from arvis.domain.messages import Address


@dataclass(frozen=True, slots=True)
class Headline:
    """The counters: work that runs and work that stands in line (deliveries are counted by themselves, as what has not been
    sent), dead letters, and questions that wait for a person. `cost_micros` is what the day has cost."""

    running: int
    pending: int
    undelivered: int
    failed: int
    waiting: int
    cost_micros: int


@dataclass(frozen=True, slots=True)
class RunningWork:
    """A job that runs. `agent` is a slug; `node` is where in its graph it stands, `tool` the effect that it has begun, `note`
    what its agent said of it; None where nobody knows. Times in ms."""

    job_id: str
    kind: str
    since: int
    message_id: str | None
    execution_id: str | None
    agent: str | None
    agent_name: str | None
    graph: str | None
    node: str | None
    tool: str | None
    note: str | None
    conversation_id: str | None
    place: Address | None


@dataclass(frozen=True, slots=True)
class Overview:
    """How things are, in one snapshot. The lists are bounded: work the longest running first, questions and failures the
    newest first. `oldest_ready_ms` is the age of the oldest job that could run; `agents` are slugs by the ids that
    `failures` name."""

    headline: Headline
    oldest_ready_ms: int
    running: Sequence[RunningWork]
    waits: Sequence[Wait]
    failures: Sequence[Job]
    agents: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Answers:
    """So many messages that were answered, or given up (`failed`), in the same minute after about the same time. `minute`
    counts from the epoch; `latency_ms` is from acceptance to answer, rounded to two digits or better."""

    minute: int
    failed: bool
    latency_ms: int
    number: int


class OverviewInsights(Protocol):
    async def overview(self, now: int, day: str) -> Overview:
        """`day` is today's, as the ledger names it."""
        ...

    async def headline(self, day: str) -> Headline: ...

    async def answers(self, since: int, until: int, *, minutes: int = 1) -> Sequence[Answers]:
        """Of the messages whose answer was written from `since` on and before `until` (ms). `minutes` that follow one another
        are told as one, with the first one's number; the numbers of minutes that begin them are its multiples."""
        ...
