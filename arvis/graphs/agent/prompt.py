"""The prompt of a turn, built from the current rows, and the model call that is prepared from it.

The prompt is built when the call is made, never when the message is queued. So it contains the reply to the previous
message, and a retry builds its prompt from the rows at the time of the retry (docs/adr/0001)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any, Self

from arvis.domain.agents import Agent
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.messages import Role
from arvis.domain.money import Spender
from arvis.domain.runs import Turn
from arvis.domain.tools import ToolCall, ToolOutput, ToolSpec
from arvis.graphs.agent.completion import EXPLICIT
from arvis.graphs.agent.steering import way_of
from arvis.graphs.context import TurnContext
from arvis.llm.runner import Runner
from arvis.llm.tokens import estimator_of
from arvis.ports.conversations import Calibration
from arvis.prompt import NO_EXTRAS, Budget, Extras, Ingredients, Prompt, Round, compose, first_zone, plain_rules
from arvis.prompt.compose import LONGEST_REPLY, budget_of
from arvis.prompt.talk import Talks
from arvis.services.agents import conductor_rules
from arvis.skills import Skill, choose

# -- the prepared call -------------------------------------------------------------------------------------------------
#
# The node `prepare` passes the call to the node `call_model`. If a commit happens between these nodes, the call is
# stored as JSON. After a crash, `call_model` then makes the same call again.


@dataclass(frozen=True, slots=True)
class CallingAgent:
    """The properties of the agent when the prompt was built."""

    name: str
    #: True if the agent's replies must end with a status.
    explicit: bool
    #: `queue`, `steer` or `restart`.
    on_new_message: str
    model: str | None
    fallbacks: Sequence[str]
    tools: Sequence[str]
    effort: str | None = None

    @classmethod
    def of(cls, agent: Agent) -> Self:
        return cls(
            name=agent.name,
            explicit=agent.completion == EXPLICIT,
            on_new_message=way_of(agent),
            model=agent.model,
            fallbacks=list(agent.fallbacks),
            tools=list(agent.tools),
            effort=agent.effort,
        )


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A composed prompt and its limits. The rounds are not included: they are read when the call is made."""

    agent: CallingAgent
    #: The part of the system prompt that is the same in every turn, the part that changes, and the line with the time.
    system: str
    changing: str
    now: str
    turns: Sequence[Turn]
    #: The id of the message to whose sender the reply is streamed.
    newest: str | None
    #: True if several people write in the conversation.
    group: bool
    #: Maximum numbers of tokens: `reply` for the reply, `room` for the rounds alone, `most` for the rounds together
    #: with the messages that people wrote between them.
    reply: int
    room: int
    most: int
    #: The token counts of the model.
    calibration: Calibration | None
    spender: Spender
    #: The plugins that read the reply, and the attributes that the reply must have.
    plugins: Mapping[str, Any] | None = None
    pictures: Sequence[Sequence[str]] = ()
    #: True if the turn answers a voice message, so that the reply is spoken too.
    voice: bool = False

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self | None:
        """Return the call from its JSON form, or None if an earlier version of Arvis stored the call in another
        form."""
        if "most" not in kept:
            return None
        known = {name: kept[name] for name in cls.__slots__ if name in kept}
        counts = kept["counts"]
        return cls(
            **{
                **known,
                "agent": CallingAgent(**kept["agent"]),
                "turns": [_turn_of(*each) for each in kept["turns"]],
                "calibration": counts and Calibration(**{**counts, "weights": tuple(counts["weights"])}),
                "spender": Spender(**kept["spender"]),
            }
        )

    def to_json(self) -> dict[str, Any]:
        kept = {name: getattr(self, name) for name in self.__slots__ if name not in {"calibration", "plugins"}}
        return {
            **kept,
            "agent": asdict(self.agent),
            "turns": [_turn_json(each) for each in self.turns],
            "counts": asdict(self.calibration) if self.calibration is not None else None,
            "spender": asdict(self.spender),
            **({"plugins": self.plugins} if self.plugins is not None else {}),
        }


def _turn_json(turn: Turn) -> list[Any]:
    plain: list[Any] = [turn.role, turn.content, list(turn.messages)]
    if not (turn.calls or turn.outputs or turn.pictures):
        return plain
    more = {
        "calls": [call.to_json() for call in turn.calls],
        "outputs": [output.to_json() for output in turn.outputs],
        "pictures": [list(picture) for picture in turn.pictures],
    }
    return [*plain, {name: value for name, value in more.items() if value}]


def _turn_of(role: str, text: str, ids: Sequence[str], more: Mapping[str, Any] | None = None) -> Turn:
    turn = Turn(role, text, messages=tuple(ids))
    if more is None:
        return turn
    return replace(
        turn,
        calls=tuple(ToolCall.from_json(call) for call in more.get("calls", ())),
        outputs=tuple(ToolOutput.from_json(output) for output in more.get("outputs", ())),
        pictures=tuple((name, media_type, sha256) for name, media_type, sha256 in more.get("pictures", ())),
    )


#: The number of earlier messages of people that the choice of skills takes into account.
_EARLIER = 2


@dataclass(frozen=True, slots=True)
class PromptInputs:
    """The parts of a prompt that are not in the `TurnContext`, such as the current skills."""

    skills: Collection[Skill]
    #: The offered tools.
    tools: Sequence[ToolSpec]
    #: The rounds of the turn, with their outputs.
    rounds: Sequence[Round]
    #: True if a model refused a prompt of this turn as too long.
    shrunk: bool
    #: The present time in ms.
    now: int
    #: True if the agent can read files and outputs of earlier turns again.
    reads: bool = False
    #: Rules that are added to the rules for all agents.
    rules: str = ""
    extras: Extras = NO_EXTRAS


@dataclass(frozen=True, slots=True)
class CallLimits:
    """The token budget of a call, and the calibration of the model that is called first."""

    budget: Budget
    calibration: Calibration | None


class PromptBuilder:
    """The builder of prompts. `zone` is the daemon's time zone, which agents without a time zone use."""

    def __init__(self, *, runner: Runner, zone: str) -> None:
        self._runner = runner
        self._zone = zone
        self._talks = Talks()

    def limits(self, turn: TurnContext) -> CallLimits:
        """Give the stored cooldowns and calibrations to the runner, and return the limits of a call by this agent."""
        agent = turn.agent
        self._runner.learn(turn.rests, turn.calibrations)
        first = self._runner.profile(agent.model, agent.fallbacks)
        return CallLimits(
            budget=budget_of(first.window, agent.context_tokens, first.reply or LONGEST_REPLY),
            calibration=next((each for each in turn.calibrations if each.model == first.name), None),
        )

    def prompt(self, turn: TurnContext, brought: PromptInputs, limits: CallLimits) -> Prompt:
        agent, estimator = turn.agent, estimator_of(limits.calibration)
        # In a group, the days of the history do not depend on the person who asks, so that vendors can cache the
        # history.
        own = turn.person.timezone if turn.person is not None else None
        rules = conductor_rules(turn.agents, turn.bindings) if agent.is_conductor else plain_rules(turn.others)
        message = "\n".join(each.content for each in turn.current)
        asked = (each.content for each in reversed(turn.history) if each.role is Role.USER)
        earlier = [*islice(asked, _EARLIER)][::-1]
        prompt = compose(
            Ingredients(
                agent=agent,
                rules="\n\n".join(filter(None, [rules, brought.rules])),
                history=turn.history,
                current=turn.current,
                budget=limits.budget,
                now=brought.now,
                zone=first_zone(own if turn.conversation.direct else None, agent.timezone, self._zone),
                clock_zone=first_zone(own, agent.timezone, self._zone),
                here=turn.here,
                estimator=estimator,
                conversation="" if turn.run else turn.conversation.id,
                talks=self._talks,
                skills=choose(
                    brought.skills, message, earlier, agent.tools, estimator.tokens, assigned=agent.skills
                ).text,
                recall=turn.recall,
                summaries=turn.summaries,
                tools=brought.tools,
                reads=brought.reads,
                rounds=brought.rounds,
                asker=turn.asker,
                observed=turn.observed,
                incidents=[each.text for each in turn.incidents if each.principal_id is None],
                reactions=[each for each in turn.incidents if each.principal_id is not None],
                group=turn.group,
                shrunk=brought.shrunk,
                extras=brought.extras,
            )
        )
        return replace(prompt, taint=prompt.taint | turn.taint)
