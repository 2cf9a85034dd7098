"""`arvis explain`: prints the timeline of a message in sentences. The sentences report only stored rows; codes are in
brackets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import click

from arvis.cli.api_client import Api, ApiCommand
from arvis.cli.output import Output
from arvis.domain.errors import NotFound
from arvis.domain.explanation import UNPRICED, duration, in_words
from arvis.domain.reactions import Rating


@click.command(cls=ApiCommand)
@click.argument(
    "message_id", required=False, help="The id of a message, of its answer or of its job (default: the newest message)."
)
def explain(*, api: Api, message_id: str | None) -> Output:
    """Explain why a message got its answer, or why it got none."""
    timeline = _timeline(api, message_id)
    return Output(timeline, timeline["explanation"], story(timeline), _plan(api, timeline))


def _plan(api: Api, timeline: Any) -> Iterator[str]:
    """Yield the plan of a planning agent. Yield nothing if the agent does not plan or the execution has been
    deleted."""
    execution = (timeline["job"] or {}).get("executionId")
    if execution is not None:
        with suppress(NotFound):
            plan = api.get("executions", execution)["plan"]
            yield from ["The plan:", "", plan] if plan else []


def _timeline(api: Api, given: str | None) -> Any:
    """Return the timeline of the message, answer or job with this id. Without an id, return the timeline of the newest
    message."""
    if given is None:
        newest = api.get("jobs", query={"kind": "message", "limit": 1})["items"]
        if not newest:
            raise NotFound("There is no message yet.", fix='Send one with `arvis chat "hello"`.')
        return api.get("messages", newest[0]["messageId"])
    try:
        return api.get("messages", given)
    except NotFound:
        message_id = _message_of_job(api, given)
        if message_id is None:
            raise
        return api.get("messages", message_id)


def _message_of_job(api: Api, given: str) -> str | None:
    try:
        message_id: str | None = api.get("jobs", given)["messageId"]
    except NotFound:
        return None
    return message_id


Json = Mapping[str, Any]

_MICROS = 1_000_000


def story(timeline: Json) -> Iterator[str]:
    """Yield one line for each step, with the time since the message arrived, then the costs and the answer."""
    start = int(timeline["createdAt"])
    times = [duration(step["at"] - start) for step in timeline["steps"]]
    width = max(map(len, times), default=0)
    for time, step in zip(times, timeline["steps"], strict=True):
        yield f"{time.rjust(width)}  {_description(step, start)}"
    calls = [step for step in timeline["steps"] if step["step"] == "model_call"]
    if calls:
        tokens = f"{timeline['inputTokens']} tokens in, {timeline['outputTokens']} out"
        unpriced = "" if all(each.get("priced", True) or each["error"] for each in calls) else UNPRICED
        yield f"\n{len(calls)} model call{'s' * (len(calls) > 1)}: {tokens}, ${timeline['costUsd']:.6f}{unpriced}."
    if timeline.get("reply"):
        yield f"\nThe answer: {timeline['reply']}"
    for each in timeline["feedback"]:
        yield f"{each['userName'] or 'Somebody'} rated the answer {'👍' if each['rating'] == Rating.UP else '👎'}."
    if len(timeline["answers"]) > 1:
        yield f"One answer for {len(timeline['answers'])} messages: {', '.join(timeline['answers'])}."


def _description(step: Json, start: int) -> str:
    if tell := _STEPS.get(step["step"]):
        return tell(step, start)
    details = ", ".join(f"{name} {value}" for name, value in step.items() if name not in {"at", "step"} and value)
    return f"{step['step']}: {details}" if details else str(step["step"])


def _routed(step: Json, _: int) -> str:
    return f"given to {step['agent'] or 'an agent'}: {in_words(step['reason'])}"


def _started(step: Json, _: int) -> str:
    return "work began" if step["claim"] == 1 else f"work began again (start {step['claim']})"


def _node(step: Json, _: int) -> str:
    return "; ".join([f"step {step['node']}: {step['decision']}", *_flags(step), *_prompt(step), *_sources(step)])


def _flags(step: Json) -> Iterator[str]:
    """Yield the flags of the input check."""
    looked_at = step.get("input", {}).values() if step["node"] == "check_input" else ()
    found = [name for each in looked_at for flag, name in _FLAGS.items() if each.get(flag)]
    if found:
        yield ", ".join(dict.fromkeys(found))


def _prompt(step: Json) -> Iterator[str]:
    """Yield the estimated tokens of each layer of the prompt."""
    if step["node"] == "prepare" and "prompt" in step:
        layers = {name: tokens for name, tokens in step["prompt"]["tokens"].items() if tokens}
        yield f"about {sum(layers.values())} tokens: {', '.join(f'{name} {each}' for name, each in layers.items())}"
        if step["prompt"].get("left_out"):
            yield f"{step['prompt']['left_out']} older messages did not fit"
        if recalled := step["prompt"].get("recalled"):
            yield f"facts found for the message: {', '.join(map(_recalled, recalled))}"
            yield "`arvis memory correct ID` corrects a fact"


def _recalled(found: Json) -> str:
    """Return a fact that a search has found, such as `#12 ID (score 0.0310: word rank 1, similarity 0.83)`."""
    words = f"word rank {found['place']}" if found["place"] is not None else ""
    meaning = f"similarity {found['similarity']:.2f}" if found["similarity"] is not None else ""
    return f"#{found['number']} {found['fact']} (score {found['score']:.4f}: {', '.join(filter(None, [words, meaning])) or 'confidence'})"


def _sources(step: Json) -> Iterator[str]:
    """Yield the sources of the answer other than the person's own message, if the step lists them."""
    if step.get("taint"):
        yield f"based on untrusted text from: {', '.join(step['taint'])}"


def _model_call(step: Json, _: int) -> str:
    head = f"model {step['provider']}/{step['model']} (account {step['account']})"
    took = duration(step["durationMs"])
    if step["error"]:
        return f"{head} failed after {took} ({step['error']}): {step['detail']}"
    cost = f"${step['costMicros'] / _MICROS:.6f}" if step.get("priced", True) else "price unknown"
    cached = f" ({step['cachedTokens']} from the cache)" if step.get("cachedTokens") else ""
    detail = f"; {step['detail']}" if step.get("detail") else ""
    return f"{head}: {step['inputTokens']} tokens in{cached}, {step['outputTokens']} out, {cost}, {took}{detail}"


def _tool(step: Json, _: int) -> str:
    return f"tool {step['tool']} {'failed' if step['failed'] else 'returned'}: {step['output']}"


def _file(step: Json, _: int) -> str:
    about = f"file {step['name']} ({step['type'] or 'of unknown type'})"
    return f"{about} could not be read: {step['problem']}" if step["problem"] else f"{about} was read as {step['kind']}"


def _delivery(step: Json, _: int) -> str:
    head = f"part {step['part'] + 1} of the answer: {step['state']}"
    return f"{head}: {step['error']}" if step["error"] else head


_FLAGS = {
    "injectionDetected": "looks like an attempt to give the model instructions",
    "spamDetected": "looks like spam",
    "rateLimited": "arrived very soon after other messages",
    "truncated": "was cut because it was too long",
}

_PUT_BACK = {
    "crashed": "the process crashed while it answered this together with another message",
    "unread": "this message was added to a turn whose reply was written without it",
}

_STEPS: Mapping[str, Callable[[Json, int], str]] = {
    "received": lambda step, _: f"received from {step['user'] or 'somebody'} over {step['platform']}",
    "posted": lambda step, _: f"posted by {step['agent'] or 'an agent'} over {step['platform']}, for {step['source']}",
    "routed": _routed,
    "dropped": lambda step, _: f"dropped: {in_words(step['reason'] or 'no reason')}",
    "queued": lambda step, _: f"queued as job {step['job']} ({step['kind']}, priority {step['priority']})",
    "started": _started,
    "node": _node,
    "model_call": _model_call,
    "tool": _tool,
    "file": _file,
    "compacted": lambda step, _: (
        f"{step['messages']} older messages became a summary ({step['tokensSaved']} tokens saved)"
    ),
    "compaction_failed": lambda step, _: f"no summary could be written ({step['reason']}): {step['error']}",
    "retried": lambda step, start: f"failed, next try at {duration(step['runAt'] - start)}: {step['error']}",
    "snoozed": lambda step, start: f"postponed to {duration(step['runAt'] - start)}: {step['reason']}",
    "warning": lambda step, _: f"the workflow continued after a warning at {step['node']}: {step['warning']}",
    "undelivered": lambda step, _: (
        f"the reply could not be delivered ({step['reason']}); the next prompt of the agent reports it"
    ),
    "recovered": lambda step, _: (
        f"resumed after the process crashed during this job ({step['crashes']} crashes so far)"
    ),
    "requeued": lambda step, _: f"{_PUT_BACK.get(step['why'], step['why'])}; it will get a separate reply",
    "answered": lambda step, _: f"answered by message {step['reply']}",
    "failed": lambda step, _: f"failed; the notice is message {step['reply']}",
    "cancelled": lambda step, _: f"cancelled; the notice is message {step['reply']}",
    "expired": lambda step, _: f"expired; the notice is message {step['reply']}",
    "delivery": _delivery,
}
