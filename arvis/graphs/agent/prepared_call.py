"""The model call that `prepare` hands to `call_model`, as plain JSON: a visit after a crash makes the same call again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from arvis.domain.agents import Agent
from arvis.domain.money import Spender
from arvis.graphs.agent.completion import EXPLICIT
from arvis.graphs.agent.steering import way_of
from arvis.ports.compactions import Calibration


@dataclass(frozen=True, slots=True)
class CallingAgent:
    """The agent as the prompt was made for it."""

    name: str
    #: True if its replies must end with a status.
    explicit: bool
    #: `queue`, `steer` or `restart`.
    on_new_message: str
    model: str | None
    fallbacks: Sequence[str]
    tools: Sequence[str]

    @classmethod
    def of(cls, agent: Agent) -> Self:
        return cls(
            name=agent.name,
            explicit=agent.completion == EXPLICIT,
            on_new_message=way_of(agent),
            model=agent.model,
            fallbacks=list(agent.fallbacks),
            tools=list(agent.tools),
        )


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """One composed prompt and its limits; the rounds are read again when the call is made. Field names are stored keys."""

    agent: CallingAgent
    #: The part of the system prompt that stays the same, the part that changes, and the line with the time.
    system: str
    changing: str
    now: str
    #: Role, text and message ids of each turn.
    turns: Sequence[Sequence[Any]]
    #: Id of the message to whose sender the reply is streamed.
    newest: str | None
    #: True if several people write in the conversation.
    group: bool
    #: Tokens: of the reply, of all rounds, and of one output of a tool.
    reply: int
    room: int
    most: int
    #: The token calibration of the model (`Calibration` as JSON).
    counts: Mapping[str, Any] | None
    spender: Mapping[str, Any]
    #: Plugins that read the reply, and the attributes that it must have.
    plugins: Mapping[str, Any] | None = None
    pictures: Sequence[Sequence[str]] = ()
    #: True if a spoken message is answered: the reply is spoken, too.
    voice: bool = False

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self | None:
        """Return it; None for a prompt that an earlier version of Arvis composed in another form."""
        if "most" not in kept:
            return None
        known = {name: kept[name] for name in cls.__slots__ if name in kept}
        return cls(**{**known, "agent": CallingAgent(**kept["agent"])})

    def to_json(self) -> dict[str, Any]:
        kept = {name: getattr(self, name) for name in self.__slots__} | {"agent": asdict(self.agent)}
        return kept if self.plugins is not None else {name: kept[name] for name in kept if name != "plugins"}

    @property
    def calibration(self) -> Calibration | None:
        return None if self.counts is None else Calibration(**{**self.counts, "weights": tuple(self.counts["weights"])})

    @property
    def payer(self) -> Spender:
        return Spender(**self.spender)
