"""Queries for the pages about running, waiting and failed work: the queue, the page Now, and the response times.
`SqlInsights` inherits from the classes of this module."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.ids import first_id_at
from arvis.domain.jobs import JobKind, JobStatus
from arvis.domain.messages import Address
from arvis.domain.money import Budget
from arvis.domain.runs import ModelCall
from arvis.ports.browsing import JobFilter, JobStory, QueueItem
from arvis.ports.insights import Answers, Headline, Overview, RunningWork
from arvis.ports.pages import Page
from arvis.store.repositories.deliveries import part_of
from arvis.store.repositories.executions import execution_of, step_of, wait_of
from arvis.store.repositories.jobs import job_of
from arvis.store.repositories.messages import address_of, delivery_of
from arvis.store.sql.session import LAST, Row, Snapshot, Snapshots

#: The maximum numbers of running jobs, open questions and failures that the page Now lists.
_MOST_RUNNING, _MOST_WAITS, _MOST_FAILURES = 50, 10, 10


class SqlOverviewInsights:
    """Implements the port `OverviewInsights` on both databases."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def overview(self, now: int, day: str) -> Overview:
        async with self._snapshots.snapshot() as snapshot:
            agents = {row["id"]: row for row in await snapshot.rows("all_agents")}
            oldest = await snapshot.rows("oldest_head")
            work = await snapshot.rows("work_now", limit=_MOST_RUNNING)
            waits = await snapshot.rows("newest_open_waits", limit=_MOST_WAITS)
            failures = await snapshot.rows("newest_failures", limit=_MOST_FAILURES)
            return Overview(
                headline=await _headline(snapshot, day),
                oldest_ready_ms=max(0, now - oldest[0]["created_at"]) if oldest else 0,
                running=[_work_of(row, agents) for row in work],
                waits=[wait_of(row) for row in waits],
                failures=[job_of(row) for row in failures],
                agents={id_: row["slug"] for id_, row in agents.items()},
            )

    async def headline(self, day: str) -> Headline:
        async with self._snapshots.snapshot() as snapshot:
            return await _headline(snapshot, day)

    async def answers(self, since: int, until: int, *, minutes: int = 1) -> Sequence[Answers]:
        bounds = {"first": first_id_at(since), "before": first_id_at(until)}
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("answers_by_minute", **bounds, minutes=minutes)
        return [Answers(row["minute"], bool(row["failed"]), max(0, row["latency"]), row["number"]) for row in rows]


async def _headline(snapshot: Snapshot, day: str) -> Headline:
    counted = (await snapshot.rows("count_queue"))[0]
    spent = await snapshot.rows("get_spending", scope=Budget.DAY, period=day, key="")
    return Headline(
        running=counted["running"],
        pending=counted["pending"],
        undelivered=counted["undelivered"],
        failed=counted["failed"],
        waiting=counted["waiting"],
        cost_micros=spent[0]["micros"] if spent else 0,
    )


@dataclass(frozen=True, slots=True)
class WorkState:
    """The part of an execution's state that pages show. `tasks/state.py` declares the stored keys."""

    agent: str = ""
    conversation: str = ""
    message: str | None = None
    address: Address | None = None
    status_note: str = ""
    #: The kind and the id of the row that started the work, such as `schedule:ID`.
    source: str = ""
    #: Set in the state of an approval: the state of the turn that proposed the action.
    origin: WorkState | None = None

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> WorkState:
        address, origin = stored.get("address"), stored.get("from")
        return cls(
            agent=stored.get("agent") or "",
            conversation=stored.get("conversation") or "",
            message=stored.get("message"),
            address=None if address is None else Address.from_json(address),
            status_note=str(stored.get("status_note") or ""),
            source=str(stored.get("run", {}).get("source", "")),
            origin=None if origin is None else cls.from_json(origin),
        )


def _state_of(row: Row) -> WorkState:
    return WorkState.from_json(json.loads(row["state"])) if row["state"] else WorkState()


def _work_of(row: Row, agents: Mapping[str, Row]) -> RunningWork:
    work = _state_of(row)
    agent = agents.get(row["agent_id"] or work.agent)
    return RunningWork(
        job_id=row["id"],
        kind=row["kind"],
        since=row["started_at"] or 0,
        message_id=row["asked"],
        execution_id=row["execution_id"],
        agent=agent["slug"] if agent else None,
        agent_name=agent["name"] if agent else None,
        graph=row["graph"],
        node=row["node_now"],
        tool=row["effect_now"],
        note=work.status_note or None,
        conversation_id=row["conversation_id"] or work.conversation or None,
        place=work.address if row["platform"] is None else address_of(row),
    )


#: The maximum length of a job's description, in characters.
_ABOUT = 120
#: If fewer jobs than this are pending or running, queries for pending, running and failed jobs use the indexes on the
#: status.
_FEW = 1000
_TROUBLED = frozenset({JobStatus.PENDING, JobStatus.RUNNING, JobStatus.FAILED})
_NAMED_BY = {"schedule": "get_schedule", "webhook": "get_webhook"}
_WORDS = {JobKind.COMPACT: "older messages become a summary"}


class SqlQueueInsights:
    """Implements the part of `BrowsingInsights` for the queue, on both databases."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def queue(self, which: JobFilter, *, limit: int, cursor: str | None) -> Page[QueueItem]:
        async with self._snapshots.snapshot() as snapshot:
            filters = {**await _filters(snapshot, which), "before": cursor or LAST, "limit": limit + 1}
            if which.statuses and _TROUBLED.issuperset(which.statuses) and await _few_live(snapshot):
                filters.pop("any_status")
                failed = limit + 1 if JobStatus.FAILED in which.statuses else 0
                rows = await snapshot.rows("list_troubled", **filters, failed=failed)
            else:
                rows = await snapshot.rows("list_queue", **filters)
            names = _Names(snapshot)
            items = [await names.item(row) for row in rows[:limit]]
        return Page(items, items[-1].job.id if len(rows) > limit else None)

    async def queue_item(self, job_id: str) -> QueueItem | None:
        async with self._snapshots.snapshot() as snapshot:
            return await _item(snapshot, job_id)

    async def job_story(self, job_id: str) -> JobStory | None:
        async with self._snapshots.snapshot() as snapshot:
            item = await _item(snapshot, job_id)
            if item is None:
                return None
            execution_id, delivery_id = item.job.execution_id, item.job.delivery_id
            executions = await snapshot.rows("get_execution", id=execution_id) if execution_id else []
            steps = await snapshot.rows("steps_of", execution_id=execution_id) if execution_id else []
            calls = await snapshot.rows("usage_of_family", execution_id=execution_id) if execution_id else []
            waits = await snapshot.rows("waits_of", execution_id=execution_id) if execution_id else []
            found = await snapshot.rows("get_delivery", id=delivery_id) if delivery_id else []
            parts = await snapshot.rows("parts_of_delivery", delivery_id=delivery_id) if delivery_id else []
        delivery = delivery_of(found[0]) if found else None
        return JobStory(
            item=item,
            execution=execution_of(executions[0]) if executions else None,
            steps=[step_of(row) for row in steps],
            calls=[call_of(row) for row in calls],
            waits=[wait_of(row) for row in waits],
            delivery=delivery,
            parts=[part_of(row, delivery) for row in parts] if delivery is not None else [],
        )

    async def count_jobs(self, which: JobFilter, *, below: str | None, most: int) -> int:
        async with self._snapshots.snapshot() as snapshot:
            filters = await _filters(snapshot, which)
            rows = await snapshot.rows("jobs_behind", **filters, before=below or LAST, limit=most)
        return int(rows[0]["number"])


def call_of(row: Row) -> ModelCall:
    return ModelCall(
        id=row["id"],
        account=row["account"],
        provider=row["provider"],
        model=row["model"],
        started_at=row["started_at"],
        duration_ms=row["duration_ms"],
        input_tokens=row["input_tokens"],
        output_tokens=row["output_tokens"],
        cost_micros=row["cost_micros"],
        cached_tokens=row["cached_tokens"],
        error=row["error"],
        detail=row["detail"],
        written_tokens=row["written_tokens"],
        priced=bool(row["priced"] or row["cost_micros"]),
    )


async def id_of_agent(snapshot: Snapshot, agent: str | None) -> str | None:
    """Return the id of the agent with this id or slug. Return any other text unchanged, so that a search for this
    agent id finds no row."""
    found = await snapshot.rows("agent_by_slug", slug=agent) if agent else []
    return found[0]["id"] if found else agent


async def _filters(snapshot: Snapshot, which: JobFilter) -> dict[str, Any]:
    statuses = [str(each) for each in which.statuses]
    return {
        "kind": which.kind,
        "any_status": int(not statuses),
        **{f"status{number + 1}": status for number, status in enumerate((*statuses, *[""] * 5)[:5])},
        "agent_id": await id_of_agent(snapshot, which.agent),
        "lane": which.lane,
    }


async def _few_live(snapshot: Snapshot) -> bool:
    return int((await snapshot.rows("live_jobs"))[0]["number"]) < _FEW


async def _item(snapshot: Snapshot, job_id: str) -> QueueItem | None:
    rows = await snapshot.rows("queue_item", id=job_id)
    return await _Names(snapshot).item(rows[0]) if rows else None


class _Names:
    """A builder of the queue items of one page. It reads each name from the database only once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._known: dict[tuple[str, str], str] = {}

    async def item(self, row: Row) -> QueueItem:
        job = job_of(row)
        address = None if row["platform"] is None else address_of(row)
        agent, about = row["agent_slug"], row["text"] or row["schedule"]
        if not (address and agent and about):
            # The state of an execution is long, so it is parsed only if the row lacks one of these values.
            work = _state_of(row)
            work = work.origin or work
            address = address or work.address
            agent = agent or await self._slug(job.agent_id or work.agent)
            about = about or await self._about(row, work)
        return QueueItem(
            job=job, agent=agent, about=_cut(about), address=address, person=row["person"] or row["user_name"] or None
        )

    async def _about(self, row: Row, work: WorkState) -> str:
        kind, _, source_id = work.source.partition(":")
        if not source_id:
            kind, source_id = "schedule", str(json.loads(row["payload"]).get("schedule", ""))
        name = await self._name(kind, source_id) if source_id else ""
        return name or _WORDS.get(JobKind(row["kind"]), row["graph"] or "")

    async def _name(self, kind: str, row_id: str) -> str:
        if (kind, row_id) not in self._known:
            query = _NAMED_BY.get(kind)
            rows = await self._snapshot.rows(query, id=row_id) if query else []
            self._known[kind, row_id] = rows[0]["name"] if rows else ""
        return self._known[kind, row_id]

    async def _slug(self, agent_id: str) -> str | None:
        if not agent_id:
            return None
        if ("agent", agent_id) not in self._known:
            rows = await self._snapshot.rows("get_agent", id=agent_id)
            self._known["agent", agent_id] = rows[0]["slug"] if rows else agent_id
        return self._known["agent", agent_id]


def _cut(text: str) -> str:
    """Return a text as one line of at most `_ABOUT` characters."""
    line = " ".join(text.split())
    return line if len(line) <= _ABOUT else line[: _ABOUT - 1] + "…"
