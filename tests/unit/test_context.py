"""The prompt of a turn: what always goes in, what is left out first, and what it may cost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arvis.context import Prompt, build_prompt
from arvis.context.prompt import NO_TEXT, system_prompt, text_of, usable_tokens
from arvis.conversations import estimate_tokens
from arvis.domain.agents import Agent
from arvis.domain.messages import Address, Attachment, HistoryLine, MessageStatus, Role, StoredMessage

AGENT = Agent(id="a", slug="helper", name="Helper", description="helping", prompt="Be kind.")
NOW = 1_800_000_000_000


def current(text: str, *files: str) -> StoredMessage:
    return StoredMessage(
        id="m", conversation_id="c", role=Role.USER, content=text, tokens=estimate_tokens(text),
        status=MessageStatus.ACCEPTED, address=Address("chat", "main", "room"), principal_id="p", user_name="Ann",
        agent_id="a", execution_id="e", turn=None, created_at=NOW,
        attachments=tuple(Attachment(name, "text/plain", 3, "0" * 64) for name in files),
    )  # fmt: skip


def line(role: Role, text: str, tokens: int | None = None) -> HistoryLine:
    return HistoryLine(role, text, estimate_tokens(text) if tokens is None else tokens)


def spoken(prompt: Prompt) -> list[str]:
    return [f"{turn.role}: {turn.content}" for turn in prompt.turns]


# -- the budget (behaviour §7) -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("context_tokens", "usable"),
    [
        (96_000, 76_000),
        (None, 180_000),
        (200_000, 180_000),
        (1_000_000, 180_000),
        (80_000, 60_000),
        (40_000, 30_000),
        (8_192, 6_144),
    ],
)
def test_the_budget_is_the_window_or_the_agents_ceiling_without_the_reserve(
    context_tokens: int | None, usable: int
) -> None:
    assert usable_tokens(replace(AGENT, context_tokens=context_tokens)) == usable


SMALL = replace(AGENT, context_tokens=4_000)  # usable: 3,000


def test_history_is_cut_at_the_old_end() -> None:
    history = [line(role, f"{number}", 600) for number in range(6) for role in (Role.USER, Role.ASSISTANT)]
    prompt = build_prompt(SMALL, history, [current("now")])
    assert spoken(prompt) == ["user: 4", "assistant: 4", "user: 5", "assistant: 5", "user: now"]
    assert prompt.left_out == 8
    assert prompt.layers["history"] == 2_400


def test_nothing_older_than_what_did_not_fit_goes_in() -> None:
    history = [
        line(Role.USER, "old", 10), line(Role.ASSISTANT, "old answer", 10),
        line(Role.USER, "huge", 5_000), line(Role.ASSISTANT, "new answer", 10),
        line(Role.USER, "new", 10), line(Role.ASSISTANT, "newest answer", 10),
    ]  # fmt: skip
    prompt = build_prompt(SMALL, history, [current("now")])
    assert spoken(prompt) == ["user: new", "assistant: newest answer", "user: now"]


def test_the_turns_own_messages_always_go_in() -> None:
    """Vector I4: kept even when they alone are too long; then there is no history."""
    text = "x" * 350_000
    prompt = build_prompt(AGENT, [line(Role.USER, "before"), line(Role.ASSISTANT, "yes")], [current(text)])
    assert spoken(prompt) == [f"user: {text}"]
    assert prompt.left_out == 2


@given(
    st.lists(st.tuples(st.sampled_from(Role), st.text(max_size=40), st.integers(0, 2_000)), max_size=60),
    st.lists(st.text(max_size=200), min_size=1, max_size=4),
    st.sampled_from([4_000, 20_000, None]),
)
def test_every_prompt_alternates_begins_and_ends_with_a_person_and_keeps_its_budget(
    history: list[tuple[Role, str, int]], texts: list[str], ceiling: int | None
) -> None:
    agent = replace(AGENT, context_tokens=ceiling)
    prompt = build_prompt(agent, [line(*entry) for entry in history], [current(text) for text in texts])
    roles = [turn.role for turn in prompt.turns]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
    assert all(turn.content for turn in prompt.turns)
    assert prompt.layers["history"] <= max(
        0, usable_tokens(agent) - prompt.layers["identity"] - prompt.layers["current"]
    )
    assert 0 <= prompt.left_out <= len(history)


# -- what it says ------------------------------------------------------------------------------------------


def test_neighbours_of_one_role_are_joined() -> None:
    history = [line(Role.USER, "one"), line(Role.USER, "two"), line(Role.ASSISTANT, "three"), line(Role.NOTICE, "four")]
    assert spoken(build_prompt(AGENT, history, [current("five"), current("six")])) == [
        "user: one\n\ntwo",
        "assistant: three\n\nfour",
        "user: five\n\nsix",
    ]


def test_a_prompt_begins_with_a_person() -> None:
    history = [line(Role.ASSISTANT, "an answer whose question is gone", 50), line(Role.USER, "question")]
    prompt = build_prompt(AGENT, history, [current("now")])
    assert spoken(prompt) == ["user: question\n\nnow"]
    assert (prompt.left_out, prompt.layers["history"]) == (1, 3)


def test_the_stable_parts_come_first() -> None:
    assert system_prompt(AGENT) == (
        "You are Helper, an assistant in a chat. Never claim to be the language model that you run on.\n\n"
        "Your purpose: helping\n\nBe kind."
    )
    assert "Your purpose" not in system_prompt(replace(AGENT, description=""))


def test_files_are_named_to_the_model() -> None:
    assert text_of(current("Look", "plan.txt")) == "Look\n[Attached: plan.txt (text/plain, 3 bytes)]"
    assert text_of(current("", "a.txt", "b.txt")).splitlines() == [
        "[Attached: a.txt (text/plain, 3 bytes)]",
        "[Attached: b.txt (text/plain, 3 bytes)]",
    ]


def test_no_turn_of_a_prompt_is_empty() -> None:
    prompt = build_prompt(AGENT, [line(Role.USER, ""), line(Role.ASSISTANT, "ok")], [current("")])
    assert spoken(prompt) == [f"user: {NO_TEXT}", "assistant: ok", f"user: {NO_TEXT}"]


def test_hello_costs_little() -> None:
    prompt = build_prompt(AGENT, [], [current("hello")])
    size = len(prompt.system.encode()) + sum(len(turn.content.encode()) for turn in prompt.turns)
    assert size <= 3 * 1024
