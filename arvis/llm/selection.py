"""The decision about accounts: those that can answer now, those that can later, and those that need a person's
action.

A pure function of the candidates, the knowledge about them (`Cooldowns`), their load, and the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from arvis.domain.runs import Cooldown, RunRequest
from arvis.llm.candidates import TOOLLESS, Choice
from arvis.llm.cooldowns import CLOSED, Key, is_open, key_of

#: The time (ms) after which a refused key is tried again while all other accounts wait, because a person may have
#: acted.
_ASK_AGAIN_MS = 60_000

#: When a probe that is under way is taken to be over (ms from now).
_PROBE_ENDS_MS = 5_000

#: Conversations of which it is remembered which account answered last.
_MOST_SERVED = 1_000


@dataclass(frozen=True, slots=True)
class Later:
    """A candidate that can be called from `at` on (ms). `certain`: the vendor, or our rule for limits, named the
    time; else its circuit is open and the next probe is due then."""

    choice: Choice
    at: int
    certain: bool


@dataclass(frozen=True, slots=True)
class Never:
    """A candidate that no waiting helps: its key, credit or model was refused."""

    choice: Choice
    kind: str


@dataclass(frozen=True, slots=True)
class Selection:
    """`now` is in the order of the calls. Those of them that are also `later` or `never` are called because no better
    one is left."""

    now: tuple[Choice, ...]
    later: tuple[Later, ...] = ()
    never: tuple[Never, ...] = ()

    @property
    def pending(self) -> bool:
        """Return whether a candidate becomes available at a known time."""
        return any(each.certain for each in self.later)

    @property
    def until(self) -> int | None:
        """Return when the first candidate becomes available, or may be probed (ms)."""
        return min((each.at for each in self.later), default=None)


class Load:
    """The concurrent calls of each account in this process, and the order of the latest calls."""

    def __init__(self) -> None:
        self._running: Counter[str] = Counter()
        self._turn: dict[str, int] = {}
        self._turns = count(1)
        self._served: dict[str, str] = {}

    @contextmanager
    def calling(self, choice: Choice) -> Iterator[None]:
        name = choice.account.name
        self._running[name] += 1
        self._turn[name] = next(self._turns)
        try:
            yield
        finally:
            self._running[name] -= 1

    def note(self, request: RunRequest, choice: Choice) -> None:
        """Record that this account has answered a request of a conversation."""
        if request.conversation:
            self._served.pop(request.conversation, None)
            self._served[request.conversation] = choice.account.name
        while len(self._served) > _MOST_SERVED:
            del self._served[next(iter(self._served))]

    def served(self, request: RunRequest) -> str | None:
        """The account that gave the last answer of a turn that goes on with the outputs of tools."""
        goes_on = bool(request.turns) and bool(request.turns[-1].outputs)
        return self._served.get(request.conversation) if goes_on else None

    def of(self, choice: Choice) -> tuple[int, int]:
        """Return the number of concurrent calls, then the order by the latest use."""
        return self._running[choice.account.name], self._turn.get(choice.account.name, 0)


@dataclass(frozen=True, slots=True)
class Asked:
    """The requirements of a request: `tools` if it offers some, `same` is the account of the turn's last answer."""

    tools: bool = False
    same: str | None = None


@dataclass(slots=True)
class _Sorted:
    now: list[Choice] = field(default_factory=list)
    later: list[Later] = field(default_factory=list)
    never: list[Never] = field(default_factory=list)
    resort: list[Choice] = field(default_factory=list)


def select(
    choices: Sequence[Choice],
    known: Mapping[Key, Cooldown],
    now: int,
    *,
    probed: Collection[Key] = (),
    load: Load | None = None,
    asked: Asked | None = None,
) -> Selection:
    """Sort the candidates. If none is available now, open circuits are probed; a refused key is tried again if
    nothing else is left, or once a minute while the others wait."""
    found = _Sorted()
    for choice in _in_order(choices, load or Load(), asked or Asked()):
        _sort(choice, known.get(key_of(choice)), now, probed, found)
    if found.now:
        return Selection(tuple(found.now), tuple(found.later), tuple(found.never))
    refused = [each.choice for each in found.never if _may_ask_again(known[key_of(each.choice)], found, now)]
    if any(each.certain for each in found.later):
        # One request tries it; the others wait for what comes back for certain.
        found.resort = [choice for choice in found.resort if key_of(choice) not in probed]
    return Selection((*found.resort, *refused), tuple(found.later), tuple(found.never))


def _sort(choice: Choice, rest: Cooldown | None, now: int, probed: Collection[Key], found: _Sorted) -> None:
    if rest is None or rest.refusals == 0:
        found.now.append(choice)
    elif is_open(rest):
        if rest.until <= now and key_of(choice) not in probed:
            found.now.append(choice)
            return
        at = rest.until if rest.until > now else now + _PROBE_ENDS_MS
        found.later.append(Later(choice, at, certain=False))
        found.resort.append(choice)
    elif rest.until <= now:
        found.now.append(choice)
    elif rest.kind in CLOSED:
        found.never.append(Never(choice, rest.kind))
    else:
        found.later.append(Later(choice, rest.until, certain=True))


def _may_ask_again(rest: Cooldown, found: _Sorted, now: int) -> bool:
    return not found.later or now - rest.at >= _ASK_AGAIN_MS


def _in_order(choices: Sequence[Choice], load: Load, asked: Asked) -> list[Choice]:
    """Sort by the agent's preference, then by the accounts' ability to serve the request, then by priority; equal
    ones share the load. A turn stays with its account, whose vendor has the beginning of the prompt in its cache."""

    def place(choice: Choice) -> tuple[object, ...]:
        toolless = asked.tools and choice.account.provider in TOOLLESS
        elsewhere = choice.account.name != asked.same
        return (choice.wish, toolless, choice.account.priority, elsewhere, *load.of(choice))

    return sorted(choices, key=place)
