"""`/v1`: Arvis as an OpenAI-compatible server. Each agent is a model.

A request becomes a message, which is stored by the same inbox as every other message (docs/how-to/openai-compatible.md). If
the client closes a stream, the answer is cancelled. If a client disconnects from a request without a stream, the answer
is still written to the conversation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from starlette.responses import Response

from arvis.bus import EventBus
from arvis.domain.agents import Agent
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import ArvisError, NotFound, Unprocessable
from arvis.domain.messages import Address, PrincipalRole, StoredMessage
from arvis.domain.regex import regex
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.operations import Operations
from arvis.ports.store import Store, Transaction
from arvis.routing import can_access
from arvis.web.api.message_input import Draft, MessageParser, NewMessage, Sent
from arvis.web.api.messages import SETTLED_STATUSES, StatusWaiter
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import Call, Endpoint, ErrorForm, answer
from arvis.web.http.errors import Failure, attempt
from arvis.web.http.identity import AGENT_CHANNEL, PLATFORM, SEND, Identity
from arvis.web.http.limits import Timeouts
from arvis.web.http.rate_limits import ConcurrencyLimit
from arvis.web.http.requests import read_json, unusable
from arvis.web.http.schema import LABEL
from arvis.web.http.streams import EventStream
from arvis.web.openai.conversation import PlacedRequest, RequestIdentity, place, request_identity, resume
from arvis.web.openai.forms import AnswerForm, ChatForm, ResponsesForm
from arvis.web.openai.models import COMPLETION, ERROR, MESSAGE_HEADER, MODEL, MODELS, REQUEST, refusal
from arvis.web.openai.requests import ParsedRequest, ToolResults, parse_request, taint_of_history
from arvis.web.openai.responses import REQUEST as RESPONSES_REQUEST
from arvis.web.openai.responses import RESPONSE, converted, previous_response, repeated_settings
from arvis.web.openai.waiting import AnswerEvents, AnswerWaiter, Ticket, forget_request

#: The maximum number of requests that may wait for an answer at the same time, in total and per key.
_MOST = 256
_MOST_OF_ONE = 64
#: The maximum size in bytes of the text that contains the earlier messages of a request.
_MOST_BEFORE = 65_536
#: The number of brackets and commas by which a request may exceed the limit of a single message, because a request
#: contains the whole conversation.
_MARKS = 262_144
_SLUG = regex(r"[\w.-]{1,200}")

FORM = ErrorForm(schema=ERROR, response=refusal)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionDependencies:
    """The services that answer chat completion requests. `message_bytes` is the maximum size of a message."""

    parser: MessageParser
    store: Store
    operations: Operations
    insights: Insights
    gate: Authorizer
    board: StatusWaiter
    bus: EventBus
    clock: Clock
    timeouts: Timeouts
    message_bytes: int


class CompletionRoutes:
    def __init__(self, *, deps: CompletionDependencies) -> None:
        self._deps = deps
        self._answering = AnswerWaiter(
            store=deps.store, insights=deps.insights, clock=deps.clock, timeouts=deps.timeouts
        )
        limit = deps.parser.body_limit
        self._limit = replace(limit, marks=limit.marks + _MARKS)
        self._slots = ConcurrencyLimit(most=_MOST, most_of_one=_MOST_OF_ONE)

    def endpoints(self) -> list[Endpoint]:
        chat = "Create a chat completion, complete or streamed; see docs/how-to/openai-compatible.md"
        one = "Show an agent as a model"
        return [
            Endpoint(
                "POST",
                "/v1/chat/completions",
                chat,
                SEND,
                self._complete,
                {200: COMPLETION},
                body=REQUEST,
                large=True,
                keyed=False,
                media="application/json, text/event-stream",
                errors=FORM,
                refusals=(502, 504),
            ),
            Endpoint(
                "POST",
                "/v1/responses",
                "Create a response, complete or streamed; see docs/how-to/openai-compatible.md",
                SEND,
                self._respond,
                {200: RESPONSE},
                body=RESPONSES_REQUEST,
                large=True,
                keyed=False,
                media="application/json, text/event-stream",
                errors=FORM,
                refusals=(502, 504),
            ),
            Endpoint(
                "GET",
                "/v1/models",
                "List the agents that this key may use, as models",
                SEND,
                self._models,
                {200: MODELS},
                errors=FORM,
            ),
            Endpoint(
                "GET",
                "/v1/models/{model}",
                one,
                SEND,
                self._model,
                {200: MODEL},
                names={"model": LABEL},
                errors=FORM,
            ),
        ]

    async def _models(self, call: Call) -> Response:
        found = await self._agents(call.identity)
        return answer({"object": "list", "data": [_model_view(agent) for agent in found]})

    async def _model(self, call: Call) -> Response:
        return answer(_model_view(await self._agent(call.identity, call.named("model", _SLUG))))

    async def _complete(self, call: Call) -> Response:
        asked = parse_request(await read_json(call.request, self._limit))

        def form(message_id: str, created: int) -> AnswerForm:
            return ChatForm(message_id=message_id, created=created, model=asked.model, usage=asked.usage)

        return await self._answer(call, asked, form)

    async def _respond(self, call: Call) -> Response:
        fields = await read_json(call.request, self._limit)
        follows = previous_response(fields)
        request = converted(fields)
        settings = repeated_settings(fields)

        def form(message_id: str, created: int) -> AnswerForm:
            return ResponsesForm(message_id=message_id, created=created, model=asked.model, settings=settings)

        try:
            asked = parse_request(request.fields)
            return await self._answer(call, asked, form, follows=follows)
        except Unprocessable as error:
            raise request.renamed(error) from None

    async def _answer(
        self, call: Call, asked: ParsedRequest, form: Callable[[str, int], AnswerForm], *, follows: str | None = None
    ) -> Response:
        """Answer a request. `form` creates the formatter of the answer from the id of the message and the current time
        in seconds."""
        agent = await self._agent(call.identity, asked.model)
        _check_agent(agent, asked)
        wanted = await asyncio.to_thread(
            request_identity,
            asked,
            call.request,
            user_id=call.identity.user_id,
            channel=_channel_of(agent),
            follows=follows,
        )
        with ExitStack() as held:
            held.enter_context(self._slots.taken(call.identity.user_id))
            if asked.results is None:
                ticket, live = await self._ask(call, asked, wanted, held)
            else:
                ticket, live = await self._resume(call, asked, asked.results, wanted, held)
            watch = held.enter_context(self._deps.board.watch(ticket.message_id, call.identity))
            headers = {MESSAGE_HEADER: ticket.message_id}
            shape = form(ticket.message_id, self._deps.clock.now() // 1000)
            if asked.stream:
                live.attend(ticket.message_id, watch)
                events = self._answering.events(ticket, shape, watch, live)
                stop = partial(self._stop, ticket)
                return EventStream(events, held=held.pop_all(), headers=headers, left=stop)
            left = call.request.is_disconnected
            found = await self._answering.whole(ticket, watch, left)
        if isinstance(found, Failure):
            return refusal(found, ticket.message_id)
        return answer(shape.whole(found), headers=headers)

    async def _ask(
        self, call: Call, asked: ParsedRequest, wanted: RequestIdentity, held: ExitStack
    ) -> tuple[Ticket, AnswerEvents]:
        """Send the question as a message."""
        placed = await self._deps.store.write(place, wanted, self._deps.clock.now())
        # The thread separates this conversation from the user's messages on the dashboard.
        address = replace(wanted.channel, thread=placed.request.thread)
        live = self._live(asked, address, held)
        sent = await self._send(call, asked, placed, address)
        return Ticket(placed.request.id, sent.message_id, asked.parameters.stops), live

    async def _resume(
        self, call: Call, asked: ParsedRequest, results: ToolResults, wanted: RequestIdentity, held: ExitStack
    ) -> tuple[Ticket, AnswerEvents]:
        """Pass the results of the client's tools to the turn that waits for them."""
        messages = await self._deps.store.read(_messages_of, results.execution_id)
        live = self._live(asked, messages[-1].address if messages else wanted.channel, held)
        turn = await self._deps.store.write(
            resume, results, wanted, self._deps.clock.now(), user_id=call.identity.user_id
        )
        return Ticket(turn.request_id, turn.message_id, asked.parameters.stops), live

    def _live(self, asked: ParsedRequest, address: Address, held: ExitStack) -> AnswerEvents:
        """Return the events of the conversation. The subscription begins before the turn does."""
        live = AnswerEvents(address=address)
        if asked.stream:
            held.enter_context(live.listening(self._deps.bus))
        return live

    async def _stop(self, ticket: Ticket) -> None:
        """Cancel an answer whose client has closed the stream, as OpenAI does, unless another request waits for the
        answer."""
        if self._deps.board.watched(ticket.message_id):
            return
        timeline = await self._deps.insights.message(ticket.message_id)
        if (
            timeline is not None
            and timeline.status not in SETTLED_STATUSES
            and timeline.message.execution_id is not None
        ):
            ended = self._deps.operations.cancel_execution(
                timeline.message.execution_id, by="the program that sent the request"
            )
            await attempt(ended)
            await attempt(self._deps.store.write(forget_request, ticket.request_id))

    async def _send(self, call: Call, asked: ParsedRequest, placed: PlacedRequest, address: Address) -> Sent:
        """Send the message. If the message is refused, delete the row of the request, so that the next request
        continues the conversation as if this request had not been sent."""
        sender = self._deps.gate.sender(call.identity)
        try:
            draft = await self._draft(asked, placed, owner=sender.role is PrincipalRole.OWNER)
            return await self._deps.parser.send(draft, address, sender)
        except ArvisError:
            await self._deps.store.write(forget_request, placed.request.id)
            raise

    async def _draft(self, asked: ParsedRequest, placed: PlacedRequest, *, owner: bool) -> Draft:
        """Return the message for the inbox: the part of the history that is new to the agent, the question, and the
        files of the question."""
        history = asked.before if placed.fresh else asked.system if placed.instructed else ()
        most = min(self._deps.message_bytes, _MOST_BEFORE + len(asked.question.text.encode()))
        fields: Mapping[str, Any] = {
            "content": asked.content(history, most),
            "id": placed.request.id,
            "attachments": list(asked.question.files),
        }
        draft = await self._deps.parser.draft(NewMessage.read(fields))
        return replace(draft, taint=taint_of_history(history, owner=owner), wishes=asked.parameters.wishes)

    async def _agents(self, identity: Identity) -> Sequence[Agent]:
        sender = self._deps.gate.sender(identity)
        all_ = sender.role is PrincipalRole.OWNER
        return [
            each for each in await self._deps.insights.agents() if each.active and (all_ or can_access(sender, each))
        ]

    async def _agent(self, identity: Identity, model: str | None) -> Agent:
        found = next((agent for agent in await self._agents(identity) if agent.slug == model), None)
        if found is None:
            raise NotFound(
                "`model` is not an agent that this key may use.",
                fix="GET /v1/models lists the available agents.",
                code="model_not_found",
            )
        return found


def _check_agent(agent: Agent, asked: ParsedRequest) -> None:
    """Raise `Unprocessable` for a parameter that this agent cannot apply."""
    if (agent.graph, agent.completion) == ("agent", "implicit"):
        return
    why = "is not possible: the agent must have the graph `agent`, and its work must end with an answer (implicit)"
    for wish, name in (("format", "response_format"), ("tools", "tools")):
        if wish in asked.parameters.wishes:
            raise unusable(name, why)


def _channel_of(agent: Agent) -> Address:
    return Address(PLATFORM, PLATFORM, f"{AGENT_CHANNEL}{agent.slug}")


def _messages_of(tx: Transaction, execution_id: str) -> Sequence[StoredMessage]:
    return tx.messages.of_turn(execution_id)


def _model_view(agent: Agent) -> Mapping[str, Any]:
    """Return an agent as a model. OpenAI's format requires a creation time, which agents do not have."""
    return {"id": agent.slug, "object": "model", "created": 0, "owned_by": "arvis"}
