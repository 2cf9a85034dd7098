"""Converts allow lists of other programs to the people whom an agent answers. No person gets more rights than in the
other program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.regex import regex
from arvis.interchange.format import PersonRef
from arvis.interchange.peers.draft import SUPPORTED, Draft

_PREFIX = regex(r"(?:telegram|tg|discord|slack|user|pk|id):", re.IGNORECASE)
_MENTION = regex(r"<@!?(\w+)>")
_IDS: Mapping[str, re.Pattern[str]] = {
    "telegram": regex(r"-?\d{1,20}"),
    "discord": regex(r"\d{5,20}"),
    "slack": regex(r"[UWB][A-Z0-9]{5,20}"),
}
EVERYONE = "*"


@dataclass(frozen=True, slots=True)
class Access:
    """The people whom another program answers on one platform. `open` is True if it answers everybody."""

    platform: str
    ids: tuple[str, ...] = ()
    open: bool = False


@dataclass(frozen=True, slots=True)
class Admitted:
    """The people whom an agent answers. `users` are their ids; None means everybody. `people` are the people in the
    allow lists."""

    users: list[str] | None
    people: list[PersonRef] = field(default_factory=list)


def access_of(draft: Draft, platform: str, entries: Iterable[Any]) -> Access:
    """Return the access that the entries of an allow list grant. An entry that is not an id grants no access, and leads
    to a remark."""
    ids, is_open = dict[str, None](), False
    for entry in entries:
        text = _PREFIX.sub("", str(entry).strip())
        mention = _MENTION.fullmatch(text)
        text = mention[1] if mention else text.partition("|")[0]
        if text == EVERYONE:
            is_open = True
        elif _IDS[platform].fullmatch(text):
            ids[text] = None
        elif text:
            why = (
                f"Arvis identifies people of {platform} only by ids, because another person can take the same name; "
                "pair this person instead"
            )
            draft.home.leave("people", f"{platform}:{text[:80]}", why)
    return Access(platform, tuple(ids), is_open)


def admitted(draft: Draft, agent: str, accesses: Iterable[Access]) -> Admitted:
    """Return the people whom an agent answers, and add them to the draft. In Arvis, an agent has one list for all
    platforms. So the agent answers everybody only if the other program did so on all platforms."""
    given = [each for each in accesses if each.platform in SUPPORTED]
    people = [draft.person(each.platform, user) for each in given for user in each.ids]
    if given and all(each.open for each in given):
        return Admitted(None, people)
    for each in given:
        if each.open:
            why = (
                "the agent answered everybody there, but not on all platforms; Arvis has one list for all platforms, "
                "so the agent answers only the people in this list"
            )
            draft.home.leave("people", f"{agent}: {each.platform}", why)
    return Admitted(list(dict.fromkeys(person.user_id for person in people)), people)


def owner_of(draft: Draft, admitted_people: Iterable[PersonRef]) -> PersonRef | None:
    """Return the person whom private memories are about: the person whom the importing person chose, else the only
    person in the allow lists. Return None if the lists do not contain exactly one person."""
    if draft.choice.owner is not None:
        owner = draft.choice.owner
        return draft.person(owner.platform, owner.user_id)
    known = {(each.platform, each.user_id): each for each in admitted_people}
    return next(iter(known.values())) if len(known) == 1 else None
