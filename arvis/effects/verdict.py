"""What the gate says of a proposal."""

from __future__ import annotations

from dataclasses import dataclass

from arvis.domain.effects import Outcome


@dataclass(frozen=True, slots=True)
class Verdict:
    """`outcome` is None where nothing stands against it, else what becomes of it instead. `reason` is a code, `words` says
    why to people: the end of a sentence."""

    outcome: Outcome | None
    reason: str | None = None
    words: str = ""


ALLOWED = Verdict(None)


def refused(reason: str, words: str) -> Verdict:
    return Verdict(Outcome.REFUSED, reason, words)


def asked(reason: str) -> Verdict:
    return Verdict(Outcome.ASKED, reason)
