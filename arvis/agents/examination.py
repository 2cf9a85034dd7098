"""The node `examine`, with which every turn begins: what is remarkable about the words that came in (behaviour 2.4).

It flags and never blocks: a message that looks like an attempt to command the model is answered like any other, but what
the reply asks for waits for a person. What was found is part of the step, and so of the timeline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from arvis.agents import notices
from arvis.agents.compacting_range import compaction_due
from arvis.agents.input import Diagnostics, examine
from arvis.agents.outcome import WorkOutcome, WorkStatus
from arvis.agents.reading import unsettled
from arvis.agents.runs import history_of, is_run
from arvis.agents.standing import BY_DAEMON, Standing, load_standing
from arvis.domain.agents import AgentStatus
from arvis.domain.executions import Execution
from arvis.domain.messages import PastMessage, Role, StoredMessage
from arvis.domain.runs import RunResult
from arvis.domain.taint import Label, taint_in
from arvis.graph.context import NodeContext
from arvis.graph.decisions import Decision, End, Goto, Next
from arvis.ports.compactions import Size
from arvis.ports.store import Store, Transaction

#: Where a turn goes first whose messages came with files.
READ_FILES = "read_files"
#: How many of a person's newest messages tell a burst.
_RECENT = 30


@dataclass(frozen=True, slots=True)
class Arrival:
    """What stands before a turn, and what its messages are judged by: when (ms) this person wrote here before, the newest
    first, and how long the conversation is."""

    standing: Standing
    times: list[int]
    size: Size


def load_arrival(tx: Transaction, execution: Execution, now: int) -> Arrival:
    standing = load_standing(tx, execution, now)
    newest, conversation_id = standing.current[-1], standing.conversation.id
    times = tx.messages.recent(conversation_id, newest.principal_id or "", _RECENT)
    return Arrival(standing, times, tx.compactions.size(conversation_id))


class InputNode:
    def __init__(self, *, store: Store) -> None:
        self._store = store

    async def examine(self, context: NodeContext) -> Decision:
        arrived = context.handed
        if not isinstance(arrived, Arrival):
            arrived = await self._store.read(load_arrival, context.execution, context.now())
        standing, times, size = arrived.standing, arrived.times, arrived.size
        agent, messages = standing.agent, standing.current
        if agent.status is AgentStatus.ARCHIVED:
            gone = WorkOutcome(WorkStatus.BLOCKED, reason=notices.archived(agent.name)).to_json()
            result = RunResult(notices.archived(agent.name), "", "", "").to_json() | {"outcome": gone}
            return End(result, **BY_DAEMON)
        if is_run(context.execution):
            remarkable = _suspicious_in_run(context.execution, messages)
            if not remarkable:
                context.hand_on(standing)
                return Next(None)
            flagged = taint_in(context.state) | {Label.FLAGGED}
            context.hand_on(replace(standing, taint=standing.taint | flagged))
            return Next(None, input=remarkable, taint=sorted(flagged))
        if unsettled(messages):
            return Goto(READ_FILES)  # and back: what was said in a voice message is examined, too
        if "task" in context.state:
            times = []  # what other agents ask for comes at nobody's pace
        due = compaction_due(size, agent.context_tokens or size.tokens + 1)
        found = {message.id: _examined(message, times, size, due=due) for message in messages}
        taint = {*taint_in(context.state)}
        suspicious = [message for message in messages if found[message.id].suspicious]
        if suspicious:
            # It stays in the history, and taints later turns as well, whatever comes of this one.
            taint.add(Label.FLAGGED)
            context.record(_label, suspicious)
            context.commit_first()
        context.hand_on(standing)
        return Next(
            None,
            input={message_id: diagnostics.to_json() for message_id, diagnostics in found.items()},
            taint=sorted(taint),
        )


def _suspicious_in_run(execution: Execution, messages: Sequence[StoredMessage]) -> dict[str, Any]:
    """Examine what a run was given, its prompt and what people said of a talk before; return what is suspicious, by id. It
    comes at no person's pace."""
    size = Size(0, 0)
    given: list[StoredMessage | PastMessage] = [
        *messages,
        *(said for said in history_of(execution) if said.role is Role.USER),
    ]
    found = {each.id: _examined(each, (), size, due=False) for each in given}
    return {name: diagnostics.to_json() for name, diagnostics in found.items() if diagnostics.suspicious}


def _label(tx: Transaction, messages: Sequence[StoredMessage]) -> None:
    for message in messages:
        tx.messages.label(message.id, message.taint | {Label.FLAGGED})


def _examined(message: StoredMessage | PastMessage, times: Sequence[int], size: Size, *, due: bool) -> Diagnostics:
    earlier = [at for at in times if at < message.created_at]
    tokens = size.tokens + message.tokens
    return examine(
        message.content,
        times_ms=earlier,
        now=message.created_at,
        tokens_before=tokens,
        tokens_after=tokens,
        compaction=due,
    )
