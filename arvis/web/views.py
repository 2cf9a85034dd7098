"""Domain objects as this port shows them: camelCase JSON, times in milliseconds since the epoch.

The shapes are documented in `schemas`; a view adds nothing that is not there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.executions import Wait
from arvis.domain.explanation import explanation
from arvis.domain.jobs import Job
from arvis.domain.messages import Delivery, OutgoingFile
from arvis.ports.backups import BackupFile
from arvis.ports.insights import MessageTimeline
from arvis.web.steps import step_view

Json = dict[str, Any]


def job_view(job: Job, agents: Mapping[str, str]) -> Json:
    """`agents` maps agent ids to slugs; an agent that is gone is shown by its id."""
    return {
        "id": job.id,
        "kind": job.kind,
        "status": job.status,
        "lane": job.lane,
        "position": job.position,
        "priority": job.priority,
        "attempts": job.attempts,
        "crashes": job.crashes,
        "runAt": job.run_at,
        "error": job.error,
        "reason": job.reason,
        "agent": None if job.agent_id is None else agents.get(job.agent_id, job.agent_id),
        "messageId": job.message_id,
        "executionId": job.execution_id,
        "deliveryId": job.delivery_id,
        "mergedInto": job.merged_into,
        "createdAt": job.created_at,
        "startedAt": job.started_at,
        "finishedAt": job.finished_at,
    }


def wait_view(wait: Wait) -> Json:
    return {
        "id": wait.id,
        "executionId": wait.execution_id,
        "kind": wait.kind,
        "prompt": wait.prompt,
        "choices": list(wait.choices),
        "askedAt": wait.asked_at,
        "expiresAt": wait.expires_at,
        "answer": None if wait.answer is None else wait.answer.value,
        "answeredBy": wait.answered_by,
        "answeredAt": wait.answered_at,
    }


def timeline_view(timeline: MessageTimeline) -> Json:
    message, job = timeline.message, timeline.job
    agents = {} if job is None or job.agent_id is None or timeline.agent is None else {job.agent_id: timeline.agent}
    shown = {
        "messageId": message.id,
        "status": timeline.status,
        "reason": timeline.reason,
        "channelId": message.address.channel,
        "content": message.content,
        "createdAt": message.created_at,
        "reply": timeline.reply,
        "replyId": timeline.reply_id,
        "answers": list(timeline.answers),
        "steps": [step_view(step) for step in timeline.steps],
        "job": None if job is None else job_view(job, agents),
        "agent": timeline.agent,
        "run": timeline.run,
        "costUsd": timeline.cost_micros / 1_000_000,
        "inputTokens": timeline.input_tokens,
        "outputTokens": timeline.output_tokens,
    }
    return {**shown, "explanation": explanation(shown)}


def agent_view(agent: Agent) -> Json:
    return {
        "id": agent.id,
        "slug": agent.slug,
        "name": agent.name,
        "role": agent.role,
        "description": agent.description,
        "model": agent.model,
        "graph": agent.graph,
        "status": agent.status,
    }


def delivery_frame(delivery: Delivery) -> Json:
    """A delivery as the socket pushes it."""
    return {
        "type": "message",
        "channelId": delivery.address.channel,
        "content": delivery.content,
        "messageId": delivery.message_id,
        "replyTo": delivery.reply_to,
        "answers": list(delivery.answers),
        "part": delivery.part,
        "seq": delivery.seq,
        "buttons": [{"id": each.id, "label": each.label, "style": each.style} for each in delivery.buttons],
        "files": [file_view(delivery, number, file) for number, file in enumerate(delivery.files)],
        "agent": delivery.agent,
        "timestamp": delivery.created_at,
    }


def file_view(delivery: Delivery, number: int, file: OutgoingFile) -> Json:
    """The bytes are fetched: a frame that holds them would be sent again to every socket that comes back."""
    return {
        "name": file.filename,
        "contentType": file.content_type,
        "size": file.size,
        "url": f"/api/deliveries/{delivery.id}/files/{number}",
    }


def backup_view(backup: BackupFile) -> Json:
    return {
        "name": backup.path.name,
        "path": str(backup.path),
        "bytes": backup.bytes,
        "createdAt": backup.created_at,
        "before": backup.before,
        "messages": backup.messages,
        "missing": backup.missing,
    }


def page_view(items: Sequence[Json], next_cursor: str | None) -> Json:
    return {"items": list(items), "nextCursor": next_cursor}
