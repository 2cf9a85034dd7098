"""The stream buffer: it collects chunks of a transcript until they form a complete utterance, and passes the utterance
to a callback.

A text is delivered at the latest `longest` seconds after its first chunk, even if the person continues to speak.
Waiting chunks are only in memory; their sender gets no receipt before they are delivered.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from importlib import resources
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ConfigError, Unavailable
from arvis.domain.regex import regex
from arvis.ports.clock import Clock

# -- complete utterances -----------------------------------------------------------------------------------------------


#: Characters that may follow the punctuation at the end of a sentence.
_QUOTES = "\"'”’»)]」』 "  # noqa: RUF001 - a quotation mark


@dataclass(frozen=True, slots=True)
class UtteranceDetector:
    """A detector of complete utterances. `ends` is the punctuation that ends a sentence. `starts` matches a text that
    begins with a phrase of a complete utterance. `closings` matches a text that ends with a phrase such as a
    goodbye."""

    ends: tuple[str, ...]
    starts: re.Pattern[str]
    closings: re.Pattern[str]

    def ends_sentence(self, text: str) -> bool:
        return text.rstrip(_QUOTES).endswith(self.ends)

    def is_whole(self, text: str) -> bool:
        """Return True if the text may be a complete utterance."""
        plain = text.strip().casefold()
        return self.ends_sentence(text) or bool(self.starts.match(plain) or self.closings.search(plain))


def detector_of(languages: Mapping[str, Mapping[str, Any]]) -> UtteranceDetector:
    """Return one detector for all of these languages. In a language that separates words by blanks, the phrases match
    only whole words."""
    ends = {end for language in languages.values() for end in language["ends"]}
    starts = [_phrase(each, language, before="", after=r"(?!\w)") for language, each in _each(languages, "starts")]
    closings = [
        _phrase(each, language, before=r"(?<!\w)", after=r"\W*$") for language, each in _each(languages, "closings")
    ]
    return UtteranceDetector(tuple(sorted(ends)), _any_of(starts), _any_of(closings))


def utterance_detector(languages: Collection[str] = ()) -> UtteranceDetector:
    """Return the detector for these languages of `utterances.json`, or for all of its languages if `languages` is
    empty. Raise `ConfigError` for an unknown language."""
    file = resources.files(__package__).joinpath("utterances.json")
    known: dict[str, Mapping[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    if unknown := sorted(set(languages) - known.keys()):
        raise ConfigError(
            f"`speech.buffer.languages` contains {unknown[0]!r}, which is not a known language",
            fix=f"The known languages are {', '.join(sorted(known))}. An empty list means all of these languages.",
        )
    return detector_of({name: known[name] for name in languages or known})


def _each(languages: Mapping[str, Mapping[str, Any]], kind: str) -> list[tuple[Mapping[str, Any], str]]:
    return [(language, phrase) for language in languages.values() for phrase in language[kind]]


def _phrase(phrase: str, language: Mapping[str, Any], *, before: str, after: str) -> str:
    words = re.escape(phrase.casefold())
    if language.get("spaced", True):
        return f"{before}{words}{after}"
    return words if not before else f"{words}{after}"


def _any_of(phrases: list[str]) -> re.Pattern[str]:
    """Return a pattern that matches any of these phrases. Without phrases it matches no text."""
    return regex("|".join(phrases) if phrases else r"(?!)")


#: The maximum number of speakers that are remembered, and of chunk ids that are remembered for each of them.
_MOST_VOICES = 1_000
_MOST_IDS = 1_000
#: The minimum number of seconds between two checks of a waiting text. A timer may end slightly too early, and the next
#: check would then follow without a pause.
_SHORTEST_SLEEP = 0.001


class Reason(StrEnum):
    """The reason why a text was removed from the buffer."""

    COMPLETE = "complete"
    LONGEST = "longest"
    FULL = "full"
    SENTENCE = "sentence"
    PAUSE = "pause"
    SILENCE = "silence"
    FLUSHED = "flushed"


class Added(StrEnum):
    """The result of adding a chunk. `known` means that a chunk with this id was added before."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    KNOWN = "known"


@dataclass(frozen=True, slots=True)
class UtteranceRules:
    """The limits of a buffer, in seconds and characters.

    A text that ends a sentence is delivered at once. Any other complete utterance is delivered when no new chunk has
    arrived for `pause` seconds. An incomplete text is delivered when no new chunk has arrived for `silence` seconds.
    Every text is delivered at the latest `longest` seconds after its first chunk. A text with fewer than `least`
    characters counts as incomplete. A text of at least `most` characters is delivered at once.
    """

    pause: float = 1.5
    silence: float = 3.0
    longest: float = 15.0
    least: int = 20
    most: int = 8_000


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a transcript. `complete` is True if the speaker has finished."""

    id: str
    text: str
    complete: bool = False


@dataclass(frozen=True, slots=True)
class Utterance:
    """A delivered text. `chunk_ids` are the ids of its chunks, in order."""

    key: str
    text: str
    chunk_ids: tuple[str, ...]
    reason: Reason


@dataclass(frozen=True, slots=True)
class BufferStatus:
    """The state of a speaker's buffer. `age` is the number of seconds since the first waiting chunk. `state` is
    `active`, `paused` (no chunk arrived for `pause` seconds) or `complete` (no text waits, and `exists` is False)."""

    exists: bool
    content: str = ""
    age: float = 0.0
    state: str = "complete"


@dataclass(slots=True)
class _Pending:
    """The waiting chunks of a speaker. Times are from the monotonic clock."""

    first_at: float
    last_at: float
    pieces: list[str] = field(default_factory=list)
    chunk_ids: list[str] = field(default_factory=list)
    watcher: asyncio.Task[None] | None = None

    @property
    def text(self) -> str:
        return " ".join(self.pieces)


@dataclass(slots=True)
class _Voice:
    """A speaker. `known` contains the ids of the chunks that were added. `order` is a lock that is held during a
    delivery, so that deliveries keep their order."""

    pending: _Pending | None = None
    known: OrderedDict[str, None] = field(default_factory=OrderedDict)
    order: asyncio.Lock = field(default_factory=asyncio.Lock)


class StreamBuffer:
    """A buffer of the waiting text of each speaker, by key. `deliver` is called once for every text, and must not
    raise."""

    def __init__(
        self,
        *,
        clock: Clock,
        rules: UtteranceRules,
        detector: UtteranceDetector,
        deliver: Callable[[Utterance], Awaitable[None]],
    ) -> None:
        self._clock = clock
        self._rules = rules
        self._detector = detector
        self._deliver = deliver
        self._voices: OrderedDict[str, _Voice] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()

    async def add(self, key: str, chunk: Chunk) -> Added:
        """Add a chunk. If the text is now complete, return after its delivery. A chunk that was added before adds no
        text, but can mark the text as complete. Raise `Unavailable` if too many people speak at once."""
        voice = self._voice(key)
        now = self._clock.monotonic()
        if chunk.id in voice.known:
            if voice.pending is None or not chunk.complete or chunk.id not in voice.pending.chunk_ids:
                return Added.KNOWN
            reason: Reason | None = Reason.COMPLETE
        else:
            self._hear(voice, chunk, now)
            reason = self._on_chunk(voice.pending, chunk, now)
        if reason is not None:
            await self._let_go(key, voice, reason)
            return Added.DELIVERED
        if voice.pending is not None and voice.pending.watcher is None:
            voice.pending.watcher = self._start(self._watch(key, voice, voice.pending))
        return Added.WAITING

    def flush(self, key: str) -> Utterance | None:
        """Remove the waiting text from the buffer and return it, without a call of `deliver`. Return None if no text
        waits."""
        voice = self._voices.get(key)
        return None if voice is None else self._take_out(key, voice, Reason.FLUSHED)

    async def release(self, key: str) -> None:
        """Deliver the waiting text now, because no more chunks will follow. Return after all deliveries for this
        speaker."""
        if (voice := self._voices.get(key)) is not None:
            await self._let_go(key, voice, Reason.FLUSHED)

    def forget(self, utterance: Utterance) -> None:
        """Forget the chunks of an utterance that could not be processed, so that their sender may send them again."""
        if (voice := self._voices.get(utterance.key)) is not None:
            for chunk_id in utterance.chunk_ids:
                voice.known.pop(chunk_id, None)

    def status(self, key: str) -> BufferStatus:
        voice = self._voices.get(key)
        if voice is None or (pending := voice.pending) is None:
            return BufferStatus(exists=False)
        now = self._clock.monotonic()
        state = "active" if now - pending.last_at < self._rules.pause else "paused"
        return BufferStatus(exists=True, content=pending.text, age=now - pending.first_at, state=state)

    # -- rules ---------------------------------------------------------------------------------------------

    def _on_chunk(self, pending: _Pending | None, chunk: Chunk, now: float) -> Reason | None:
        if pending is None:
            return None
        if chunk.complete:
            return Reason.COMPLETE
        if now - pending.first_at >= self._rules.longest:
            return Reason.LONGEST
        text = pending.text
        if len(text) >= self._rules.most:
            return Reason.FULL
        if len(text) < self._rules.least:
            return None
        return Reason.SENTENCE if self._detector.ends_sentence(text) else None

    def _on_time(self, pending: _Pending, now: float) -> Reason | None:
        if now - pending.first_at >= self._rules.longest:
            return Reason.LONGEST
        silence = now - pending.last_at
        if silence >= self._rules.silence:
            return Reason.SILENCE
        text = pending.text
        if silence >= self._rules.pause and len(text) >= self._rules.least and self._detector.is_whole(text):
            return Reason.PAUSE
        return None

    def _next_look(self, pending: _Pending, now: float) -> float:
        """Return the time of the next check: the end of the pause, or the end of the silence if the pause is over. The
        time is never later than `longest` seconds after the first chunk."""
        pause, silence = pending.last_at + self._rules.pause, pending.last_at + self._rules.silence
        return min(pause if now < pause else silence, pending.first_at + self._rules.longest)

    # -- waiting chunks ------------------------------------------------------------------------------------

    def _voice(self, key: str) -> _Voice:
        """Return the speaker with this key. Add the speaker if necessary. If there are too many speakers, first remove
        the speaker who has been silent for the longest time and has no waiting text. Raise `Unavailable` if no speaker
        can be removed."""
        voice = self._voices.get(key)
        if voice is None:
            if len(self._voices) >= _MOST_VOICES:
                silent = (
                    name for name, each in self._voices.items() if each.pending is None and not each.order.locked()
                )
                if (name := next(silent, None)) is None:
                    raise Unavailable("Too many people speak at once.", fix="Send the text again in a few seconds.")
                del self._voices[name]
            voice = self._voices[key] = _Voice()
        self._voices.move_to_end(key)
        return voice

    def _hear(self, voice: _Voice, chunk: Chunk, now: float) -> None:
        _remember(voice.known, [chunk.id])
        text = chunk.text.strip()
        if not text:
            return
        if voice.pending is None:
            voice.pending = _Pending(first_at=now, last_at=now)
        voice.pending.pieces.append(text)
        voice.pending.chunk_ids.append(chunk.id)
        voice.pending.last_at = now

    def _take_out(self, key: str, voice: _Voice, reason: Reason) -> Utterance | None:
        pending, voice.pending = voice.pending, None
        if pending is None:
            return None
        if pending.watcher is not None and pending.watcher is not asyncio.current_task():
            pending.watcher.cancel()
        return Utterance(key, pending.text, tuple(pending.chunk_ids), reason)

    async def _let_go(self, key: str, voice: _Voice, reason: Reason) -> None:
        """Remove the text from the buffer at once, before another task can run. Deliver it even if the caller is
        cancelled."""
        utterance = self._take_out(key, voice, reason)
        await asyncio.shield(self._start(self._deliver_in_order(voice, utterance)))

    async def _deliver_in_order(self, voice: _Voice, utterance: Utterance | None) -> None:
        async with voice.order:
            if utterance is not None:
                await self._deliver(utterance)

    # -- time ----------------------------------------------------------------------------------------------

    async def _watch(self, key: str, voice: _Voice, pending: _Pending) -> None:
        """Deliver the waiting text when one of the times in the rules has passed. End without delivery if the text was
        removed from the buffer before."""
        while voice.pending is pending:
            now = self._clock.monotonic()
            if (reason := self._on_time(pending, now)) is not None:
                await self._let_go(key, voice, reason)
                return
            await self._clock.sleep(max(self._next_look(pending, now) - now, _SHORTEST_SLEEP))

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _remember(known: OrderedDict[str, None], chunk_ids: Iterable[str]) -> None:
    for chunk_id in chunk_ids:
        known[chunk_id] = None
    while len(known) > _MOST_IDS:
        known.popitem(last=False)
