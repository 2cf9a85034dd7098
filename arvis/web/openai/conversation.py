"""The conversation that a `/v1` request continues.

The client sends the whole conversation in each request. A request continues a stored conversation only if the client's
history matches this conversation exactly. An edited, regenerated or unknown history starts a new conversation, which
gets the history as text. Two chats that use the same key never share a conversation. A repeated request creates no
second message (ADR 0044).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from starlette.requests import Request

from arvis.domain.client_calls import ClientCalls
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import Unprocessable
from arvis.domain.executions import Answer, WaitKind
from arvis.domain.messages import Address
from arvis.engine import lifecycle
from arvis.ports.api_requests import CompletionRequest
from arvis.ports.store import Transaction
from arvis.web.http.endpoints import IDEMPOTENCY_KEY
from arvis.web.http.identity import AGENT_CHANNEL
from arvis.web.http.requests import unusable
from arvis.web.http.schema import LABEL
from arvis.web.openai.requests import HistoryMessage, ParsedRequest, ToolResults

#: Headers in which clients name their chat.
CHAT_HEADERS = ("X-OpenWebUI-Chat-Id", "X-Conversation-Id", "X-Session-Id")
#: The header in which OpenAI's libraries count the repetitions of a request.
_RETRIES = "X-Stainless-Retry-Count"
#: The time in ms in which an equal request counts as a repetition.
_RETRY_MS = 15 * 60_000


@dataclass(frozen=True, slots=True)
class RequestIdentity:
    """The hashes and names by which the conversation of a request is found."""

    #: The common hash of the user, the agent and the name of the conversation.
    scope: str
    #: The prefix of all threads of this client.
    owner: str
    #: The channel of the agent.
    channel: Address
    #: The thread of the first conversation with this name. The threads of all later conversations with this name begin
    #: with this text.
    base: str
    #: True: the request names its conversation in `user`, so it continues this conversation even without a history.
    remembers: bool
    #: True: `user` or a header names the conversation.
    named: bool
    #: The hash of the whole request.
    request: str
    #: The hash of the history together with the question.
    talk: str
    #: The hash of the system texts.
    system: str
    has_history: bool
    #: The hash of the history before its last reply; None if Arvis cannot have written the history.
    earlier: str | None
    #: The hash of the last reply in the history; None if Arvis cannot have written the history.
    answer: str | None
    #: The `Idempotency-Key`.
    key: str | None
    #: True: the client's library repeats an earlier request.
    retried: bool
    #: The id of the message whose conversation this request continues, without a history; None: the history determines
    #: the conversation.
    follows: str | None = None


@dataclass(frozen=True, slots=True)
class PlacedRequest:
    """The stored request with its thread."""

    request: CompletionRequest
    #: True: the request starts the conversation, so its whole history is new to the agent.
    fresh: bool
    #: True: the system text is new to the agent.
    instructed: bool


@dataclass(frozen=True, slots=True)
class ResumedTurn:
    """A turn that continues with the results of the client's tools."""

    #: The newest message of the turn.
    message_id: str
    #: The id of the request that began the turn; empty if it is no longer stored.
    request_id: str


def request_identity(
    asked: ParsedRequest, request: Request, *, user_id: str, channel: Address, follows: str | None = None
) -> RequestIdentity:
    """Return the identity of the request. Call this function in a thread, because it hashes the files of the
    request."""
    chat = next((value for name in CHAT_HEADERS if (value := request.headers.get(name))), None)
    if chat is not None and not (len(chat) <= LABEL["maxLength"] and chat.isprintable()):
        raise unusable("X-OpenWebUI-Chat-Id", "and other chat names must be 1 to 200 printable characters")
    name = asked.conversation or chat
    own = f"v1/{user_id}"
    earlier, answer = _tail(asked.talk)
    agent = channel.channel.removeprefix(AGENT_CHANNEL)
    scope = _hash([user_id, agent, "user" if asked.conversation else "chat", name or ""])
    talk, system = _hash([scope, *_marks((*asked.talk, asked.question))]), _hash([scope, *_marks(asked.system)])
    return RequestIdentity(
        scope=scope,
        owner=own,
        channel=channel,
        base=f"{own}/{name}" if name else own,
        remembers=asked.conversation is not None,
        named=name is not None,
        request=_hash([talk, system, asked.parameters.wishes, asked.parameters.stops, *([follows] if follows else [])]),
        talk=talk,
        system=system,
        has_history=bool(asked.talk),
        earlier=None if earlier is None else _hash([scope, *_marks(earlier)]),
        answer=answer,
        key=_key(request.headers),
        retried=request.headers.get(_RETRIES, "0") not in {"", "0"},
        follows=follows,
    )


def answer_mark(text: str) -> str:
    return _hash([text.strip()])


# -- scripts -------------------------------------------------------------------------------------------------------------


def place(tx: Transaction, wanted: RequestIdentity, now: int) -> PlacedRequest:
    """Store the request in the conversation that it continues or starts. For a repeated request, return the row of the
    first request."""
    known = _sent_before(tx, wanted, now)
    if known is not None:
        return _repeated(known)
    goes_on = _continued_thread(tx, wanted)
    request_id = tx.new_id()
    thread = _new_thread(tx, wanted, request_id) if goes_on is None else goes_on
    before = tx.completions.newest(wanted.scope, thread)
    request = CompletionRequest(
        id=request_id,
        scope=wanted.scope,
        request=wanted.request,
        talk=wanted.talk,
        system=wanted.system,
        thread=thread,
        position=1 if before is None else before.position + 1,
        created_at=now,
        key=wanted.key,
    )
    if not tx.completions.add(request):
        faster = tx.completions.by_key(wanted.scope, wanted.key or "")
        if faster is not None:
            return _repeated(_same(faster, wanted))
    # If a request names the response that it continues, all its messages are new to the agent.
    return PlacedRequest(
        request, goes_on is None or wanted.follows is not None, before is None or before.system != wanted.system
    )


def _sent_before(tx: Transaction, wanted: RequestIdentity, now: int) -> CompletionRequest | None:
    if wanted.key is not None:
        known = tx.completions.by_key(wanted.scope, wanted.key)
        return None if known is None else _same(known, wanted)
    known = tx.completions.by_request(wanted.scope, wanted.request, now - _RETRY_MS)
    return known if known is not None and (wanted.retried or known.disconnected_at is not None) else None


def _same(known: CompletionRequest, wanted: RequestIdentity) -> CompletionRequest:
    if known.request != wanted.request:
        raise Unprocessable(
            f"This `{IDEMPOTENCY_KEY}` was used for another request.",
            fix="Use a new key for each request. To repeat a request, send the same body.",
            code="key_reused",
        )
    return known


def _repeated(known: CompletionRequest) -> PlacedRequest:
    """Return the stored first request for a repeated request. The values of `fresh` and `instructed` matter only if a
    crash interrupted the first request before its message was stored."""
    return PlacedRequest(known, fresh=known.position == 1, instructed=known.position == 1)


def _continued_thread(tx: Transaction, wanted: RequestIdentity) -> str | None:
    """Return the thread of the conversation that this request continues, or None if the request starts a new one."""
    if wanted.follows is not None:
        return _thread_of(tx, wanted, wanted.follows)
    if not wanted.has_history:
        return wanted.base if wanted.remembers else None
    if wanted.earlier is None or wanted.answer is None:
        return None
    known = tx.completions.by_talk(wanted.scope, wanted.earlier, wanted.answer)
    return None if known is None else known.thread


def _thread_of(tx: Transaction, wanted: RequestIdentity, message_id: str) -> str:
    """Return the thread of the conversation of this message. Raise `Unprocessable` if the message is not a request of
    this client to this agent."""
    message = tx.messages.get(message_id)
    at = None if message is None else message.address
    own = wanted.owner
    if at is None or replace(at, thread="") != wanted.channel or not is_own_thread(at.thread, own):
        raise unusable("previous_response_id", "must be the id of a response of this agent to this key")
    return at.thread


def is_own_thread(thread: str, owner: str) -> bool:
    """Return whether a thread belongs to this client."""
    return thread == owner or thread.startswith(f"{owner}/")


def _new_thread(tx: Transaction, wanted: RequestIdentity, request_id: str) -> str:
    if wanted.named and tx.completions.newest(wanted.scope, wanted.base) is None:
        return wanted.base
    return f"{wanted.base}~{request_id}" if wanted.named else f"{wanted.base}/~{request_id}"


def resume(tx: Transaction, results: ToolResults, wanted: RequestIdentity, now: int, *, user_id: str) -> ResumedTurn:
    """Pass the results of the client's tools to the turn that waits for them. If the turn has them already because the
    request is repeated, only return the message of the turn. Raise `Unprocessable` if the turn belongs to another
    client or agent, waits for other results, or has ended."""
    messages = tx.messages.of_turn(results.execution_id)
    own = wanted.owner
    at = messages[-1].address if messages else None
    if at is None or replace(at, thread="") != wanted.channel or not is_own_thread(at.thread, own):
        raise _not_waiting()
    waits = tx.waits.of_execution(results.execution_id)
    for wait in (each for each in waits if each.kind is WaitKind.CLIENT):
        asked = ClientCalls.read(wait.prompt)
        if any(call.round != results.round for call in asked.calls):
            continue
        if missing := [call.id for call in asked.calls if call.index not in results.outputs]:
            if wait.answer is not None:
                continue
            raise unusable("messages", f"must contain a result for each call; missing: {', '.join(missing)}")
        outputs = {str(index): text for index, text in results.outputs.items()}
        if wait.answer is None and not lifecycle.answer(tx, wait.id, Answer(outputs, user_id), now):
            raise _not_waiting()
        before = tx.completions.newest(wanted.scope, at.thread)
        return ResumedTurn(messages[-1].id, "" if before is None else before.id)
    raise _not_waiting()


def _not_waiting() -> Unprocessable:
    return Unprocessable(
        "`messages` ends with results for which no turn waits.",
        why="The turn has ended, waited longer than 15 minutes, or belongs to another key or agent.",
        fix="Send the question again.",
        code="no_such_call",
    )


# -- hashes --------------------------------------------------------------------------------------------------------------


def _tail(talk: Sequence[HistoryMessage]) -> tuple[Sequence[HistoryMessage] | None, str | None]:
    """Return two values: the client's history without the last reply, and the hash of this reply. Return (None, None)
    if the history does not end with a question and a plain-text reply, because Arvis cannot have written such a
    history."""
    if len(talk) < 2 or talk[-1].role != "assistant" or talk[-1].more or talk[-2].role != "user":  # noqa: PLR2004 - a pair
        return None, None
    return talk[:-1], answer_mark(talk[-1].text)


def _marks(messages: Sequence[HistoryMessage]) -> list[str]:
    return [
        _hash([each.role, each.text.strip(), each.more, *(_hash(sorted(file.items())) for file in each.files)])
        for each in messages
    ]


def _hash(parts: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


def _key(headers: Mapping[str, str]) -> str | None:
    key = headers.get(IDEMPOTENCY_KEY)
    if key is not None and not (0 < len(key) <= LABEL["maxLength"] and key.isprintable()):
        raise unusable("Idempotency-Key", "must be 1 to 200 printable characters")
    return key
