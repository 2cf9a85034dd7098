"""Compose what a model is asked from layers, the stable ones first, so that providers can cache them (behaviour 1.6).

Where room is short, messages are trimmed, not what is remembered; the system text never is. Everything that people,
files, tools and models wrote is escaped, so that no tag in it can be taken for the agent's own (reliability.md T1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from arvis.domain.markup import escape
from arvis.domain.measures import Measure
from arvis.domain.messages import FileKind, PastMessage, Role, StoredMessage
from arvis.domain.runs import Turn, read_in
from arvis.domain.taint import CLEAN, Label, Taint
from arvis.prompt import instructions
from arvis.prompt import memory as notes
from arvis.prompt.files import files_that_fit
from arvis.prompt.history import (
    NO_TEXT,
    OPENING,
    Line,
    alternating,
    clock_line,
    dated,
    line_of,
    line_with,
    newest_that_fit,
    overheard_line,
)
from arvis.prompt.inputs import Ingredients
from arvis.prompt.memory import Notes, Summaries, summaries_that_fit
from arvis.prompt.tool_rounds import cut_to_fit, fit_rounds, least_room, tools_cost

#: What agents with plugins have besides: blocks that stay the same stand behind the tools, others at the end of what changes.
PLUGINS = "plugins"
#: The parts of `changing` in the order in which they stand in the prompt, each with its layers. Skills count among the tools.
_CHANGING: Mapping[str, tuple[str, ...]] = {
    "skills": (),
    "notes": ("sticky", "memory"),
    "summaries": ("summaries",),
    "incidents": ("incidents",),
    PLUGINS: (),
}
#: In the order in which they stand in the prompt.
LAYERS = (
    "identity",
    "tools",
    *(layer for layers in _CHANGING.values() for layer in layers),
    "history",
    "observed",
    "current",
    "clock",
)

#: The skills of a turn take at most so many tokens, and such a part of the usable ones.
SKILL_TOKENS = 4_000
_SKILLS = 8
#: So do facts with states, and the summaries.
_MEMORY = 8
_SUMMARIES = 4
#: The texts of files in the turn's own messages.
_FILES = 2
#: And what was read along.
_OBSERVED = 8
_INCIDENTS = "Since your last reply here, something went wrong that you should know of:"
_INCIDENT_TOKENS = 500
#: Of the prompt, such a part is kept for the turn's own messages before sticky facts, and for the newest round of tools.
_ASKED = 2
_ROUNDS = 4
#: However much always goes in, so many tokens are left to the turn's own messages.
_LEAST_CURRENT = 200


@dataclass(frozen=True, slots=True)
class Prompt:
    """`system` is the same from turn to turn, `changing` follows it, `turns` are next, behind them the `rounds` of tools, and
    `now` comes last of all, behind what a vendor may cache. `rounds_room` and `rounds_most` are the tokens that the rounds
    may take, without and with the words of people in them. `layers` says how many tokens each part is estimated at,
    `left_out` counts messages of the history that did not fit into the `room` for them. `taint` says what else than the
    asker's own words it holds, but for tools and other agents. `recalled` are the ids of the facts in it."""

    system: str
    changing: str
    now: str
    turns: tuple[Turn, ...]
    rounds: tuple[Turn, ...]
    rounds_room: int
    rounds_most: int
    layers: Mapping[str, int]
    left_out: int
    room: int
    taint: Taint
    recalled: tuple[str, ...]

    @property
    def read(self) -> list[str]:
        """The ids of the messages whose words stand in it, of those that the turn is to answer."""
        return read_in((*self.turns, *self.rounds))


def compose(given: Ingredients) -> Prompt:
    """What always goes in is laid down first; what is left is for the rest, in the order of its worth."""
    sheet = _Sheet(given)
    system = sheet.system()
    now = sheet.clock()
    plugins = sheet.plugins()
    sticky = sheet.sticky()
    current = sheet.current()
    rounds = sheet.rounds()
    skills = sheet.skills()
    memory = sheet.memory()
    incidents = sheet.incidents()
    summaries = sheet.summaries()
    aside = sheet.observed(current)
    room = sheet.room()
    said, kept = sheet.talk(aside, current, room)
    left_out = len(given.history) - kept
    changing = {
        "skills": skills,
        "notes": notes.text_of([*sticky.notes, *memory.notes]),
        "summaries": summaries.text,
        "incidents": incidents,
        PLUGINS: plugins,
    }
    return Prompt(
        system=system,
        changing=_joined(*(changing[part] for part in _CHANGING)),
        now=now,
        turns=alternating(said),
        rounds=rounds.turns,
        rounds_room=rounds.room,
        rounds_most=rounds.most,
        layers=sheet.layers,
        left_out=left_out,
        room=room,
        taint=sticky.taint | memory.taint | summaries.taint | _taint_of_talk(given, left_out, overheard=bool(aside)),
        recalled=(*sticky.fact_ids, *memory.fact_ids),
    )


@dataclass(frozen=True, slots=True)
class _Rounds:
    turns: tuple[Turn, ...]
    room: int
    most: int


class _Sheet:
    """Takes the layers one after the other and keeps account of what they cost."""

    def __init__(self, given: Ingredients) -> None:
        self._given = given
        self._count = given.estimator.tokens
        self._per_message = math.ceil(given.estimator.message_tokens)
        self._costs: dict[str, int] = {}
        self.layers = dict.fromkeys(LAYERS, 0)

    def system(self) -> str:
        given = self._given
        text = instructions.system_text(given.agent, given.rules, group=given.group)
        hint = instructions.tools_hint(given.agent)
        self.layers["identity"] = self._cost(text) + given.estimator.of(Measure(messages=1, requests=1))
        self.layers["tools"] = self._cost(hint) + tools_cost(given.tools, (), given.estimator)
        return _joined(text, hint, self._blocks(changing=False))

    def plugins(self) -> str:
        """What the agent's plugins say that may be something else in the next turn."""
        return self._blocks(changing=True)

    def _blocks(self, *, changing: bool) -> str:
        if not self._given.extras.blocks:
            return ""
        text = instructions.block_text(self._given.extras.blocks, changing=changing)
        self.layers[PLUGINS] = self.layers.get(PLUGINS, 0) + self._cost(text)
        return text

    def _line(self, message: PastMessage | StoredMessage) -> Line:
        line = line_of(message, group=self._given.group)
        added = self._given.extras.added.get(message.id) if self._given.extras.added else None
        return line if added is None else line_with(line, added)

    def clock(self) -> str:
        line = clock_line(self._given.now, self._given.zone)
        self.layers["clock"] = self._cost(line)
        return line

    def sticky(self) -> Notes:
        """All of them, unless the model's window itself cannot hold them. They never push out what people say in this turn."""
        asked = self._talk_cost([self._line(message) for message in self._given.current])
        reserved = max(_LEAST_CURRENT, min(asked, self._given.usable // _ASKED)) + self._least_rounds()
        room = self._left(self._given.most) - reserved
        found = notes.that_fit(notes.sticky_notes(self._given.recall), room, self._count)
        self.layers["sticky"] = found.tokens
        return found

    def current(self) -> list[Line]:
        """Whole, whatever the budget says (vector I4). Where the model would refuse them together, the later ones are left
        out, for a turn of their own; a first one that is too long alone is cut."""
        given = self._given
        room = self._left(given.most) - self._least_rounds()
        lines: list[Line] = []
        for message in files_that_fit(given.current, given.usable // _FILES, self._count):
            with_it = [*lines, self._line(message)]
            if lines and self._talk_cost(dated((), with_it, given.zone)) > room:
                break
            lines = with_it
        if self._talk_cost(dated((), lines, given.zone)) > room:
            cut = cut_to_fit(lines[0].text, room - self._per_message, self._cost)
            lines = [replace(lines[0], text=cut or NO_TEXT)]
        self.layers["current"] = self._talk_cost(dated((), lines, given.zone))
        return lines

    def rounds(self) -> _Rounds:
        """The rounds of tools, behind the messages that began the turn. What people said on the way counts like these."""
        given = self._given
        most = self._left(given.most)
        room = min(given.room_for_tools, most)
        turns = fit_rounds(given.rounds, room, given.estimator, most)
        self.layers["tools"] += tools_cost((), turns, given.estimator)
        return _Rounds(turns, room, most)

    def _least_rounds(self) -> int:
        """Return the tokens that are kept free for the newest round of tools."""
        return min(least_room(self._given.rounds, self._given.estimator), self._given.usable // _ROUNDS)

    def skills(self) -> str:
        room = min(SKILL_TOKENS, self._given.usable // _SKILLS, self._left(self._given.usable))
        text = cut_to_fit(escape(self._given.skills), room, self._cost)
        self.layers["tools"] += self._cost(text)
        return text

    def memory(self) -> Notes:
        room = min(self._given.usable // _MEMORY, self._left(self._given.usable))
        found = notes.that_fit(notes.other_notes(self._given.recall), room, self._count)
        self.layers["memory"] = found.tokens
        return found

    def summaries(self) -> Summaries:
        room = min(self._given.usable // _SUMMARIES, self._left(self._given.usable))
        found = summaries_that_fit(self._given.summaries, room, self._given.zone, self._count)
        self.layers["summaries"] = found.tokens
        return found

    def incidents(self) -> str:
        if not self._given.incidents:
            return ""
        text = cut_to_fit(escape("\n".join([_INCIDENTS, *self._given.incidents])), _INCIDENT_TOKENS, self._cost)
        self.layers["incidents"] = self._cost(text)
        return text

    def observed(self, current: Sequence[Line]) -> list[Line]:
        """As much of the newest as fits into its part; it never takes room from the turn's own messages."""
        given, kept = self._given, list(self._given.observed)
        room = min(given.usable // _OBSERVED, self._left(given.usable)) - self._per_message
        while kept:
            line = overheard_line(kept, current[0].at)
            if line is not None and self._cost(line.text) <= room:
                self.layers["observed"] = self._talk_cost([line])
                return [line]
            kept = kept[len(kept) // 2 :] if len(kept) > 1 else []
        return []

    def room(self) -> int:
        """For the history, in tokens."""
        return self._left(self._given.usable)

    def talk(self, aside: Sequence[Line], current: Sequence[Line], room: int) -> tuple[list[Line], int]:
        """As much of the history as fits, with what was read along and the turn's own messages behind it; and how much of
        it that is."""
        given = self._given
        day = self._count("[2000-01-01]\n")
        newest_first = (self._line(message) for message in reversed(given.history))
        unasked = Line("user", OPENING, 0)
        room -= day + self._talk_cost([unasked])
        kept = newest_that_fit(newest_first, room, lambda line: self._cost(line.text) + self._per_message + day)
        opening = [unasked] if kept and kept[0].role != "user" else []
        said = [*opening, *dated(kept, [*aside, *current], given.zone)]
        end = len(opening) + len(kept)
        self.layers["history"] = self._talk_cost(said[:end])
        self.layers["current"] = self._talk_cost(said[end + len(aside) :])
        return said, len(kept)

    def _left(self, limit: int) -> int:
        return limit - sum(self.layers.values())

    def _cost(self, text: str) -> int:
        """With the empty line that parts it from the next. Counted once: most lines of a talk are asked for twice."""
        if text not in self._costs:
            self._costs[text] = self._count(f"{text}\n\n") if text else 0
        return self._costs[text]

    def _talk_cost(self, lines: Sequence[Line]) -> int:
        return sum(self._cost(line.text) + self._per_message for line in lines)


def taint_of_asked(messages: Sequence[StoredMessage]) -> Taint:
    """What else than words of the asker these are made of. What they said themselves is theirs, spoken or written."""
    attached = [file for message in messages for file in message.attachments]
    files = any(file.kind is not FileKind.VOICE for file in attached)
    return CLEAN.union(*(message.taint for message in messages)) | ({Label.FILES} if files else CLEAN)


def _taint_of_talk(given: Ingredients, left_out: int, *, overheard: bool) -> Taint:
    """Of the messages that are in the prompt."""
    messages: list[PastMessage | StoredMessage] = [*given.history[left_out:], *given.current]
    taint = taint_of_asked(given.current).union(*(message.taint for message in messages))
    people = overheard or any(each.principal_id != given.asker for each in messages if each.role is Role.USER)
    outside = {Label.TOOLS} if given.extras.outside else CLEAN
    return taint | ({Label.PEOPLE} if people else CLEAN) | outside


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)
