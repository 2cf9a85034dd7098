"""`/memory`: people see and correct the facts that an agent stores about them and about the room.

A person may delete facts about themselves. A fact about a room may be deleted by its author, by owners and by
operators. Facts about other people and rooms are never shown or mentioned. In a group everybody reads the answer, so it
contains only facts about the room.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from arvis.commands.invocation import Invocation
from arvis.domain.dataclass import replace
from arvis.domain.memory import (
    Category,
    Fact,
    FactStatus,
    NewFact,
    State,
    asked_words,
    principal_scope,
    room_scope,
)
from arvis.domain.messages import PrincipalRole
from arvis.domain.money import day_of
from arvis.domain.validity import DATE, end_of, is_date, start_of, validity_of
from arvis.memory.service import Kept, Refused, Remembered, brief, confirm, correct, forget, remember, undo, whole
from arvis.ports.store import Transaction
from arvis.services import people

_MOST_FACTS = 30
_MOST_KEYS = 15
_MOST_NUMBER = 18
_MOST_DAYS = 36_500
#: The maximum number of facts in a history.
_MOST_HISTORY = 10
_DAY_MS = 86_400_000
#: The latest time (ms) that is shown as a day, in the year 9998.
_LAST_DAY = 253_370_000_000_000
#: The word that confirms `/memory forget me`.
_SURELY = "now"
#: The maximum number of characters of a fact that can be confirmed in a chat.
_MOST_CONFIRMED = 1_000

_USE = """/memory: list the facts and values about you and this channel
/memory search WORDS: list the facts that contain these words or mean something similar
/memory show NUMBER: show a fact in full
/memory add TEXT: store a fact about you
/memory correct NUMBER TEXT: replace a fact by the correct text
/memory expire NUMBER DAYS, /memory expire NUMBER never: set how long a fact is used
/memory valid NUMBER from DATE until DATE, /memory valid NUMBER always: set when a fact is true
/memory history NUMBER: show the facts that a fact has replaced, and the fact that replaced it
/memory delete NUMBER, /memory delete KEY: delete a fact or a value
/memory undo: undo the newest change
/memory confirm NUMBER: confirm that a fact is true (owners and operators)
/memory off, /memory on: turn memory in this channel off or on
/memory forget me: delete all facts and values about you (in a direct chat)"""


_ELSEWHERE = (
    "Send /memory in a direct chat with me to see the facts about you. On the command line, `arvis memory list` "
    "shows them."
)


def memory(tx: Transaction, invocation: Invocation, now: int) -> str:
    """Carry out a `/memory` command and return its answer."""
    verb, rest = (*invocation.argument.split(maxsplit=1), "", "")[:2]
    match verb.casefold():
        case "":
            return _overview(tx, invocation)
        case "off" | "on" as switch if not rest:
            return _switch(tx, invocation, remembers=switch == "on")
        case "undo" if not rest:
            return _undo(tx, invocation, now)
        case known if rest and known in _WORKS:
            return _WORKS[known](tx, invocation, rest, now)
        case _:
            return _USE


def _overview(tx: Transaction, invocation: Invocation) -> str:
    room = _section(tx, invocation, "About this channel:", room_scope(invocation.address))
    if not invocation.conversation.remembers:
        room = "\n\n".join(filter(None, ["Memory is off in this channel. /memory on turns it on.", room]))
    if not invocation.conversation.direct:
        room = room or f"{invocation.agent.name} has stored no facts about this channel."
        return f"{room}\n\n{_ELSEWHERE}"
    text = "\n\n".join(filter(None, [_section(tx, invocation, "About you:", _mine(invocation)), room]))
    return text or f"{invocation.agent.name} has stored no facts about you or this channel."


def _section(tx: Transaction, invocation: Invocation, title: str, scope: str) -> str:
    facts = tx.facts.of(invocation.agent.id, [scope], limit=_MOST_FACTS + 1)
    states = tx.agent_state.of(invocation.agent.id, [scope], _MOST_KEYS + 1)
    if not facts and not states:
        return ""
    shown = sorted(facts[:_MOST_FACTS], key=lambda fact: fact.number)
    lines = [title, *(_fact_line(tx, invocation, fact) for fact in shown), *map(_state_line, states[:_MOST_KEYS])]
    if len(facts) > _MOST_FACTS or len(states) > _MOST_KEYS:
        lines.append("… and more. Send /memory search WORDS to find a fact.")
    return "\n".join(lines)


def _search(tx: Transaction, invocation: Invocation, words: str, _: int) -> str:
    agent_id, scopes, asked = invocation.agent.id, _scopes(invocation), asked_words(words)
    if invocation.meaning is None:
        found = tx.facts.search(agent_id, scopes, asked, _MOST_FACTS, corrects=True)
    else:
        hits = tx.facts.search_meaning(agent_id, scopes, asked, invocation.meaning, _MOST_FACTS)
        found = [hit.fact for hit in hits]
    return "\n".join(_fact_line(tx, invocation, fact) for fact in found) or "No fact was found. Try other words."


def _show(tx: Transaction, invocation: Invocation, named: str, _: int) -> str:
    fact = _fact(tx, invocation, named)
    return _unknown(named) if fact is None else _line(tx, invocation, fact, whole(fact.content))


def _add(tx: Transaction, invocation: Invocation, text: str, now: int) -> str:
    if not invocation.conversation.remembers:
        return "Memory is off in this channel. Turn it on with /memory on first."
    new = NewFact(
        agent_id=invocation.agent.id,
        scope=_mine(invocation),
        category=Category.USER_PREFERENCE,
        content=text,
        author_id=invocation.principal.id,
    )
    match remember(tx, new, by_id=invocation.principal.id, now=now):
        case Refused(problem, fix):
            return f"{problem} {fix}"
        case kept if not invocation.conversation.direct:
            # Everybody reads the answer, so it quotes neither a fact that was already stored nor a fact that was
            # replaced.
            return f"Stored: #{kept.fact.number}"
        case kept if kept.kind is Kept.REFRESHED:
            return f"Already stored: #{kept.fact.number} {brief(kept.fact.content)}"
        case kept:
            instead = f" (replaces: {brief(kept.old.content)})" if kept.old else ""
            return f"Stored: #{kept.fact.number} {brief(kept.fact.content)}{instead}"


def _correct(tx: Transaction, invocation: Invocation, argument: str, now: int) -> str:
    named, text = (*argument.split(maxsplit=1), "", "")[:2]
    fact = _fact(tx, invocation, named)
    if fact is None:
        return _unknown(named)
    if not text.strip():
        return _USE
    if (refusal := _refusal(invocation, fact)) is not None:
        return refusal
    return _corrected(
        correct(tx, fact, replace(fact, content=text), by_id=invocation.principal.id, now=now), invocation.zone
    )


def _expire(tx: Transaction, invocation: Invocation, argument: str, now: int) -> str:
    named, days = (*argument.split(maxsplit=1), "", "")[:2]
    fact, number = _fact(tx, invocation, named), _number(days.strip())
    if fact is None:
        return _unknown(named)
    never, last_day = days.strip().casefold() == "never", end_of(days, invocation.zone) if "-" in days else None
    if not never and last_day is None and (number is None or not 0 < number <= _MOST_DAYS):
        return f"Write a number of days from 1 to {_MOST_DAYS}, a last day such as 2027-03-15, or `never`."
    if (refusal := _refusal(invocation, fact)) is not None:
        return refusal
    expires_at = None if never else last_day or now + (number or 0) * _DAY_MS
    kept = correct(tx, fact, replace(fact, expires_at=expires_at), by_id=invocation.principal.id, now=now)
    return _corrected(kept, invocation.zone) if isinstance(kept, Refused) else _used_until(kept.fact, invocation.zone)


def _set_validity(tx: Transaction, invocation: Invocation, argument: str, now: int) -> str:
    named, *stated = argument.split()
    fact = _fact(tx, invocation, named)
    if fact is None:
        return _unknown(named)
    times = dict(zip(map(str.casefold, stated[::2]), stated[1::2], strict=False))
    if [word.casefold() for word in stated] != ["always"]:
        if not times or len(stated) % 2 or not times.keys() <= {"from", "until"}:
            return _USE
        if not all(map(is_date, times.values())):
            return f"Write the time as {DATE}."
    if (refusal := _refusal(invocation, fact)) is not None:
        return refusal
    wanted = replace(
        fact,
        valid_from=start_of(times.get("from", ""), invocation.zone),
        valid_until=end_of(times.get("until", ""), invocation.zone),
    )
    match correct(tx, fact, wanted, by_id=invocation.principal.id, now=now):
        case Refused(problem, fix):
            return f"{problem} {fix}"
        case kept:
            return f"#{fact.number} is true {validity_of(kept.fact, invocation.zone) or 'at all times'}."


def _history(tx: Transaction, invocation: Invocation, named: str, _: int) -> str:
    """Return lines about the fact, the fact that replaced it, and the facts that it replaced, each with its source."""
    fact = _stored_fact(tx, invocation, named)
    if fact is None or fact.status is FactStatus.DELETED:
        return _unknown(named)
    successor = tx.facts.get(fact.superseded_by) if fact.superseded_by is not None else None
    lines = [_line(tx, invocation, fact, whole(fact.content))]
    if successor is not None and successor.status is not FactStatus.DELETED:
        lines.append(f"Replaced by: {_fact_line(tx, invocation, successor)}")
    lines += [f"Replaces: {_fact_line(tx, invocation, old)}" for old in tx.facts.replaced_by(fact.id, _MOST_HISTORY)]
    return "\n".join(lines)


def _corrected(kept: Remembered | Refused, zone: str) -> str:
    match kept:
        case Refused(problem, fix):
            return f"{problem} {fix}"
        case kept if kept.kind is Kept.REFRESHED:
            return f"The fact already has this text. {_used_until(kept.fact, zone)}"
        case kept:
            return f"Corrected: #{kept.fact.number} {brief(kept.fact.content)}. /memory undo restores the old fact."


def _used_until(fact: Fact, zone: str) -> str:
    if fact.expires_at is not None:
        return f"#{fact.number} is used until {day_of(fact.expires_at - 1, zone)}."
    unused = "" if fact.category is Category.STICKY else ", or expires because no agent uses it"
    return f"#{fact.number} is used until it is deleted{unused}."


def _refusal(invocation: Invocation, fact: Fact) -> str | None:
    """Return the refusal if the person may not change this fact. Everybody in a channel reads the channel's facts, so
    only owners and operators may change their text."""
    if fact.scope == _mine(invocation) or _looks_after(invocation):
        return None
    return f"#{fact.number} is about this channel. Only an operator or an owner can change it."


def _switch(tx: Transaction, invocation: Invocation, *, remembers: bool) -> str:
    """Turn memory off or on in this channel. In a group, only owners and operators may do this, because it affects
    everybody."""
    if not (invocation.conversation.direct or _looks_after(invocation)):
        return "Only an operator or an owner can turn memory off or on in this channel."
    tx.conversations.set_remembers(invocation.conversation, remembers=remembers)
    if remembers:
        return f"Memory is on: {invocation.agent.name} stores facts from this channel and uses them here."
    return (
        f"Memory is off: {invocation.agent.name} stores no facts or values from this channel and uses none here. "
        "Stored facts and values stay; /memory lists them, and /memory on turns memory on again."
    )


def _forget_me(tx: Transaction, invocation: Invocation, argument: str, now: int) -> str:
    """Delete all facts and values about the person, of all agents, with their history. Without the word `_SURELY`,
    delete nothing and only ask for confirmation."""
    if " ".join(argument.casefold().split()) not in {"me", f"me {_SURELY}"}:
        return _USE
    if not invocation.conversation.direct:
        return "Send /memory forget me in a direct chat with me."
    if argument.casefold() == "me":
        return (
            "This deletes all facts and values about you, of all agents, with their history. "
            f"It cannot be undone. Messages and summaries stay. To delete the memory, send /memory forget me {_SURELY}."
        )
    gone = people.forget(tx, invocation.principal, by=invocation.principal.id, now=now)
    return f"Permanently deleted: {gone.facts} facts and {gone.values} values."


def _delete(tx: Transaction, invocation: Invocation, named: str, now: int) -> str:
    if _number(named) is None:
        return _delete_key(tx, invocation, named)
    fact = _fact(tx, invocation, named)
    if fact is None:
        return _unknown(named)
    if fact.scope != _mine(invocation) and not (_looks_after(invocation) or fact.author_id == invocation.principal.id):
        return f"#{fact.number} is about this channel. Only its author, an operator or an owner can delete it."
    forget(tx, fact.id, by_id=invocation.principal.id, now=now)
    return f"Deleted: #{fact.number} {brief(fact.content)}. /memory undo restores it."


def _delete_key(tx: Transaction, invocation: Invocation, key: str) -> str:
    """Delete the person's value with this key. If the person has no such value, delete the room's value with this key,
    but only if the person may change that value."""
    for scope in _scopes(invocation):
        state = tx.agent_state.get(invocation.agent.id, scope, key)
        if state is not None and (scope == _mine(invocation) or _may_change(invocation, state.author_id)):
            tx.agent_state.remove(invocation.agent.id, scope, key)
            return f"Deleted: {brief(key)}"
    return _unknown(key)


def _undo(tx: Transaction, invocation: Invocation, now: int) -> str:
    """Undo the newest change of the facts that may be shown here. A change of the room's facts is undone only by the
    person who made it, or by an owner or operator."""
    agent_id, scopes = invocation.agent.id, [_mine(invocation)] if invocation.conversation.direct else []
    in_room = tx.facts.last_change(agent_id, [room_scope(invocation.address)])
    if in_room is not None and _may_change(invocation, in_room.by_id):
        scopes.append(in_room.scope)
    return undo(tx, agent_id, scopes, by_id=invocation.principal.id, now=now) or "There is no change to undo."


def _confirm(tx: Transaction, invocation: Invocation, named: str, now: int) -> str:
    fact = _fact(tx, invocation, named)
    if fact is None:
        return _unknown(named)
    if not _looks_after(invocation):
        return "Only an owner or an operator can confirm a fact."
    text = whole(fact.content)
    if len(text) > _MOST_CONFIRMED:
        return (
            f"#{fact.number} is too long to confirm in a chat ({len(text)} characters, at most {_MOST_CONFIRMED}). "
            f"Read it with `arvis memory show {fact.id}`, then `arvis memory confirm {fact.id}`."
        )
    if confirm(tx, fact.id, by_id=invocation.principal.id, now=now) is None:
        return f"#{fact.number} is not true any more. Only a fact that is true now can be confirmed."
    return f"Confirmed: #{fact.number} {text}"


def _fact_line(tx: Transaction, invocation: Invocation, fact: Fact) -> str:
    """Return a line such as `#3 likes tea (user_preference, by Ann, 2026-11-22, unconfirmed: tools)`."""
    return _line(tx, invocation, fact, brief(fact.content))


def _line(tx: Transaction, invocation: Invocation, fact: Fact, text: str) -> str:
    author = tx.principals.get(fact.author_id) if fact.author_id else None
    author_note = f"by {brief(author.name, 40)}" if author else ""
    expiry = f"used until {day_of(min(fact.expires_at, _LAST_DAY) - 1, invocation.zone)}" if fact.expires_at else ""
    validity = validity_of(fact, invocation.zone)
    true = f"true {validity}" if validity else ""
    notes = [str(fact.category), author_note, day_of(fact.created_at, invocation.zone), true, expiry, _doubt(fact)]
    return f"#{fact.number} {text} ({', '.join(filter(None, notes))})"


def _state_line(state: State) -> str:
    return f"{state.key} = {brief(state.value, 80)}"


def _doubt(fact: Fact) -> str:
    return f"unconfirmed: {', '.join(sorted(fact.taint))}" if fact.taint else ""


def _fact(tx: Transaction, invocation: Invocation, named: str) -> Fact | None:
    """Return the fact with this number if it is active, or if it is no longer true. Return None if the fact does not
    exist, was replaced or deleted, has faded, or may not be shown here."""
    fact = _stored_fact(tx, invocation, named)
    return fact if fact is not None and fact.status in {FactStatus.ACTIVE, FactStatus.ENDED} else None


def _stored_fact(tx: Transaction, invocation: Invocation, named: str) -> Fact | None:
    """Return the fact with this number; None if it does not exist or may not be shown here."""
    number = _number(named)
    fact = None if number is None else tx.facts.by_number(number)
    if fact is None or fact.agent_id != invocation.agent.id or fact.scope not in _scopes(invocation):
        return None
    return fact


def _number(named: str) -> int | None:
    digits = named.removeprefix("#")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_NUMBER else None


def _unknown(named: str) -> str:
    return f"There is no fact or value {brief(named, 40)} here. /memory lists the facts and values."


def _may_change(invocation: Invocation, author_id: str | None) -> bool:
    return _looks_after(invocation) or author_id == invocation.principal.id


def _looks_after(invocation: Invocation) -> bool:
    return invocation.principal.role in {PrincipalRole.OWNER, PrincipalRole.OPERATOR}


def _scopes(invocation: Invocation) -> Sequence[str]:
    """Return the scopes of the facts that may be shown here: the room, and in a direct chat also the person."""
    room = room_scope(invocation.address)
    return [_mine(invocation), room] if invocation.conversation.direct else [room]


def _mine(invocation: Invocation) -> str:
    return principal_scope(invocation.principal.id)


#: The commands with an argument.
_WORKS: Mapping[str, Callable[[Transaction, Invocation, str, int], str]] = {
    "search": _search,
    "show": _show,
    "add": _add,
    "correct": _correct,
    "expire": _expire,
    "valid": _set_validity,
    "history": _history,
    "forget": _forget_me,
    "delete": _delete,
    "confirm": _confirm,
}
