"""Which accounts rest from which model, and until when: what a vendor that refuses should not be asked again.

Held here for all runs of this process; the caller keeps the rows, so that a restart and other processes know, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import Rest
from arvis.runner.choice import Choice

#: Minutes of rest by the number of refusals in a row (behaviour.md 1.11).
COOLDOWNS = (1, 5, 25, 60)

#: An account whose key or purse is refused rests for so long (ms), and is asked before then only if no other is left.
_CLOSED_MS = 60 * 60_000
_CLOSED = frozenset({ProviderErrorKind.AUTH, ProviderErrorKind.QUOTA})


class Rests:
    """By account and model."""

    def __init__(self, known: Iterable[Rest] = ()) -> None:
        self._rests: dict[tuple[str, str], Rest] = {}
        self.learn(known)

    def learn(self, rests: Iterable[Rest]) -> None:
        """Take over what other processes, or an earlier boot, have found out; the later word counts."""
        for rest in rests:
            mine = self._rests.get((rest.account, rest.model))
            if mine is None or rest.at > mine.at:
                self._rests[rest.account, rest.model] = rest

    def order(self, choices: Sequence[Choice], now: int) -> tuple[list[Choice], int | None]:
        """Who may be asked, those whose key or purse was refused last; and if that is nobody, when the first may be
        (ms)."""
        open_, closed, until = [], [], []
        for choice in choices:
            rest = self._rests.get((choice.account.name, choice.model))
            if rest is None or rest.until <= now:
                open_.append(choice)
            elif rest.kind in _CLOSED:
                closed.append(choice)
            else:
                until.append(rest.until)
        return open_ + closed, None if open_ or closed else min(until, default=None)

    def refused(self, choice: Choice, error: ProviderError, now: int, *, asked: int) -> Rest:
        """A refusal: the account rests from this model as long as the vendor asks, and after a limit longer each time.
        Calls that were under way when it was found out (`asked` before that) say nothing new: they make one refusal."""
        before = self._rests.get((choice.account.name, choice.model))
        refusals = 1
        if before is not None and before.kind == error.kind and before.refusals:
            refusals = before.refusals + (asked >= before.at)
        until = now + max(_pause(error.kind, refusals), round((error.retry_after or 0) * 1000))
        return self._keep(Rest(choice.account.name, choice.model, until, refusals, error.kind, now))

    def answered(self, choice: Choice, now: int) -> Rest | None:
        """An answer ends the row of refusals; None when there was none."""
        before = self._rests.get((choice.account.name, choice.model))
        if before is None or before.refusals == 0:
            return None
        return self._keep(Rest(choice.account.name, choice.model, now, 0, before.kind, now))

    def snapshot(self) -> Mapping[tuple[str, str], Rest]:
        return dict(self._rests)

    def _keep(self, rest: Rest) -> Rest:
        self._rests[rest.account, rest.model] = rest
        return rest


def _pause(kind: ProviderErrorKind, refusals: int) -> int:
    """The least rest, in ms."""
    if kind in _CLOSED:
        return _CLOSED_MS
    if kind is ProviderErrorKind.RATE_LIMIT:
        return COOLDOWNS[min(refusals, len(COOLDOWNS)) - 1] * 60_000
    return 0
