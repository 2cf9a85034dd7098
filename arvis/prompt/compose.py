"""Composes a prompt from layers, the stable ones first, so that providers can cache them (behaviour 1.6).

If the prompt is too long, messages are trimmed before memory; the system text is never trimmed. Text of people,
files, tools and models is escaped, so that no tag in it can be taken for the agent's own (reliability.md T1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from arvis.domain.markup import escape
from arvis.domain.messages import FileKind, PastMessage, Role, StoredMessage
from arvis.domain.runs import Measure, Turn, read_in
from arvis.domain.taint import CLEAN, Label, Taint
from arvis.prompt import instructions
from arvis.prompt import memory as notes
from arvis.prompt.history import (
    NO_TEXT,
    OPENING,
    Line,
    alternating,
    clock_line,
    dated,
    files_that_fit,
    line_of,
    line_with,
    newest_that_fit,
    overheard_line,
)
from arvis.prompt.inputs import Ingredients
from arvis.prompt.memory import Notes, Summaries, summaries_that_fit
from arvis.prompt.tool_rounds import answers_room, cut_to_fit, fit_rounds, least_room, tools_cost

#: Layers that only agents with plugins have: stable blocks follow the tools, changing ones are at the end of
#: `changing`.
PLUGINS = "plugins"
#: The parts of `changing` in the order of the prompt, each with its layers. Skills count among the tools.
_CHANGING: Mapping[str, tuple[str, ...]] = {
    "skills": (),
    "notes": ("sticky", "memory"),
    "summaries": ("summaries",),
    "incidents": ("incidents",),
    PLUGINS: (),
}
#: In the order of the prompt.
LAYERS = (
    "identity",
    "tools",
    *(layer for layers in _CHANGING.values() for layer in layers),
    "history",
    "observed",
    "current",
    "clock",
)

#: The most tokens of a turn's skills, and the divisor of the usable tokens that bounds them.
SKILL_TOKENS = 4_000
_SKILLS = 8
#: So do facts with states, and the summaries.
_MEMORY = 8
_SUMMARIES = 4
#: The texts of files in the turn's own messages.
_FILES = 2
#: And what was read along.
_OBSERVED = 8
_INCIDENTS = "Problems since your last reply here:"
_INCIDENT_TOKENS = 500
#: The usable tokens divided by these are reserved: for the turn's own messages before sticky facts, and for the newest
#: round of tools as well as for answers that must stay.
_ASKED = 2
_ROUNDS = 4
#: The least tokens for the turn's own messages, whatever the obligatory parts take.
_LEAST_CURRENT = 200


@dataclass(frozen=True, slots=True)
class Prompt:
    """A composed prompt. A vendor may cache everything before `now`."""

    #: The same from turn to turn.
    system: str
    #: Follows `system`.
    changing: str
    #: The time, which comes last of all.
    now: str
    #: History and messages to answer, after `changing`.
    turns: tuple[Turn, ...]
    #: Tool rounds, after `turns`.
    rounds: tuple[Turn, ...]
    #: The most tokens of the rounds without the words of people, and with them.
    rounds_room: int
    rounds_most: int
    #: The estimated tokens of each part.
    layers: Mapping[str, int]
    #: The number of messages of the history that did not fit into `room`, in tokens.
    left_out: int
    room: int
    #: Sources other than the asker's own words, except tools and other agents.
    taint: Taint
    #: The ids of the facts in the prompt.
    recalled: tuple[str, ...]

    @property
    def read(self) -> list[str]:
        """Return the ids of the messages to answer whose text is in the prompt."""
        return read_in((*self.turns, *self.rounds))


def compose(given: Ingredients) -> Prompt:
    """Compose the prompt: obligatory parts first, then the others in order of importance while there is room."""
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
        """Return the plugin blocks that may differ in the next turn."""
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
        """Return all sticky facts, unless the model's window cannot hold them. They never displace the messages of
        this turn."""
        asked = self._talk_cost([self._line(message) for message in self._given.current])
        reserved = max(_LEAST_CURRENT, min(asked, self._given.usable // _ASKED)) + self._least_rounds()
        room = self._left(self._given.most) - reserved
        found = notes.that_fit(notes.sticky_notes(self._given.recall), room, self._count)
        self.layers["sticky"] = found.tokens
        return found

    def current(self) -> list[Line]:
        """Return the messages to answer, whole, whatever the budget (vector I4). If the model would refuse them
        together, leave the later ones for a turn of their own; cut the first one if it is too long alone."""
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
        """Return the tool rounds, which follow the messages that began the turn. Messages that people wrote meanwhile
        count as part of them."""
        given = self._given
        most = self._left(given.most)
        room = min(given.room_for_tools, most)
        turns = fit_rounds(given.rounds, room, given.estimator, most)
        self.layers["tools"] += tools_cost((), turns, given.estimator)
        return _Rounds(turns, room, most)

    def _least_rounds(self) -> int:
        """Return the tokens that are reserved for the newest round of tools and for answers that must stay."""
        rounds, share = self._given.rounds, self._given.usable // _ROUNDS
        newest = least_room(rounds, self._given.estimator)
        return min(newest, share) + min(answers_room(rounds, self._given.estimator), share)

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
        """Return as many of the newest overheard messages as fit into their share; they never take room from the
        turn's own messages."""
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
        """Return the room for the history, in tokens."""
        return self._left(self._given.usable)

    def talk(self, aside: Sequence[Line], current: Sequence[Line], room: int) -> tuple[list[Line], int]:
        """Return as much of the history as fits, followed by overheard messages and the turn's own; and the number of
        history messages."""
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
        """Return the cost of a text with the empty line after it. Cached, because most lines are counted twice."""
        if text not in self._costs:
            self._costs[text] = self._count(f"{text}\n\n") if text else 0
        return self._costs[text]

    def _talk_cost(self, lines: Sequence[Line]) -> int:
        return sum(self._cost(line.text) + self._per_message for line in lines)


def taint_of_asked(messages: Sequence[StoredMessage]) -> Taint:
    """Return the sources of these messages other than the asker. The asker's own words, spoken or written, add none."""
    attached = [file for message in messages for file in message.attachments]
    files = any(file.kind is not FileKind.VOICE for file in attached)
    return CLEAN.union(*(message.taint for message in messages)) | ({Label.FILES} if files else CLEAN)


def _taint_of_talk(given: Ingredients, left_out: int, *, overheard: bool) -> Taint:
    """Return the taint of the messages in the prompt."""
    messages: list[PastMessage | StoredMessage] = [*given.history[left_out:], *given.current]
    taint = taint_of_asked(given.current).union(*(message.taint for message in messages))
    people = overheard or any(each.principal_id != given.asker for each in messages if each.role is Role.USER)
    outside = {Label.TOOLS} if given.extras.outside else CLEAN
    return taint | ({Label.PEOPLE} if people else CLEAN) | outside


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)
