"""One sentence that explains why a message was answered or not: the first line of every timeline. The input is a
timeline in the form of the API, so that pages, chats and the command line give the same explanation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.domain.messages import MessageStatus
from arvis.domain.reasons import CHOSEN, CUT, in_words

Json = Mapping[str, Any]

_MS = 1000
_MINUTE = 60


def why_not(timeline: Json) -> str:
    """Return why a message has no answer; "" if no reason is known."""
    if timeline["status"] == MessageStatus.WAITING:
        return "a person has to decide first"
    job = timeline["job"] or {}
    # Without a reason of its own a message has only the routing rule, which explains nothing here.
    own = None if timeline["reason"] in CHOSEN else timeline["reason"]
    reason, detail = own or job.get("reason"), job.get("error")
    words = in_words(reason) if reason else ""
    return f"{words}: {detail}" if words and detail else words or detail or ""


def explanation(timeline: Json) -> str:
    """Return why a message has this answer, or none."""
    agent = timeline["agent"] or "an agent"
    why = why_not(timeline)
    match timeline["status"]:
        case "answered":
            cut = f" It is not whole: {why}." if timeline["reason"] == CUT else ""
            return f"Answered by {agent}{_after(timeline, 'answered')}{_because(timeline)}.{cut}"
        case "dropped":
            return f"Not answered: {why or 'no reason is known'}."
        case "failed" | "cancelled" | "expired" as status:
            return f"Not answered ({status}): {why or 'no reason is known'}."
        case "waiting":
            return "Not answered yet: a person has to decide first (`arvis questions list`)."
        case "running":
            return f"Not answered yet: {agent} is at work on it."
        case _:
            return f"Not answered yet: it waits in the queue for {agent}{_again(timeline)}."


def job_explanation(job: Json, agent: str | None) -> str:
    """Return the explanation of a job that answers no message; `job` is in the form of the API."""
    words = " ".join(
        filter(None, [in_words(job["reason"]) if job["reason"] else "", f"({job['error']})" if job["error"] else ""])
    )
    who = f" for {agent}" if agent else ""
    match job["status"]:
        case "done" if job["mergedInto"]:
            return f"Taken over by job {job['mergedInto']}."
        case "done":
            return f"Done after {duration(job['finishedAt'] - job['createdAt'])}." if job["finishedAt"] else "Done."
        case "failed" | "cancelled" as status:
            return f"{status.capitalize()}: {words or 'no reason is known'}."
        case "running":
            return f"Running{who}."
        case _:
            return f"Waits in the queue{who}{': ' + words if words else ''}."


def duration(ms: int) -> str:
    """Return `0.123 s` below a minute, else hours, minutes and seconds."""
    if abs(ms) < _MINUTE * _MS:
        return f"{ms / _MS:.3f} s"
    minutes, seconds = divmod(round(ms / _MS), _MINUTE)
    hours, minutes = divmod(minutes, _MINUTE)
    return f"{hours}:{minutes:02}:{seconds:02}"


def _after(timeline: Json, name: str) -> str:
    at = next((step["at"] for step in reversed(timeline["steps"]) if step["step"] == name), None)
    return "" if at is None else f" after {duration(at - timeline['createdAt'])}"


def _because(timeline: Json) -> str:
    """Return the rule that chose the agent."""
    code = next((step["reason"] for step in timeline["steps"] if step["step"] == "routed"), None)
    return f", which was asked because {in_words(code)}" if code is not None and code in CHOSEN else ""


def _again(timeline: Json) -> str:
    """Return when the queue tries next, if it waits for a time."""
    delays = [step for step in timeline["steps"] if step["step"] in {"retried", "snoozed"}]
    return f", next try at {duration(delays[-1]['runAt'] - timeline['createdAt'])}" if delays else ""
