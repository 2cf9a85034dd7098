"""Buttons: they answer questions and stop turns. Scripts.

A button stays valid while its question is open, even if the process that showed it has ended. A repeated press counts
once. Only people who may answer can use it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from arvis.approvals.answers import answer_question
from arvis.domain.errors import Conflict, Forbidden, NotFound, Unprocessable
from arvis.domain.messages import FINAL_STATUSES, Address, Principal, PrincipalRole
from arvis.domain.platforms import Click
from arvis.inbox.accept import InboxRules
from arvis.inbox.source import EventSource
from arvis.messaging.messages import STOP, WAIT
from arvis.ports.inbox import Clicked
from arvis.ports.operations import WaitAnswer
from arvis.ports.platforms import SeenEvent
from arvis.ports.store import Transaction
from arvis.routing import Router
from arvis.turns import cancellation
from arvis.turns.cancellation import CancelledTurn

_NOTHING = Clicked("This button does nothing any more.", done=True)
_NOT_YOURS = Clicked("You may not do this.", done=False)
_LONGEST_NUMBER = 4
_LOOKS_AFTER = {PrincipalRole.OWNER, PrincipalRole.OPERATOR}


@dataclass(frozen=True, slots=True)
class Pressed:
    """The text for the person, and the cancelled turns to publish after the commit."""

    clicked: Clicked
    cancelled: Sequence[CancelledTurn] = ()


@dataclass(frozen=True, slots=True)
class _Person:
    """The person who pressed a button, the place, and the rules about approvers."""

    principal: Principal
    place: Address
    rules: InboxRules


def press_button(
    tx: Transaction, source: EventSource, pressed: Click, *, router: Router, rules: InboxRules, now: int
) -> Pressed:
    """Do the action of a button, with the role of the person in this place."""
    source.advance(tx)
    address, sender = pressed.address, pressed.sender
    if (seen := tx.events.seen(address.platform, address.connector, pressed.event_id)) is not None:
        return Pressed(Clicked(**json.loads(seen.outcome)))
    known = tx.principals.find(address.platform, sender.user_id)
    role = router.role_of(address.platform, sender, known)
    if role is PrincipalRole.BLOCKED or (known is None and role not in _LOOKS_AFTER):
        return Pressed(_NOT_YOURS)  # an unknown user leaves no trace
    person = tx.principals.seen(address.platform, sender.user_id, sender.name, role, now)
    outcome = _press(tx, pressed.data, _Person(person, address, rules), now)
    kept = SeenEvent(None, json.dumps({"text": outcome.clicked.text, "done": outcome.clicked.done}))
    tx.events.keep(address.platform, address.connector, pressed.event_id, kept, now)
    return outcome


def _press(tx: Transaction, data: str, by: _Person, now: int) -> Pressed:
    match data.split("."):
        case [kind, wait_id, number] if kind == WAIT:
            return Pressed(_answer(tx, wait_id, number, by, now))
        case [kind, message_id] if kind == STOP:
            return _stop(tx, message_id, by, now)
        case _:
            return Pressed(_NOTHING)


def _answer(tx: Transaction, wait_id: str, number: str, by: _Person, now: int) -> Clicked:
    wait = tx.waits.get(wait_id)
    digits = number.isascii() and number.isdigit() and len(number) < _LONGEST_NUMBER
    if wait is None or not digits or int(number) >= len(wait.choices):
        return _NOTHING
    choice = wait.choices[int(number)]
    given = WaitAnswer(decision="answer", text=choice)
    try:
        answer_question(tx, wait_id, given, by=by.principal, approvers=by.rules.approvers, now=now)
    except Conflict:
        return Clicked("This question is answered already.", done=True)
    except Forbidden as refused:
        return Clicked(f"{refused.what}.", done=False)
    except (NotFound, Unprocessable):
        return _NOTHING
    return Clicked(f"{by.principal.name}: {choice}", done=True)


def _stop(tx: Transaction, message_id: str, by: _Person, now: int) -> Pressed:
    """Stop the turn of a message, for its sender and for owners and operators."""
    message = tx.messages.get(message_id)
    if message is None or message.execution_id is None or message.status in FINAL_STATUSES:
        return Pressed(_NOTHING)
    if (message.address.platform, message.address.channel) != (by.place.platform, by.place.channel):
        return Pressed(_NOTHING)
    if by.principal.id != message.principal_id and by.principal.role not in _LOOKS_AFTER:
        return Pressed(Clicked("Only who asked may stop this.", done=False))
    cancelled = cancellation.cancel_turn(tx, message.execution_id, by.principal.name, now, shown=by.rules.shown)
    return Pressed(Clicked("Stopped.", done=True), [cancelled])
