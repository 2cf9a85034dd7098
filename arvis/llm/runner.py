"""The runner of model calls. `Runner.run` makes every model call in Arvis, except the test call of an account.

After a failure the runner calls the next account immediately. It waits for the end of a temporary problem (up to 1, 4
and 15 s, with full jitter) only if no account is left. The runner never writes to the database: it returns the receipts
of all attempts and the changed cooldowns to the caller, which commits them with the reply.

A vendor also charges for a cancelled call, so the receipt of such an attempt has an estimate of its tokens.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence

from arvis.domain.dataclass import replace
from arvis.domain.errors import ConfigError, ProviderError, ProviderErrorKind
from arvis.domain.markup import escape
from arvis.domain.regex import regex
from arvis.domain.runs import Account, Cooldown, Image, Measure, ModelCall, RunRequest, RunResult
from arvis.domain.text import presentable
from arvis.llm.attempts import Attempt, LargestUse, Receipts, Run, RunFailed, Trail, Try, Unserved
from arvis.llm.model_limits import ModelLimits, ModelProfile, limit_in
from arvis.llm.prices import Prices, most_tokens
from arvis.llm.selection import DEMO, TOOLLESS, Choice, Cooldowns, Load, RequestNeeds, Selection, candidates, select
from arvis.llm.tokens import measure_request
from arvis.ports.clock import Clock
from arvis.ports.conversations import Calibration
from arvis.ports.provider import Provider, Providers, StreamingProvider

# Requests to models that cannot read images: a note replaces each image, and a pattern recognises the errors of servers
# that refuse images.


_ABOUT_PICTURES = regex(r"image|vision|multi-?modal|picture|visual", re.IGNORECASE)
#: The kinds of the errors by which servers refuse images. Some servers report an unreadable image as their own failure.
_REFUSING = frozenset({ProviderErrorKind.BAD_REQUEST, ProviderErrorKind.OVERLOADED})


def without_pictures(request: RunRequest) -> RunRequest:
    """Return the request with a line of text instead of each picture."""
    if not any(turn.images for turn in request.turns):
        return request
    turns = []
    for turn in request.turns:
        lines = [_instead_of(image) for image in turn.images]
        turns.append(replace(turn, content="\n".join([turn.content, *lines]), images=()))
    return replace(request, turns=tuple(turns))


def _instead_of(image: Image) -> str:
    name = escape(" ".join(image.name.split()) or "without a name")
    # The model is not asked to tell the person again about a picture of an earlier turn.
    more = "" if image.past else " Tell the person."
    return f"[Image {name}: this model cannot see images.{more}]"


def refused_pictures(request: RunRequest, error: ProviderError) -> bool:
    """Return whether a server refused a request because of its pictures."""
    said = error.kind in _REFUSING and _ABOUT_PICTURES.search(error.what) is not None
    return said and any(turn.images for turn in request.turns)


#: The longest waits before the second, third and fourth round of calls, in seconds.
RETRY_DELAYS = (1.0, 4.0, 15.0)

#: The longest wait (seconds) inside a run. If a longer wait is needed, the run fails and the queue retries the job
#: later.
LONGEST_WAIT = 20.0

#: The time limit (seconds) for the first byte of an answer, if another account could answer instead.
FIRST_BYTE = 20.0
#: An account whose cooldown ends within this time (ms) counts as an account that could answer instead.
_SOON = 120_000
#: The minimum time limit (seconds) for the first byte from an account whose circuit is open.
_LEAST_PROBE = 1.0

OnText = Callable[[int, str], None]


#: The errors that any other account would also return.
HOPELESS = frozenset({ProviderErrorKind.BAD_REQUEST, ProviderErrorKind.REFUSED, ProviderErrorKind.TOO_LONG})


class _GaveWay(Exception):
    """The signal that a call without output was cancelled, because another call will be answered sooner."""


class Runner:
    """The runner of model calls. Concurrent runs share the cooldowns, circuits and limits that they learn.

    `accounts` returns the usable accounts, `new_id` makes the ids of receipts, and `random` returns a number from 0 up
    to 1 for the jitter. `deadline` limits a run, in seconds. If `prices` is None, only the built-in prices apply; if
    `limits` is None, no request is too long. `sees` returns whether to send images to a provider's model (None: to
    every model). `first_byte` is the time limit (seconds) for the first byte from an account, if another account could
    answer.
    """

    def __init__(
        self,
        *,
        providers: Providers,
        accounts: Callable[[], Sequence[Account]],
        clock: Clock,
        new_id: Callable[[], str],
        random: Callable[[], float],
        deadline: float = 900.0,
        prices: Prices | None = None,
        limits: ModelLimits | None = None,
        sees: Callable[[str, str], bool] | None = None,
        first_byte: float = FIRST_BYTE,
    ) -> None:
        self._providers = providers
        # Cached, because an `isinstance` check of a Protocol takes longer than all other work of the runner for a call.
        self._streams: dict[Provider, StreamingProvider | None] = {}
        self._accounts = accounts
        self._clock = clock
        self._random = random
        self._deadline = deadline
        self._prices = prices or Prices()
        self._new_id = new_id
        self._receipts = Receipts(prices=self._prices, clock=clock, new_id=new_id)
        self._rests = Cooldowns()
        self._limits = limits or ModelLimits()
        self._sees = sees
        self._first_byte = first_byte
        #: The models that have refused pictures, as `provider/model`.
        self._blind: set[str] = set()
        #: The accounts, and the candidates that were selected from these accounts, by model and fallbacks.
        self._served: tuple[Sequence[Account], dict[tuple[str | None, ...], tuple[Choice, ...]]] = ((), {})
        self._load = Load()
        self._changed = asyncio.Event()

    def learn(self, cooldowns: Iterable[Cooldown] = (), calibrations: Iterable[Calibration] = ()) -> None:
        """Load the stored cooldowns of accounts, and the stored token counts and windows of models."""
        self._rests.learn(cooldowns)
        self._limits.learn(calibrations)

    def profile(self, model: str | None, fallbacks: Sequence[str] = ()) -> ModelProfile:
        """Return the limits of the model that would be called first now."""
        return self._limits.of(self._first(self._candidates(model, fallbacks)))

    def largest(self, request: RunRequest, *, model: str | None, fallbacks: Sequence[str] = ()) -> LargestUse:
        """Return the largest possible use and cost of one call of `run` with these parameters."""
        choices = self._candidates(model, fallbacks)
        first, size = self._first(choices), measure_request(request)
        tokens = most_tokens(size)
        micros = self._prices.at_most(choices, tokens, request.max_tokens)
        if first.account.provider == DEMO.provider:
            return LargestUse(micros, None, size)
        receipt = ModelCall(
            id=self._new_id(),
            account=first.account.name,
            provider=first.account.provider,
            model=first.model,
            started_at=self._clock.now(),
            duration_ms=0,
            input_tokens=tokens,
            output_tokens=request.max_tokens,
            cost_micros=micros,
            priced=self._prices.of(first.account.provider, first.model) is not None,
        )
        return LargestUse(micros, receipt, size)

    async def run(
        self,
        request: RunRequest,
        *,
        model: str | None,
        fallbacks: Sequence[str] = (),
        on_text: OnText,
        trail: Trail | None = None,
        size: Measure | None = None,
    ) -> Run:
        """Return one reply. `model` and `fallbacks` are written as in an agent's settings: `provider/model`, or a bare
        name. Without them each account uses its own model. `on_text` gets each streamed piece with its offset in
        characters; a new attempt starts at offset 0 again. `size` is the size of the request if the caller knows it
        (`largest` returns it). Raise `RunFailed` if no attempt succeeds. A cancellation ends the running call
        immediately, and `trail` contains the receipt of that call."""
        trail = Trail() if trail is None else trail
        choices = self._candidates(model, fallbacks)
        if not choices:
            raise Unserved(model)
        size = measure_request(request) if size is None else size
        attempt = Attempt(self._clock.monotonic() + self._deadline, trail, size, choices)
        for delay in (*RETRY_DELAYS, None):
            result = await self._ask_each(request, on_text, attempt)
            if result is not None:
                return Run(result, tuple(trail.calls), tuple(trail.rests))
            wait = self._wait(attempt, self._select(attempt.helpful, request), delay)
            if wait is None:
                break
            await self._pause(wait)
            attempt.tried.clear()
            attempt.round += 1
        verdict = attempt.verdict(self._select(attempt.helpful), self._clock.now())
        raise RunFailed(verdict, tuple(trail.calls), tuple(trail.rests))

    async def _pause(self, seconds: float) -> None:
        """Wait until the time has passed, or until another run has found that an account answers or fails."""
        slept = asyncio.create_task(self._clock.sleep(seconds))
        back = asyncio.create_task(self._changed.wait())
        try:
            await asyncio.wait({slept, back}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            slept.cancel()
            back.cancel()

    async def _ask_each(self, request: RunRequest, on_text: OnText, attempt: Attempt) -> RunResult | None:
        """Call the available accounts until one of them answers; return None if no account answers. Select the account
        again before each call, because concurrent runs may have changed the cooldowns in the meantime."""
        while True:
            selection = self._select([choice for choice in attempt.helpful if choice not in attempt.tried], request)
            if not selection.now:
                return None
            choice = selection.now[0]
            # Here all choices count, including choices that were called since the last pause.
            others = self._select(attempt.helpful, request) if attempt.tried else selection
            attempt.tried.add(choice)
            within = self._begin_within(choice, others, attempt)
            try:
                result = await self._try(choice, replace(request, begin_within=within), on_text, attempt)
            except _GaveWay:
                attempt.tried.discard(choice)
                continue
            if result is not None:
                return result

    def _begin_within(self, choice: Choice, selection: Selection, attempt: Attempt) -> float | None:
        """Return the time limit (seconds) for the first byte, None for no limit. There is a limit if another account
        could answer instead, or if this account's circuit is open. The limit doubles after each pause, because a model
        may be slow at every account."""
        now = self._clock.now()
        back = [
            each.at for each in selection.later if each.certain and each.at <= now + _SOON and each.choice != choice
        ]
        bound: float = self._first_byte * (1 << attempt.round)
        if len(attempt.choices) > 1 and self._rests.is_out_of_order(choice):
            # This account did not respond before. It gets less time if its probe is not due yet, and at most the time
            # until the next account becomes available.
            if not back:
                return bound
            early = any(each.choice == choice for each in selection.later)
            ends: float = (min(back) - now) / 1000
            return max(_LEAST_PROBE, min(bound / 4 if early else bound, ends))
        if back or set(selection.now) - {choice}:
            return bound
        return 2 * bound if selection.later else None

    def _candidates(self, model: str | None, fallbacks: Sequence[str] = ()) -> tuple[Choice, ...]:
        accounts, known = self._accounts(), (model, *fallbacks)
        if self._served[0] is not accounts:
            self._served = accounts, {}
        choices = self._served[1].get(known)
        if choices is None:
            choices = self._served[1][known] = candidates(accounts, model, fallbacks)
        return choices

    def _first(self, choices: Sequence[Choice]) -> Choice:
        """Return the choice to call first now. If no choice is available, return the preferred choice. Without
        `choices`, choose from all accounts."""
        choices = choices or self._candidates(None)
        return (self._select(choices).now or choices)[0]

    def _select(self, choices: Sequence[Choice], request: RunRequest | None = None) -> Selection:
        rests, needs = self._rests, RequestNeeds()
        if request is not None:
            needs = RequestNeeds(tools=bool(request.tools and not request.tools_off), same=self._load.served(request))
        return select(choices, rests.known, self._clock.now(), probed=rests.probed, load=self._load, needs=needs)

    async def _try(self, choice: Choice, request: RunRequest, on_text: OnText, attempt: Attempt) -> RunResult | None:
        """Make one attempt; return None if the next choice should be called. Raise `RunFailed` for an error that every
        other account would also return."""
        whole, size = request, attempt.size
        blind = self._sees is not None and not self._sees(choice.account.provider, choice.model)
        if blind or choice.model_name in self._blind:
            request, size = without_pictures(whole), replace(size, pictures=0)
        try:
            longest = self._limits.longest_reply(choice, size)
        except ProviderError as error:
            attempt.failed(choice, error)
            return None
        request = replace(request, model=choice.model, max_tokens=min(request.max_tokens, longest))
        tried, trail = Try(choice, request, self._clock.now(), self._clock.monotonic()), attempt.trail
        self._rests.started(choice)
        try:
            with self._load.calling(choice):
                result = await self._unless_others_are_back(tried, on_text, attempt)
        except _GaveWay:
            trail.calls.append(self._receipts.failed(tried, None))
            raise
        except ProviderError as error:
            trail.calls.append(self._receipts.failed(tried, error))
            if refused_pictures(request, error):
                self._blind.add(choice.model_name)
                return await self._try(choice, whole, on_text, attempt)
            if (limit := limit_in(error)) is not None:
                trail.limits.append((choice.model_name, limit))
            if error.kind in HOPELESS and not error.elsewhere:
                raise RunFailed(error, tuple(trail.calls), tuple(trail.rests)) from error
            attempt.failed(choice, error)
            if (rest := self._rests.failed(choice, error, self._clock.now(), asked_at=tried.at)) is not None:
                trail.rests.append(rest)
                self._tell()
            return None
        except asyncio.CancelledError:
            trail.calls.append(self._receipts.failed(tried, None))
            raise
        finally:
            self._rests.ended(choice)
        self._note_answer(tried, result, attempt)
        asked = any(not image.past for turn in whole.turns for image in turn.images)
        pictures = asked and not any(turn.images for turn in request.turns)
        tools = bool(whole.tools) and not whole.tools_off and choice.account.provider in TOOLLESS
        left_out = [*(["pictures"] if pictures else []), *(["tools"] if tools else [])]
        return replace(result, left_out=(*left_out, *result.left_out)) if left_out else result

    def _note_answer(self, tried: Try, result: RunResult, attempt: Attempt) -> None:
        """Record what an answer shows: its receipt, the end of a cooldown, the token counts and the window of the
        model."""
        choice, trail = tried.choice, attempt.trail
        self._load.note(tried.request, choice)
        trail.calls.append(self._receipts.answered(tried, result))
        if (rest := self._rests.answered(choice, self._clock.now())) is not None:
            trail.rests.append(rest)
            self._tell()
        if result.input_tokens and choice.account.provider != DEMO.provider:
            trail.counted.append((choice.model_name, attempt.size, result.input_tokens))
        if result.window is not None:
            trail.limits.append((choice.model_name, result.window))

    def _tell(self) -> None:
        """Wake all waiting runs, so that they check the accounts again."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def _unless_others_are_back(self, tried: Try, on_text: OnText, attempt: Attempt) -> RunResult:
        """Make one attempt. Raise `_GaveWay` if the attempt has no output yet and another call will be answered sooner.
        There are two such cases. In the first case, the circuit of this account is open and another account has become
        available. In the second case, the circuit was open at the start and this account has since answered another
        request, so that a new call of the same account will not hang."""
        was_open = self._rests.is_out_of_order(tried.choice)
        if len(attempt.choices) == 1 and not was_open:
            return await self._call(tried, on_text)
        call = asyncio.create_task(self._call(tried, on_text))
        try:
            while not call.done():
                changed = asyncio.create_task(self._changed.wait())
                await asyncio.wait({call, changed}, return_when=asyncio.FIRST_COMPLETED)
                changed.cancel()
                if not call.done() and not tried.pieces and self._should_give_way(tried.choice, was_open, attempt):
                    raise _GaveWay
            return await call
        finally:
            call.cancel()

    def _should_give_way(self, tried: Choice, was_open: bool, attempt: Attempt) -> bool:
        if not self._rests.is_out_of_order(tried):
            return was_open
        others = self._select([choice for choice in attempt.choices if choice != tried]).now
        now = self._clock.now()
        return any(not self._rests.is_out_of_order(other) and self._rests.is_free(other, now) for other in others)

    async def _call(self, tried: Try, on_text: OnText) -> RunResult:
        """Make one attempt, streamed if the provider supports it."""
        account = tried.choice.account
        provider = await self._provider(account)
        if provider not in self._streams:
            self._streams[provider] = provider if isinstance(provider, StreamingProvider) else None
        tried.sent = True
        if (streaming := self._streams[provider]) is not None:
            result = await streaming.stream(tried.request, account, _with_offset(on_text, tried.pieces))
        else:
            result = await provider.complete(tried.request, account)
        if not result.answers(tried.request):
            tried.result = result if result.input_tokens else None
            # Third-party providers may return an empty reply without an error, and a user must always get an answer.
            raise ProviderError(ProviderErrorKind.EMPTY, f"the account {account.name} gave an empty reply")
        return replace(result, content=presentable(result.content))

    async def _provider(self, account: Account) -> Provider:
        """Return the provider of an account. If the provider cannot be loaded, raise the error of a refused key,
        because in both cases the account is skipped until a person acts."""
        try:
            return await self._providers.get(account.provider)
        except ConfigError as missing:
            what = f"the account {account.name} cannot be used: {missing.what}"
            raise ProviderError(ProviderErrorKind.AUTH, what) from missing

    def _wait(self, attempt: Attempt, selection: Selection, delay: float | None) -> float | None:
        """Return the seconds to wait before the accounts are called again; None if this run ends with an error. The run
        waits only if an account has a temporary fault. It waits for a shorter time if the rate limit of another account
        ends sooner. If all failures are rate limits, the run ends and the queue postpones the job."""
        faulty = attempt.faulty()
        if delay is None or not faulty:
            return None
        now, jitter = self._clock.now(), delay * self._random()
        back = {each.choice: (each.at - now) / 1000 for each in selection.later if each.certain}
        wait = min([*(max(jitter, back.pop(choice, 0.0)) for choice in faulty), *back.values()])
        return wait if wait <= LONGEST_WAIT and self._clock.monotonic() + wait < attempt.end else None


def _with_offset(on_text: OnText, pieces: list[str]) -> Callable[[str], None]:
    """Return a function that stores each piece of an attempt in `pieces` and passes it to `on_text` with its offset."""
    offset = 0

    def send(piece: str) -> None:
        nonlocal offset
        piece = presentable(piece)
        pieces.append(piece)
        on_text(offset, piece)
        offset += len(piece)

    return send
