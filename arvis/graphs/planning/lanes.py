"""The lanes of a planning run: the messages that all its nodes share (`lane`) and those of single nodes
(`lane_planner`, `lane_reasoning`, `lane_action`), in the state of the execution (seed 001, 2–4).

Their size is limited, because every step writes the state: the oldest messages are dropped first, and messages of
single kinds stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from arvis.domain.messages import PastMessage, Role

ENVIRONMENT = "shared_context_environment"
MEMORY = "shared_context_observational_memory"
SKILL = "shared_context_skill_environment"
BRIEF = "technical_execution_brief"
EVIDENCE = "action_evidence"
FEEDBACK = "critic_feedback"
#: The last output of a node that could not be used.
REFUSED = "refused_draft"
#: Of these there is one message each.
_ONCE = frozenset({ENVIRONMENT, MEMORY, SKILL, BRIEF, REFUSED})

MOST_MESSAGES = 120
#: Characters of one message, of a skill, and of a lane.
LONGEST_MESSAGE = 4_000
LONGEST_SKILL = 8_000
LONGEST_REFUSED = 8_000
LONGEST_LANE = 24_000

USER, ASSISTANT = Role.USER.value, Role.ASSISTANT.value


@dataclass(frozen=True, slots=True)
class Said:
    """`kind` is empty for plain text."""

    role: str
    text: str
    kind: str = ""

    @property
    def shared(self) -> bool:
        return self.kind.startswith("shared_context_")


@dataclass(frozen=True, slots=True)
class Lane:
    messages: tuple[Said, ...] = ()

    def __iter__(self) -> Iterator[Said]:
        return iter(self.messages)

    def adding(self, text: str, kind: str = "", *, role: str = ASSISTANT) -> Lane:
        """With one message more; of a kind that is there once, it takes the place of the older one. Empty text adds
        nothing."""
        kept = tuple(each for each in self.messages if kind not in _ONCE or each.kind != kind)
        most = {SKILL: LONGEST_SKILL, REFUSED: LONGEST_REFUSED}.get(kind, LONGEST_MESSAGE)
        said = (Said(role, clipped(text.strip(), most), kind),) if text.strip() else ()
        return Lane(_bounded((*kept, *said)))

    def without(self, kind: str) -> Lane:
        return replace(self, messages=tuple(each for each in self.messages if each.kind != kind))

    def of_assistant(self) -> Lane:
        return replace(self, messages=tuple(each for each in self.messages if each.role == ASSISTANT))

    def without_echoes(self, goal: str) -> Lane:
        """Neither copies of shared context nor the goal once more."""
        return Lane(tuple(each for each in self.messages if not each.shared and each.text.strip() != goal.strip()))

    def joined(self, others: Iterable[Said]) -> Lane:
        """With these behind it, each that is not there yet."""
        return Lane(tuple(dict.fromkeys((*self.messages, *others))))

    @classmethod
    def from_json(cls, kept: Sequence[Sequence[str]]) -> Lane:
        return cls(tuple(Said(*each) for each in kept))

    def to_json(self) -> list[list[str]]:
        return [[each.role, each.text, each.kind] for each in self.messages]


def seed(history: Sequence[PastMessage]) -> Lane:
    """Return a lane that begins with the conversation so far."""
    said = (Said(USER if each.role is Role.USER else ASSISTANT, each.content) for each in history[-MOST_MESSAGES:])
    return Lane(_bounded(tuple(replace(each, text=clipped(each.text, LONGEST_MESSAGE)) for each in said if each.text)))


def _bounded(messages: tuple[Said, ...]) -> tuple[Said, ...]:
    """Return the newest messages and those of single kinds, within the limits of a lane."""
    room, places = LONGEST_LANE, MOST_MESSAGES
    kept: set[int] = set()
    order = sorted(range(len(messages)), key=lambda index: (messages[index].kind in _ONCE, index), reverse=True)
    for index in order:
        room -= len(messages[index].text)
        places -= 1
        if room < 0 or places < 0:
            break
        kept.add(index)
    return tuple(each for index, each in enumerate(messages) if index in kept)


def clipped(text: str, most: int) -> str:
    """Head and tail of a text that is too long."""
    if len(text) <= most:
        return text
    half = max(most // 2 - 20, 1)
    return f"{text[:half]}\n[… left out …]\n{text[-half:]}"
