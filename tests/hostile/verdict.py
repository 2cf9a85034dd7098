"""The rules for one case, seen from outside: exactly one reply or notice, and no internal details in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.crash.history import Shown
from tests.hostile.scene import REPLY_BYTES

FINAL = {"answered", "failed"}

#: Reasons for which a message may fail although the second answer would be good: the daemon does not repeat the call.
HOPELESS = {"auth", "quota", "bad_request", "refused", "too_long"}

#: Bytes of the note that a reply was cut.
_CUT = 200
_INTERNAL = ("Traceback (most recent", 'File "/', "Error(", "Exception", "arvis.")


@dataclass(frozen=True, slots=True)
class Played:
    """A message that has ended."""

    case: str
    manner: str
    message: str
    #: The timeline from the API.
    timeline: dict[str, Any]
    #: All messages of its channel.
    shown: Sequence[Shown]
    #: The status of the plain message after it.
    after: str
    #: Seconds.
    stall: float
    orphans: Sequence[str] = ()


def violations(played: Played) -> list[str]:
    return [found for rule in _RULES for found in rule(played)]


def _one_end(played: Played) -> list[str]:
    answers = [shown for shown in played.shown if played.message in shown.answers]
    return [] if len(answers) == 1 else [f"{len(answers)} replies or notices instead of one"]


def _final(played: Played) -> list[str]:
    status, reason = played.timeline.get("status"), played.timeline.get("reason")
    if status == "cancelled":
        return []  # the campaign has cancelled it because its delay was too long
    if status not in FINAL:
        return [f"it is {status} ({reason}) after all this time"]
    if reason == "broken":
        return ["the agent's graph broke"]
    if played.manner == "once" and status == "failed" and reason not in HOPELESS:
        return [f"given up ({reason}), although the second answer was good"]
    return []


def _bounded(played: Played) -> list[str]:
    sizes = [len(shown.content.encode("utf-8", "surrogatepass")) for shown in played.shown]
    most = REPLY_BYTES + _CUT
    return [f"a text of {size} bytes was shown" for size in sizes if size > most]


def _clean(played: Played) -> list[str]:
    """Find internal details in the daemon's own texts, and characters that cannot be shown."""
    found = []
    for shown in played.shown:
        own = shown.content if shown.content.startswith(("Sorry", "The model")) else ""
        found += [f"the channel shows {mark!r}" for mark in _INTERNAL if mark in own]
        if "\0" in shown.content or any("\ud800" <= char <= "\udfff" for char in shown.content):
            found.append("a character that cannot be stored is shown")
    return found


def _alive(played: Played) -> list[str]:
    return [] if played.after == "answered" else [f"the plain message after it is {played.after}"]


def _no_orphan(played: Played) -> list[str]:
    return [f"left behind: {orphan}" for orphan in played.orphans]


_RULES = (_one_end, _final, _bounded, _clean, _alive, _no_orphan)
