"""Composes a prompt from layers, the stable ones first, so that providers can cache them (behaviour 1.6).

If the prompt is too long, messages are trimmed before memory; the system text is never trimmed. Text of people,
files, tools and models is escaped, so that no tag in it can be taken for the agent's own (reliability.md T1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from arvis.domain.agents import Agent
from arvis.domain.conversations import Compaction
from arvis.domain.markup import escape
from arvis.domain.messages import FileKind, PastMessage, Role, StoredMessage
from arvis.domain.plugins import PluginBlock
from arvis.domain.runs import Measure, Turn, read_in
from arvis.domain.taint import CLEAN, Label, Taint
from arvis.domain.tools import ToolSpec
from arvis.llm.tokens import Estimator
from arvis.prompt import instructions
from arvis.prompt import memory as notes
from arvis.prompt.history import (
    NO_TEXT,
    OPENING,
    Line,
    Overheard,
    alternating,
    clock_line,
    dated,
    files_that_fit,
    line_of,
    line_with,
    newest_that_fit,
    overheard_line,
)
from arvis.prompt.memory import NOTHING, Notes, Remembered, Summaries, summaries_that_fit
from arvis.prompt.tool_rounds import Round, answers_room, cut_to_fit, fit_rounds, least_room, tools_cost

# The token budget of one call, which trimming, compaction and replies share (behaviour §7).


#: Room for the reply and for what estimates miss: the smaller of this and a quarter of the ceiling.
RESERVE = 20_000
#: The most tokens of a chat reply, unless the configuration says otherwise.
LONGEST_REPLY = 4_096


@dataclass(frozen=True)
class Budget:
    """Of an agent on a model. `window` is what the model holds, prompt and reply together; `context_tokens` is the
    agent's own ceiling (None: the whole window), `longest_reply` what the configuration allows. All in tokens."""

    window: int
    context_tokens: int | None = None
    longest_reply: int = LONGEST_REPLY

    @cached_property
    def ceiling(self) -> int:
        return min(self.window, self.context_tokens or self.window)

    @cached_property
    def reserve(self) -> int:
        return min(max(RESERVE, self.longest_reply), self.ceiling // 4)

    @cached_property
    def usable(self) -> int:
        """Return the tokens to which a prompt is trimmed."""
        return self.ceiling - self.reserve

    @cached_property
    def threshold(self) -> int:
        """Return the tokens above which a conversation is compacted. Never above `usable`, so that nothing is trimmed
        without a summary."""
        return self.ceiling * 3 // 4

    @cached_property
    def reply(self) -> int:
        """The longest reply to ask for."""
        return min(self.longest_reply, self.reserve)

    @cached_property
    def most(self) -> int:
        """Return the tokens above which the model refuses a prompt."""
        return self.window - self.reply

    @cached_property
    def room_for_tools(self) -> int:
        """Return the most tokens of all tool rounds of a turn."""
        return self.usable // 2


@dataclass(frozen=True, slots=True)
class Extras:
    """Additions of plugins: parts of the instructions, and texts added to messages, by their ids. `outside`: some of
    it comes from an unverified source."""

    blocks: Sequence[PluginBlock] = ()
    added: Mapping[str, str] = field(default_factory=dict)
    outside: bool = False


NO_EXTRAS = Extras()


@dataclass(frozen=True, slots=True)
class Ingredients:
    """Of one model call. `rules` say how the agent may keep, hand on and change things (`rules.plain_rules`, or the
    conductor's own); `skills` are those that fit, as one text. `history` and `summaries` are in order, the oldest first.
    `tools` are on offer, `rounds` were made with them in this turn, whole. `now` in ms; `asker` is the
    principal whose turn it is; `group`: several people write here. `observed` is what people wrote
    there to one another, in order; `incidents` are what went wrong since the last turn. `shrunk`: a model refused the
    whole as too long. `extras` come from the agent's plugins."""

    agent: Agent
    rules: str
    history: Sequence[PastMessage]
    current: Sequence[StoredMessage]
    budget: Budget
    now: int
    zone: str = "UTC"
    estimator: Estimator = field(default_factory=Estimator)
    skills: str = ""
    recall: Remembered = NOTHING
    summaries: Sequence[Compaction] = ()
    tools: Sequence[ToolSpec] = ()
    rounds: Sequence[Round] = ()
    asker: str | None = None
    observed: Sequence[Overheard] = ()
    incidents: Sequence[str] = ()
    group: bool = False
    shrunk: bool = False
    extras: Extras = NO_EXTRAS


# -- composing ---------------------------------------------------------------------------------------------------------

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
    now = sheet.counted("clock", clock_line(given.now, given.zone))
    plugins = sheet.blocks(changing=True)
    sticky = sheet.sticky()
    current = sheet.current()
    rounds = sheet.rounds()
    skills = sheet.skills()
    memory = sheet.memory()
    incidents = sheet.incidents()
    summaries = sheet.summaries()
    aside = sheet.observed(current)
    room = sheet.left(sheet.usable)
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
        changing="\n\n".join(text for part in _CHANGING if (text := changing[part])),
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
        # A prompt that a model refused as too long gets half the room.
        part = 2 if given.shrunk else 1
        self.usable = given.budget.usable // part
        self._most = given.budget.most // part
        self._room_for_tools = given.budget.room_for_tools // part
        #: Reserved for the newest round of tools and for answers that must stay.
        self._least_rounds = 0
        if given.rounds:
            share, estimator = self.usable // _ROUNDS, given.estimator
            newest, answers = least_room(given.rounds, estimator), answers_room(given.rounds, estimator)
            self._least_rounds = min(newest, share) + min(answers, share)

    def system(self) -> str:
        given = self._given
        text = self.counted("identity", instructions.system_text(given.agent, given.rules, group=given.group))
        self.layers["identity"] += given.estimator.of(Measure(messages=1, requests=1))
        hint = self.counted("tools", instructions.TOOLS_HINT if given.agent.tools else "")
        self.layers["tools"] += tools_cost(given.tools, (), given.estimator)
        return "\n\n".join(part for part in (text, hint, self.blocks(changing=False)) if part)

    def blocks(self, *, changing: bool) -> str:
        """Return the plugin blocks that stay the same, or those that may differ in the next turn."""
        if not self._given.extras.blocks:
            return ""
        self.layers.setdefault(PLUGINS, 0)
        return self.counted(PLUGINS, instructions.block_text(self._given.extras.blocks, changing=changing))

    def sticky(self) -> Notes:
        """Return all sticky facts, unless the model's window cannot hold them. They never displace the messages of
        this turn."""
        asked = self._talk_cost([self._line(message) for message in self._given.current])
        reserved = max(_LEAST_CURRENT, min(asked, self.usable // _ASKED)) + self._least_rounds
        room = self.left(self._most) - reserved
        found = notes.that_fit(notes.sticky_notes(self._given.recall), room, self._count)
        self.layers["sticky"] = found.tokens
        return found

    def current(self) -> list[Line]:
        """Return the messages to answer, whole, whatever the budget (vector I4). If the model would refuse them
        together, leave the later ones for a turn of their own; cut the first one if it is too long alone."""
        given = self._given
        room = self.left(self._most) - self._least_rounds
        lines: list[Line] = []
        cost = 0
        for message in files_that_fit(given.current, self.usable // _FILES, self._count):
            with_it = [*lines, self._line(message)]
            cost_with_it = self._talk_cost(dated((), with_it, given.zone))
            if lines and cost_with_it > room:
                break
            lines, cost = with_it, cost_with_it
        if cost > room:
            cut = cut_to_fit(lines[0].text, room - self._per_message, self._cost)
            lines = [replace(lines[0], text=cut or NO_TEXT)]
            cost = self._talk_cost(dated((), lines, given.zone))
        self.layers["current"] = cost
        return lines

    def rounds(self) -> _Rounds:
        """Return the tool rounds, which follow the messages that began the turn. Messages that people wrote meanwhile
        count as part of them."""
        given = self._given
        most = self.left(self._most)
        room = min(self._room_for_tools, most)
        turns = fit_rounds(given.rounds, room, given.estimator, most)
        self.layers["tools"] += tools_cost((), turns, given.estimator)
        return _Rounds(turns, room, most)

    def skills(self) -> str:
        room = min(SKILL_TOKENS, self.usable // _SKILLS, self.left(self.usable))
        return self.counted("tools", cut_to_fit(escape(self._given.skills), room, self._cost))

    def memory(self) -> Notes:
        room = min(self.usable // _MEMORY, self.left(self.usable))
        found = notes.that_fit(notes.other_notes(self._given.recall), room, self._count)
        self.layers["memory"] = found.tokens
        return found

    def summaries(self) -> Summaries:
        room = min(self.usable // _SUMMARIES, self.left(self.usable))
        found = summaries_that_fit(self._given.summaries, room, self._given.zone, self._count)
        self.layers["summaries"] = found.tokens
        return found

    def incidents(self) -> str:
        if not self._given.incidents:
            return ""
        text = escape("\n".join([_INCIDENTS, *self._given.incidents]))
        return self.counted("incidents", cut_to_fit(text, _INCIDENT_TOKENS, self._cost))

    def observed(self, current: Sequence[Line]) -> list[Line]:
        """Return as many of the newest overheard messages as fit into their share; they never take room from the
        turn's own messages."""
        kept = list(self._given.observed)
        room = min(self.usable // _OBSERVED, self.left(self.usable)) - self._per_message
        while kept:
            line = overheard_line(kept, current[0].at)
            if self._cost(line.text) <= room:
                self.layers["observed"] = self._talk_cost([line])
                return [line]
            kept = kept[len(kept) // 2 :] if len(kept) > 1 else []
        return []

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

    def counted(self, layer: str, text: str) -> str:
        """Return the text, after adding its cost to a layer."""
        self.layers[layer] += self._cost(text)
        return text

    def left(self, limit: int) -> int:
        """Return the tokens up to this limit that no layer has taken yet."""
        return limit - sum(self.layers.values())

    def _line(self, message: PastMessage | StoredMessage) -> Line:
        line = line_of(message, group=self._given.group)
        added = self._given.extras.added.get(message.id)
        return line if added is None else line_with(line, added)

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
