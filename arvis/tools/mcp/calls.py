"""The calls of one connection, with the questions that the server asks people during a call. Only `link` imports this
module.

In the protocol of 2026-07-28 a call ends with its questions, and is sent again with the answers and the state that the
server attached. In older versions the server asks while the call is running: the call then waits in this process until
the answer arrives. If the connection ends, the call is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from mcp import Client, MCPError
from mcp_types import (
    HEADER_MISMATCH,
    URL_ELICITATION_REQUIRED,
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
    InputRequest,
    InputRequiredResult,
    TextContent,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from arvis.config.servers import McpServer
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ToolError
from arvis.domain.forms import ACCEPT, CANCEL, DECLINE, ServerQuestion, UnusableQuestion
from arvis.domain.model_requests import ModelRequest, Sampling
from arvis.domain.text import storable
from arvis.domain.tools import PendingInput
from arvis.ports.clock import Clock
from arvis.tools.mcp.remote import LOST

#: The maximum number of characters of the state that a server attaches to its questions.
_MOST_STATE = 65_536
#: The maximum number of questions in one result.
_MOST_QUESTIONS = 10
#: The maximum number of times that a call is sent again with responses that no person gave.
_MOST_REPEATS = 10
#: The seconds before a call is sent again if the server asks nothing; the pause doubles up to the maximum. The time limit
#: of the server ends such a call.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
#: The seconds for which a running call of an older server waits for an answer. The question itself expires earlier.
_HELD_SECONDS = 660.0
_MAX_PAGES = 50
_QUOTED = 500

#: The key of the only question of an older server.
_ONLY = "question"
#: The error code of a refused request to a model.
_REFUSED = -1
#: The maximum numbers of messages and of characters of a request to a model.
_MOST_MESSAGES, _MOST_CHARACTERS = 50, 100_000
_MOST_STOPS = 4

_DECLINED_PAGE = "the person did not open the page that the server requires, so the call was not repeated."


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a call, with notes for the model about questions that Arvis has declined."""

    result: CallToolResult
    notes: tuple[str, ...]


class Calls:
    """The calls of the tools of one server over one connection."""

    def __init__(self, *, client: Client, settings: McpServer, clock: Clock) -> None:
        self._client = client
        self._server = settings.name
        self._seconds = settings.timeout_seconds
        self._sampling = settings.sampling
        self._clock = clock
        self._running: dict[str, _Running] = {}
        #: The number of running requests that are not calls.
        self._lookups = 0

    @property
    def _is_modern(self) -> bool:
        return self._client.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def call(self, call: ToolRequest, given: PendingInput | None, *, ask: bool) -> Ended | PendingInput:
        """Make a call, or continue it with the answers `given`. If `ask` is False, Arvis declines the questions of the
        server. Raise `ToolError`, `TimeoutError` and the exceptions of the package."""
        notes = _Notes(ask=ask, kept=list(given.notes) if given is not None else [])
        if given is not None and given.held:
            return await self._continue(call, given)
        if self._is_modern:
            return await self._in_parts(call, given, notes)
        if given is not None and any(each.get("action") != ACCEPT for each in given.responses.values()):
            raise ToolError(_DECLINED_PAGE)
        try:
            return await self._held(call, notes)
        except MCPError as refused:
            if refused.error.code != URL_ELICITATION_REQUIRED:
                raise
            return self._pages(refused.error.data, notes)

    def close(self) -> None:
        """Cancel the calls that wait for answers."""
        for each in self._running.values():
            each.task.cancel()

    # -- the protocol of 2026-07-28 ----------------------------------------------------------------------------

    async def _in_parts(self, call: ToolRequest, given: PendingInput | None, notes: _Notes) -> Ended | PendingInput:
        responses, state = (None, None) if given is None else (_typed(_permitted(given)), given.state)
        repeats, pause, end = 0, _FIRST_PAUSE, self._clock.monotonic() + self._seconds
        while repeats < _MOST_REPEATS:
            result = await self._send(call, responses, state)
            if isinstance(result, CallToolResult):
                return Ended(result, tuple(notes.kept))
            state = _bounded(result.request_state)
            if not result.input_requests:
                if self._clock.monotonic() + pause > end:
                    raise TimeoutError
                await self._clock.sleep(pause)
                responses, pause = None, min(2 * pause, _LONGEST_PAUSE)
                continue
            pending = self._questions(result.input_requests, state, notes)
            if pending.questions or pending.samples:
                return pending
            responses, repeats = _typed(pending.responses), repeats + 1
        raise ToolError(f"the server asked {_MOST_REPEATS} times although Arvis declined its questions.")

    async def _send(
        self, call: ToolRequest, responses: dict[str, Any] | None, state: str | None
    ) -> CallToolResult | InputRequiredResult:
        try:
            return await self._send_once(call, responses, state)
        except MCPError as mismatch:
            if mismatch.error.code != HEADER_MISMATCH:
                raise
        # The server now expects other headers that are derived from the arguments. The package reads their names from
        # the list of tools, so the list is read before the call is repeated.
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            page = await self._client.list_tools(cursor=cursor)
            cursor = page.next_cursor
            if cursor is None or any(tool.name == call.name for tool in page.tools):
                break
        return await self._send_once(call, responses, state)

    async def _send_once(
        self, call: ToolRequest, responses: dict[str, Any] | None, state: str | None
    ) -> CallToolResult | InputRequiredResult:
        seconds = self._seconds if self._is_modern else self._seconds + 2 * _HELD_SECONDS
        return await self._client.session.call_tool(
            call.name,
            dict(call.arguments),
            read_timeout_seconds=seconds,
            progress_callback=call.report,
            input_responses=responses,
            request_state=state,
            allow_input_required=True,
        )

    def _questions(self, requests: Mapping[str, InputRequest], state: str | None, notes: _Notes) -> PendingInput:
        """Return the questions for the person, and the responses to the questions that Arvis declines."""
        if len(requests) > _MOST_QUESTIONS:
            raise ToolError(f"the server asked more than {_MOST_QUESTIONS} questions at once.")
        questions: dict[str, ServerQuestion] = {}
        responses: dict[str, Mapping[str, Any]] = {}
        samples: dict[str, ModelRequest] = {}
        for key, request in requests.items():
            match request:
                case ElicitRequest():
                    if (question := self._question(request.params, notes)) is not None:
                        questions[key] = question
                    else:
                        responses[key] = {"action": DECLINE}
                case CreateMessageRequest():
                    samples[key] = self._sample(request.params, notes)
                    if self._sampling is Sampling.ASK:
                        questions[key] = ServerQuestion.model(self._server, samples[key])
                case _:
                    raise ToolError("the server sent a kind of request that Arvis does not support.")
        return PendingInput(questions, responses, state, "", tuple(notes.kept), samples)

    def _sample(self, params: CreateMessageRequestParams, notes: _Notes) -> ModelRequest:
        if self._sampling is Sampling.OFF or not notes.ask:
            raise ToolError("the server asked for an answer of a model, which is not permitted here.")
        return model_request(params)

    def _question(self, params: ElicitRequestParams, notes: _Notes) -> ServerQuestion | None:
        """Return the question for the person; None if Arvis declines it."""
        if not notes.ask:
            why = "it cannot forward questions here. If you know the answer, put it into the arguments and call again"
            notes.add(params.message, why)
            return None
        try:
            match params:
                case ElicitRequestURLParams():
                    return ServerQuestion.page(self._server, params.message, params.url)
                case ElicitRequestFormParams():
                    return ServerQuestion.form(self._server, params.message, params.requested_schema)
        except UnusableQuestion as unusable:
            notes.add(params.message, str(unusable))
            return None

    # -- older versions of the protocol ------------------------------------------------------------------------

    async def elicit(self, context: object, params: ElicitRequestParams) -> ElicitResult:  # noqa: ARG002 called by name
        """Answer a question that the server asks during a call. The protocol does not name the call, so the question is
        forwarded only if there is no other call."""
        running = self._only()
        if running is None:
            return ElicitResult(action="decline")
        question = self._question(params, running.notes)
        if question is None:
            return ElicitResult(action="decline")
        async with running.lock:
            response = await running.ask(question, None)
        return ElicitResult.model_validate(response)

    async def sample(
        self,
        context: object,  # noqa: ARG002 called by name
        params: CreateMessageRequestParams,
    ) -> CreateMessageResult | ErrorData:
        """Let a model answer a request that the server sends during a call."""
        running = self._only()
        if running is None:
            return ErrorData(code=_REFUSED, message="Arvis cannot determine the call to which the request belongs.")
        try:
            request = self._sample(params, running.notes)
        except ToolError as refused:
            return ErrorData(code=_REFUSED, message=refused.what)
        question = ServerQuestion.model(self._server, request) if self._sampling is Sampling.ASK else None
        async with running.lock:
            response = await running.ask(question, request)
        if "action" in response:
            return ErrorData(code=_REFUSED, message="The person declined the request.")
        return CreateMessageResult.model_validate(response)

    @contextlib.contextmanager
    def looking_up(self) -> Iterator[None]:
        """Decline questions during a request that is not a call, because questions do not name their request."""
        self._lookups += 1
        try:
            yield
        finally:
            self._lookups -= 1

    def _only(self) -> _Running | None:
        """Return the running call if it is the only request to which a question can belong. Otherwise return None."""
        single = len(self._running) == 1 and not self._lookups
        return next(iter(self._running.values())) if single else None

    async def _held(self, call: ToolRequest, notes: _Notes) -> Ended | PendingInput:
        key = secrets.token_hex(8)
        running = _Running(task=asyncio.create_task(self._send(call, None, None)), call=call, notes=notes)
        self._running[key] = running
        running.task.add_done_callback(partial(self._forget, key))
        return await self._until_asked(key, running)

    def _forget(self, key: str, task: asyncio.Task[Any]) -> None:
        """Forget a call that has ended, and cancel its open question, so that no task waits for the answer."""
        running = self._running.pop(key, None)
        if running is not None:
            running.end()
        if not task.cancelled():
            # Retrieve the exception, so that asyncio does not report it as never retrieved.
            task.exception()

    async def _continue(self, call: ToolRequest, given: PendingInput) -> Ended | PendingInput:
        running = self._running.get(given.held)
        if running is None or running.task.done():
            raise ToolError(LOST)
        # If the server no longer waits for this answer, the call continues without it.
        running.answer(given.responses.get(_ONLY, {"action": DECLINE}))
        running.call.show = call.show
        return await self._until_asked(given.held, running)

    async def _until_asked(self, key: str, running: _Running) -> Ended | PendingInput:
        """Wait until the call ends or its server asks a question. A cancelled call is cancelled at the server."""
        asked = asyncio.create_task(running.asked.wait())
        try:
            done, _ = await asyncio.wait(
                {running.task, asked}, timeout=self._seconds, return_when=asyncio.FIRST_COMPLETED
            )
        except asyncio.CancelledError:
            running.task.cancel()
            raise
        finally:
            asked.cancel()
        if running.task in done:
            result = running.task.result()
            if not isinstance(result, CallToolResult):
                raise ToolError("the server's answer does not follow the protocol.")
            return Ended(result, tuple(running.notes.kept))
        if not done:
            running.task.cancel()
            raise TimeoutError
        return running.take(key)

    def _pages(self, data: Any, notes: _Notes) -> PendingInput:
        """Return the pages that a person must open before the call can be repeated."""
        given = data.get("elicitations") if isinstance(data, dict) else None
        if not isinstance(given, list) or not given or len(given) > _MOST_QUESTIONS:
            raise ToolError("the server requires that a person opens a page, but does not name the page.")
        questions = {}
        for number, each in enumerate(given):
            params = ElicitRequestURLParams.model_validate(each)
            if (question := self._question(params, notes)) is None:
                raise ToolError(f"the server requires that a person opens a page. {' '.join(notes.kept)}")
            questions[str(number)] = question
        return PendingInput(questions, {}, None, "", tuple(notes.kept))


class ToolRequest:
    """A call of a tool. `show` is called with the progress of the call, as numbers."""

    def __init__(self, *, name: str, arguments: Mapping[str, Any], show: Callable[[str], None]) -> None:
        self.name = name
        self.arguments = arguments
        self.show = show

    async def report(self, progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG002 see below
        """Report the numbers. The message of the server is not shown, because people would take it for Arvis's own."""
        self.show(f"{progress:g}" if total is None else f"{progress:g} of {total:g}")


class _Notes:
    """The notes about the questions of a call that Arvis has declined. `ask` is True if questions can be forwarded."""

    def __init__(self, *, ask: bool, kept: list[str]) -> None:
        self.ask = ask
        self.kept = kept

    def add(self, message: str, why: str) -> None:
        if len(self.kept) < _MOST_QUESTIONS:
            quoted = " ".join(storable(message[:_QUOTED]).split())
            self.kept.append(
                f'[The server asked "{quoted}" during the call. Arvis declined, because {why}. Tell the person.]'
            )


class _Running:
    """A running call of an older server. `lock` is held while a question has no answer."""

    def __init__(
        self, *, task: asyncio.Task[CallToolResult | InputRequiredResult], call: ToolRequest, notes: _Notes
    ) -> None:
        self.task = task
        self.call = call
        self.notes = notes
        self.lock = asyncio.Lock()
        self.asked = asyncio.Event()
        self._question: ServerQuestion | None = None
        self._request: ModelRequest | None = None
        self._answer: asyncio.Future[Mapping[str, Any]] | None = None
        #: The answer to the question that a person was asked. The server may have asked another question since then.
        self._shown: asyncio.Future[Mapping[str, Any]] | None = None
        self._expiry: asyncio.TimerHandle | None = None

    async def ask(self, question: ServerQuestion | None, request: ModelRequest | None) -> Mapping[str, Any]:
        """Return the response of the person, or of the model that gets the request."""
        self._question, self._request = question, request
        self._answer = asyncio.get_running_loop().create_future()
        self.asked.set()
        return await self._answer

    def take(self, key: str) -> PendingInput:
        """Return the open question of the server. If no answer arrives in time, the call is cancelled. `key` names the
        call."""
        self.asked.clear()
        self._shown = self._answer
        self._expiry = asyncio.get_running_loop().call_later(_HELD_SECONDS, self.task.cancel)
        questions = {} if self._question is None else {_ONLY: self._question}
        samples = {} if self._request is None else {_ONLY: self._request}
        return PendingInput(questions, {}, None, key, tuple(self.notes.kept), samples)

    def answer(self, response: Mapping[str, Any]) -> None:
        """Pass the response to the question that the person was asked, unless the server has cancelled it."""
        if self._expiry is not None:
            self._expiry.cancel()
        if self._shown is not None and not self._shown.done():
            self._shown.set_result(response)

    def end(self) -> None:
        """Cancel the open question, because the call has ended."""
        if self._expiry is not None:
            self._expiry.cancel()
        if self._answer is not None and not self._answer.done():
            self._answer.set_result({"action": CANCEL})


def _permitted(given: PendingInput) -> Mapping[str, Mapping[str, Any]]:
    """Return the responses. If the person declined a request to a model, its response is replaced by a reason, which
    ends the call, because the protocol has no response for this case."""
    refused = {"action": DECLINE, "why": "the person declined the use of a model"}
    declined = [
        key for key in given.samples if given.responses.get(key, {}).get("action") and "why" not in given.responses[key]
    ]
    return {**given.responses, **dict.fromkeys(declined, refused)}


def model_request(params: CreateMessageRequestParams) -> ModelRequest:
    """Return the request for a model. Raise `ToolError` if it is too long, or contains tools or anything but texts."""
    if params.tools:
        raise ToolError("the server wants to give tools to a model, which Arvis does not support.")
    turns: list[tuple[str, str]] = []
    for message in params.messages[: _MOST_MESSAGES + 1]:
        blocks = message.content_as_list
        if not all(isinstance(block, TextContent) for block in blocks):
            raise ToolError("the server's request to a model contains more than text, which Arvis does not support.")
        text = storable("\n".join(block.text for block in blocks if isinstance(block, TextContent)))
        if turns and turns[-1][0] == message.role:
            turns[-1] = (message.role, f"{turns[-1][1]}\n\n{text}")
        else:
            turns.append((message.role, text))
    system = storable(params.system_prompt or "")
    size = len(system) + sum(len(text) for _, text in turns)
    if not turns or turns[0][0] != "user" or len(params.messages) > _MOST_MESSAGES or size > _MOST_CHARACTERS:
        raise ToolError(
            f"the server's request to a model must begin with a message of the user, and have at most {_MOST_MESSAGES} "
            f"messages and {_MOST_CHARACTERS:,} characters."
        )
    stop = tuple(storable(each) for each in params.stop_sequences or ())[:_MOST_STOPS]
    return ModelRequest(system, tuple(turns), max(1, params.max_tokens), params.temperature, stop)


def _typed(responses: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the responses as objects of the package. Raise `ToolError` if a model did not answer."""
    typed: dict[str, Any] = {}
    for key, each in responses.items():
        if "why" in each:
            raise ToolError(f"{each['why']}.")
        typed[key] = CreateMessageResult.model_validate(each) if "role" in each else ElicitResult.model_validate(each)
    return typed


def _bounded(state: str | None) -> str | None:
    if state is not None and len(state) > _MOST_STATE:
        raise ToolError(f"the server attached a state of more than {_MOST_STATE:,} characters to its questions.")
    return state
