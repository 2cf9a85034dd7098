"""Recording: an answered turn becomes a case, with the outputs of its tool calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from arvis.domain.conversations import Compaction, Conversation
from arvis.domain.dataclass import replace
from arvis.domain.errors import Conflict, NotFound, Unprocessable
from arvis.domain.evaluations import (
    FORMAT,
    Case,
    CaseFact,
    CaseFile,
    CaseMessage,
    CaseRound,
    FrozenCall,
    Recorded,
    TurnInput,
    read_case,
)
from arvis.domain.executions import Execution
from arvis.domain.expectations import Expectation
from arvis.domain.memory import Fact, scopes_of
from arvis.domain.messages import Attachment, FileKind, PastMessage, Role, StoredMessage
from arvis.domain.past_rounds import PastCall
from arvis.domain.runs import RunResult
from arvis.domain.text import storable_json
from arvis.domain.tools import ToolCall, ToolOutput
from arvis.graphs.context import HISTORY_ROWS, SUMMARIES, asked_text, people_of
from arvis.memory.recall import NOTHING_RECALLED, Recall, recall
from arvis.ports.store import Transaction
from arvis.tasks.rounds import load_rounds
from arvis.tasks.state import AgentState

#: The graph whose turns can be recorded.
GRAPH = "agent"


def record_case(
    tx: Transaction, message_id: str, agent_id: str, name: str, expectations: Sequence[Expectation]
) -> Case:
    """Return the case of the turn to which a message belongs. The case contains the facts that the agent would recall
    now, except facts that are newer than the turn. Raise `NotFound`, or `Conflict` or `Unprocessable` if the turn
    cannot be recorded."""
    asked = _asked(tx, message_id)
    newest = asked[-1]
    if newest.agent_id != agent_id:
        raise Conflict(
            "Another agent answered this message.",
            why="All cases of a suite evaluate the same agent.",
            fix="Record the message in a suite of that agent.",
        )
    conversation = tx.conversations.get(newest.conversation_id or "")
    execution = tx.executions.get(newest.execution_id or "")
    if conversation is None or newest.turn is None:
        fix = "Wait until the agent has answered, or choose another message."
        raise Conflict("The turn of this message has not ended.", fix=fix)
    if execution is not None and execution.graph != GRAPH:
        raise Unprocessable(
            f"Turns of the graph {execution.graph} cannot be recorded.",
            fix=f"Record a turn of an agent with the graph `{GRAPH}`.",
        )
    past = tx.messages.of_past_turn(conversation.id, newest.turn)
    reply = next((each for each in reversed(past) if each.role in {Role.ASSISTANT, Role.NOTICE}), None)
    state = AgentState.from_json(execution.state if execution is not None else {})
    person = tx.principals.get(newest.principal_id or "")
    known = _recalled(tx, conversation, asked)
    history, summaries = _earlier(tx, conversation.id, newest.turn)
    return Case(
        name=name,
        asked=TurnInput(
            messages=tuple(_message(each) for each in asked),
            at=state.prompt_time or asked[0].created_at,
            history=tuple(_past_message(each) for each in history),
            summaries=tuple(each.summary for each in summaries),
            facts=tuple(_facts((*known.sticky, *known.facts), asked[0].created_at)),
            values={each.key: each.value for each in known.states},
            platform=conversation.address.platform,
            direct=conversation.direct,
            room=conversation.room,
            group=not conversation.direct or len(people_of(history, asked)) > 1,
            timezone=person.timezone if person is not None else None,
            language=person.language if person is not None else None,
        ),
        calls=tuple(_calls(tx, execution, state, reply)),
        expectations=tuple(expectations),
        recorded=Recorded(
            reply=reply.content if reply is not None else "",
            model=_model_of(execution),
            message=newest.id,
            conversation=conversation.id,
        ),
    )


def _earlier(tx: Transaction, conversation_id: str, turn: int) -> tuple[Sequence[PastMessage], Sequence[Compaction]]:
    """Return the messages and summaries before a turn. Raise `Conflict` if they are no longer complete."""
    summaries = tx.compactions.summaries(conversation_id, SUMMARIES)
    rows = tx.messages.history(conversation_id, 2 * HISTORY_ROWS)
    history = [each for each in rows if each.turn < turn]
    cut = len(rows) == 2 * HISTORY_ROWS and len(history) < HISTORY_ROWS
    if cut or any(each.last_turn >= turn for each in summaries):
        raise Conflict(
            "The messages before this turn can no longer be recorded.",
            why="A summary has replaced them, or too many messages follow the turn.",
            fix="Record a newer turn, or first restore the messages of the summary.",
        )
    return history[-HISTORY_ROWS:], summaries


def _recalled(tx: Transaction, conversation: Conversation, asked: Sequence[StoredMessage]) -> Recall:
    if not conversation.remembers:
        return NOTHING_RECALLED
    newest = asked[-1]
    return recall(
        tx,
        conversation.agent_id,
        scopes_of(conversation.address, newest.principal_id),
        asked_text(asked),
        newest.created_at,
        among_others=not conversation.direct,
        asker=newest.principal_id,
    )


def masked(case: Case, mask: Callable[[str], str]) -> Case:
    """Return the case with each secret in its texts replaced by a mask. Ids are not changed."""
    found = read_case({**_masked(storable_json(case.to_json()), mask), "format": FORMAT, "name": case.name})
    return replace(found, recorded=_with_ids(found.recorded, case.recorded))


def _with_ids(found: Recorded | None, before: Recorded | None) -> Recorded | None:
    if found is None or before is None:
        return found
    return replace(found, message=before.message, conversation=before.conversation)


def _masked(value: Any, mask: Callable[[str], str]) -> Any:
    match value:
        case str():
            return mask(value)
        case list():
            return [_masked(each, mask) for each in value]
        case dict():
            return {name: _masked(each, mask) for name, each in value.items()}
        case _:
            return value


def _asked(tx: Transaction, message_id: str) -> list[StoredMessage]:
    """Return the messages of people in the turn to which this message belongs."""
    message = tx.messages.get(message_id)
    if message is not None and message.role is not Role.USER:
        message = tx.messages.get(message.reply_to or "")
    asked = tx.messages.of_turn(message.execution_id or "") if message is not None else []
    if not asked:
        raise NotFound(
            "There is no message with this id that an agent has answered.",
            fix="`arvis explain` shows the newest message, and `arvis jobs list --kind message` lists earlier ones.",
        )
    return asked


def _message(message: StoredMessage) -> CaseMessage:
    return CaseMessage(
        text=message.content,
        author=message.user_name,
        at=message.created_at,
        files=tuple(_file(file, file.content) for file in message.attachments),
        quotations=message.quotations,
    )


def _past_message(message: PastMessage) -> CaseMessage:
    rounds = [CaseRound(each.text, tuple(map(_frozen, each.calls))) for each in message.rounds]
    return CaseMessage(
        text=message.content,
        role=message.role,
        author=message.user_name if message.role is Role.USER else "",
        at=message.created_at,
        files=tuple(_file(each.file, each.text.within(each.text.size)) for each in message.files),
        quotations=message.quotations,
        rounds=tuple(rounds),
    )


def _file(file: Attachment, text: str) -> CaseFile:
    picture = file.kind is FileKind.IMAGE
    return CaseFile(
        name=file.filename or "file",
        content_type=file.content_type or "application/octet-stream",
        kind=file.kind or FileKind.OTHER,
        text=text,
        sha256=file.sha256 if picture else "",
        size=file.size,
    )


def _facts(facts: Sequence[Fact], at: int) -> Iterator[CaseFact]:
    for fact in facts:
        if fact.created_at <= at and fact.content:
            yield CaseFact(fact.content, fact.category, fact.taint)


def _calls(
    tx: Transaction, execution: Execution | None, state: AgentState, reply: StoredMessage | None
) -> Iterator[FrozenCall]:
    """Yield the tool calls of the turn. While the execution is stored, the outputs are complete; later they have the
    form that is stored with the reply."""
    if execution is not None:
        for made in load_rounds(tx, execution, state.rounds, None):
            for call, output in zip(made.calls, made.outputs, strict=True):
                yield _frozen_call(call, output)
        return
    for past in reply.rounds if reply is not None else ():
        yield from map(_frozen, past.calls)


def _frozen_call(call: ToolCall, output: ToolOutput) -> FrozenCall:
    text = "" if output.sealed else output.content
    return FrozenCall(call.name, dict(call.arguments or {}), text, output.failed, output.sealed)


def _frozen(call: PastCall) -> FrozenCall:
    return FrozenCall(call.name, call.arguments, call.output.within(call.output.size), call.failed, call.secret)


def _model_of(execution: Execution | None) -> str:
    if execution is None or not isinstance(execution.result, dict) or "model" not in execution.result:
        return ""
    result = RunResult.from_json(execution.result)
    return f"{result.provider}/{result.model}" if result.provider else result.model
