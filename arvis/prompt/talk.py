"""The past messages of a conversation as turns of a prompt. The turns are cached: the next prompt of the conversation
contains the same messages and a few newer messages, so only the newer messages are converted.

At first, files and rounds of messages are included in full. If they exceed a limit, the files and rounds of the oldest
messages are shortened, and then only named, until all of them together are below half of the limit. So most prompts
begin with the same text as the previous prompt, and vendors can use their cache of this text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from operator import eq, is_

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.messages import PastMessage, Role
from arvis.domain.runs import Turn, joined
from arvis.domain.taint import CLEAN, Taint
from arvis.llm.tokens import PICTURE_TOKENS, Estimator
from arvis.prompt.history import NO_TEXT, Line, day_of, line_with, past_line_of
from arvis.prompt.past import Detail, Look, is_rich, picture_bytes
from arvis.prompt.tool_rounds import cost_of_turns

#: If the history begins with a message of the agent, this user message is put before it, because vendors require a user
#: message first.
OPENING = "[You posted the following without a request:]"
_OPENING = Line("user", OPENING, 0)
#: A sample line with a day. Its tokens are counted for every message until it is known which messages begin with a day.
_DAY = "[2000-01-01]\n"


@dataclass(frozen=True, slots=True)
class Load:
    """The tokens, pictures and bytes of files and rounds in a prompt, in addition to their names."""

    tokens: int = 0
    pictures: int = 0
    bytes: int = 0

    def __add__(self, other: Load) -> Load:
        return Load(self.tokens + other.tokens, self.pictures + other.pictures, self.bytes + other.bytes)

    def __sub__(self, other: Load) -> Load:
        return Load(self.tokens - other.tokens, self.pictures - other.pictures, self.bytes - other.bytes)

    def within(self, limit: Load) -> bool:
        return self.tokens <= limit.tokens and self.pictures <= limit.pictures and self.bytes <= limit.bytes

    def half(self) -> Load:
        return Load(self.tokens // 2, self.pictures // 2, self.bytes // 2)

    def reduces(self, total: Load, limit: Load) -> bool:
        """Return True if a removal of this load reduces a value that exceeds the limit."""
        return (
            (self.tokens > 0 and total.tokens > limit.tokens)
            or (self.pictures > 0 and total.pictures > limit.pictures)
            or (self.bytes > 0 and total.bytes > limit.bytes)
        )


_NOTHING = Load()
#: The maximum number of past pictures in a prompt, and the maximum sum of their sizes in bytes.
MOST_PICTURES, MOST_BYTES = 6, 8_000_000


@dataclass(frozen=True, slots=True)
class Form:
    """The properties of a prompt that determine the form and the tokens of its messages."""

    estimator: Estimator
    zone: str
    look: Look = Look()
    #: The maximum number of tokens of files and rounds of past messages.
    most: int = 1_000_000

    @property
    def day_tokens(self) -> int:
        return self.estimator.tokens(_DAY)

    @property
    def limit(self) -> Load:
        return Load(self.most, MOST_PICTURES, MOST_BYTES)

    def cost(self, lines: Sequence[Line]) -> int:
        """Return the tokens of these messages, including the tokens of the empty line after each message."""
        tokens = self.estimator.tokens_of_each([line.text for line in lines])
        return sum(tokens) + len(lines) * self._per_message + sum(self._besides(lines))

    def costs_with_day(self, lines: Sequence[Line]) -> list[int]:
        """Return the tokens of each message if it begins with a day."""
        more = self._per_message + self.day_tokens
        tokens = self.estimator.tokens_of_each([line.text for line in lines])
        return [text + more + besides for text, besides in zip(tokens, self._besides(lines), strict=True)]

    def _besides(self, lines: Sequence[Line]) -> list[int]:
        """Return the tokens of the rounds and pictures of each message."""
        return [self._tokens_besides(line) if line.rounds or line.pictures else 0 for line in lines]

    def _tokens_besides(self, line: Line) -> int:
        return cost_of_turns(line.rounds, self.estimator) + len(line.pictures) * PICTURE_TOKENS

    @property
    def _per_message(self) -> int:
        return self.estimator.tokens("\n\n") + math.ceil(self.estimator.message_tokens)


class _Details:
    """Chooses the detail of each message. The choice depends only on the messages, from the oldest to the newest. So
    the result is the same if an earlier choice is continued or if all details are chosen again."""

    def __init__(self, form: Form, details: Sequence[Detail] = (), loads: Sequence[Load] = ()) -> None:
        self._form = form
        self.details = [*details]
        self.loads = [*loads]

    def add(self, messages: Sequence[PastMessage]) -> None:
        """Choose the detail of each message that has no detail yet."""
        for index in range(len(self.details), len(messages)):
            rich = is_rich(messages[index])
            self.details.append(Detail.FULL)
            self.loads.append(load_of(messages[index], self._form, Detail.FULL) if rich else _NOTHING)
            if rich:
                self._lower(messages[: index + 1])

    def _lower(self, messages: Sequence[PastMessage]) -> None:
        limit = self._form.limit
        total = sum(self.loads, _NOTHING)
        if total.within(limit):
            return
        newest = [index for index, message in enumerate(messages) if message.turn == messages[-1].turn]
        older = range(newest[0])
        for indexes, goal in ((older, limit.half()), (newest, limit)):
            for detail in (Detail.SHORT, Detail.NAMED):
                for index in indexes:
                    if self.details[index] > detail and self.loads[index].reduces(total, goal):
                        load = load_of(messages[index], self._form, detail)
                        total += load - self.loads[index]
                        self.details[index], self.loads[index] = detail, load


def load_of(message: PastMessage, form: Form, detail: Detail) -> Load:
    """Return the load of the files and rounds of a message in this detail."""
    line, named = (past_line_of(message, form.look, each) for each in (detail, Detail.NAMED))
    tokens = form.cost([line]) - form.cost([named])
    return Load(max(tokens, 0), len(line.pictures), picture_bytes(message) if line.pictures else 0)


@dataclass(frozen=True, slots=True)
class Talk:
    """The messages of a history that are in a prompt, oldest first."""

    form: Form
    #: The texts that plugins add to messages, by message id.
    added: Mapping[str, str] = field(default_factory=dict)
    messages: Sequence[PastMessage] = ()
    #: The messages in the form for the prompt, without days.
    lines: tuple[Line, ...] = ()
    #: The load of each message.
    loads: Sequence[Load] = ()
    #: The tokens of each message if it begins with a day, and their sum.
    costs: tuple[int, ...] = ()
    most: int = 0
    #: The messages as turns of the prompt, and the tokens of these turns.
    turns: tuple[Turn, ...] = ()
    tokens: int = 0
    #: The last day that the turns show.
    day: str = ""
    #: The taint of the messages, and the principal ids of the people who wrote them.
    taint: Taint = CLEAN
    people: frozenset[str | None] = frozenset()

    def extended(self, newer: Sequence[PastMessage], lines: Sequence[Line], loads: Sequence[Load]) -> Talk:
        """Return the talk with these newer messages; `lines` are the messages in the form for the prompt."""
        if not newer:
            return self
        opening = [_OPENING] if not self.lines and lines[0].role != "user" else []
        shown, day = dated(lines, self.form.zone, self.day)
        shown = [*opening, *shown]
        costs = self.form.costs_with_day(lines)
        return Talk(
            form=self.form,
            added=self.added,
            messages=(*self.messages, *newer),
            lines=(*self.lines, *lines),
            loads=(*self.loads, *loads),
            costs=(*self.costs, *costs),
            most=self.most + sum(costs),
            turns=alternating(shown, self.turns),
            tokens=self.tokens + self.form.cost(shown),
            day=day,
            taint=self.taint.union(*[message.taint for message in newer]),
            people=self.people.union([message.principal_id for message in newer if message.role is Role.USER]),
        )

    def with_added(self, added: Mapping[str, str]) -> Talk:
        """Return the talk with the texts that plugins add to messages."""
        lines = [_with(line, message, added) for line, message in zip(self.lines, self.messages, strict=True)]
        return Talk(self.form, added).extended(self.messages, lines, self.loads)

    def newest(self, room: int) -> Talk:
        """Return the talk with the newest messages that fit into `room` tokens. If not all fit, the files and rounds of
        the oldest messages are only named, and then the oldest messages are left out."""
        room -= self.form.day_tokens + self.form.cost([_OPENING])
        if self.most <= room:
            return self
        talk = self
        if any(load.tokens for load in self.loads):
            named = self._in([Detail.NAMED] * len(self.lines))
            talk = self._in(self._details_within(room - named.most)) if named.most <= room else named
            if talk.most <= room:
                return talk
        first = newest_that_fit(talk.lines, talk.costs, room)
        return Talk(self.form, self.added).extended(talk.messages[first:], talk.lines[first:], talk.loads[first:])

    def followed_by(self, current: Sequence[Line]) -> list[Line]:
        """Return the messages that follow this talk in the prompt, with their days. If this talk is empty, the day of
        the first message is not shown."""
        day = self.day if self.lines or not current else _day(current[0], self.form.zone)
        return dated(current, self.form.zone, day)[0]

    def _details_within(self, room: int) -> list[Detail]:
        """Return the details with which the files and rounds of the newest messages fit into `room` tokens."""
        details = []
        for line, load in zip(reversed(self.lines), reversed(self.loads), strict=True):
            room -= load.tokens
            details.append(line.detail if room >= 0 else Detail.NAMED)
        return details[::-1]

    def _in(self, details: Sequence[Detail]) -> Talk:
        """Return the talk with its messages in these details."""
        lines, loads = [], []
        for message, line, load, detail in zip(self.messages, self.lines, self.loads, details, strict=True):
            same = detail == line.detail or not is_rich(message)
            lines.append(line if same else _with(past_line_of(message, self.form.look, detail), message, self.added))
            loads.append(load if same else load_of(message, self.form, detail))
        return Talk(self.form, self.added).extended(self.messages, lines, loads)


def _with(line: Line, message: PastMessage, added: Mapping[str, str]) -> Line:
    text = added.get(message.id)
    return line if text is None else line_with(line, text)


def newest_that_fit(lines: Sequence[Line], costs: Sequence[int], room: int) -> int:
    """Return the index of the first of the newest messages that fit into `room`; `costs` are their tokens. If not all
    messages fit, the first message that is included must be a person's."""
    first = len(lines)
    while first and room >= costs[first - 1]:
        first -= 1
        room -= costs[first]
    if first:
        while first < len(lines) and lines[first].role != "user":
            first += 1
    return first


def dated(lines: Sequence[Line], zone: str, day: str) -> tuple[list[Line], str]:
    """Return the messages, and the last day that is shown. A person's message begins with its day if this day differs
    from the last day that was shown before, which is `day` for the first message. Replies never begin with a day,
    because models would imitate that."""
    shown = []
    for line in lines:
        if line.role == "user" and (its_day := _day(line, zone)) and its_day != day:
            day = its_day
            line = replace(line, text=f"[{day}]\n{line.text}")  # noqa: PLW2901 (the same line, with its day)
        shown.append(line)
    return shown, day


def alternating(lines: Sequence[Line], before: Sequence[Turn] = ()) -> tuple[Turn, ...]:
    """Return the turns `before` followed by these messages. Join neighbouring messages of the same role, because vendors
    require that user and assistant alternate."""
    turns = list(before)
    for line in lines:
        messages = (line.message,) if line.message else ()
        for turn in (*line.rounds, Turn(line.role, line.text, messages=messages, pictures=line.pictures)):
            if not turns or turns[-1].role != turn.role:
                turns.append(turn)
            elif turn.role != "assistant" or turn.content != NO_TEXT:  # a reply without text is left out
                turns[-1] = joined(turns[-1], turn)
    return tuple(turns)


def _day(line: Line, zone: str) -> str:
    return day_of(line.at, zone) if line.at else ""


#: `Talks` caches talks with this many characters in total. Each message counts `_LINE` characters more.
_KEPT, _LINE = 2_000_000, 500


class Talks:
    """A cache with one `Talk` for each conversation: its past messages as turns of a prompt. If the cache is full, the
    talk that was not used for the longest time is dropped first."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Talk, int]] = {}
        self._characters = 0

    def of(self, conversation: str, history: Sequence[PastMessage], form: Form) -> Talk:
        """Return the talk with all messages of the history. `conversation` is the id of the conversation."""
        known, characters = self._kept.pop(conversation, (Talk(form), 0))
        self._characters -= characters
        talk = _continued(known, history) if known.form == form else None
        if talk is None:
            chosen = _Details(form)
            chosen.add(history)
            talk = Talk(form).extended(history, _lines_of(history, chosen.details, form, known), chosen.loads)
            characters = 0
        added = talk.lines[len(known.lines) :] if characters else talk.lines
        self._keep(conversation, talk, characters + sum([line.size + _LINE for line in added]))
        return talk

    def _keep(self, conversation: str, talk: Talk, characters: int) -> None:
        self._kept[conversation] = talk, characters
        self._characters += characters
        while self._characters > _KEPT:
            _, dropped = self._kept.pop(next(iter(self._kept)))
            self._characters -= dropped


def _continued(known: Talk, history: Sequence[PastMessage]) -> Talk | None:
    """Return the known talk with the newer messages of the history. Return None if a message of the talk has changed or
    gets another detail."""
    count, form = len(known.messages), known.form
    if count > len(history) or not (all(map(is_, known.messages, history)) or all(map(eq, known.messages, history))):
        return None
    newer = history[count:]
    details, loads = [Detail.FULL] * len(newer), [_NOTHING] * len(newer)
    if any(map(is_rich, newer)):  # only such messages change the details of others
        chosen = _Details(form, [line.detail for line in known.lines], known.loads)
        chosen.add(history)
        if any(line.detail != detail for line, detail in zip(known.lines, chosen.details, strict=False)):
            return None
        details, loads = chosen.details[count:], chosen.loads[count:]
    return known.extended(newer, _lines_of(newer, details, form), loads)


def _lines_of(
    history: Sequence[PastMessage], details: Sequence[Detail], form: Form, known: Talk | None = None
) -> list[Line]:
    """Return the messages in the form for the prompt. Lines of the `known` talk are used again."""
    lines = {}
    if known is not None and known.form.look == form.look:
        lines = {message.id: (message, line) for message, line in zip(known.messages, known.lines, strict=True)}
    found = []
    for message, detail in zip(history, details, strict=True):
        same, line = lines.get(message.id, (None, None))
        usable = line is not None and line.detail == detail and same == message
        found.append(line if usable and line is not None else past_line_of(message, form.look, detail))
    return found
