"""The parser of chat completion requests. It reads the agent, the conversation, the question and the history from a
request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from arvis.domain.client_calls import CallId
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.regex import regex
from arvis.domain.taint import Label, Taint
from arvis.domain.text import CURRENT_MESSAGE, EARLIER_MESSAGES
from arvis.web.http.requests import Fields, unusable
from arvis.web.openai.parameters import Parameters, flag, parameters_of

# The history that a client sends becomes a text for the agent, with the labels of its sources. The client can write
# anything into the history, even in the role of a tool or of the agent. The text therefore says that a program sent the
# history, and it quotes every line. Its taint (ADR 0017) has the effect that actions based on the text need an
# approval.

SYSTEM_ROLES = frozenset({"system", "developer"})
_LABELS: Mapping[str, Label] = {
    "user": Label.PEOPLE,
    "assistant": Label.AGENTS,
    "tool": Label.TOOLS,
    "function": Label.TOOLS,
}


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """A message of the request."""

    role: str
    text: str
    #: The files of the message, in the form that the API uses for attachments.
    files: tuple[Mapping[str, str], ...] = ()
    #: The other fields of the message as JSON, such as the client's tool calls.
    more: str = ""
    #: True for a call of a client's tool by an agent of Arvis, and for the result of such a call. Both are parts of a
    #: turn.
    within_turn: bool = False


def history_text(before: Sequence[HistoryMessage], most_bytes: int) -> str:
    """Return the newest messages that fit into `most_bytes` as one text. Above each message is a line with its role.
    Each line of a message begins with `> `, so that no line looks like a line that Arvis wrote."""
    blocks: list[str] = []
    left = most_bytes
    for number, message in enumerate(reversed(before)):
        block = _block(message)
        left -= len(block.encode()) + 1
        if left < 0:
            blocks.append(f"[… {len(before) - number} earlier messages are omitted]")
            break
        blocks.append(block)
    return "\n".join(reversed(blocks))


def taint_of_history(before: Iterable[HistoryMessage], *, owner: bool) -> Taint:
    """Return the taint of these messages. System text that was sent with an owner's key adds no label, because it
    counts as the owner's own text. System text that was sent with any other key counts as text of other people."""
    labels = {
        Label.PEOPLE if each.role in SYSTEM_ROLES else _LABELS[each.role]
        for each in before
        if not (owner and each.role in SYSTEM_ROLES)
    }
    return frozenset(labels)


def _block(message: HistoryMessage) -> str:
    # `splitlines` splits at every character that a reader could interpret as a line break.
    text = "\n".join(part for part in (message.text, message.more) if part)
    return "\n".join([f"[{message.role}]", *(f"> {line}" for line in text.splitlines() or [""])])


# The request.

_DATA_URL = regex(r"data:(?P<kind>[\w.+-]+/[\w.+-]+)(?:;[\w.+-]+=[\w.+-]+)*;base64,(?P<data>.*)", re.DOTALL)
_SOUNDS = {"wav": "audio/wav", "mp3": "audio/mpeg", "ogg": "audio/ogg", "flac": "audio/flac"}
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_USER = "user"
#: The fields of a message, besides its role and content, that are part of the conversation.
_OTHER_FIELDS = ("name", "tool_calls", "function_call", "tool_call_id")


@dataclass(frozen=True, slots=True)
class ToolResults:
    """The results of the client's tools for a turn that waits for them."""

    #: The id of the execution that waits, and the number of the round.
    execution_id: str
    round: int
    #: The results by the index of the call.
    outputs: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A chat completion request."""

    #: The slug of an agent.
    model: str
    #: The field `user`, which names the conversation.
    conversation: str | None
    #: The last message of a person.
    question: HistoryMessage
    #: The messages before the question.
    before: tuple[HistoryMessage, ...]
    stream: bool
    #: True: the last event of the stream contains the token usage.
    usage: bool
    parameters: Parameters
    #: The results of tools that the client has run, if the request ends with them.
    results: ToolResults | None = None

    @property
    def system(self) -> tuple[HistoryMessage, ...]:
        return tuple(each for each in self.before if each.role in SYSTEM_ROLES)

    @property
    def talk(self) -> tuple[HistoryMessage, ...]:
        """Return the history without system texts, and without calls of the client's tools within a turn."""
        return tuple(each for each in self.before if each.role not in SYSTEM_ROLES and not each.within_turn)

    def content(self, history: Sequence[HistoryMessage], most_bytes: int) -> str:
        """Return the text for the inbox: the newest part of the history that fits into `most_bytes`, then the
        question."""
        question = self.question.text
        if not history:
            return question
        left = most_bytes - len(question.encode()) - len(EARLIER_MESSAGES) - len(CURRENT_MESSAGE) - 100
        return "\n".join([EARLIER_MESSAGES, history_text(history, left), "", CURRENT_MESSAGE, question])


def parse_request(fields: Fields) -> ParsedRequest:
    """Parse a request. Raise `Unprocessable` with the name of a field that cannot be used."""
    model = fields.label("model")
    if model is None:
        raise unusable("model", "is missing: name the slug of an agent")
    parameters = parameters_of(fields, fields.names)
    messages = [_message(message, index) for index, message in enumerate(fields.objects("messages"))]
    if not messages:
        raise unusable("messages", "must contain at least one message")
    results = _results(fields.objects("messages"))
    if messages[-1].role != _USER and results is None:
        raise unusable(
            "messages",
            "must end with a message of the role `user`, or with the results of tools that the agent has called "
            "(prefilled answers are not supported)",
        )
    options = Fields(fields.mapping("stream_options") or {})
    return ParsedRequest(
        model=model,
        conversation=fields.label("user") if fields.text("user") else None,
        question=messages[-1],
        before=tuple(messages[:-1]),
        stream=flag(fields, "stream"),
        usage=flag(options, "include_usage"),
        parameters=parameters,
        results=results,
    )


def _results(messages: Sequence[Fields]) -> ToolResults | None:
    """Return the results of tools at the end of the request. Return None if the request ends with another message.
    Raise `Unprocessable` if the agent did not call these tools, or called them in different replies."""
    outputs: dict[CallId, str] = {}
    for index, message in reversed([*enumerate(messages)]):
        if message.text("role") != "tool":
            break
        place = CallId.read(message.raw("tool_call_id"))
        if place is None:
            raise unusable(f"messages[{index}].tool_call_id", "must be the id of a call that the agent has made")
        outputs[place] = _message(message, index).text
    if not outputs:
        return None
    rounds = {(place.execution_id, place.round) for place in outputs}
    if len(rounds) > 1:
        raise unusable("messages", "must end with the results of the calls of one reply")
    execution_id, number = rounds.pop()
    return ToolResults(execution_id, number, {place.index: text for place, text in outputs.items()})


def _message(message: Fields, index: int) -> HistoryMessage:
    role = message.text("role")
    if role not in _ROLES:
        raise unusable(f"messages[{index}].role", f"must be one of {', '.join(sorted(_ROLES))}")
    content, more = message.raw("content"), _more(message)
    within = _is_within_turn(message)
    if content is None or isinstance(content, str):
        return HistoryMessage(role, content or "", more=more, within_turn=within)
    where = f"messages[{index}].content"
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise unusable(where, "must be a string or a list of parts")
    return replace(_of_parts(role, [Fields(part) for part in content], where), more=more, within_turn=within)


def _is_within_turn(message: Fields) -> bool:
    calls = message.raw("tool_calls")
    called = isinstance(calls, list) and any(CallId.read(call.get("id")) for call in calls if isinstance(call, dict))
    return called or CallId.read(message.raw("tool_call_id")) is not None


def _more(message: Fields) -> str:
    """Return the fields in `_OTHER_FIELDS` as JSON in a fixed order, or "" if all are empty. Empty fields are left out,
    because clients that send an answer back include its empty fields."""
    found = {name: value for name in _OTHER_FIELDS if (value := message.raw(name))}
    return json.dumps(found, ensure_ascii=False, sort_keys=True) if found else ""


def _of_parts(role: str, parts: Sequence[Fields], where: str) -> HistoryMessage:
    """Return the message with the text and the files of its parts. The agent gets only the files of the question. The
    files of the history only serve to recognise the conversation."""
    texts: list[str] = []
    files: list[Mapping[str, str]] = []
    for part in parts:
        match part.text("type"):
            case "text" | "refusal" as kind:
                texts.append(part.text(kind) or "")
            case "image_url" | "input_audio" | "file" as kind if role == _USER:
                files.append(_file(kind, Fields(part.mapping(kind) or {}), where, len(files) + 1))
            case kind:
                raise unusable(where, f"contains a part of the type {str(kind)[:40]!r}, which is not supported here")
    return HistoryMessage(role, "\n".join(texts), tuple(files))


def _file(kind: str, fields: Fields, where: str, number: int) -> Mapping[str, str]:
    if kind == "input_audio":
        sound = fields.text("format") or ""
        return _upload(f"sound-{number}.{sound}", _SOUNDS.get(sound, ""), fields.required_text("data"), where)
    url = fields.text("url" if kind == "image_url" else "file_data") or ""
    found = _DATA_URL.fullmatch(url)
    if found is None:
        address = url.startswith(("http:", "https:"))
        why = "contains an address, which is not fetched" if address else "contains no file"
        raise unusable(where, f"{why}: send the file as `data:image/png;base64,…`")
    ending = found["kind"].partition("/")[2].partition("+")[0]
    name = fields.text("filename") or f"{'image' if kind == 'image_url' else 'file'}-{number}.{ending}"
    return _upload(name, found["kind"], found["data"], where)


def _upload(name: str, kind: str, data: str, where: str) -> Mapping[str, str]:
    if not kind:
        raise unusable(where, f"contains a sound in an unsupported format; use one of {', '.join(_SOUNDS)}")
    return {"filename": name, "contentType": kind, "data": data}
