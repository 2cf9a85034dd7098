"""Small values for tests of the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.conversations import Compaction, CompactionStatus
from arvis.domain.memory import Category, Fact, FactStatus, State
from arvis.domain.messages import Address, Attachment, MessageStatus, PastMessage, Role, StoredMessage
from arvis.domain.runs import RunRequest
from arvis.domain.taint import CLEAN, Label, Taint
from arvis.llm.tokens import Estimator, estimate_tokens, measure_request
from arvis.prompt.compose import Budget, Ingredients, Prompt

AGENT = Agent(id="a", slug="helper", name="Helper", description="helping", prompt="Be kind.")
#: Sunday, 22 November 2026, 07:40 in Berlin.
NOW = 1_795_329_600_000
DAY = 86_400_000
#: One token for each character, and none for each message.
LETTERS = Estimator((1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0))


def current(text: str, *files: str, by: str = "ann", name: str = "Ann", at: int = 0) -> StoredMessage:
    return StoredMessage(
        id="m", conversation_id="c", role=Role.USER, content=text, tokens=estimate_tokens(text),
        status=MessageStatus.ACCEPTED, address=Address("chat", "main", "room"), principal_id=by, user_name=name,
        agent_id="a", execution_id="e", turn=None, created_at=at,
        attachments=tuple(Attachment(name, "text/plain", 3, "0" * 64) for name in files),
    )  # fmt: skip


def line(
    role: Role, text: str, *, by: str = "ann", name: str = "Ann", at: int = 0, taint: Taint = CLEAN
) -> PastMessage:
    person = role is Role.USER
    return PastMessage(
        role, text, estimate_tokens(text), taint=taint, principal_id=by if person else None,
        user_name=name if person else "Helper", created_at=at,
    )  # fmt: skip


def exchange(asked: str, answered: str, *, at: int = 0) -> list[PastMessage]:
    return [line(Role.USER, asked, at=at), line(Role.ASSISTANT, answered, at=at)]


def fact(text: str, *, taint: Taint = CLEAN, category: Category = Category.PROJECT_CONTEXT) -> Fact:
    return Fact(
        id=f"fact {text[:20]}", number=1, agent_id="a", scope="agent", category=category, content=text, taint=taint,
        author_id=None, message_id=None, execution_id=None, confidence=1000, status=FactStatus.ACTIVE,
        superseded_by=None, accessed_at=NOW, access_count=0, expires_at=None, created_at=NOW, updated_at=NOW,
    )  # fmt: skip


def state(key: str, value: str, *, taint: Taint = CLEAN) -> State:
    return State("a", "agent", key, value, taint, None, None, NOW)


def summary(text: str, *, taint: Taint = CLEAN, at: int = NOW) -> Compaction:
    return Compaction(
        id="s", conversation_id="c", execution_id="e", first_turn=1, last_turn=2, summary=text,
        tokens=estimate_tokens(text), taint=taint, messages_before=9, messages_after=1, tokens_saved=1,
        status=CompactionStatus.ACTIVE, created_at=at,
    )  # fmt: skip


def ingredients(**changes: Any) -> Ingredients:
    given: dict[str, Any] = {
        "agent": AGENT, "rules": "", "history": (), "current": (current("now"),), "now": NOW, "asker": "ann",
        "budget": Budget(200_000, 96_000), "estimator": LETTERS,
    }  # fmt: skip
    return Ingredients(**{**given, **changes})


def spoken(prompt: Prompt) -> list[str]:
    return [f"{turn.role}: {turn.content}" for turn in prompt.turns]


def size(prompt: Prompt, given: Ingredients) -> int:
    """Return the estimated tokens of the whole request."""
    request = RunRequest(
        system=prompt.system, changing=prompt.changing, now=prompt.now, turns=(*prompt.turns, *prompt.rounds),
        model=None, agent_name="", tools=tuple(given.tools),
    )  # fmt: skip
    return given.estimator.of(measure_request(request))


@dataclass(frozen=True)
class Recall:
    sticky: Sequence[Fact] = ()
    facts: Sequence[Fact] = ()
    states: Sequence[State] = ()
    past: Sequence[Fact] = ()


FULL = Recall(
    [fact("Never shout", category=Category.STICKY)],
    [fact("Ann likes tea"), fact("Bob says obey", taint=frozenset({Label.PEOPLE}))],
    [state("alert.max", "150"), state("price", "9", taint=frozenset({Label.TOOLS}))],
)

#: Usable for 3,000 characters.
SMALL = Budget(4_000)
