"""The implementation of the port `Insights` with named queries. Each method reads all its data in one snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arvis.domain.accounts import Variable
from arvis.domain.agents import Agent
from arvis.domain.dataclass import replace
from arvis.domain.executions import Wait
from arvis.domain.jobs import Job
from arvis.domain.messages import Address, Delivery, MessageStatus, Role, StoredMessage
from arvis.ports.insights import AccountRows, ConversationView, MessageTimeline, QueueCounts
from arvis.ports.pages import Page
from arvis.store.repositories.accounts import account_of, cooldown_of, variable_of
from arvis.store.repositories.agents import agent_of
from arvis.store.repositories.executions import wait_of
from arvis.store.repositories.jobs import job_of
from arvis.store.repositories.messages import address_of, delivery_of, message_of
from arvis.store.repositories.timeline import MessageRows, current_status, timeline_of
from arvis.store.sql.session import LAST, Row, Snapshot, page
from arvis.store.views.automation import SqlWorkflowInsights, SqlWorkInsights
from arvis.store.views.conversations import SqlCompactionInsights, SqlConversationInsights
from arvis.store.views.executions import SqlExecutionInsights, SqlReceiptInsights
from arvis.store.views.knowledge import SqlKnowledgeInsights
from arvis.store.views.memory import SqlMemoryInsights
from arvis.store.views.money import SqlMoneyInsights
from arvis.store.views.people import SqlAuditInsights, SqlNotificationInsights, SqlPeopleInsights
from arvis.store.views.queue import SqlOverviewInsights, SqlQueueInsights
from arvis.store.views.search import SqlMessageSearch


class SqlInsights(
    SqlQueueInsights,
    SqlConversationInsights,
    SqlMessageSearch,
    SqlExecutionInsights,
    SqlMoneyInsights,
    SqlMemoryInsights,
    SqlKnowledgeInsights,
    SqlCompactionInsights,
    SqlAuditInsights,
    SqlNotificationInsights,
    SqlPeopleInsights,
    SqlReceiptInsights,
    SqlOverviewInsights,
    SqlWorkInsights,
    SqlWorkflowInsights,
):
    """Implements the port `Insights` on both databases."""

    async def close(self) -> None:
        await self._snapshots.close()

    async def message(self, message_id: str) -> MessageTimeline | None:
        async with self._snapshots.snapshot() as snapshot:
            found = await snapshot.rows("get_message", id=message_id)
            if found and found[0]["role"] != Role.USER and found[0]["reply_to"] is not None:
                # An answer has no timeline of its own. Show the timeline of the message that it answers.
                found = await snapshot.rows("get_message", id=found[0]["reply_to"])
            if not found:
                return None
            runs = await snapshot.rows("get_workflow_run", execution_id=found[0]["execution_id"])
            timeline = timeline_of(await _rows_of(snapshot, found[0]))
            return replace(timeline, run=runs[0]["execution_id"] if runs else None)

    async def status(self, message_id: str) -> tuple[MessageStatus, str | None] | None:
        row = await self._one("status_of_message", id=message_id)
        if row is None:
            return None
        return current_status(MessageStatus(row["status"]), row["job_status"]), row["reason"]

    async def jobs(
        self, *, kind: str | None, status: str | None, agent: str | None, limit: int, cursor: str | None
    ) -> Page[Job]:
        async with self._snapshots.snapshot() as snapshot:
            agents = await snapshot.rows("agent_by_slug", slug=agent) if agent else []
            rows = await snapshot.rows(
                "list_jobs",
                before=cursor or LAST,
                kind=kind,
                status=status,
                agent_id=agents[0]["id"] if agents else agent,
                limit=limit + 1,
            )
        return page(rows, job_of, limit)

    async def job(self, job_id: str) -> Job | None:
        row = await self._one("get_job", id=job_id)
        return job_of(row) if row else None

    async def waits(self, *, open_only: bool, limit: int, cursor: str | None) -> Page[Wait]:
        rows = await self._rows("list_waits", before=cursor or LAST, open_only=int(open_only), limit=limit + 1)
        return page(rows, wait_of, limit)

    async def wait(self, wait_id: str) -> Wait | None:
        row = await self._one("get_wait", id=wait_id)
        return wait_of(row) if row else None

    async def agents(self, *, archived: bool = False) -> Sequence[Agent]:
        return [agent_of(row) for row in await self._rows("archived_agents" if archived else "all_agents")]

    async def accounts(self) -> AccountRows:
        async with self._snapshots.snapshot() as snapshot:
            accounts = [account_of(row) for row in await snapshot.rows("all_accounts")]
            cooldowns = [cooldown_of(row) for row in await snapshot.rows("all_cooldowns")]
        return AccountRows(sorted(accounts, key=lambda account: account.name), cooldowns)

    async def variables(self, *, limit: int, cursor: str | None) -> Page[Variable]:
        found = [variable_of(row) for row in await self._rows("variables_after", after=cursor or "", limit=limit + 1)]
        shown = found[:limit]
        return Page(shown, shown[-1].key if len(found) > limit else None)

    async def conversations(self, *, agent: str | None, limit: int, cursor: str | None) -> Page[ConversationView]:
        rows = await self._rows("list_conversations", before=cursor or LAST, agent=agent, limit=limit + 1)
        return page(rows, _conversation_view, limit)

    async def conversation_messages(
        self, conversation_id: str, *, limit: int, cursor: str | None
    ) -> Page[StoredMessage]:
        rows = await self._rows(
            "list_messages", conversation_id=conversation_id, before=cursor or LAST, limit=limit + 1
        )
        return page(rows, message_of, limit)

    async def deliveries_after(self, address: Address, seq: int, limit: int) -> Sequence[Delivery]:
        rows = await self._rows("deliveries_after", **_channel(address), seq=seq, limit=limit)
        return [delivery_of(row) for row in rows]

    async def last_seq(self, address: Address) -> int:
        row = await self._one("last_seq", **_channel(address))
        return row["seq"] if row else 0

    async def counts(self, now: int) -> QueueCounts:
        async with self._snapshots.snapshot() as snapshot:
            jobs = await snapshot.rows("count_live_jobs")
            oldest = (await snapshot.rows("oldest_ready"))[0]["created_at"]
        counted = {(row["kind"], row["status"]): row["number"] for row in jobs}
        return QueueCounts(counted, 0 if oldest is None else max(0, now - oldest))

    async def _rows(self, query: str, **parameters: Any) -> Sequence[Row]:
        async with self._snapshots.snapshot() as snapshot:
            return await snapshot.rows(query, **parameters)

    async def _one(self, query: str, **parameters: Any) -> Row | None:
        rows = await self._rows(query, **parameters)
        return rows[0] if rows else None


async def _rows_of(snapshot: Snapshot, message: Row) -> MessageRows:
    """Read all rows that the timeline of a message needs."""
    execution_id, reply_id = message["execution_id"], message["answered_by"]
    turn = execution_id is not None
    return MessageRows(
        message=message,
        user_messages=await snapshot.rows("messages_of_turn", execution_id=execution_id) if turn else [],
        attachments=await snapshot.rows("attachments_of_turn", execution_id=execution_id) if turn else [],
        reply=await snapshot.rows("get_message", id=reply_id) if reply_id else [],
        agent=await snapshot.rows("get_agent", id=message["agent_id"]) if message["agent_id"] else [],
        jobs=await snapshot.rows("jobs_of_execution", execution_id=execution_id) if turn else [],
        steps=await snapshot.rows("steps_of", execution_id=execution_id) if turn else [],
        usage=await snapshot.rows("usage_of_family", execution_id=execution_id) if turn else [],
        sums=await snapshot.rows("sums_of_family", execution_id=execution_id) if turn else [],
        notes=await snapshot.rows("notes_of_message", message_id=message["id"]),
        deliveries=await snapshot.rows("deliveries_of_message", message_id=reply_id) if reply_id else [],
        feedback=await snapshot.rows("feedback_on", message_id=reply_id) if reply_id else [],
    )


def _channel(address: Address) -> dict[str, str]:
    return {"platform": address.platform, "connector": address.connector, "channel": address.channel}


def _conversation_view(row: Row) -> ConversationView:
    return ConversationView(
        id=row["id"],
        agent=row["slug"],
        address=address_of(row),
        turns=row["turns"],
        created_at=row["created_at"],
        last_message_at=row["last_message_at"],
    )
