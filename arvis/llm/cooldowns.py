"""Cooldowns of accounts and models: limits, refused keys, and circuit breakers.

Kept here for all runs of this process; the caller stores the rows for restarts and other processes.
`arvis/llm/selection.py` makes the decisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import CIRCUIT, Cooldown
from arvis.llm.candidates import Choice

#: Minutes of cooldown by the number of refusals in a row (behaviour.md 1.11), if the vendor names no time.
COOLDOWNS = (1, 5, 25, 60)

#: The cooldown (ms) of an account whose key or credit is refused, unless the vendor names a time.
_CLOSED_MS = 60 * 60_000
CLOSED = frozenset({ProviderErrorKind.AUTH, ProviderErrorKind.QUOTA})

#: The least cooldown (ms) of an account that is refused again right after the time that its vendor named.
_SHORTEST_PAUSE = 1_000

#: The number of server failures in a row that opens its circuit; one is enough if the server gives no answer at all.
FAILURES = 3
#: Until the first probe of an open circuit, and at most between two of them (ms); the time doubles with each.
FIRST_PROBE, LAST_PROBE = 15_000, 300_000

_FAULTS = frozenset({ProviderErrorKind.OVERLOADED, ProviderErrorKind.TIMEOUT})

Key = tuple[str, str]


class Cooldowns:
    """Cooldowns by account and model."""

    def __init__(self, known: Iterable[Cooldown] = ()) -> None:
        self._rests: dict[Key, Cooldown] = {}
        #: Failures in a row while the circuit is closed.
        self._failures: dict[Key, int] = {}
        self._probed: set[Key] = set()
        self.learn(known)

    @property
    def known(self) -> Mapping[Key, Cooldown]:
        return self._rests

    @property
    def probed(self) -> frozenset[Key]:
        """Open circuits that a request tries at this moment."""
        return frozenset(self._probed)

    def is_out_of_order(self, choice: Choice) -> bool:
        """Return whether its circuit is open or half open."""
        return is_open(self._rests.get(key_of(choice)))

    def is_free(self, choice: Choice, now: int) -> bool:
        """Return whether it has no cooldown."""
        rest = self._rests.get(key_of(choice))
        return rest is None or rest.refusals == 0 or (rest.until <= now and not is_open(rest))

    def learn(self, rests: Iterable[Cooldown]) -> None:
        """Take over the findings of other processes or an earlier boot; the later one counts."""
        for rest in rests:
            mine = self._rests.get((rest.account, rest.model))
            if mine is None or rest.at > mine.at:
                self._rests[rest.account, rest.model] = rest

    def asked(self, choice: Choice) -> None:
        """A request begins: where the circuit is open, it is the probe."""
        if is_open(self._rests.get(key_of(choice))):
            self._probed.add(key_of(choice))

    def ended(self, choice: Choice) -> None:
        """Record the end of the request, whatever its outcome."""
        self._probed.discard(key_of(choice))

    def failed(self, choice: Choice, error: ProviderError, now: int, *, asked: int) -> Cooldown | None:
        """Record why a request that began at `asked` gave no answer; return the row to store, if it matters to
        others."""
        if error.kind is ProviderErrorKind.RATE_LIMIT or error.kind in CLOSED:
            return self.refused(choice, error, now, asked=asked)
        if error.kind not in _FAULTS:
            return None
        if error.retry_after is not None:
            return self.refused(choice, error, now, asked=asked)
        return self._faulty(choice, error, now, asked)

    def answered(self, choice: Choice, now: int) -> Cooldown | None:
        """An answer ends the row of refusals and closes the circuit; None when there was neither."""
        key = key_of(choice)
        self._failures.pop(key, None)
        before = self._rests.get(key)
        if before is None or before.refusals == 0:
            return None
        return self._keep(Cooldown(*key, now, 0, before.kind, now))

    def refused(self, choice: Choice, error: ProviderError, now: int, *, asked: int) -> Cooldown:
        """Set a cooldown exactly as long as the vendor asks; if it names no time, longer after each refusal. Calls
        that had started before the finding (`asked` is earlier) add nothing: together they count as one refusal."""
        before = self._rests.get(key_of(choice))
        refusals = 1
        if before is not None and before.kind == error.kind and before.refusals:
            refusals = before.refusals + (asked >= before.at)
        pause = _pause(error.kind, refusals)
        if error.retry_after is not None:
            pause = max(round(error.retry_after * 1000), _SHORTEST_PAUSE if refusals > 1 else 0)
        return self._keep(Cooldown(*key_of(choice), now + pause, refusals, error.kind, now))

    def _faulty(self, choice: Choice, error: ProviderError, now: int, asked: int) -> Cooldown | None:
        """Open the circuit after a hang, or after several failures; open it for longer when the probe fails."""
        key = key_of(choice)
        before = self._rests.get(key)
        if before is not None and is_open(before):
            probed = asked >= before.until
            return self._open(key, before.refusals + 1, now) if probed else None
        self._failures[key] = self._failures.get(key, 0) + 1
        if not error.silent and self._failures[key] < FAILURES:
            return None
        return self._open(key, 1, now)

    def _open(self, key: Key, times: int, now: int) -> Cooldown:
        self._failures.pop(key, None)
        wait = min(FIRST_PROBE * 2 ** min(times - 1, 10), LAST_PROBE)
        return self._keep(Cooldown(*key, now + wait, times, CIRCUIT, now))

    def _keep(self, rest: Cooldown) -> Cooldown:
        self._rests[rest.account, rest.model] = rest
        return rest


def key_of(choice: Choice) -> Key:
    return choice.account.name, choice.model


def is_open(rest: Cooldown | None) -> bool:
    """Return whether this is an open circuit, also when its probe is due."""
    return rest is not None and rest.kind == CIRCUIT and rest.refusals > 0


def _pause(kind: ProviderErrorKind, refusals: int) -> int:
    """Return the cooldown in ms if the vendor names no time."""
    if kind in CLOSED:
        return _CLOSED_MS
    return COOLDOWNS[min(refusals, len(COOLDOWNS)) - 1] * 60_000
