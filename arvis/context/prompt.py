"""Build what a model is asked: the stable parts first, so that providers can cache them.

Further layers (skills, memory, summaries) join here; each is a part with a name and a cost in tokens, which
`explain` shows. Built when the job runs, never before (docs/adr/0001).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arvis.conversations import estimate_tokens
from arvis.domain.agents import Agent
from arvis.domain.messages import HistoryLine, Role, StoredMessage
from arvis.domain.runs import Turn

#: The window of a model that nobody told us about, in tokens.
DEFAULT_WINDOW = 200_000
#: Room for the reply: the smaller of this and a quarter of the window (behaviour §7, prompt budget).
RESERVE = 20_000
#: Stands for a message that was nothing but files; providers refuse empty ones.
NO_TEXT = "[no text]"


@dataclass(frozen=True, slots=True)
class Prompt:
    """`layers` says how many tokens each part is estimated at; `left_out` counts messages that did not fit."""

    system: str
    turns: tuple[Turn, ...]
    layers: Mapping[str, int]
    left_out: int


def usable_tokens(agent: Agent) -> int:
    """min(window, context_tokens) − reserve."""
    window = min(DEFAULT_WINDOW, agent.context_tokens or DEFAULT_WINDOW)
    return window - min(RESERVE, window // 4)


def room_for_tools(agent: Agent, *, shrunk: bool = False) -> int:
    """How many tokens the outputs of a turn's tools may take together: half of what there is."""
    return usable_tokens(agent) // (4 if shrunk else 2)


def build_prompt(
    agent: Agent,
    history: Sequence[HistoryLine],
    current: Sequence[StoredMessage],
    *,
    rounds: Sequence[Turn] = (),
    shrunk: bool = False,
) -> Prompt:
    """The turn's own messages always go in, with room for its `rounds` of tools, which the caller adds; history fills what
    is left, newest first, and is cut at the old end. `shrunk`: into half the room, because a model refused the whole."""
    system = system_prompt(agent)
    asked = "\n\n".join(map(text_of, current))
    layers = {"identity": estimate_tokens(system), "current": estimate_tokens(asked)}
    if rounds:
        layers["tools"] = sum(map(_tokens_of, rounds))
    room = usable_tokens(agent) // (2 if shrunk else 1) - sum(layers.values())
    kept: list[HistoryLine] = []
    for line in reversed(history):
        room -= line.tokens
        if room < 0:
            break
        kept.append(line)
    while kept and _role_of(kept[-1]) != "user":
        kept.pop()  # a prompt begins with a person's words
    kept.reverse()
    layers["history"] = sum(line.tokens for line in kept)
    turns = _alternating([*(Turn(_role_of(line), line.content or NO_TEXT) for line in kept), Turn("user", asked)])
    return Prompt(system, turns, layers, left_out=len(history) - len(kept))


def system_prompt(agent: Agent) -> str:
    """Who the agent is, what it is for, and its own prompt."""
    parts = [
        f"You are {agent.name}, an assistant in a chat. Never claim to be the language model that you run on.",
        f"Your purpose: {agent.description}" if agent.description else "",
        agent.prompt,
    ]
    return "\n\n".join(part for part in parts if part)


def text_of(message: StoredMessage) -> str:
    """The text with its files named, so that the model knows of them."""
    files = [f"[Attached: {file.filename} ({file.content_type}, {file.size} bytes)]" for file in message.attachments]
    return "\n".join([message.content, *files] if message.content else files) or NO_TEXT


def _tokens_of(turn: Turn) -> int:
    texts = [turn.content, *(call.what for call in turn.calls), *(output.content for output in turn.outputs)]
    return sum(map(estimate_tokens, texts))


def _role_of(line: HistoryLine) -> str:
    return "user" if line.role is Role.USER else "assistant"


def _alternating(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Join neighbours of one role: providers want user and assistant in turn."""
    joined: list[Turn] = []
    for turn in turns:
        if joined and joined[-1].role == turn.role:
            joined[-1] = Turn(turn.role, f"{joined[-1].content}\n\n{turn.content}")
        else:
            joined.append(turn)
    return tuple(joined)
