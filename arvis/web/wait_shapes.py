"""Questions to people as the page Approvals shows them: who asks, what for, and what exactly a yes would do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.agents import rounds
from arvis.agents.answers import question_of
from arvis.agents.asking import beginning
from arvis.domain.messages import Address
from arvis.domain.tools import Risk
from arvis.domain.workflows import PREFIX
from arvis.ports.browsing import WaitView
from arvis.ports.operations import WaitRights
from arvis.web.schemas import BOOLEAN, STRING, Schema, array, one_of, optional, record
from arvis.web.schemas import WAIT as OPEN_WAIT
from arvis.web.views import Json, wait_view

_WHOLE = "Open the question to read the whole. An answer counts for all of it."
_OBJECT: Schema = {"type": "object", "additionalProperties": True}

WAIT: Schema = record(
    {
        **OPEN_WAIT["properties"],
        "answeredByName": optional(STRING),
        "agent": {**optional(STRING), "description": "The slug of who asks."},
        "person": {**optional(STRING), "description": "For whom the agent works."},
        "messageId": optional(STRING),
        "conversationId": optional(STRING),
        "workflowId": {
            **optional(STRING),
            "description": "The workflow whose run asks; the run has the id of the execution.",
        },
        "platform": optional(STRING),
        "connector": optional(STRING),
        "channelId": optional(STRING),
        "askedOf": {**array(STRING), "description": "Whose word counts: people, and roles in the plural."},
        "mayAnswer": {**BOOLEAN, "description": "Whether the asker's word counts."},
        "tool": {**optional(STRING), "description": "The tool that would be called, or the kind of change."},
        "arguments": optional(_OBJECT),
        "risk": optional(one_of(Risk)),
        "change": {
            **optional(record({"text": STRING, "hash": STRING})),
            "description": "Exactly what would be done; a yes counts for this hash and for nothing else.",
        },
    }
)


def listed_view(view: WaitView, rights: WaitRights) -> Json:
    """Return the question for a list of many: of a long text the beginning, with a mark; `question_view` gives the whole."""
    shown = question_view(view, rights)
    change = shown["change"]
    if change is not None:
        shown["change"] = {**change, "text": beginning(change["text"], _WHOLE)}
    return {**shown, "prompt": beginning(shown["prompt"], _WHOLE)}


def question_view(view: WaitView, rights: WaitRights) -> Json:
    state, message = view.execution.state, view.message
    saved: Mapping[str, Any] = state.get("from", state)
    address = Address.from_json(saved["address"]) if "address" in saved else None
    return {
        **wait_view(view.wait),
        "answeredByName": view.answerer,
        "agent": view.agent,
        "person": view.person,
        "messageId": message.id if message is not None else None,
        "conversationId": conversation_of(view),
        "workflowId": _workflow(view.execution.graph),
        "platform": address.platform if address else None,
        "connector": address.connector if address else None,
        "channelId": address.channel if address else None,
        "askedOf": list(rights.asked_of),
        "mayAnswer": rights.may_answer and view.wait.answered_at is None,
        **_wanted(view),
    }


def conversation_of(view: WaitView) -> str | None:
    """The one that the asking execution works in: its own, or that of the turn which wants a change."""
    state = view.execution.state
    return state.get("from", {}).get("conversation") or state.get("conversation")


def _workflow(graph: str) -> str | None:
    return graph.removeprefix(PREFIX) if graph.startswith(PREFIX) else None


def _wanted(view: WaitView) -> Json:
    state = view.execution.state
    if "proposal" in state:
        proposal = state["proposal"]
        change = {"text": state["question"], "hash": state["digest"]}
        return {"tool": proposal["kind"], "arguments": proposal["fields"], "risk": None, "change": change}
    question = question_of(view.execution, view.wait)
    if question is not None and "hash" in question and view.wait.answered_at is None:
        change = {"text": view.wait.prompt, "hash": question["hash"]}
        return {"tool": None, "arguments": None, "risk": None, "change": change}
    asking = state.get("asking")
    # The state knows what is asked now; of what was decided before, the prompt tells.
    if asking is None or view.wait.subject is not None or view.wait.answered_at is not None:
        return {"tool": None, "arguments": None, "risk": None, "change": None}
    call = rounds.calls_of(state, rounds.count(state))[asking["call"]]
    return {
        "tool": call.name,
        "arguments": dict(call.arguments or {}),
        "risk": asking.get("risk"),
        "change": {"text": view.wait.prompt, "hash": asking["hash"]},
    }
