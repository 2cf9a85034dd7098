"""Links between the identities of one person. Transaction scripts and parts of them.

A person proves with a code that two identities belong to the same person. The first identity gets the code in a direct
chat. The second identity sends the code in a direct chat, reads which account asks, and sends the code again with
`yes`. The first identity then confirms the link. An owner can also link identities. Equal names never link identities.
Identities of one person always have the same rights. So only an owner can make a link that would change rights, and an
identity whose rights are changed separately is unlinked from its person (`SqlPrincipals.seen`).
"""

from __future__ import annotations

import hashlib
import json

from arvis.approvals import visible
from arvis.domain.effects import Access, AccessKind, access_entry
from arvis.domain.errors import Conflict, NotFound, Unprocessable
from arvis.domain.jobs import Priority
from arvis.domain.messages import Address, Principal, PrincipalRole
from arvis.domain.platforms import LinkRequest, LinkStatus
from arvis.messaging.messages import send_to_place
from arvis.ports.store import Transaction
from arvis.services.people import MINUTE_MS, as_entered, spelled
from arvis.services.roles import WEB

LIFE_MS = 10 * MINUTE_MS
MOST_IDENTITIES = 10
#: The numbers of wrong codes within `LIFE_MS` after which one person, or everybody, can enter no further code.
MOST_TRIES = 5
MOST_TRIES_OF_ALL = 50
#: The maximum number of characters of a name in a request for a link. It is small, because anyone can choose any name,
#: and the name must not look like text of the daemon.
_LONGEST_NAME = 40

_TRIES = "link_attempts"
#: A lock that each script holds, so that concurrent scripts cannot use a code twice or exceed a limit.
_LANE = "identities"
_KEY = "key-"

_WRONG = "This code is wrong, used or expired. Send /link in your other chat to get a new one."
_NO_REQUEST = "There is no request to confirm. Send /link to get a code."
_OWN = "This is your own code. Send it to me on your other platform."
_BLOCKED = "These accounts cannot be linked."


def offer_link(tx: Transaction, person: Principal, address: Address, code: str, now: int) -> str:
    """Store a code for this identity, which replaces an earlier one. Return the reply that contains the code."""
    if (obstacle := _obstacle_of(tx, person)) is not None:
        return obstacle
    tx.jobs.lock([_LANE])
    if (earlier := tx.identities.newest_of(person.identity)) is not None:
        tx.identities.settle(earlier.id, LinkStatus.REFUSED)
    request = LinkRequest(
        tx.new_id(), person.identity, address, LinkStatus.OPEN, None, created_at=now, expires_at=now + LIFE_MS
    )
    tx.identities.add(request, _hash(code))
    return (
        f"Send this to me on your other platform, in a direct message: /link {spelled(code)}\n"
        f"The code works once and expires in {LIFE_MS // MINUTE_MS} minutes. Give it to no other person: a person who links an account "
        "with yours shares your memory and your budget."
    )


def claim_link(tx: Transaction, code: str, by: Principal, now: int, *, agreed: bool) -> str:
    """Describe the link that this code of another identity would make. If the person has `agreed` to the link, mark the
    code as used and ask the other identity for a confirmation instead. Return the reply."""
    tx.jobs.lock([_LANE])
    tries = [each for each in json.loads(tx.kv.get(_TRIES) or "[]") if now - each[0] < LIFE_MS]
    own = [at for at, who in tries if who == by.identity]
    if len(own) >= MOST_TRIES or len(tries) >= MOST_TRIES_OF_ALL:
        return f"Too many wrong codes were entered. Try again in {LIFE_MS // MINUTE_MS} minutes."
    request = tx.identities.by_code(_hash(as_entered(code)))
    if request is None or request.status is not LinkStatus.OPEN or now >= request.expires_at:
        tx.kv.put(_TRIES, json.dumps([*tries, [now, by.identity]]), now)
        return _WRONG
    first = tx.principals.get(request.identity_id)
    if first is None:
        return _WRONG
    if first.identity == by.identity:
        return _OWN
    obstacle = _obstacle(tx, first, by)
    if not agreed:
        return obstacle or _description(first, code)
    if obstacle is not None:
        tx.identities.settle(request.id, LinkStatus.REFUSED)
        return obstacle
    tx.identities.claim(request.id, by.identity)
    asked = (
        f"The account {_shown(by)} has sent your code, to be linked with this account. If this is your own account, send /link yes. "
        "If not, send /link no."
    )
    send_to_place(tx, request.address, asked, priority=Priority.OWNER, now=now)
    return "The code is correct. Confirm in your other chat: send /link yes there."


def _description(first: Principal, code: str) -> str:
    """Return the question to the sender of a code. It names the account that asks, and the effects of the link."""
    return (
        f"The account {_shown(first)} asks to be the same person as you.\n"
        "Linked accounts share memory, messages, budget, limits, time zone and language, and have the same role. What you have stored "
        "here then belongs to both accounts, and /unlink does not divide it.\n"
        f"If that account is your own, send: /link {spelled(as_entered(code))} yes\n"
        "If another person gave you this code, do not send it: that person would read and use your data. Nothing is linked so far."
    )


def _shown(identity: Principal) -> str:
    """Return a description of an identity for the person who has another identity. It contains the platform, the user
    id there, and the chosen name. Only the user id is unique on a platform."""
    name = visible(" ".join(identity.name.split()))[:_LONGEST_NAME].replace('"', "'")
    return f'{identity.platform}:{visible(identity.user_id)} (name: "{name}")'


def confirm_link(tx: Transaction, by: Principal, now: int, *, agreed: bool) -> str:
    """Confirm or refuse the link that this identity has asked for. Return the reply."""
    tx.jobs.lock([_LANE])
    request = tx.identities.newest_of(by.identity)
    if request is None or request.status is not LinkStatus.CLAIMED or now >= request.expires_at:
        return _NO_REQUEST
    other = tx.principals.get(request.claimed_by or "")
    if not agreed or other is None:
        tx.identities.settle(request.id, LinkStatus.REFUSED)
        return "The accounts stay separate, and the code is no longer valid."
    first = tx.principals.get(by.identity) or by
    if (obstacle := _obstacle(tx, first, other)) is not None:
        tx.identities.settle(request.id, LinkStatus.REFUSED)
        return obstacle
    tx.identities.settle(request.id, LinkStatus.DONE)
    _link(tx, first, other, by.id, now)
    return (
        f"{other.platform}:{other.user_id} and this account are linked. They share memory, budget, time zone and "
        "language. /unlink in one of the chats ends this."
    )


def link(tx: Transaction, person_id: str, other_id: str, by: str, now: int) -> Principal:
    """Link two identities by the decision of an owner. `other_id` gets the rights of the person. Raise `UsageError` if
    the identities cannot be linked."""
    tx.jobs.lock([_LANE])
    first, other = (_known(tx, each) for each in (person_id, other_id))
    if first.id == other.id:
        raise Conflict("These identities are linked already.", fix="`arvis people show PERSON` lists the identities.")
    if PrincipalRole.BLOCKED in {first.role, other.role}:
        raise Unprocessable("A blocked person cannot be linked.", fix="Unblock the person first.")
    if (obstacle := _obstacle_of(tx, first) or _obstacle_of(tx, other, alone=True)) is not None:
        raise Unprocessable(obstacle, fix="`arvis people show PERSON` lists the identities.")
    if first.role is not other.role and (
        PrincipalRole.OWNER in {first.role, other.role} or WEB in {first.platform, other.platform}
    ):
        raise Unprocessable(
            "The identities have different roles, which the configuration, a login or a key decides.",
            fix="Name both identities under `owners` in config.yaml, or give the login the same role. Then link them.",
        )
    _link(tx, first, other, by, now)
    return _known(tx, other_id)


def unlink(tx: Transaction, identity_id: str, by: str, now: int) -> Principal:
    """End the link of an identity. The identity keeps its rights, but its messages and memory stay with the person.
    Raise `Conflict` if the identity is not linked to another one."""
    tx.jobs.lock([_LANE])
    identity = _known(tx, identity_id)
    if not identity.linked:
        raise Conflict(
            "This identity is not linked to another one.",
            fix="`arvis people show PERSON` lists the identities. Unlink the person's other identities instead.",
        )
    # The stored role `owner` is valid only for an identity that the configuration names. The next message of such an
    # identity stores the role again.
    role = PrincipalRole.MEMBER if identity.role is PrincipalRole.OWNER else identity.role
    tx.identities.unlink(identity.identity, role, now if identity.paired else None, now)
    _note(tx, AccessKind.UNLINK, identity, identity.id, by=by, now=now)
    return _known(tx, identity_id)


def _link(tx: Transaction, first: Principal, other: Principal, by: str, now: int) -> None:
    tx.identities.link(other.identity, first.id, now)
    _note(tx, AccessKind.LINK, other, first.id, by=by, now=now)


def _note(tx: Transaction, kind: AccessKind, identity: Principal, person_id: str, *, by: str, now: int) -> None:
    subject = f"{identity.platform}:{identity.user_id}"
    tx.audit.add(access_entry(tx.new_id(), Access(kind, subject, {"person": person_id}), now, by=by))


def _known(tx: Transaction, identity_id: str) -> Principal:
    person = tx.principals.get(identity_id)
    if person is None:
        raise NotFound("There is no such person.", fix="`arvis people list` lists the known people.")
    return person


def _obstacle_of(tx: Transaction, person: Principal, *, alone: bool = False) -> str | None:
    """Return the reason why an identity cannot be linked; None if it can be linked. With `alone`, the identity must not
    have other links."""
    if person.platform == WEB and person.user_id.startswith(_KEY):
        return "An API key cannot be linked with a person."
    identities = tx.identities.of(person.id)
    if alone and len(identities) > 1:
        return "The other account is linked already. Send /unlink there first."
    if len(identities) >= MOST_IDENTITIES:
        return f"A person can have at most {MOST_IDENTITIES} linked accounts."
    return None


def _obstacle(tx: Transaction, first: Principal, other: Principal) -> str | None:
    """Return the reason why a code cannot link these identities; None if it can link them."""
    if PrincipalRole.BLOCKED in {first.role, other.role}:
        return _BLOCKED
    if first.id == other.id:
        return "These accounts are linked already."
    if (reason := _obstacle_of(tx, first) or _obstacle_of(tx, other, alone=True)) is not None:
        return reason
    if (first.role, first.paired) != (other.role, other.paired):
        return (
            "These accounts have different rights, so only an owner can link them, with: arvis people link "
            f"{first.platform}:{first.user_id} {other.platform}:{other.user_id}"
        )
    return None


def _hash(code: str) -> str:
    return hashlib.sha256(f"arvis link {code}".encode()).hexdigest()
