"""The tools that other programs may call through the Model Context Protocol. The access rules are those of the API.

Viewers may list and search. Other roles may also send messages. A chat key can read only its own messages and the
replies to them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import NotFound
from arvis.domain.messages import MessageStatus, StoredMessage
from arvis.domain.messages import Role as MessageRole
from arvis.ports.browsing import ConversationFilter
from arvis.ports.clock import Clock
from arvis.ports.embeddings import MeaningOf
from arvis.ports.insights import Insights, MessageTimeline
from arvis.routing import can_access
from arvis.web.api.message_input import MessageParser, NewMessage
from arvis.web.api.messages import SETTLED_STATUSES, StatusWaiter
from arvis.web.auth.authorization import Authorizer, person_of
from arvis.web.http.identity import AGENT_CHANNEL, ANYONE, SEND, Access, Identity, Role, address_for
from arvis.web.http.limits import Timeouts
from arvis.web.http.requests import Fields, unusable
from arvis.web.http.schema import INTEGER, LABEL, NUMBER, STRING, TIME, Schema, array, object_schema, one_of, optional

#: Seconds. Many clients give up a request after 60 seconds.
_DEFAULT_WAIT = 50
_LONGEST_WAIT = 120
_DEFAULT_HITS, _MOST_HITS = 20, 50
_DEFAULT_MESSAGES, _MOST_MESSAGES = 50, 200
#: The maximum number of characters of a search result, of one message in a conversation, and of a conversation.
_EXCERPT = 300
_MESSAGE = 8_000
_CONVERSATION = 200_000

_SEND_ABOUT = """Sends a message to an agent and waits for its answer. Without `agent` and `channel` the message goes to
the default agent. If the answer takes longer than `wait_seconds`, the status is returned: call again with the same `id` to
continue waiting; this does not send the message again."""


@dataclass(frozen=True, slots=True)
class ToolDescription:
    """A tool that programs can call."""

    name: str
    description: str
    parameters: Schema
    #: The roles that may call the tool.
    access: Access
    #: True: the tool changes nothing.
    reads: bool
    #: The schema of `ToolResult.data`.
    returns: Schema


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool: `data` for programs, and `text` for models. If `text` is empty, models get `data` as JSON
    text."""

    data: Mapping[str, Any]
    text: str = ""


def _parameters(properties: Mapping[str, Schema], *required: str) -> Schema:
    return {"type": "object", "properties": dict(properties), "required": list(required), "additionalProperties": False}


def _whole(default: int, most: int) -> Schema:
    return {**INTEGER, "minimum": 1, "maximum": most, "default": default}


_MESSAGE_SCHEMA = object_schema(
    {
        "conversationId": optional(STRING),
        "messageId": STRING,
        "role": one_of(MessageRole),
        "from": STRING,
        "at": TIME,
        "content": STRING,
    }
)
_OUTCOME_SCHEMA = object_schema(
    {
        "messageId": STRING,
        "id": {**STRING, "description": "The id for a call that continues to wait."},
        "status": one_of(MessageStatus),
        "reason": optional(STRING),
        "reply": optional(STRING),
        "agent": optional(STRING),
        "conversationId": optional(STRING),
    }
)
_AGENT_SCHEMA = object_schema(dict.fromkeys(("slug", "name", "description", "status"), STRING))

_SEND = ToolDescription(
    "send_message",
    _SEND_ABOUT.replace("\n", " "),
    _parameters(
        {
            "text": STRING,
            "agent": {**LABEL, "description": "The slug of an agent (list_agents)."},
            "channel": {**LABEL, "description": "A channel of this key, instead of an agent."},
            "wait_seconds": {**NUMBER, "minimum": 0, "maximum": _LONGEST_WAIT, "default": _DEFAULT_WAIT},
            "id": {**LABEL, "description": "Your id of the message. A call with the same id sends no second message."},
        },
        "text",
    ),
    SEND,
    reads=False,
    returns=_OUTCOME_SCHEMA,
)
_AGENTS = ToolDescription(
    "list_agents",
    "Lists the agents that accept messages.",
    _parameters({}),
    ANYONE,
    reads=True,
    returns=object_schema({"agents": array(_AGENT_SCHEMA)}),
)
_SEARCH = ToolDescription(
    "search_conversations",
    "Finds the messages that answer a question or contain its words, best match first, with the ids"
    " of their conversations. A text in double quotes is found as it is.",
    _parameters({"query": LABEL, "limit": _whole(_DEFAULT_HITS, _MOST_HITS)}, "query"),
    ANYONE,
    reads=True,
    returns=object_schema({"messages": array(_MESSAGE_SCHEMA)}),
)
_READ = ToolDescription(
    "read_conversation",
    "Returns the newest messages of a conversation, in order.",
    _parameters({"id": LABEL, "limit": _whole(_DEFAULT_MESSAGES, _MOST_MESSAGES)}, "id"),
    ANYONE,
    reads=True,
    returns=object_schema({"id": STRING, "messages": array(_MESSAGE_SCHEMA)}),
)
_OFFERED = (_SEND, _AGENTS, _SEARCH, _READ)


class ArvisTools:
    def __init__(
        self,
        *,
        parser: MessageParser,
        insights: Insights,
        gate: Authorizer,
        board: StatusWaiter,
        clock: Clock,
        timeouts: Timeouts,
        meaning: MeaningOf,
    ) -> None:
        self._parser = parser
        self._insights = insights
        self._gate = gate
        self._board = board
        self._clock = clock
        self._timeouts = timeouts
        self._meaning = meaning
        self._works: Mapping[str, Callable[[Identity, Fields], Awaitable[ToolResult]]] = {
            _SEND.name: self._send,
            _AGENTS.name: self._agents,
            _SEARCH.name: self._search,
            _READ.name: self._read,
        }

    def offered(self, identity: Identity) -> Sequence[ToolDescription]:
        """Return the tools that this credential may use."""
        return [each for each in _OFFERED if identity.role in each.access]

    async def call(self, identity: Identity, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call one of the tools that `offered` returns. Raise an `ArvisError` if the call fails."""
        described = next(each for each in _OFFERED if each.name == name)
        self._gate.admit(identity, described.access)
        for strange in arguments.keys() - described.parameters["properties"].keys():
            raise unusable(strange[:100], "is not a parameter of this tool")
        return await self._works[name](identity, Fields(arguments))

    async def recent_conversations(self, identity: Identity, limit: int) -> Sequence[str]:
        """Return the ids of the conversations that the caller may read, last used first."""
        self._gate.admit(identity, _READ.access)
        which = ConversationFilter(own=await person_of(self._gate, identity))
        page = await self._insights.talks(which, limit=limit, cursor=None)
        return [talk.id for talk in page.items]

    async def _send(self, identity: Identity, fields: Fields) -> ToolResult:
        agent, channel = fields.label("agent"), fields.label("channel")
        if agent is not None and channel is not None:
            raise unusable("channel", "cannot be combined with `agent`")
        seconds = _seconds(fields, "wait_seconds")
        draft = await self._parser.draft(NewMessage(content=fields.required_text("text"), id=fields.label("id")))
        place = channel or (f"{AGENT_CHANNEL}{agent}" if agent is not None else f"web-{identity.user_id}-mcp")
        sent = await self._parser.send(draft, address_for(identity, place), self._gate.sender(identity))
        timeline = await self._rested(sent.message_id, seconds, identity)
        return _outcome(timeline, sent.event_id)

    async def _rested(self, message_id: str, seconds: float, identity: Identity) -> MessageTimeline:
        """Wait until the message is finished or needs a person, but at most `seconds` seconds. Return the timeline of
        the message. The wait subscribes before it reads the status, so that it misses no change."""
        end = self._clock.monotonic() + seconds
        with self._board.watch(message_id, identity) as watch:
            while True:
                found = await self._insights.status(message_id)
                remaining = end - self._clock.monotonic()
                if found is None or found[0] in SETTLED_STATUSES or watch.closed or remaining <= 0:
                    break
                await watch.changed(min(remaining, self._timeouts.look))
            watch.raise_if_refused()
        timeline = await self._insights.message(message_id)
        if timeline is None:
            raise NotFound("The message has been deleted.", fix="Send it again.")
        return timeline

    async def _agents(self, identity: Identity, _: Fields) -> ToolResult:
        known = await self._insights.agents()
        if identity.role is Role.CHAT:
            sender = self._gate.sender(identity)
            known = [agent for agent in known if can_access(sender, agent)]
        return ToolResult(
            {
                "agents": [
                    {"slug": agent.slug, "name": agent.name, "description": agent.description, "status": agent.status}
                    for agent in known
                ]
            }
        )

    async def _search(self, identity: Identity, fields: Fields) -> ToolResult:
        query = fields.label("query")
        if query is None:
            raise unusable("query", "is missing")
        limit = _number(fields, "limit", _DEFAULT_HITS, _MOST_HITS)
        principal = await self._only(identity)
        found = await self._insights.search_messages(
            query, principal_id=principal, limit=limit, meaning=await self._meaning(query)
        )
        return ToolResult({"messages": [_message_view(message, _around(message.content, query)) for message in found]})

    async def _read(self, identity: Identity, fields: Fields) -> ToolResult:
        conversation = fields.label("id")
        if conversation is None:
            raise unusable("id", "is missing")
        limit = _number(fields, "limit", _DEFAULT_MESSAGES, _MOST_MESSAGES)
        page = await self._insights.conversation_messages(conversation, limit=limit, cursor=None)
        principal = await self._only(identity)
        shown = list(page.items) if principal is None else _of(principal, page.items)
        if not shown:
            raise NotFound("There is no such conversation.", fix="Use an id from search_conversations.")
        return ToolResult({"id": conversation, "messages": _within(shown)})

    async def _only(self, identity: Identity) -> str | None:
        """Return the id of the only person whose messages the caller may read, or None if the caller may read all
        messages."""
        if identity.role is not Role.CHAT:
            return None
        return (await self._gate.principal(self._gate.sender(identity))).id


def _outcome(timeline: MessageTimeline, event_id: str) -> ToolResult:
    data = {
        "messageId": timeline.message.id,
        "id": event_id,
        "status": timeline.status,
        "reason": timeline.reason,
        "reply": timeline.reply,
        "agent": timeline.agent,
        "conversationId": timeline.message.conversation_id,
    }
    if timeline.status is MessageStatus.ANSWERED and timeline.reply:
        return ToolResult(data, timeline.reply)
    because = f" ({timeline.reason})" if timeline.reason else ""
    text = f"There is no answer: message {timeline.message.id} is {timeline.status}{because}."
    return ToolResult(
        data,
        text
        if timeline.status in SETTLED_STATUSES
        else f"{text} Call again with the id {event_id} to continue waiting.",
    )


def _message_view(message: StoredMessage, content: str) -> dict[str, Any]:
    return {
        "conversationId": message.conversation_id,
        "messageId": message.id,
        "role": message.role,
        "from": message.user_name,
        "at": message.created_at,
        "content": content,
    }


def _of(principal: str, messages: Sequence[StoredMessage]) -> list[StoredMessage]:
    """Return the messages of this person and the replies to them."""
    own = {message.id for message in messages if message.principal_id == principal}
    return [message for message in messages if message.id in own or message.reply_to in own]


def _within(newest_first: Sequence[StoredMessage]) -> list[dict[str, Any]]:
    """Return as many of the newest messages as fit in `_CONVERSATION` characters, oldest first."""
    left = _CONVERSATION
    shown: list[dict[str, Any]] = []
    for message in newest_first:
        content = _cut(message.content, _MESSAGE)
        left -= len(content)
        if left < 0:
            break
        shown.append(_message_view(message, content))
    return shown[::-1]


def _around(content: str, query: str) -> str:
    """Return the part of the text around the query, or around the first word of the query that the text contains."""
    text, parts = content.lower(), (query, *query.replace('"', " ").split())
    found = next((at for part in parts if (at := text.find(part.lower())) >= 0), 0)
    start = max(0, found - _EXCERPT // 3)
    return ("…" if start else "") + _cut(content[start:], _EXCERPT)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _number(fields: Fields, name: str, default: int, most: int) -> int:
    value = fields.whole(name)
    if value is not None and not 1 <= value <= most:
        raise unusable(name, f"must be from 1 to {most}")
    return default if value is None else value


def _seconds(fields: Fields, name: str) -> float:
    value = fields.raw(name)
    if value is None:
        return _DEFAULT_WAIT
    if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
        raise unusable(name, "must be a number of seconds from 0")
    return min(float(value), _LONGEST_WAIT)
