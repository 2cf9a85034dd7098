"""What one case must look like from outside: exactly one reply or notice, nothing that people should not see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.crash.history import Shown
from tests.hostile.scene import REPLY_BYTES

FINAL = {"answered", "failed"}

#: Why a message may fail although the server was good again at the second time: nobody asks twice after these.
HOPELESS = {"auth", "quota", "bad_request", "refused", "too_long"}

#: Bytes of the words that tell that a reply was cut.
_CUT = 200
_INTERNAL = ("Traceback (most recent", 'File "/', "Error(", "Exception", "arvis.")


@dataclass(frozen=True, slots=True)
class Played:
    """One message to its end: `timeline` as the API tells it, `shown` all that its channel shows, `after` how the
    plain message behind it ended. `stall` in seconds."""

    case: str
    manner: str
    message: str
    timeline: dict[str, Any]
    shown: Sequence[Shown]
    after: str
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
        return []  # by the campaign, because its wait is longer than anybody's
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
    """No internals in what the daemon says in its own name, and nothing that cannot be shown."""
    found = []
    for shown in played.shown:
        own = shown.content if shown.content.startswith(("Sorry", "The model")) else ""
        found += [f"people are shown {mark!r}" for mark in _INTERNAL if mark in own]
        if "\0" in shown.content or any("\ud800" <= char <= "\udfff" for char in shown.content):
            found.append("a character that nothing can hold is shown")
    return found


def _alive(played: Played) -> list[str]:
    return [] if played.after == "answered" else [f"the plain message behind it is {played.after}"]


def _no_orphan(played: Played) -> list[str]:
    return [f"left behind: {orphan}" for orphan in played.orphans]


_RULES = (_one_end, _final, _bounded, _clean, _alive, _no_orphan)
