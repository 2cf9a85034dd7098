"""Commands about the person who sends them: `/timezone` and `/language`, and `/link` and `/unlink` for the identities of the
person on several platforms."""

from __future__ import annotations

from arvis.commands.invocation import Invocation
from arvis.domain.errors import UsageError, sentences
from arvis.domain.messages import Principal
from arvis.ports.store import Transaction
from arvis.services import identities
from arvis.services.people import prefer

#: The word that restores the default.
_DEFAULT = "default"
_NOT_HERE = "Send this to me in a direct message, so that no other person sees your code or your accounts."
_NOTHING_LINKED = "Nothing was linked. The code expires by itself."
_NOT_LINKED = "This account is not linked to another one. If other accounts are linked to it, send /unlink from them."


def timezone(tx: Transaction, invocation: Invocation, now: int) -> str:
    """Carry out `/timezone [NAME]` and return its answer."""
    wanted = invocation.argument.strip()
    if not wanted:
        return (
            f"Your time zone is {invocation.zone}. To change it, send /timezone with a name such as Europe/Berlin, or "
            f"/timezone {_DEFAULT}."
        )
    try:
        person = prefer(tx, invocation.principal.id, timezone=_value(wanted), language=None, now=now)
    except UsageError as refused:
        return sentences(refused.what, refused.fix)
    if person.timezone is None:
        return "Your time zone is the default again."
    return f"Your time zone is {person.timezone} now. New reminders and all dates use it."


def language(tx: Transaction, invocation: Invocation, now: int) -> str:
    """Carry out `/language [CODE]` and return its answer."""
    wanted = invocation.argument.strip()
    if not wanted:
        return _present(invocation.principal)
    try:
        person = prefer(tx, invocation.principal.id, timezone=None, language=_value(wanted), now=now)
    except UsageError as refused:
        return sentences(refused.what, refused.fix)
    if person.language is None:
        return "Agents choose the language from your messages again."
    return f"Your language is {person.language} now. Agents use it unless you ask for another one."


def _present(person: Principal) -> str:
    chosen = (
        "You have not chosen a language, so agents use the language of your messages."
        if person.language is None
        else f"Your language is {person.language}."
    )
    return f"{chosen} To change it, send /language with a code such as de or pt-BR, or /language {_DEFAULT}."


def _value(argument: str) -> str:
    """Return the value for `prefer`; empty for the default."""
    return "" if argument.lower() == _DEFAULT else argument


def link(tx: Transaction, invocation: Invocation, now: int) -> str:
    """Carry out `/link`, `/link CODE`, `/link CODE yes`, `/link yes` or `/link no`, and return its answer."""
    if not invocation.conversation.direct:
        return _NOT_HERE
    person = invocation.principal
    match invocation.argument.upper().split():
        case []:
            return identities.offer_link(tx, person, invocation.address, invocation.code, now)
        case ["YES" | "NO" as answer]:
            return identities.confirm_link(tx, person, now, agreed=answer == "YES")
        case [*_, "NO"]:
            return _NOTHING_LINKED
        case [*code, "YES"]:
            return identities.claim_link(tx, " ".join(code), person, now, agreed=True)
        case code:
            return identities.claim_link(tx, " ".join(code), person, now, agreed=False)


def unlink(tx: Transaction, invocation: Invocation, now: int) -> str:
    """Carry out `/unlink` and return its answer."""
    if not invocation.conversation.direct:
        return _NOT_HERE
    if not invocation.principal.linked:
        return _NOT_LINKED
    try:
        identities.unlink(tx, invocation.principal.identity, invocation.principal.id, now)
    except UsageError as refused:
        return sentences(refused.what, refused.fix)
    return (
        "This account is separate again. Its messages and memory until now stay with the other account; from now on "
        "it has its own memory, budget and preferences."
    )
