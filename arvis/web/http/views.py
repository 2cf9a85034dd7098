"""Domain objects as JSON: names are in camelCase, times are in milliseconds since the epoch, and URLs contain no
logins.

The schemas are in `http/schema.py` and the modules of `api/`. A view only converts data and reads nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, Self, TypeVar

from pydantic import WithJsonSchema

from arvis.domain.executions import PERSONAL_WAITS, Step, Wait
from arvis.domain.explanation import explanation
from arvis.domain.jobs import Job, JobKind, JobStatus
from arvis.domain.messages import ButtonStyle, Delivery, MessageStatus
from arvis.domain.money import MICROS
from arvis.domain.platforms import Part
from arvis.domain.quotations import QuotationKind, Writer
from arvis.domain.reactions import Feedback, Rating
from arvis.domain.regex import regex
from arvis.domain.runs import ModelCall
from arvis.ports.backups import BackupFile
from arvis.ports.browsing import JobStory
from arvis.ports.insights import MessageTimeline, TimelineStep
from arvis.web.http.frames import file_url
from arvis.web.http.models import About, Time, View, camel
from arvis.web.http.schema import STEP, one_of

# The steps of timelines in one format, for messages, jobs and executions.


Json = dict[str, Any]
StepJson = Annotated[Json, WithJsonSchema({"title": "Step", **STEP})]


def step_view(step: TimelineStep) -> Json:
    """Return the stored step, with `costUsd`, `actor`, `input` and `output` if these are known."""
    shown = {camel(name): value for name, value in step.data.items()}
    return {**_common(step.step, shown), **shown, "at": step.at, "step": step.step}


def story_steps(story: JobStory) -> list[Json]:
    """Return the steps of a job that answers no message, in order of time."""
    job = story.item.job
    found = [_step(job.created_at, "queued", job=job.id, kind=job.kind, priority=job.priority)]
    if job.started_at is not None:
        found.append(_step(job.started_at, "started", job=job.id, claim=job.claim))
    found += node_steps(story.steps, began=story.execution.created_at if story.execution else job.created_at)
    found += [call_step(call) for call in story.calls]
    found += [each for wait in story.waits for each in _questions(wait)]
    if story.delivery is not None:
        found += _sent(story.delivery, story.parts, job.finished_at or job.started_at or job.created_at)
    if job.finished_at is not None:
        found.append(_step(job.finished_at, str(job.status), reason=job.reason, error=job.error))
    return sorted(found, key=lambda step: step["at"])


def node_steps(steps: Sequence[Step], *, began: int) -> list[Json]:
    """Return the visits of nodes as steps of a timeline. A visit begins at the end of the previous visit; the first
    visit begins at `began`."""
    ends = [began, *(step.at for step in steps)]
    durations = [max(0, after - before) for before, after in pairwise(ends)]
    return [
        _step(
            step.at,
            "node",
            **{**json.loads(step.changes), "node": step.node, "decision": step.decision, "durationMs": duration},
        )
        for step, duration in zip(steps, durations, strict=True)
    ]


def call_step(call: ModelCall) -> Json:
    return _step(
        call.started_at,
        "model_call",
        account=call.account,
        provider=call.provider,
        model=call.model,
        inputTokens=call.input_tokens,
        outputTokens=call.output_tokens,
        cachedTokens=call.cached_tokens,
        costMicros=call.cost_micros,
        priced=call.priced,
        durationMs=call.duration_ms,
        error=call.error,
        detail=call.detail,
    )


def _questions(wait: Wait) -> list[Json]:
    asked = _step(wait.asked_at, "asked", wait=wait.id, kind=wait.kind, input=wait.prompt)
    if wait.answered_at is None:
        return [asked]
    value = None if wait.answer is None else wait.answer.value
    decision = value.get("decision") if isinstance(value, Mapping) else None
    return [asked, _step(wait.answered_at, "decided", wait=wait.id, decision=decision, by=wait.answered_by)]


def _sent(delivery: Delivery, parts: Sequence[Part], at: int) -> list[Json]:
    """Return one step for each part that Arvis has tried to send. If there is no such part, return one step with the
    state of the delivery."""
    tried = [each for each in parts if each.tried_at is not None]
    if not tried:
        return [_step(at, "delivery", part=delivery.part, state=delivery.state, seq=delivery.seq)]
    return [
        _step(
            each.tried_at or at,
            "delivery",
            part=each.number,
            state=each.state,
            seq=delivery.seq,
            platformId=each.platform_id,
            output=each.piece.content,
        )
        for each in tried
    ]


def _step(at: int, step: str, **data: Any) -> Json:
    return {**_common(step, data), **data, "at": at, "step": step}


def _common(step: str, data: Mapping[str, Any]) -> Json:
    match step:
        case "model_call":
            cost = data.get("costMicros", 0) / MICROS
            return {"actor": f"{data.get('provider', '')}/{data.get('model', '')}", "costUsd": cost}
        case "tool":
            return {"actor": data.get("tool"), "input": data.get("arguments")}
        case "node":
            return {"actor": data.get("node")}
        case "received":
            return {"actor": data.get("user")}
        case "edited":
            return {"actor": data.get("by"), "input": data.get("before")}
        case "stopped" | "decided":
            return {"actor": data.get("by")}
        case _:
            return {}


class JobRowView(View):
    id: str
    kind: JobKind
    status: JobStatus
    lane: str
    position: int
    priority: int
    attempts: int
    crashes: int
    run_at: Time
    error: str | None
    reason: str | None
    agent: str | None
    message_id: str | None
    execution_id: str | None
    delivery_id: str | None
    merged_into: str | None
    created_at: Time
    started_at: Time | None
    finished_at: Time | None

    @classmethod
    def of(cls, job: Job, agents: Mapping[str, str]) -> Self:
        """Return the view of a job. `agents` maps agent ids to slugs; a deleted agent is shown by its id."""
        return cls.showing(job, agent=None if job.agent_id is None else agents.get(job.agent_id, job.agent_id))


class OpenQuestionView(View):
    id: str
    execution_id: str
    kind: Annotated[str, About(**one_of(PERSONAL_WAITS))]
    prompt: str
    choices: list[str]
    asked_at: Time
    expires_at: Time | None
    answer: Any
    answered_by: str | None
    answered_at: Time | None

    @classmethod
    def of(cls, wait: Wait, /, **others: Any) -> Self:
        return cls.showing(wait, answer=None if wait.answer is None else wait.answer.value, **others)


class QuotationView(View):
    """A message that a message answers, quotes or forwards."""

    kind: QuotationKind
    writer: Writer
    text: Annotated[str, About("Empty for a forwarded message whose text is the content of the message.")]
    author: Annotated[str, About("The name of the author; empty if unknown.")]
    message_id: Annotated[str | None, About("The id of the quoted message, if it is in the same conversation.")]
    partial: Annotated[bool, About("The text is only a part of the quoted message.")]


class FeedbackView(View):
    """A person's rating of an answer."""

    rating: Rating
    user_name: str
    platform: str
    user_id: Annotated[str, About("The platform's id of the person.")]
    at: Time

    @classmethod
    def of(cls, feedback: Feedback) -> Self:
        return cls.showing(feedback, user_name=feedback.name)


class TimelineView(View):
    message_id: str
    status: MessageStatus
    explanation: Annotated[str, About("Why it was answered or not, in one sentence.")]
    reason: str | None
    channel_id: str
    content: str
    quotations: list[QuotationView]
    created_at: Time
    reply: str | None
    reply_id: str | None
    answers: list[str]
    feedback: Annotated[list[FeedbackView], About("The ratings of the reply.")]
    steps: list[StepJson]
    job: JobRowView | None
    agent: str | None
    run: Annotated[str | None, About("The workflow run that answered, if any.")]
    cost_usd: float
    input_tokens: int
    output_tokens: int

    @classmethod
    def of(cls, timeline: MessageTimeline) -> Self:
        message, job = timeline.message, timeline.job
        agents = {} if job is None or job.agent_id is None or timeline.agent is None else {job.agent_id: timeline.agent}
        row = None if job is None else JobRowView.of(job, agents)
        view = cls.showing(
            timeline,
            message_id=message.id,
            explanation="",
            channel_id=message.address.channel,
            content=message.content,
            quotations=[QuotationView.showing(each) for each in message.quotations],
            created_at=message.created_at,
            feedback=[FeedbackView.of(each) for each in timeline.feedback],
            steps=[step_view(step) for step in timeline.steps],
            job=row,
            cost_usd=timeline.cost_micros / MICROS,
        )
        shown = view.to_json()
        shown["explanation"] = explanation({**shown, "job": None if row is None else row.to_json()})
        return view


class FileView(View):
    name: str
    content_type: str
    size: int
    #: The address from which a client loads the file. A frame does not contain the bytes of the file, because the frame
    #: is sent again to every socket that reconnects.
    url: str

    @classmethod
    def of_delivery(cls, delivery: Delivery) -> list[Self]:
        """Return the views of the files of a delivery."""
        return [
            cls.showing(file, name=file.filename, url=file_url(delivery, number))
            for number, file in enumerate(delivery.files)
        ]


class ButtonView(View):
    id: str
    label: str
    style: ButtonStyle


class BackupView(View):
    name: str
    path: str
    bytes: int
    created_at: Time
    migration: Annotated[str | None, About("The database migration before which it was made; null: none.")]
    messages: Annotated[int | None, About("The number of messages in it; null if it cannot be read.")]
    missing_attachments: Annotated[
        int, About("The number of attachments whose bytes were already lost when it was made.")
    ]
    encrypted: bool
    uploaded: Annotated[bool, About("It was made elsewhere and uploaded.")]

    @classmethod
    def of(cls, backup: BackupFile) -> Self:
        return cls.showing(
            backup,
            name=backup.path.name,
            path=str(backup.path),
            migration=backup.before,
            missing_attachments=backup.missing,
        )


# Some URLs contain a name and a password, such as `https://ann:secret@host/`.

T = TypeVar("T")

_LOGIN = regex(r"(?<=://)[^/?#\s]*@")


def holds_login(address: str) -> bool:
    return _LOGIN.search(address) is not None


def without_login(value: T) -> T | str:
    """Return the text without the logins that its URLs contain. Return a value of another type unchanged."""
    return _LOGIN.sub("•••@", value) if isinstance(value, str) else value
