"""Steps 11 to 14: what the end (or rest) of an execution means for people, written in the commit of its last step.

The reply is read outside the commit; everything that it leads to is written inside: effects, the message, its delivery,
and where the conversation has grown long, the job that compacts it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from arvis.agents import notices, saying, turns
from arvis.agents.agent import is_turn
from arvis.agents.turns import Ending
from arvis.domain.effects import EffectResult, Outcome
from arvis.domain.executions import Execution, ExecutionStatus
from arvis.domain.messages import FINAL_STATUSES, Address, MessageStatus, Role, StoredMessage
from arvis.domain.runs import RunResult
from arvis.domain.taint import Label, Taint
from arvis.effects import approvals
from arvis.effects.applying import apply
from arvis.effects.delegation import on_turn_end
from arvis.effects.report import report
from arvis.effects.situation import Limits, Situation
from arvis.graph.engine import Closing, nothing
from arvis.ports.store import Transaction
from arvis.tags import Reply, read


class Conclusion:
    """Of one walk. `asked` holds the messages of the turn that it concluded, once that is done; `zone` is the daemon's."""

    def __init__(self, *, limits: Limits, zone: str) -> None:
        self.asked: Sequence[StoredMessage] = ()
        self._limits = limits
        self._zone = zone

    def of(self, execution: Execution) -> Closing:
        """What to commit with this end (or rest) of the execution."""
        done = execution.status is ExecutionStatus.DONE
        if execution.graph == approvals.GRAPH:
            return partial(self._decide if done else _tell, execution=execution)
        if not is_turn(execution):
            return nothing(execution)
        if not done:
            return partial(self._wait, execution=execution)
        result = RunResult.from_json(execution.result)
        return partial(self._finish, execution=execution, result=result, reply=read(result.content))

    def _finish(self, tx: Transaction, now: int, *, execution: Execution, result: RunResult, reply: Reply) -> None:
        asked = tx.messages.of_turn(execution.id)
        if all(message.status in FINAL_STATUSES for message in asked):
            return
        taint = taint_of_turn(execution)
        results: list[EffectResult] = []
        if reply.proposals and (situation := self._situation(tx, execution, asked[-1], taint)) is not None:
            results = apply(tx, reply.proposals, situation, now)
        text = _shown(reply, results, truncated=result.truncated)
        ending = Ending(MessageStatus.ANSWERED, Role.ASSISTANT, text, taint=taint)
        self.asked = turns.end_turn(tx, execution, ending, now, asked=None if results else asked)
        on_turn_end(tx, execution, text, taint, now, limits=self._limits)

    def _situation(self, tx: Transaction, execution: Execution, asked: StoredMessage, taint: Taint) -> Situation | None:
        """None when the agent is gone meanwhile: then nothing is done in its name."""
        agent = tx.agents.get(execution.state["agent"])
        conversation = tx.conversations.get(execution.state["conversation"])
        if agent is None or conversation is None:
            return None
        return Situation(
            agent=agent,
            principal=tx.principals.get(execution.principal_id or ""),
            taint=taint,
            address=Address.from_json(execution.state["address"]),
            conversation=conversation,
            execution=execution,
            message_id=asked.id,
            limits=self._limits,
            zone=self._zone,
        )

    def _wait(self, tx: Transaction, now: int, *, execution: Execution) -> None:
        saying.ask(tx, execution, now)
        tx.messages.mark_turn(execution.id, MessageStatus.WAITING)
        self.asked = tx.messages.of_turn(execution.id)

    def _decide(self, tx: Transaction, now: int, *, execution: Execution) -> None:
        approvals.conclude(tx, execution, now, limits=self._limits, zone=self._zone)


def taint_of_turn(execution: Execution) -> Taint:
    return frozenset(Label(label) for label in execution.state.get("taint", ()))


def _tell(tx: Transaction, now: int, *, execution: Execution) -> None:
    approvals.tell(tx, execution, now)


def _shown(reply: Reply, results: Sequence[EffectResult], *, truncated: bool) -> str:
    """What people see: the words without the tags, and a line about what came of these. Never nothing, unless the model
    says in so many words that it is done and has nothing to add (behaviour 2.2)."""
    words = reply.visible + notices.CUT if truncated else reply.visible
    text = "\n\n".join(filter(None, [words, report(results)]))
    if text or (reply.wrapper is not None and not results):
        return text
    noted = any(result.outcome is Outcome.DONE for result in results)
    return notices.NOTED if noted else notices.NOTHING_SAID
