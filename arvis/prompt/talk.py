"""The past messages of a conversation as turns of a prompt. They are kept, because the next prompt of the conversation
contains the same messages and a few newer ones, and only the newer ones are converted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import is_

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.messages import PastMessage, Role
from arvis.domain.runs import Turn, joined
from arvis.domain.taint import CLEAN, Taint
from arvis.llm.tokens import Estimator
from arvis.prompt.history import NO_TEXT, Line, day_of, line_of

#: If the history begins with a message of the agent, this user message is put before it, because vendors require a user
#: message first.
OPENING = "[You posted the following without a request:]"
_OPENING = Line("user", OPENING, 0)
#: A line with a day, from which its tokens are estimated before it is known which messages begin with a day.
_DAY = "[2000-01-01]\n"


@dataclass(frozen=True, slots=True)
class Form:
    """The properties of a prompt that determine the form and the tokens of its messages."""

    estimator: Estimator
    zone: str
    #: True if several people write in the conversation.
    group: bool

    @property
    def day_tokens(self) -> int:
        return self.estimator.tokens(_DAY)

    def cost(self, lines: Sequence[Line]) -> int:
        """Return the tokens of these messages, with those of the empty line after each message."""
        tokens = self.estimator.tokens_of_each([line.text for line in lines])
        return sum(tokens) + len(lines) * self._per_message

    def costs_with_day(self, lines: Sequence[Line]) -> list[int]:
        """Return the tokens of each message if it begins with a day."""
        besides = self._per_message + self.day_tokens
        return [tokens + besides for tokens in self.estimator.tokens_of_each([line.text for line in lines])]

    @property
    def _per_message(self) -> int:
        return self.estimator.tokens("\n\n") + math.ceil(self.estimator.message_tokens)


@dataclass(frozen=True, slots=True)
class Talk:
    """The messages of a history that are in a prompt, oldest first."""

    form: Form
    messages: Sequence[PastMessage] = ()
    #: The messages in the form for the prompt, without days.
    lines: tuple[Line, ...] = ()
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

    def extended(self, newer: Sequence[PastMessage], lines: Sequence[Line]) -> Talk:
        """Return the talk with these newer messages; `lines` are the messages in the form for the prompt."""
        if not newer:
            return self
        opening = [_OPENING] if not self.lines and lines[0].role != "user" else []
        shown, day = dated(lines, self.form.zone, self.day)
        shown = [*opening, *shown]
        costs = self.form.costs_with_day(lines)
        return Talk(
            form=self.form,
            messages=(*self.messages, *newer),
            lines=(*self.lines, *lines),
            costs=(*self.costs, *costs),
            most=self.most + sum(costs),
            turns=alternating(shown, self.turns),
            tokens=self.tokens + self.form.cost(shown),
            day=day,
            taint=self.taint.union(*[message.taint for message in newer]),
            people=self.people.union([message.principal_id for message in newer if message.role is Role.USER]),
        )

    def newest(self, room: int) -> Talk:
        """Return the talk with the newest messages that fit into `room` tokens."""
        room -= self.form.day_tokens + self.form.cost([_OPENING])
        if self.most <= room:
            return self
        first = newest_that_fit(self.lines, self.costs, room)
        return Talk(self.form).extended(self.messages[first:], self.lines[first:])

    def followed_by(self, current: Sequence[Line]) -> list[Line]:
        """Return the messages that follow this talk in the prompt, with their days. If no message precedes them, the day
        of the first one is not shown."""
        day = self.day if self.lines or not current else _day(current[0], self.form.zone)
        return dated(current, self.form.zone, day)[0]


def newest_that_fit(lines: Sequence[Line], costs: Sequence[int], room: int) -> int:
    """Return the index of the first of the newest messages that fit into `room`; `costs` are their tokens. If not all
    fit, the first message that fits must be a person's."""
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
        turn = Turn(line.role, line.text, messages=(line.message,) if line.message else ())
        if not turns or turns[-1].role != line.role:
            turns.append(turn)
        elif line.role != "assistant" or line.text != NO_TEXT:  # a reply without text is left out
            turns[-1] = joined(turns[-1], turn)
    return tuple(turns)


def _day(line: Line, zone: str) -> str:
    return day_of(line.at, zone) if line.at else ""


#: `Talks` keeps talks with this many characters in total. Each message counts `_LINE` characters more.
_KEPT, _LINE = 2_000_000, 500


class Talks:
    """The talks of conversations. The talk that was not used for the longest time is dropped first."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Talk, int]] = {}
        self._characters = 0

    def of(self, conversation: str, history: Sequence[PastMessage], form: Form) -> Talk:
        """Return the talk with all messages of the history. `conversation` is the id of the conversation."""
        known, characters = self._kept.pop(conversation, (Talk(form), 0))
        self._characters -= characters
        count = len(known.messages)
        if known.form == form and count <= len(history) and all(map(is_, known.messages, history)):
            newer = history[count:]
            talk = known.extended(newer, [line_of(message, group=form.group) for message in newer])
            characters += sum([len(line.text) + _LINE for line in talk.lines[count:]])
        else:
            talk = Talk(form).extended(history, _lines_of(history, form, known))
            characters = sum([len(line.text) + _LINE for line in talk.lines])
        self._keep(conversation, talk, characters)
        return talk

    def _keep(self, conversation: str, talk: Talk, characters: int) -> None:
        self._kept[conversation] = talk, characters
        self._characters += characters
        while self._characters > _KEPT:
            _, dropped = self._kept.pop(next(iter(self._kept)))
            self._characters -= dropped


def _lines_of(history: Sequence[PastMessage], form: Form, known: Talk) -> list[Line]:
    """Return the messages in the form for the prompt. Lines of the `known` talk are used again."""
    lines = {}
    if known.form.group == form.group:
        lines = {message.id: (message, line) for message, line in zip(known.messages, known.lines, strict=True)}
    found = []
    for message in history:
        same, line = lines.get(message.id, (None, None))
        found.append(line if line is not None and same == message else line_of(message, group=form.group))
    return found
