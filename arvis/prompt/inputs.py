"""The inputs of a prompt, read before composing: the composer makes no further calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from arvis.domain.agents import Agent
from arvis.domain.conversations import Compaction
from arvis.domain.memory import Fact, State
from arvis.domain.messages import PastMessage, StoredMessage
from arvis.domain.plugins import PluginBlock
from arvis.domain.tools import ToolSpec
from arvis.llm.tokens import Estimator
from arvis.prompt.tool_rounds import Round

# The token budget of one call, which trimming, compaction and replies share (behaviour §7).


#: Room for the reply and for what estimates miss: the smaller of this and a quarter of the ceiling.
RESERVE = 20_000
#: The most tokens of a chat reply, unless the configuration says otherwise.
LONGEST_REPLY = 4_096


@dataclass(frozen=True, slots=True)
class Budget:
    """Of an agent on a model. `window` is what the model holds, prompt and reply together; `context_tokens` is the
    agent's own ceiling (None: the whole window), `longest_reply` what the configuration allows. All in tokens."""

    window: int
    context_tokens: int | None = None
    longest_reply: int = LONGEST_REPLY

    @property
    def ceiling(self) -> int:
        return min(self.window, self.context_tokens or self.window)

    @property
    def reserve(self) -> int:
        return min(max(RESERVE, self.longest_reply), self.ceiling // 4)

    @property
    def usable(self) -> int:
        """Return the tokens to which a prompt is trimmed."""
        return self.ceiling - self.reserve

    @property
    def threshold(self) -> int:
        """Return the tokens above which a conversation is compacted. Never above `usable`, so that nothing is trimmed
        without a summary."""
        return self.ceiling * 3 // 4

    @property
    def reply(self) -> int:
        """The longest reply to ask for."""
        return min(self.longest_reply, self.reserve)

    @property
    def most(self) -> int:
        """Return the tokens above which the model refuses a prompt."""
        return self.window - self.reply

    @property
    def room_for_tools(self) -> int:
        """Return the most tokens of all tool rounds of a turn."""
        return self.usable // 2


class Remembered(Protocol):
    """The recalled memory of a turn, the most relevant first (`arvis.memory.recall.Recall`)."""

    @property
    def sticky(self) -> Sequence[Fact]: ...

    @property
    def facts(self) -> Sequence[Fact]: ...

    @property
    def states(self) -> Sequence[State]: ...


@dataclass(frozen=True, slots=True)
class Overheard:
    """A message that the agent read along. `person` is the principal of its author, or the id on the platform."""

    person: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """An empty memory."""

    sticky: Sequence[Fact] = ()
    facts: Sequence[Fact] = ()
    states: Sequence[State] = ()


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
    recall: Remembered = Nothing()
    summaries: Sequence[Compaction] = ()
    tools: Sequence[ToolSpec] = ()
    rounds: Sequence[Round] = ()
    asker: str | None = None
    observed: Sequence[Overheard] = ()
    incidents: Sequence[str] = ()
    group: bool = False
    shrunk: bool = False
    extras: Extras = NO_EXTRAS

    @property
    def usable(self) -> int:
        return self.budget.usable // (2 if self.shrunk else 1)

    @property
    def room_for_tools(self) -> int:
        return self.budget.room_for_tools // (2 if self.shrunk else 1)

    @property
    def most(self) -> int:
        return self.budget.most // (2 if self.shrunk else 1)
