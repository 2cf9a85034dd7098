"""People: their roles, changes of their roles, and the pairing of unknown people. Transaction scripts and parts of
them.

Only the configuration names owners. An unknown person gets a code in a direct message, and an owner or operator enters
the code. The code is stored as a hash, expires after 15 minutes and works once. It is entered only in the dashboard, at
the command line or in the API, never in a chat, because the unknown person can write there. The caller creates the
code, because a script may run twice.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from arvis.domain.agents import is_timezone
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.effects import Access, AccessKind, access_entry
from arvis.domain.erasures import Subject
from arvis.domain.errors import Conflict, NotFound, Unprocessable
from arvis.domain.jobs import Priority
from arvis.domain.messages import IncomingMessage, Principal, PrincipalRole
from arvis.domain.platforms import Pairing, PairingStatus
from arvis.domain.regex import regex
from arvis.domain.versions import Version, Versioned
from arvis.messaging.messages import send_to_place
from arvis.ports.store import Transaction
from arvis.services.roles import WEB, Owners, role_of

#: The roles that a person can assign. Only the configuration names owners.
GIVEN_ROLES = (PrincipalRole.OPERATOR, PrincipalRole.MEMBER, PrincipalRole.BLOCKED)


#: The number of facts that `forget` deletes at once.
_FORGOTTEN = 500


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The numbers of deleted facts and values."""

    facts: int
    values: int


def forget(tx: Transaction, person: Principal, *, by: str, now: int) -> Forgotten:
    """Delete all facts and values about a person, of all agents, with their history. Messages and summaries stay."""
    subject, facts = Subject((person,)), 0
    while gone := tx.erasures.erase_facts("", subject, _FORGOTTEN, authored=False):
        facts += gone
    forgotten = Forgotten(facts, tx.erasures.erase_values("", subject, authored=False))
    access = Access(AccessKind.PERSON_FORGOTTEN, person.id, asdict(forgotten))
    tx.audit.add(access_entry(tx.new_id(), access, now, by))
    return forgotten


def change(
    tx: Transaction,
    person_id: str,
    *,
    role: PrincipalRole | None,
    paired: bool | None,
    owners: Owners,
    by: str,
    now: int,
) -> Principal:
    """Change the role or the pairing of a person. None means no change, with one exception: if only the role changes, a
    new operator becomes paired, and any other person becomes unpaired. A blocked person also loses a pending code."""
    person = tx.principals.get(person_id)
    if person is None:
        raise NotFound("There is no such person.", fix="`arvis people list` lists the known people.")
    for identity in tx.identities.of(person.id):
        # All identities of a person have the role and the pairing of the person.
        _check(replace(identity, role=person.role, paired=person.paired), role, paired, owners)
    if role is not None:
        tx.principals.set_role(person.id, role, now)
    if role is PrincipalRole.BLOCKED:
        _void_code(tx, person, by, now)
    if _vouched_for(person, role, paired):
        tx.principals.pair(person.id, now)
    else:
        tx.principals.unpair(person.id, now)
    return keep_change(tx, person, by, now)


def _vouched_for(person: Principal, role: PrincipalRole | None, paired: bool | None) -> bool:
    if paired is not None:
        return paired
    return person.paired if role in {None, person.role} else role is PrincipalRole.OPERATOR


def _check(person: Principal, role: PrincipalRole | None, paired: bool | None, owners: Owners) -> None:
    if role_of(person, owners) is PrincipalRole.OWNER:
        raise Conflict(
            f"{person.name} is an owner.",
            fix="To change the role, edit `owners` in config.yaml, or use the page Users and keys of the dashboard.",
            code="is_owner",
        )
    if role is not None and role not in GIVEN_ROLES:
        raise Unprocessable(
            "The role owner cannot be given here.", fix="Name the person under `owners` in config.yaml."
        )
    if role is PrincipalRole.OPERATOR and person.platform == WEB:
        raise Unprocessable(
            "The role of this person depends on the login or key that they use.",
            fix="Give the person a login of the dashboard or an API key with the role operator.",
        )
    if paired and (role or person.role) is PrincipalRole.BLOCKED:
        raise Unprocessable("A blocked user cannot be paired.", fix="Give the user the role member first.")


def _void_code(tx: Transaction, person: Principal, by: str, now: int) -> None:
    asked = tx.pairings.newest_of(person.platform, person.user_id)
    if asked is not None:
        tx.pairings.settle(asked.id, PairingStatus.REJECTED, by, now)


def keep_change(tx: Transaction, before: Principal, by: str, now: int) -> Principal:
    """Return the person as stored now. Store a version if the role or the pairing is not the same as in `before`."""
    after = tx.principals.get(before.id) or before
    if (after.role, after.paired) != (before.role, before.paired):
        tx.versions.keep(Versioned.PERSON, before.id, _standing(after), by, now, before=_standing(before))
    return after


def changes(tx: Transaction, person_id: str, limit: int) -> list[Version]:
    """Return the stored changes of this person's role and pairing, newest first."""
    return list(tx.versions.newest(Versioned.PERSON, person_id, limit))


#: A language tag in the form of BCP 47, such as `de`, `pt-BR` or `zh-Hant`.
_LANGUAGE = regex(r"[a-z]{2,3}(?:-[A-Z][a-z]{3})?(?:-(?:[A-Z]{2}|[0-9]{3}))?", re.ASCII)


def prefer(tx: Transaction, person_id: str, *, timezone: str | None, language: str | None, now: int) -> Principal:
    """Store the time zone and the language that a person has chosen. None means no change; an empty text restores the
    default."""
    person = tx.principals.get(person_id)
    if person is None:
        raise NotFound("There is no such person.", fix="`arvis people list` lists the known people.")
    if timezone and not is_timezone(timezone):
        raise Unprocessable(
            f"There is no time zone {timezone[:60]!r}.", fix="Use a name of the IANA database, such as Europe/Berlin."
        )
    if language and not _LANGUAGE.fullmatch(language):
        raise Unprocessable(f"{language[:60]!r} is not a language code.", fix="Use a code such as de, en or pt-BR.")
    after = replace(
        person,
        timezone=person.timezone if timezone is None else timezone or None,
        language=person.language if language is None else language or None,
    )
    if after != person:
        tx.principals.prefer(person.id, timezone=after.timezone, language=after.language, now=now)
    return after


def _standing(person: Principal) -> dict[str, Any]:
    return {"role": str(person.role), "paired": person.paired}


#: The characters of codes. Characters that look like other characters are left out: 0 and O; 1, I and L.
ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
CODE_LENGTH = 10
MINUTE_MS = 60_000
LIFE_MS = 15 * MINUTE_MS
#: The time (ms) for which a rejected person gets no new code.
REJECTED_MS = 24 * 60 * MINUTE_MS
#: The maximum number of pending codes of one bot. If more people ask at the same time, it is probably abuse.
MOST_PENDING = 3
#: After this number of wrong codes within `LIFE_MS`, every code is refused.
MOST_TRIES = 5
#: The reasons for which a person can be refused before the pairing, but not after it.
PAIRABLE = frozenset({"not_paired", "not_bound"})

WELCOME = "You are paired now. Send me a message to start."

_TRIES = "pairing_attempts"
#: A lock that each script holds while it offers, approves or rejects a code, so that concurrent scripts cannot exceed a
#: limit.
_LANE = "pairing"
_LONGEST_NAME = 100
#: The number of random bits from which a code is made. It is twice the number that the code needs, so that all codes
#: are practically equally likely.
_CODE_BITS = 100


@dataclass(frozen=True, slots=True)
class Paired:
    """The result of a correct code: the person `principal` is paired."""

    principal: Principal


@dataclass(frozen=True, slots=True)
class TurnedAway:
    pairing: Pairing


@dataclass(frozen=True, slots=True)
class WrongCode:
    """The result of a code that does not exist, was used or has expired. `left` is the number of wrong codes that are
    still allowed."""

    left: int


@dataclass(frozen=True, slots=True)
class TooManyTries:
    """The result after `MOST_TRIES` wrong codes: every code is refused until the time `until` (ms)."""

    until: int


def new_code(random_bits: Callable[[int], int]) -> str:
    """Return a random code. `random_bits(n)` returns a number of `n` random bits."""
    number, letters = random_bits(_CODE_BITS), []
    for _ in range(CODE_LENGTH):
        number, letter = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[letter])
    return "".join(letters)


def offer_pairing(tx: Transaction, message: IncomingMessage, now: int, code: str) -> str | None:
    """Store `code` for a person who was refused for a reason in `PAIRABLE`, and return the reply that contains it.
    Return None (no reply) if the message is not direct, the person has a pending code or was rejected recently, or the
    bot has `MOST_PENDING` pending codes."""
    sender, address = message.sender, message.address
    # A sender whose role is known has a login or an API key, which identifies the person without a code.
    if not message.is_direct or sender.bot or sender.role is not None:
        return None
    tx.jobs.lock([_LANE])
    if not _may_have_a_code(tx, message, now) or tx.pairings.by_code(_hash(code)) is not None:
        return None
    pairing = Pairing(
        id=tx.new_id(),
        code_hash=_hash(code),
        address=address,
        user_id=sender.user_id,
        user_name=sender.name[:_LONGEST_NAME],
        status=PairingStatus.PENDING,
        created_at=now,
        expires_at=now + LIFE_MS,
    )
    tx.pairings.add(pairing)
    return offer(code)


def offer(code: str) -> str:
    return (
        "I don't know you yet. Send this code to the person who runs this bot. It expires in "
        f"{LIFE_MS // MINUTE_MS} minutes: {spelled(code)}"
    )


def _may_have_a_code(tx: Transaction, message: IncomingMessage, now: int) -> bool:
    platform, user_id = message.address.platform, message.sender.user_id
    known = tx.principals.find(platform, user_id)
    if known is not None and (known.paired or known.role is PrincipalRole.BLOCKED):
        return False
    newest = tx.pairings.newest_of(platform, user_id)
    if newest is not None:
        until = newest.expires_at
        if newest.status is PairingStatus.REJECTED and newest.settled_at is not None:
            until = newest.settled_at + REJECTED_MS
        if now < until:
            return False
    return tx.pairings.pending(platform, message.address.connector, now) < MOST_PENDING


def approve(tx: Transaction, code: str, by: str, now: int) -> Paired | WrongCode | TooManyTries:
    """Pair the person to whom this code was given, and notify that person in the same chat. `by` is the id of the
    person who approves."""
    pairing = _pending(tx, code, now)
    if not isinstance(pairing, Pairing):
        return pairing
    tx.pairings.settle(pairing.id, PairingStatus.APPROVED, by, now)
    known = tx.principals.seen(pairing.address.platform, pairing.user_id, pairing.user_name, None, now)
    tx.principals.pair(known.id, now)
    send_to_place(tx, pairing.address, WELCOME, priority=Priority.MESSAGE, now=now)
    return Paired(keep_change(tx, known, by, now))


def reject(tx: Transaction, code: str, by: str, now: int) -> TurnedAway | WrongCode | TooManyTries:
    """Reject the person to whom this code was given. The person gets no reply, and no new code for a day."""
    pairing = _pending(tx, code, now)
    if not isinstance(pairing, Pairing):
        return pairing
    tx.pairings.settle(pairing.id, PairingStatus.REJECTED, by, now)
    return TurnedAway(replace(pairing, status=PairingStatus.REJECTED))


def reject_by_id(tx: Transaction, pairing_id: str, by: str, now: int) -> TurnedAway | None:
    """Reject the pairing request with this id. Return None if no pending request has this id."""
    pairing = tx.pairings.get(pairing_id)
    if pairing is None or not tx.pairings.settle(pairing.id, PairingStatus.REJECTED, by, now):
        return None
    return TurnedAway(replace(pairing, status=PairingStatus.REJECTED))


def _pending(tx: Transaction, code: str, now: int) -> Pairing | WrongCode | TooManyTries:
    """Return the pending pairing request with this code. A wrong code counts towards `MOST_TRIES`."""
    tx.jobs.lock([_LANE])
    tries = [at for at in json.loads(tx.kv.get(_TRIES) or "[]") if now - at < LIFE_MS]
    if len(tries) >= MOST_TRIES:
        return TooManyTries(tries[0] + LIFE_MS)
    pairing = tx.pairings.by_code(_hash(as_entered(code)))
    if pairing is not None and pairing.status is PairingStatus.PENDING and now < pairing.expires_at:
        return pairing
    tx.kv.put(_TRIES, json.dumps([*tries, now]), now)
    return WrongCode(MOST_TRIES - len(tries) - 1)


def spelled(code: str) -> str:
    """Return the code with a hyphen in its middle, as people read it."""
    middle = CODE_LENGTH // 2
    return f"{code[:middle]}-{code[middle:]}"


def as_entered(text: str) -> str:
    """Return the code in its stored form: in upper case, without the spaces and hyphens that people may type."""
    return "".join(letter for letter in text.upper() if letter.isalnum())


def _hash(code: str) -> str:
    return hashlib.sha256(f"arvis pairing {code}".encode()).hexdigest()
