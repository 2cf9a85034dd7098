"""`/stop`: end what an agent is at here. Members end their own turns, owners and operators all of them."""

from __future__ import annotations

from arvis.commands.invocation import Invocation, Said
from arvis.domain.messages import PrincipalRole
from arvis.ports.store import Transaction
from arvis.turns.cancellation import stop_turns

_NOTHING = "Nothing is at work for you here."


def stop(tx: Transaction, invocation: Invocation, now: int) -> Said:
    person = invocation.principal
    looks_after = person.role in {PrincipalRole.OWNER, PrincipalRole.OPERATOR}
    asked_by = None if looks_after else person.id
    stopped = stop_turns(tx, invocation.address, person.name, now, asked_by=asked_by, shown=invocation.shown)
    if not stopped:
        return Said(_NOTHING)
    runs = sum(turn.run is not None and not turn.asked for turn in stopped)
    questions = len(stopped) - runs
    words = []
    if questions:
        words.append("Your question was put aside." if questions == 1 else f"{questions} questions were put aside.")
    if runs:
        words.append("The workflow was stopped." if runs == 1 else f"{runs} runs of workflows were stopped.")
    return Said(" ".join(words), stopped)
