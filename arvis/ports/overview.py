"""Data of the top bar and the page Now: running, waiting and failed work, and how fast messages are answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from arvis.domain.executions import Wait
from arvis.domain.jobs import Job
from arvis.domain.messages import Address


@dataclass(frozen=True, slots=True)
class Headline:
    """The counters: running work and queued work (deliveries have their own counter of unsent ones), dead letters,
    and questions that wait for a person. `cost_micros` is the cost of the day."""

    running: int
    pending: int
    undelivered: int
    failed: int
    waiting: int
    cost_micros: int


@dataclass(frozen=True, slots=True)
class RunningWork:
    """A running job. Values are None if they are unknown. Times in ms."""

    job_id: str
    kind: str
    since: int
    message_id: str | None
    execution_id: str | None
    #: A slug.
    agent: str | None
    agent_name: str | None
    graph: str | None
    #: Its current node in the graph.
    node: str | None
    #: The effect that it has begun.
    tool: str | None
    #: The latest progress text of its agent.
    note: str | None
    conversation_id: str | None
    place: Address | None


@dataclass(frozen=True, slots=True)
class Overview:
    """The overview in one snapshot. The lists are bounded: longest running work first, newest questions and failures
    first. `oldest_ready_ms` is the age of the oldest claimable job; `agents` are slugs by the ids that `failures`
    names."""

    headline: Headline
    oldest_ready_ms: int
    running: Sequence[RunningWork]
    waits: Sequence[Wait]
    failures: Sequence[Job]
    agents: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Answers:
    """A group of messages that were answered, or failed (`failed`), in the same minute with about the same latency.
    `minute` counts from the epoch; `latency_ms` is from acceptance to answer, rounded to two digits or better."""

    minute: int
    failed: bool
    latency_ms: int
    number: int


class OverviewInsights(Protocol):
    async def overview(self, now: int, day: str) -> Overview:
        """Return the overview. `day` is today's key in the ledger."""
        ...

    async def headline(self, day: str) -> Headline: ...

    async def answers(self, since: int, until: int, *, minutes: int = 1) -> Sequence[Answers]:
        """Return the answers that were written from `since` on and before `until` (ms). Each group of `minutes`
        consecutive minutes is returned as one, under the number of its first minute, which is a multiple of
        `minutes`."""
        ...
