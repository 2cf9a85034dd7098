"""The selection of the account for a call: the candidates of a request, their cooldowns, and the decision.

`select` is a pure function of the candidates, their cooldowns (`Cooldowns`), their load, and the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from itertools import count

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import CIRCUIT, Account, Cooldown, RunRequest

# -- candidates --------------------------------------------------------------------------------------------------------


#: The account that answers if there are no other accounts, or if an agent names its model.
DEMO = Account(name="demo", provider="demo", model="demo")

#: The provider of a model name without a prefix.
DEFAULT_PROVIDER = "anthropic"

#: The providers whose accounts serve only the models that they name, because their other models are unknown. Accounts
#: of other providers serve any model of their vendor, unless they name models.
_OWN_MODEL_ONLY = frozenset({"custom", "ollama", "claude_cli"})

#: The providers whose models cannot call tools, because the program between Arvis and the model cannot return calls.
TOOLLESS = frozenset({"claude_cli"})


@dataclass(frozen=True, slots=True)
class Choice:
    """An account, and the model to call at this account."""

    account: Account
    #: The name of the model without the prefix of the provider.
    model: str
    #: The number of models that the agent prefers to this model.
    wish: int = field(default=0, compare=False)

    def __hash__(self) -> int:
        return hash((self.account.name, self.model))  # hashing the whole account would take ten times longer

    @property
    def key(self) -> tuple[str, str]:
        """Return the key under which `Cooldowns` stores the cooldown of this choice."""
        return self.account.name, self.model

    @property
    def model_name(self) -> str:
        """Return `provider/model`, under which the calibration of the model is stored."""
        return f"{self.account.provider}/{self.model}"


def candidates(accounts: Sequence[Account], model: str | None, fallbacks: Sequence[str] = ()) -> tuple[Choice, ...]:
    """Return every candidate once: the accounts that serve `model`, then the accounts that serve each fallback, then
    every account with its own model. The accounts of each group are sorted by priority. A model is written as
    `provider/model` (the provider ends at the first slash) or as a bare name. An agent with a `model` but without
    fallbacks permits only this model, so there may be no candidate."""
    ranked = sorted(accounts, key=lambda account: account.priority)
    wanted = [model, *fallbacks] if model is not None else list(fallbacks)
    if not ranked:
        # If there are no accounts, the demo account answers under every model name.
        named = [choice for name in wanted for choice in _serving([DEMO], name)]
        return tuple(dict.fromkeys([*named, Choice(DEMO, DEMO.model)]))
    found = [replace(choice, wish=wish) for wish, name in enumerate(wanted) for choice in _serving(ranked, name)]
    if model is None or fallbacks:
        found += [Choice(account, account.model, len(wanted)) for account in ranked]
    return tuple(dict.fromkeys(found))


def _serving(ranked: Sequence[Account], model: str) -> Iterator[Choice]:
    """Yield the choices for a model, written as an agent names it. The built-in demo account serves every name."""
    provider, slash, name = model.partition("/")
    if not slash and provider != DEMO.provider:
        provider, name = DEFAULT_PROVIDER, model
    of_provider = [Choice(account, name or account.model) for account in ranked if account.provider == provider]
    if provider == DEMO.provider and not of_provider:
        yield Choice(DEMO, name or DEMO.model)
    yield from (choice for choice in of_provider if _serves(choice.account, choice.model))
    # An account's own model may also be written as a bare name, or may contain a slash.
    yield from (Choice(account, model) for account in ranked if model in (account.model, *account.models))


def _serves(account: Account, model: str) -> bool:
    if account.models:
        return model in account.models
    return account.provider not in _OWN_MODEL_ONLY or model == account.model


def names_served(accounts: Sequence[Account]) -> frozenset[str] | None:
    """Return all names under which a model is served: `provider/model`, bare names, and `provider/*` for accounts that
    serve all models of their vendor. Return None if there are no accounts, because the demo then answers under every
    name."""
    if not accounts:
        return None
    own = {(each.provider, model) for each in accounts for model in (each.model, *each.models)}
    open_ = {each.provider for each in accounts if not each.models and each.provider not in _OWN_MODEL_ONLY}
    names = {name for provider, model in own for name in (model, f"{provider}/{model}", f"{provider}/")}
    return frozenset({*names, *(f"{provider}/*" for provider in open_), DEMO.provider, f"{DEMO.provider}/*"})


# -- cooldowns: limits, refused keys, and circuit breakers -------------------------------------------------------------
#
# All calls of this process share one `Cooldowns`. The caller stores its rows, for restarts and for other processes.


#: Minutes of cooldown after the first, second, third and every further refusal in a row, if the vendor names no time.
COOLDOWNS = (1, 5, 25, 60)

#: Minutes of cooldown after a refused key or credit, if the vendor names no time.
_CLOSED = 60
#: The kinds of the errors for a refused key or credit.
CLOSED = frozenset({ProviderErrorKind.AUTH, ProviderErrorKind.QUOTA})

#: The minimum cooldown (ms) of an account that is refused again right after the time that its vendor named.
_SHORTEST_PAUSE = 1_000

#: The number of consecutive server failures that opens a circuit. A single failure is enough if the server sent no byte
#: of an answer.
FAILURES = 3
#: The time (ms) until the first probe of an open circuit, and the longest time between two probes. The time doubles
#: after each failed probe.
FIRST_PROBE, LAST_PROBE = 15_000, 300_000

_FAULTS = frozenset({ProviderErrorKind.OVERLOADED, ProviderErrorKind.TIMEOUT})

Key = tuple[str, str]


class Cooldowns:
    """Cooldowns by account and model."""

    def __init__(self, known: Iterable[Cooldown] = ()) -> None:
        self.known: dict[Key, Cooldown] = {}
        #: The keys of open circuits that a request is probing now.
        self.probed: set[Key] = set()
        #: The number of consecutive failures, while the circuit is closed.
        self._failures: dict[Key, int] = {}
        self.learn(known)

    def is_out_of_order(self, choice: Choice) -> bool:
        """Return whether the circuit of this choice is open or half open."""
        return is_open(self.known.get(choice.key))

    def is_free(self, choice: Choice, now: int) -> bool:
        """Return whether this choice has neither a cooldown nor an open circuit."""
        rest = self.known.get(choice.key)
        return rest is None or rest.refusals == 0 or (rest.until <= now and not is_open(rest))

    def learn(self, rests: Iterable[Cooldown]) -> None:
        """Load the stored cooldowns of other processes or of an earlier start. The latest cooldown of each account and
        model counts."""
        for rest in rests:
            mine = self.known.get((rest.account, rest.model))
            if mine is None or rest.at > mine.at:
                self.known[rest.account, rest.model] = rest

    def started(self, choice: Choice) -> None:
        """Record the start of a request. If the circuit is open, the request is its probe."""
        if is_open(self.known.get(choice.key)):
            self.probed.add(choice.key)

    def ended(self, choice: Choice) -> None:
        """Record the end of the request, with any outcome."""
        self.probed.discard(choice.key)

    def failed(self, choice: Choice, error: ProviderError, now: int, *, asked_at: int) -> Cooldown | None:
        """Record the error of a request that began at `asked_at` (ms) and got no answer. Return the cooldown to store, or
        None if it did not change."""
        if error.kind is ProviderErrorKind.RATE_LIMIT or error.kind in CLOSED:
            return self.refused(choice, error, now, asked_at=asked_at)
        if error.kind not in _FAULTS:
            return None
        if error.retry_after is not None:
            return self.refused(choice, error, now, asked_at=asked_at)
        return self._faulty(choice, error, now, asked_at)

    def answered(self, choice: Choice, now: int) -> Cooldown | None:
        """End the cooldown and close the circuit after an answer. Return the cooldown to store, or None if there was
        neither a cooldown nor an open circuit."""
        key = choice.key
        self._failures.pop(key, None)
        before = self.known.get(key)
        if before is None or before.refusals == 0:
            return None
        return self._keep(Cooldown(*key, now, 0, before.kind, now))

    def refused(self, choice: Choice, error: ProviderError, now: int, *, asked_at: int) -> Cooldown:
        """Set a cooldown of the length that the vendor asks for. If the vendor names no time, the cooldown is an hour
        for a refused key or credit, and otherwise grows with each refusal. Concurrent calls count as one refusal: a
        call that started before the last refusal (`asked_at` is earlier) does not increase the number of refusals."""
        before = self.known.get(choice.key)
        refusals = 1
        if before is not None and before.kind == error.kind and before.refusals:
            refusals = before.refusals + (asked_at >= before.at)
        minutes = _CLOSED if error.kind in CLOSED else COOLDOWNS[min(refusals, len(COOLDOWNS)) - 1]
        pause = minutes * 60_000
        if error.retry_after is not None:
            pause = max(round(error.retry_after * 1000), _SHORTEST_PAUSE if refusals > 1 else 0)
        return self._keep(Cooldown(*choice.key, now + pause, refusals, error.kind, now))

    def _faulty(self, choice: Choice, error: ProviderError, now: int, asked_at: int) -> Cooldown | None:
        """Open the circuit after a hang, or after several failures. If a probe fails, keep the circuit open for longer.
        Return the cooldown to store, or None if the cooldown did not change."""
        key = choice.key
        before = self.known.get(key)
        if before is not None and is_open(before):
            probed = asked_at >= before.until
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
        self.known[rest.account, rest.model] = rest
        return rest


def is_open(rest: Cooldown | None) -> bool:
    """Return whether this is an open circuit, even if its probe is due."""
    return rest is not None and rest.kind == CIRCUIT and rest.refusals > 0


# -- the decision ------------------------------------------------------------------------------------------------------


#: The time (ms) after which a refused key is tried again if no other account is available, because a person may have
#: fixed the problem.
_ASK_AGAIN_MS = 60_000

#: The assumed time (ms) from now until a running probe ends.
_PROBE_ENDS_MS = 5_000

#: The number of conversations for which the last answering account is remembered.
_MOST_SERVED = 1_000


@dataclass(frozen=True, slots=True)
class Later:
    """A candidate that can be called later."""

    choice: Choice
    #: The time (ms) from which the candidate can be called.
    at: int
    #: True if `at` is the end of a cooldown; False if it is the time of the next probe of an open circuit.
    certain: bool


@dataclass(frozen=True, slots=True)
class Never:
    """A candidate whose key or credit was refused: it probably stays unavailable until a person acts."""

    choice: Choice
    kind: str


@dataclass(frozen=True, slots=True)
class Selection:
    """The sorted candidates."""

    #: The candidates to call now, in this order. If no candidate is available, `now` contains candidates that are also
    #: in `later` or `never`.
    now: tuple[Choice, ...]
    later: tuple[Later, ...] = ()
    never: tuple[Never, ...] = ()

    @property
    def pending(self) -> bool:
        """Return whether a candidate becomes available at a known time."""
        return any(each.certain for each in self.later)

    @property
    def until(self) -> int | None:
        """Return the earliest time (ms) at which a candidate of `later` becomes available or may be probed; None if
        `later` is empty."""
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
        """Return the name of the account that gave the last answer of the conversation, if the request continues a turn
        with tool outputs; else None."""
        goes_on = bool(request.turns) and bool(request.turns[-1].outputs)
        return self._served.get(request.conversation) if goes_on else None

    def of(self, choice: Choice) -> tuple[int, int]:
        """Return the account's number of concurrent calls, and the position of its latest call in the order of all
        calls."""
        return self._running[choice.account.name], self._turn.get(choice.account.name, 0)


@dataclass(frozen=True, slots=True)
class RequestNeeds:
    """The requirements of a request."""

    #: True if the request offers tools.
    tools: bool = False
    #: The name of the account that gave the last answer of the turn.
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
    needs: RequestNeeds | None = None,
) -> Selection:
    """Sort the candidates into three groups: to call now, later, and probably never. If no candidate is available now,
    `now` contains the accounts with an open circuit, which are then probed early. It then also contains accounts whose
    key was refused: all of them if `later` is empty, otherwise only accounts that were refused at least a minute
    ago."""
    found = _Sorted()
    for choice in _in_order(choices, load or Load(), needs or RequestNeeds()) if len(choices) > 1 else choices:
        _sort(choice, known.get(choice.key), now, probed, found)
    if found.now:
        return Selection(tuple(found.now), tuple(found.later), tuple(found.never))
    may_ask_again = [not found.later or now - known[each.choice.key].at >= _ASK_AGAIN_MS for each in found.never]
    refused = [each.choice for each, again in zip(found.never, may_ask_again, strict=True) if again]
    if any(each.certain for each in found.later):
        # If an account becomes available at a known time, only one request probes an open circuit early; the others
        # wait for that account.
        found.resort = [choice for choice in found.resort if choice.key not in probed]
    return Selection((*found.resort, *refused), tuple(found.later), tuple(found.never))


def _sort(choice: Choice, rest: Cooldown | None, now: int, probed: Collection[Key], found: _Sorted) -> None:
    if rest is None or rest.refusals == 0:
        found.now.append(choice)
    elif is_open(rest):
        if rest.until <= now and choice.key not in probed:
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


def _in_order(choices: Sequence[Choice], load: Load, needs: RequestNeeds) -> list[Choice]:
    """Sort by the agent's preference, then by the accounts' ability to call tools if the request needs it, then by
    priority. If all three are equal, a turn stays with its account, because the account's vendor has cached the
    beginning of the prompt. All other accounts that are equal in this order share the load."""

    def place(choice: Choice) -> tuple[object, ...]:
        toolless = needs.tools and choice.account.provider in TOOLLESS
        elsewhere = choice.account.name != needs.same
        return (choice.wish, toolless, choice.account.priority, elsewhere, *load.of(choice))

    return sorted(choices, key=place)
