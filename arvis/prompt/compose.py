"""Composes a prompt from layers. The layers that stay the same come first, so that vendors can cache them.

If the prompt is too long, older messages of the history are left out; the system text is never shortened. Text of
people, files, tools and models is escaped, so that no tag in it can be mistaken for the agent's own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property, lru_cache

from arvis.domain.agents import Agent
from arvis.domain.conversations import Compaction
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.markup import escape
from arvis.domain.messages import FileKind, PastMessage, Role, StoredMessage
from arvis.domain.platforms import Incident
from arvis.domain.plugins import PluginBlock
from arvis.domain.runs import Measure, Turn, read_in
from arvis.domain.taint import CLEAN, Label, Taint
from arvis.domain.tools import ToolSpec
from arvis.llm.tokens import Estimator
from arvis.prompt import instructions
from arvis.prompt import memory as notes
from arvis.prompt.files import files_that_fit
from arvis.prompt.history import (
    NO_TEXT,
    Here,
    Line,
    Overheard,
    clock_line,
    line_of,
    line_with,
    overheard_line,
    place_line,
)
from arvis.prompt.memory import NOTHING, Notes, Remembered, Summaries, summaries_that_fit
from arvis.prompt.past import Look
from arvis.prompt.talk import Form, Talk, Talks, alternating
from arvis.prompt.tool_rounds import Round, answers_room, cut_to_fit, fit_rounds, least_room, tools_cost

#: The tokens that a prompt leaves free for the reply and for errors of estimates. At most a quarter of `Budget.ceiling`
#: is left free.
RESERVE = 20_000
#: The default for the maximum number of tokens of a chat reply.
LONGEST_REPLY = 4_096


@dataclass(frozen=True)
class Budget:
    """The token budget of a call, used by prompts, compaction and replies."""

    #: The model's maximum for prompt and reply together.
    window: int
    #: The agent's own maximum (None: the whole window).
    context_tokens: int | None = None
    #: The configured maximum for a reply.
    longest_reply: int = LONGEST_REPLY

    @cached_property
    def ceiling(self) -> int:
        return min(self.window, self.context_tokens or self.window)

    @cached_property
    def reserve(self) -> int:
        return min(max(RESERVE, self.longest_reply), self.ceiling // 4)

    @cached_property
    def usable(self) -> int:
        """The maximum number of tokens to which a prompt is filled."""
        return self.ceiling - self.reserve

    @cached_property
    def threshold(self) -> int:
        """The number of tokens above which a conversation is due for compaction. It is not larger than `usable`, so
        that compaction is due before a prompt leaves out messages."""
        return self.ceiling * 3 // 4

    @cached_property
    def reply(self) -> int:
        """The maximum number of tokens that a call requests for the reply."""
        return min(self.longest_reply, self.reserve)

    @cached_property
    def most(self) -> int:
        """The maximum number of tokens of a prompt; the model refuses a longer prompt."""
        return self.window - self.reply

    @cached_property
    def room_for_tools(self) -> int:
        """The maximum number of tokens of all rounds of a turn, not counting people's messages."""
        return self.usable // 2


#: Returns a budget. The same object is returned for the same numbers, because it caches its computed values.
budget_of = lru_cache(maxsize=256)(Budget)


@dataclass(frozen=True, slots=True)
class Extras:
    """The additions of plugins to a prompt."""

    #: Parts of the instructions.
    blocks: Sequence[PluginBlock] = ()
    #: The texts that plugins add to messages, by message id.
    added: Mapping[str, str] = field(default_factory=dict)
    #: True if some of the additions are untrusted.
    outside: bool = False


NO_EXTRAS = Extras()


@dataclass(frozen=True, slots=True)
class Ingredients:
    """The data from which the prompt of one model call is composed. Messages and summaries are ordered oldest first."""

    agent: Agent
    #: The rules for tags (`instructions.plain_rules`, or the rules of the conductor), followed by further rules such as
    #: the rules for tool calls.
    rules: str
    history: Sequence[PastMessage]
    #: The messages that the agent has to answer.
    current: Sequence[StoredMessage]
    budget: Budget
    #: The present time in ms.
    now: int
    #: The time zone of the days in the history.
    zone: str = "UTC"
    #: The time zone of the present time; None: `zone`.
    clock_zone: str | None = None
    #: The place of the turn; None for work without a message.
    here: Here | None = None
    estimator: Estimator = field(default_factory=Estimator)
    #: The id of the conversation, under which `talks` stores its messages.
    conversation: str = ""
    talks: Talks = field(default_factory=Talks)
    #: The text of the chosen skills.
    skills: str = ""
    recall: Remembered = NOTHING
    summaries: Sequence[Compaction] = ()
    #: The offered tools.
    tools: Sequence[ToolSpec] = ()
    #: True if the agent can read files and outputs of earlier turns again.
    reads: bool = False
    #: The rounds of this turn, with their full outputs.
    rounds: Sequence[Round] = ()
    #: The principal id of the person who asks.
    asker: str | None = None
    #: The overheard messages.
    observed: Sequence[Overheard] = ()
    #: The problems since the last reply.
    incidents: Sequence[str] = ()
    #: The reactions of people to messages of the agent, and their edits of messages, since the last reply.
    reactions: Sequence[Incident] = ()
    #: True if several people write in the conversation.
    group: bool = False
    #: True if a model refused a prompt as too long.
    shrunk: bool = False
    extras: Extras = NO_EXTRAS


# -- composing ---------------------------------------------------------------------------------------------------------

#: The layer of plugin blocks, which only agents with plugins have. Blocks that stay the same are at the end of the
#: system text; blocks that may change are at the end of `changing`.
PLUGINS = "plugins"
#: The parts of `Prompt.changing` in the order of the prompt, each with its layers. Skills are counted in the layer
#: `tools`.
_CHANGING: Mapping[str, tuple[str, ...]] = {
    "skills": (),
    "notes": ("sticky", "memory"),
    "summaries": ("summaries",),
    "incidents": ("incidents",),
    PLUGINS: (),
}
#: The names of the layers, in the order of the prompt.
LAYERS = (
    "identity",
    "tools",
    *(layer for layers in _CHANGING.values() for layer in layers),
    "history",
    "observed",
    "current",
    "clock",
)

#: The maximum number of tokens for skills. In a small prompt, they get at most the usable tokens divided by `_SKILLS`.
SKILL_TOKENS = 4_000
_SKILLS = 8
#: Facts and values together get at most the usable tokens divided by `_MEMORY`; summaries get at most the usable tokens
#: divided by `_SUMMARIES`.
_MEMORY = 8
_SUMMARIES = 4
#: The texts of files in the messages that the agent has to answer get at most the usable tokens divided by this number.
_FILES = 2
#: The files and rounds of past messages, in addition to their names, get at most the usable tokens divided by `_PAST`,
#: and at most `PAST_TOKENS`.
_PAST = 2
PAST_TOKENS = 30_000
#: Overheard messages get at most the usable tokens divided by this number.
_OBSERVED = 8
_INCIDENTS = "Problems since your last reply here:"
_REACTIONS = "Reactions to your messages and edits of earlier messages since your last reply here:"
_INCIDENT_TOKENS = 500
#: Sticky facts must leave tokens for three parts: the messages that the agent has to answer (at most the usable tokens
#: divided by `_ASKED`), the newest round, and people's answers to questions of this turn (each at most the usable
#: tokens divided by `_ROUNDS`).
_ASKED = 2
_ROUNDS = 4
#: The minimum number of tokens that sticky facts must leave for the messages that the agent has to answer.
_LEAST_CURRENT = 200


@dataclass(frozen=True, slots=True)
class Prompt:
    """A composed prompt. A vendor may cache everything before `now`."""

    #: The part that stays the same from turn to turn.
    system: str
    #: The part that may change in each turn; it follows `system`.
    changing: str
    #: The lines with the current time and the place. They may change in each call, so providers put them near the end of
    #: the prompt.
    now: str
    #: The history and the messages that the agent has to answer; they follow `changing`.
    turns: tuple[Turn, ...]
    #: The rounds of the turn; they follow `turns`.
    rounds: tuple[Turn, ...]
    #: The maximum number of tokens of the rounds: `rounds_room` does not count people's messages, `rounds_most` does.
    rounds_room: int
    rounds_most: int
    #: The estimated tokens of each layer.
    layers: Mapping[str, int]
    #: `left_out` is the number of messages of the history that did not fit into `room` tokens.
    left_out: int
    room: int
    #: The taint of the text in the prompt, without the rounds.
    taint: Taint
    #: The ids of the facts in the prompt.
    recalled: tuple[str, ...]

    @property
    def read(self) -> list[str]:
        """The ids of the messages that the agent has to answer and whose text is in the prompt."""
        return read_in((*self.turns, *self.rounds))


def compose(given: Ingredients) -> Prompt:
    """Compose the prompt. The obligatory parts get their tokens first; then the other parts follow in order of
    importance."""
    sheet = _Sheet(given)
    system = sheet.system()
    now = sheet.counted("clock", sheet.situation())
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
    past = sheet.talk(room)
    said = sheet.asked(past, aside, current)
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
        turns=alternating(said, past.turns),
        rounds=rounds.turns,
        rounds_room=rounds.room,
        rounds_most=rounds.most,
        layers=sheet.layers,
        left_out=len(given.history) - len(past.lines),
        room=room,
        taint=sticky.taint | memory.taint | summaries.taint | _taint_of_talk(given, past, overheard=bool(aside)),
        recalled=(*sticky.fact_ids, *memory.fact_ids),
    )


@dataclass(frozen=True, slots=True)
class _Rounds:
    turns: tuple[Turn, ...]
    room: int
    most: int


class _Sheet:
    """Builds one prompt: it adds the layers one after the other and counts the tokens of each layer."""

    def __init__(self, given: Ingredients) -> None:
        self._given = given
        self._count = given.estimator.tokens
        self._per_message = math.ceil(given.estimator.message_tokens)
        # After a model refused a prompt as too long, the next prompt gets half of the tokens.
        part = 2 if given.shrunk else 1
        self.usable = given.budget.usable // part
        look = Look(group=given.group, calls=bool(given.tools), reads=given.reads)
        self._form = Form(given.estimator, given.zone, look, min(self.usable // _PAST, PAST_TOKENS))
        self._asked = [self._line(message) for message in given.current]
        self._empty_line = given.estimator.tokens("\n\n")
        self.layers = dict.fromkeys(LAYERS, 0)
        self._most = given.budget.most // part
        self._room_for_tools = given.budget.room_for_tools // part
        #: The tokens reserved for the newest round, and for people's answers to questions of this turn.
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

    def situation(self) -> str:
        """Return the lines with the time and the place. They are at the end of the prompt, so that a change of these
        lines does not change the text before them."""
        given = self._given
        time = clock_line(given.now, given.clock_zone or given.zone)
        return time if given.here is None else f"{time}\n{escape(place_line(given.here))}"

    def blocks(self, *, changing: bool) -> str:
        """Return the text of the plugin blocks. If `changing`, return only the blocks that may change in the next turn;
        otherwise return only the stable blocks."""
        if not self._given.extras.blocks:
            return ""
        self.layers.setdefault(PLUGINS, 0)
        return self.counted(PLUGINS, instructions.block_text(self._given.extras.blocks, changing=changing))

    def sticky(self) -> Notes:
        """Return the sticky facts that fit into the model's window together with the messages that the agent has to
        answer."""
        asked = self._form.cost(self._asked)
        reserved = max(_LEAST_CURRENT, min(asked, self.usable // _ASKED)) + self._least_rounds
        room = self.left(self._most) - reserved
        found = notes.that_fit(notes.sticky_notes(self._given.recall), room, self._count)
        self.layers["sticky"] = found.tokens
        return found

    def current(self) -> list[Line]:
        """Return the messages that the agent has to answer, even if they exceed the usable tokens. If the model would
        refuse a prompt with all of them, leave the later messages for another turn. If the first message alone is too
        long, cut it."""
        given = self._given
        room = self.left(self._most) - self._least_rounds
        lines: list[Line] = []
        cost = 0
        fitting = files_that_fit(given.current, self.usable // _FILES, self._count)
        for message, whole, line in zip(fitting, given.current, self._asked, strict=True):
            with_it = [*lines, line if message is whole else self._line(message)]
            cost_with_it = self._form.cost(Talk(self._form).followed_by(with_it))
            if lines and cost_with_it > room:
                break
            lines, cost = with_it, cost_with_it
        if cost > room:
            cut = cut_to_fit(lines[0].text, room - self._per_message, self._cost)
            lines = [replace(lines[0], text=cut or NO_TEXT)]
            cost = self._form.cost(Talk(self._form).followed_by(lines))
        self.layers["current"] = cost
        return lines

    def rounds(self) -> _Rounds:
        """Return the rounds, with the messages that people wrote during the turn."""
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
        found = notes.that_fit(notes.other_notes(self._given.recall, self._given.zone), room, self._count)
        self.layers["memory"] = found.tokens
        return found

    def summaries(self) -> Summaries:
        room = min(self.usable // _SUMMARIES, self.left(self.usable))
        found = summaries_that_fit(self._given.summaries, room, self._given.zone, self._count)
        self.layers["summaries"] = found.tokens
        return found

    def incidents(self) -> str:
        given = self._given
        if not given.incidents and not given.reactions:
            return ""
        problems = [_INCIDENTS, *given.incidents] if given.incidents else []
        reactions = [_REACTIONS, *(each.text for each in given.reactions)] if given.reactions else []
        text = escape("\n".join([*problems, *reactions]))
        return self.counted("incidents", cut_to_fit(text, _INCIDENT_TOKENS, self._cost))

    def observed(self, current: Sequence[Line]) -> list[Line]:
        """Return the newest overheard messages that fit into their part of the tokens, combined into one message. If no
        message fits, return an empty list."""
        kept = list(self._given.observed)
        room = min(self.usable // _OBSERVED, self.left(self.usable)) - self._per_message
        while kept:
            line = overheard_line(kept, current[0].at)
            if self._cost(line.text) <= room:
                self.layers["observed"] = self._form.cost([line])
                return [line]
            kept = kept[len(kept) // 2 :] if len(kept) > 1 else []
        return []

    def talk(self, room: int) -> Talk:
        """Return the newest messages of the history that fit into `room`."""
        given = self._given
        past = given.talks.of(given.conversation, given.history, self._form)
        if given.extras.added:
            past = past.with_added(given.extras.added)
        past = past.newest(room)
        self.layers["history"] = past.tokens
        return past

    def asked(self, past: Talk, aside: Sequence[Line], current: Sequence[Line]) -> list[Line]:
        """Return the overheard messages (`aside`) and the messages to answer (`current`) in the form in which they
        follow the history (`past`) in the prompt."""
        said = past.followed_by([*aside, *current])
        self.layers["current"] = self._form.cost(said[len(aside) :])
        return said

    def counted(self, layer: str, text: str) -> str:
        """Add the cost of the text to a layer, and return the text."""
        self.layers[layer] += self._cost(text)
        return text

    def left(self, limit: int) -> int:
        """Return the tokens that remain up to `limit` after the layers that were added so far."""
        return limit - sum(self.layers.values())

    def _line(self, message: StoredMessage) -> Line:
        line, added = line_of(message, group=self._given.group), self._given.extras.added.get(message.id)
        return line if added is None else line_with(line, added)

    def _cost(self, text: str) -> int:
        """Return the tokens of a text and of the empty line after it."""
        return self._count(text) + self._empty_line if text else 0


def taint_of_asked(messages: Sequence[StoredMessage]) -> Taint:
    """Return the taint of these messages. The text and the voice messages of the person who asks add no label; any
    other file adds the label `FILES`."""
    attached = [file for message in messages for file in message.attachments]
    files = any(file.kind is not FileKind.VOICE for file in attached)
    return CLEAN.union(*(message.taint for message in messages)) | ({Label.FILES} if files else CLEAN)


def _taint_of_talk(given: Ingredients, past: Talk, *, overheard: bool) -> Taint:
    """Return the taint of the messages in the prompt."""
    taint = taint_of_asked(given.current).union(past.taint, *[message.taint for message in given.current])
    people = {*past.people, *[each.principal_id for each in given.current if each.role is Role.USER]}
    people.update(each.principal_id for each in given.reactions)
    outside = {Label.TOOLS} if given.extras.outside else CLEAN
    return taint | ({Label.PEOPLE} if overheard or people - {given.asker} else CLEAN) | outside
