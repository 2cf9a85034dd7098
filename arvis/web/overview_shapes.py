"""The shape of the page Now, and its parts as JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from arvis.bots.book import BotSpec
from arvis.domain.accounts import AccountStatus
from arvis.domain.jobs import JobKind
from arvis.domain.platforms import BotState, BotStatus
from arvis.domain.runs import Rest
from arvis.ports.overview import Headline, RunningWork
from arvis.web.pace_of_answers import Point, Span
from arvis.web.schemas import (
    BOOLEAN,
    INTEGER,
    JOB,
    NUMBER,
    STRING,
    TIME,
    WAIT,
    array,
    one_of,
    optional,
    record,
)
from arvis.web.views import Json

_TOOL = re.compile(r"tool \d+: (.+)", re.DOTALL)
_LONGEST_ACTIVITY = 200


class AccountState(StrEnum):
    """`resting`: it refused, and is not asked for a while; `problem`: it cannot be asked at all; `off`: nobody wants it
    asked."""

    OK = "ok"
    RESTING = "resting"
    PROBLEM = "problem"
    OFF = "off"


COUNTS = record(
    {
        "running": INTEGER,
        "pending": INTEGER,
        "undelivered": {**INTEGER, "description": "Deliveries that have not left."},
        "failed": {**INTEGER, "description": "Dead letters."},
        "waiting": {**INTEGER, "description": "Questions to people without an answer."},
        "oldestReadyMs": {**INTEGER, "description": "How long the oldest job stands in line that could run."},
    }
)
PLACE = record({"platform": STRING, "connector": STRING, "channelId": STRING, "thread": STRING})
RUNNING = record(
    {
        "jobId": STRING,
        "kind": one_of(JobKind),
        "since": TIME,
        "agent": optional(STRING),
        "agentName": optional(STRING),
        "graph": optional(STRING),
        "messageId": optional(STRING),
        "executionId": optional(STRING),
        "conversationId": optional(STRING),
        "place": optional(PLACE),
        "activity": {**STRING, "description": "What it does now, in words."},
        "tool": optional(STRING),
    }
)
ACCOUNT_HEALTH = record(
    {
        "name": STRING,
        "provider": STRING,
        "model": STRING,
        "state": one_of(AccountState),
        "restingUntil": optional(TIME),
        "error": {**optional(STRING), "description": "What it refused last, or why it cannot be asked."},
    }
)
BOT_HEALTH = record(
    {
        "platform": STRING,
        "name": STRING,
        "enabled": BOOLEAN,
        "state": one_of(BotState),
        "error": optional(STRING),
        "since": optional(TIME),
    }
)
POINT = record(
    {
        "at": TIME,
        "answered": INTEGER,
        "failed": INTEGER,
        "p50Ms": {**optional(INTEGER), "description": "From acceptance to answer; null: none was answered."},
        "p95Ms": optional(INTEGER),
        "depth": {**optional(INTEGER), "description": "The deepest sample of the queue; null: there is none."},
    }
)
OVERVIEW = record(
    {
        "at": TIME,
        "day": {**STRING, "description": "Today, in the zone of the configuration."},
        "costTodayUsd": NUMBER,
        "budgetTodayUsd": {**optional(NUMBER), "description": "null: no limit."},
        "counts": COUNTS,
        "running": {**array(RUNNING), "description": "The longest running first, at most 50."},
        "waits": {**array(WAIT), "description": "The newest that are open, at most 10."},
        "failures": {**array(JOB), "description": "The newest, at most 10."},
        "accounts": array(ACCOUNT_HEALTH),
        "bots": array(BOT_HEALTH),
        "series": record({"span": one_of(Span), "bucketMs": INTEGER, "points": array(POINT)}),
    }
)


def counts_view(now: Headline, oldest_ready_ms: int) -> Json:
    return {
        "running": now.running,
        "pending": now.pending,
        "undelivered": now.undelivered,
        "failed": now.failed,
        "waiting": now.waiting,
        "oldestReadyMs": oldest_ready_ms,
    }


def running_view(work: RunningWork) -> Json:
    tool = _TOOL.fullmatch(work.tool or "")
    place = work.place
    return {
        "jobId": work.job_id,
        "kind": work.kind,
        "since": work.since,
        "agent": work.agent,
        "agentName": work.agent_name,
        "graph": work.graph,
        "messageId": work.message_id,
        "executionId": work.execution_id,
        "conversationId": work.conversation_id,
        "place": None
        if place is None
        else {
            "platform": place.platform,
            "connector": place.connector,
            "channelId": place.channel,
            "thread": place.thread,
        },
        "activity": (f"using {tool[1]}" if tool else work.note or "thinking")[:_LONGEST_ACTIVITY],
        "tool": tool[1] if tool else None,
    }


def account_view(
    name: str,
    provider: str,
    model: str,
    *,
    rests: Sequence[Rest],
    now: int,
    status: AccountStatus = AccountStatus.ACTIVE,
    problem: str | None = None,
) -> Json:
    own = [rest for rest in rests if rest.account == name and rest.until > now]
    longest = max(own, key=lambda rest: rest.until, default=None)
    state = AccountState.OK if longest is None else AccountState.RESTING
    if problem is not None:
        state = AccountState.PROBLEM
    elif status is not AccountStatus.ACTIVE:
        state = AccountState.OFF
    return {
        "name": name,
        "provider": provider,
        "model": model,
        "state": state,
        "restingUntil": longest.until if longest is not None else None,
        "error": problem or (longest.kind if longest is not None else None),
    }


def bot_view(spec: BotSpec, status: BotStatus | None) -> Json:
    return {
        "platform": spec.platform,
        "name": spec.name,
        "enabled": spec.enabled,
        "state": BotState.STOPPED if status is None else status.state,
        "error": spec.trouble or (status.error if status is not None else "") or None,
        "since": None if status is None else status.since,
    }


def point_view(point: Point) -> Json:
    return {
        "at": point.at,
        "answered": point.answered,
        "failed": point.failed,
        "p50Ms": point.p50,
        "p95Ms": point.p95,
        "depth": point.depth,
    }
