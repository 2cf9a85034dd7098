"""The pairs of tool calls and results in a request, in the form of each vendor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from arvis.domain.runs import Account, RunRequest
from arvis.providers import anthropic_messages, google, ollama, openai, openai_forms, openai_responses
from arvis.providers.prompts import turns_of

#: The calls of one message, and the results that follow it directly, by the value with which the vendor matches both.
Group = tuple[Sequence[str], Sequence[str]]

_ACCOUNT = Account("main", "openai", "model")


def _chat(messages: Sequence[Mapping[str, Any]], call_key: Callable[[Any], str], result_key: str) -> list[Group]:
    """Return the groups of a list in which each result is a message with the role `tool`."""
    groups: list[tuple[list[str], list[str]]] = []
    follows = False
    for message in messages:
        if calls := message.get("tool_calls"):
            groups.append(([call_key(call) for call in calls], []))
        elif message["role"] == "tool":
            if not follows:
                groups.append(([], []))
            groups[-1][1].append(message[result_key])
        follows = bool(calls) or message["role"] == "tool"
    return list(groups)


def _openai(request: RunRequest) -> list[Group]:
    messages = [message for turn in turns_of(request) for message in openai.messages_of(turn)]
    return _chat(messages, lambda call: str(call["id"]), "tool_call_id")


def _ollama(request: RunRequest) -> list[Group]:
    turns = turns_of(request)
    messages = [message for turn in turns for message in ollama.messages_of(turn, turns)]
    return _chat(messages, lambda call: str(call["function"]["name"]), "tool_name")


def _responses(request: RunRequest) -> list[Group]:
    accepted = openai_forms.first_try(_ACCOUNT, "model", field="max_output_tokens")
    items = openai_responses.document_of(request, _ACCOUNT, accepted, stream=True)["input"]
    messages: list[dict[str, Any]] = []
    for item in items:
        match item.get("type"):
            case "function_call" if messages and "tool_calls" in messages[-1]:
                messages[-1]["tool_calls"].append(item)
            case "function_call":
                messages.append({"role": "assistant", "tool_calls": [item]})
            case "function_call_output":
                messages.append({"role": "tool", "id": item["call_id"]})
            case _:
                messages.append({"role": item.get("role", "assistant")})
    return _chat(messages, lambda call: str(call["call_id"]), "id")


def _blocks(contents: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[Group]:
    """Return the groups of a list of messages with the calls and results of each: the next message has the results."""
    following = [*contents[1:], ([], [])]
    groups = [(calls, after[1]) for (calls, _), after in zip(contents, following, strict=True) if calls or after[1]]
    return [([], contents[0][1]), *groups] if contents and contents[0][1] else groups


def _anthropic(request: RunRequest) -> list[Group]:
    def values(message: Mapping[str, Any], kind: str, key: str) -> list[str]:
        content = message["content"] if isinstance(message["content"], list) else []
        return [block[key] for block in content if block["type"] == kind]

    messages = anthropic_messages.document_of(request, "model")["messages"]
    return _blocks([(values(each, "tool_use", "id"), values(each, "tool_result", "tool_use_id")) for each in messages])


def _google(request: RunRequest) -> list[Group]:
    def values(content: Mapping[str, Any], kind: str) -> list[str]:
        return [part[kind]["name"] for part in content["parts"] if kind in part]

    contents = google.contents_of(turns_of(request))
    return _blocks([(values(each, "functionCall"), values(each, "functionResponse")) for each in contents])


FORMS: Mapping[str, Callable[[RunRequest], list[Group]]] = {
    "openai": _openai,
    "responses": _responses,
    "anthropic": _anthropic,
    "google": _google,
    "ollama": _ollama,
}


def incomplete(request: RunRequest) -> dict[str, list[Group]]:
    """Return the groups in which a call has no result or a result has no call, by vendor."""
    found = {
        vendor: [group for group in groups_of(request) if sorted(group[0]) != sorted(group[1])]
        for vendor, groups_of in FORMS.items()
    }
    return {vendor: groups for vendor, groups in found.items() if groups}
