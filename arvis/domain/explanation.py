"""Explanations for people: the meaning of reason codes, and one sentence that says why a message was answered or not.

This sentence is the first line of every timeline. It is made from a timeline in the form of the API, so that the
dashboard, chats and the command line give the same explanation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.domain.messages import MessageStatus

#: The reason code of a message whose answer was cut off at the output limit.
CUT = "cut"
#: The text after an amount that does not include all calls.
UNPRICED = ", without the calls whose price is not known"

#: For each routing rule, the text after "it was asked because …". In these texts, "it" is the agent.
CHOSEN: Mapping[str, str] = {
    "named": "the message was sent to it by name",
    "bot_assignment": "this bot is assigned to it",
    "channel_binding": "this channel is bound to it",
    "mention": "the message calls it by name",
    "conductor_channel": "this is the conductor's channel",
    "dashboard_direct": "this is the agent's own channel on the dashboard",
    "dm": "direct messages go to the conductor",
    "fallback": "no other rule matched, and routing.fallback names it",
    "web_default": "no other rule matched, and it is the conductor or the first other agent that this person may use",
}

_REFUSED: Mapping[str, str] = {
    "blocked": "this person is blocked",
    "not_addressed": "it was not addressed to the bot",
    "none": "no rule matched, and routing.fallback drops such messages",
    "no_conductor": "there is no active conductor",
    "no_agent": "there is no active agent",
    "unknown_agent": "there is no such active agent",
    "not_allowed": "this person may not use this agent",
    "not_paired": "this agent has risky tools and this person is not paired",
    "too_many_messages": "this person wrote more messages within a minute than limits.messages_per_minute allows",
    "bot_loop": "other bots caused too many turns in a row; the agent answers again after a message of a person",
    "not_bound": "this agent is not bound to this channel",
    "paused": "the agent of this bot is paused",
    "too_old": "it arrived too long after it was written (delivery.answer_within)",
}

_FAILED: Mapping[str, str] = {
    "auth": "the vendor rejected the key of the model's account",
    "quota": "the model's account has no credit left",
    "too_long": "the conversation is too long for the model",
    "refused": "the model, or the content filter of its vendor, declined to answer",
    "empty": "the model gave an empty answer each time",
    CUT: "the answer reached the output limit and was cut",
    "wrong_format": "the answer does not have the format that the request demands",
    "bad_request": "the vendor rejected the request as invalid",
    "too_late": "it could not be answered in time (delivery.answer_within)",
    "no_model": "no account offers the model of the agent",
    "poison": "Arvis crashed each time it worked on this",
    "attempts": "the model did not answer after several attempts",
    "budget_turn": "the budget of one turn is used up",
    "budget_agent": "the agent's budget of the day is used up",
    "budget_principal": "this person's budget of the day is used up",
    "budget_share": "this person's share of the budget of the day is used up",
    "budget_client": "the customer's monthly budget is used up",
    "budget_day": "the daily budget of the whole system is used up",
    "budget_turns": (
        "this person is not paired and has reached the daily number of questions (budgets.unpaired_daily_turns)"
    ),
    "budget_credit": "the customer's credit is used up",
    "budget_client_status": "the customer is paused",
    "stopped": "a person stopped it",
    "handled_by_caller": "it failed, and the execution that called it continued without its result or failed, too",
    "restored": "the database was restored from a backup while this was under way",
}


def in_words(code: str) -> str:
    """Return the explanation of a reason code, followed by the code. If there is no explanation, return only the
    code."""
    words = CHOSEN.get(code) or _REFUSED.get(code) or _FAILED.get(code)
    return f"{words} ({code})" if words else code


Json = Mapping[str, Any]

_MS = 1000
_MINUTE = 60


def why_not(timeline: Json) -> str:
    """Return the reason why a message has no answer; "" if no reason is known."""
    if timeline["status"] == MessageStatus.WAITING:
        return "a person has to decide first"
    job = timeline["job"] or {}
    # A routing rule is the reason for the choice of the agent. It does not explain a missing answer, so it is ignored
    # here.
    own = None if timeline["reason"] in CHOSEN else timeline["reason"]
    reason, detail = own or job.get("reason"), job.get("error")
    words = in_words(reason) if reason else ""
    return f"{words}: {detail}" if words and detail else words or detail or ""


def explanation(timeline: Json) -> str:
    """Return a text that says which agent answered and why it was asked, or why there is no answer."""
    agent = timeline["agent"] or "an agent"
    why = why_not(timeline)
    match timeline["status"]:
        case "answered":
            cut = f" The answer is incomplete: {why}." if timeline["reason"] == CUT else ""
            return f"Answered by {agent}{_after(timeline, 'answered')}{_because(timeline)}.{cut}"
        case "dropped":
            return f"Not answered: {why or 'no reason is known'}."
        case "failed" | "cancelled" | "expired" as status:
            return f"Not answered ({status}): {why or 'no reason is known'}."
        case "waiting":
            return "Not answered yet: it waits for the decision of a person. `arvis questions list` shows the question."
        case "running":
            return f"Not answered yet: {agent} is working on it."
        case _:
            return f"Not answered yet: it waits in the queue for {agent}{_again(timeline)}."


def job_explanation(job: Json, agent: str | None) -> str:
    """Return one sentence about the status of a job that answers no message. `job` is in the form of the API."""
    words = " ".join(
        filter(None, [in_words(job["reason"]) if job["reason"] else "", f"({job['error']})" if job["error"] else ""])
    )
    who = f" for {agent}" if agent else ""
    match job["status"]:
        case "done" if job["mergedInto"]:
            return f"Merged into job {job['mergedInto']}, which answers its message too."
        case "done":
            return f"Done after {duration(job['finishedAt'] - job['createdAt'])}." if job["finishedAt"] else "Done."
        case "failed" | "cancelled" as status:
            return f"{status.capitalize()}: {words or 'no reason is known'}."
        case "running":
            return f"Running{who}."
        case _:
            return f"Waits in the queue{who}{': ' + words if words else ''}."


def duration(ms: int) -> str:
    """Return the duration as text: seconds, such as `12.345 s`, if it is shorter than a minute, otherwise `H:MM:SS`."""
    if abs(ms) < _MINUTE * _MS:
        return f"{ms / _MS:.3f} s"
    minutes, seconds = divmod(round(ms / _MS), _MINUTE)
    hours, minutes = divmod(minutes, _MINUTE)
    return f"{hours}:{minutes:02}:{seconds:02}"


def _after(timeline: Json, name: str) -> str:
    at = next((step["at"] for step in reversed(timeline["steps"]) if step["step"] == name), None)
    return "" if at is None else f" after {duration(at - timeline['createdAt'])}"


def _because(timeline: Json) -> str:
    """Return a sentence about the routing rule that chose the agent, without the final period; "" if the rule is
    unknown."""
    code = next((step["reason"] for step in timeline["steps"] if step["step"] == "routed"), None)
    return f". It was asked because {in_words(code)}" if code is not None and code in CHOSEN else ""


def _again(timeline: Json) -> str:
    """Return the end of a sentence that names the time of the queue's next attempt. Return "" if no attempt was
    postponed."""
    delays = [step for step in timeline["steps"] if step["step"] in {"retried", "snoozed"}]
    return f", next try at {duration(delays[-1]['runAt'] - timeline['createdAt'])}" if delays else ""
