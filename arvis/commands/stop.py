"""`/stop`: end what an agent is at here. Members end their own turns, owners and operators all of them."""

from __future__ import annotations

from arvis.agents.stopping import stop_turns
from arvis.commands.invocation import Invocation, Said
from arvis.domain.messages import PrincipalRole
from arvis.ports.store import Transaction

_NOTHING = "Nothing is at work for you here."


def stop(tx: Transaction, invocation: Invocation, now: int) -> Said:
    person = invocation.principal
    looks_after = person.role in {PrincipalRole.OWNER, PrincipalRole.OPERATOR}
    stopped = stop_turns(tx, invocation.address, person.name, now, asked_by=None if looks_after else person.id)
    number = len(stopped)
    if not number:
        return Said(_NOTHING)
    return Said("Your question was put aside." if number == 1 else f"{number} questions were put aside.", stopped)
