"""Skills: reading, choosing, and the built-in ones."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arvis.domain.errors import Unprocessable
from arvis.skills.registry import BUILT_IN
from arvis.skills.skill import (
    LARGEST_FILE,
    NOTHING,
    BadPattern,
    Skill,
    Source,
    choose,
    compile_any,
    compile_pattern,
    prepared,
    ranking,
    read_skill,
    score,
    usable,
)

SHIPPED = [
    read_skill(file.read_text("utf-8"), stem=None, source=Source.BUILT_IN, folder=file.parent.name)
    for file in sorted(BUILT_IN.glob("*/SKILL.md"))
]


def skill(front: str = "", body: str = "Do it well.", *, stem: str | None = "knots") -> Skill:
    return read_skill(f"---\n{front}\n---\n{body}\n", stem=stem, source=Source.FOLDER)


def quarter(text: str) -> int:
    return len(text) // 4


# -- reading -----------------------------------------------------------------------------------------------


def test_a_whole_skill() -> None:
    read = skill(
        """slug: my_skill-2
name: My  skill
description: >-
  Two
  lines
category: sea
author: Ann
version: 1.10
required_tools: [run_shell, http_fetch]
triggers:
  keywords: [Knot, "tie  it", knot]
  patterns: ['\\bropes?\\b']""",
        body="# Title\n\nText\n---\nmore",
    )
    assert (read.slug, read.name, read.description, read.version) == ("my_skill-2", "My skill", "Two lines", "1.10")
    assert (read.category, read.author, read.required_tools) == ("sea", "Ann", ("run_shell", "http_fetch"))
    assert (read.keywords, [pattern.text for pattern in read.patterns]) == (("knot", "tie  it"), [r"\bropes?\b"])
    assert read.body == "# Title\n\nText\n---\nmore"


def test_missing_fields_have_defaults() -> None:
    read = skill()
    assert (read.slug, read.name, read.version, read.keywords, read.patterns) == ("knots", "knots", "1.0.0", (), ())


def test_triggers_may_be_a_list_of_maps() -> None:
    read = skill("triggers:\n  - keywords: [a]\n  - patterns: [b]\n    keywords: c")
    assert (read.keywords, [pattern.text for pattern in read.patterns]) == (("a", "c"), ["b"])


def test_lines_may_end_as_on_other_systems() -> None:
    read = read_skill("\ufeff---\r\nname: A\r\n---\r\nText\r\n", stem="a", source=Source.FOLDER)
    assert (read.name, read.body) == ("A", "Text")


def test_an_invalid_pattern_is_left_out_with_a_warning() -> None:
    read = skill("triggers: {patterns: ['(', 'good', '(?=a)', '" + "x" * 301 + "']}")
    assert [pattern.text for pattern in read.patterns] == ["good"]
    assert len(read.warnings) == 3
    assert all("left out" in warning for warning in read.warnings)


@pytest.mark.parametrize(
    "text",
    [
        "", "Just text", "---\nname: a\n", "---\n- a\n---\nb", "---\nname: a\n---\n  \n", "---\nname: [a]\n---\nb",
        "---\nslug: ../up\n---\nb", "---\nslug: A\n---\nb", "---\nslug: " + "a" * 65 + "\n---\nb", "---\na: b: c\n---\nb",
        "---\na: &x [1]\nb: *x\n---\nb", "---\na: " + "[" * 99 + "]" * 99 + "\n---\nb", "---\ntriggers: words\n---\nb",
        "---\ntriggers: {keywords: {a: b}}\n---\nb", "---\ntriggers: {keywords: [[a]]}\n---\nb",
        "---\nname: " + "a" * 501 + "\n---\nb", "---\nname: " + "a " * 9_000 + "\n---\nb", "---\nrequired_tools: 5:\n---\nb",
        "---\nname: a\n---\n" + "b" * LARGEST_FILE, "---\nname: \x01\n---\nb", "---\n? {a: b}\n: c\n---\nb",
        "---\ntriggers: {keywords: [" + ",".join("abc"[i % 3] for i in range(201)) + "]}\n---\nb",
    ],
)  # fmt: skip
def test_the_error_for_an_unusable_text_has_reason_and_fix(text: str) -> None:
    with pytest.raises(Unprocessable) as refused:
        read_skill(text, stem="knots", source=Source.FOLDER)
    assert refused.value.why
    assert "---" in refused.value.fix


def test_a_text_without_a_slug_follows_the_specification() -> None:
    with pytest.raises(Unprocessable, match="`name` may contain only"):
        skill("name: A", stem=None)


@settings(max_examples=200)
@given(st.one_of(st.text(max_size=300), st.text(max_size=200).map(lambda front: f"---\n{front}\n---\nbody")))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read = read_skill(text, stem="knots", source=Source.FOLDER)
    except Unprocessable:
        return
    assert read.body
    assert score(read, prepared("a message", read.may_match)) >= 0


# -- patterns ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$", "(a|a)*$", "(.*)(.*)(.*)(.*)(.*)z", "(x+x+)+y", "a{0,1000}a{0,1000}", "((a{1,1000}){1,1000}){1,1000}b",
        "(" * 99 + "a" + ")" * 99, r"(\p{L}+){20}z", "(?R)", r"(a)\1", "(a?){99}a{99}", "[[", "\ud800",
    ],
)  # fmt: skip
def test_no_pattern_takes_long(pattern: str) -> None:
    begun = time.process_time()
    try:
        matches = compile_pattern(pattern)
    except BadPattern:
        pass
    else:
        matches("a" * 16_000 + "!")
    assert time.process_time() - begun < 0.5


@settings(max_examples=150)
@given(st.text("ab|*+?{}()[].^$\\1,5-:PiLx ", max_size=40), st.text(max_size=40))
def test_any_pattern_is_compiled_or_refused(pattern: str, text: str) -> None:
    try:
        matches = compile_pattern(pattern)
    except BadPattern:
        return
    assert matches(text.encode(errors="replace").decode()) in {True, False}


# -- choosing ----------------------------------------------------------------------------------------------


def test_keywords_count_one_and_patterns_two_whatever_the_case() -> None:
    read = skill("triggers: {keywords: [rope, knot], patterns: ['^tie\\b', 'bowl.?ine']}")
    assert score(read, prepared("A ROPE", read.may_match)) == 1
    assert score(read, prepared("Tie a KNOT in the rope: a Bowline", read.may_match)) == 6
    assert score(read, prepared("a tie", read.may_match)) == 0


def test_two_turns_before_count_half() -> None:
    by_now, by_then = skill("triggers: {keywords: rope}", stem="now"), skill("triggers: {keywords: sail}", stem="then")
    assert [each.slug for each in ranking([by_then, by_now], "rope", ["sail"])] == ["now", "then"]
    assert [each.slug for each in ranking([by_then, by_now], "rope", ["sail", "sail", "sail"])] == ["now", "then"]
    assert ranking([by_then], "hello", ["sail", "-", "-"]) == []
    assert score(by_then, prepared("x" * 16_000 + "sail", by_then.may_match)) == 0


def test_three_at_most_the_best_first_without_front_matter() -> None:
    many = [skill("triggers: {keywords: [rope]}", body=f"Body {n}", stem=f"s{n}") for n in range(5)]
    best = skill("name: Best\ntriggers: {keywords: [rope, knot]}", body="Best body", stem="z")
    chosen = choose([*many, best], "a knot in a rope", [], [], quarter)
    assert chosen.slugs == ("z", "s0", "s1")
    assert chosen.text == (
        "## Skills for this request\n\n### Best\n\nBest body\n\n### s0\n\nBody 0\n\n### s1\n\nBody 1"
    )
    assert choose(many, "hello", [], [], quarter) == NOTHING
    assert choose([], "rope", [], [], quarter) == NOTHING


def test_together_they_stay_below_the_cap() -> None:
    long = [skill("triggers: {keywords: [rope, knot]}", body="x" * 9_000, stem=f"s{n}") for n in range(3)]
    short = skill("triggers: {keywords: [rope]}", stem="short")
    chosen = choose([*long, short], "rope knot", [], [], quarter)
    assert chosen.slugs == ("s0", "short")
    assert quarter(chosen.text) <= 4_000
    assert choose([skill("triggers: {keywords: [a]}", body="x" * 20_000)], "a", [], [], quarter) == NOTHING


@pytest.mark.parametrize(
    ("needed", "tools", "fits"),
    [
        ([], [], True),
        (["shell"], [], False),
        (["shell"], ["run_shell"], True),
        (["run_shell_command"], ["run_shell"], True),
        (["Shell", "web"], ["run_shell"], False),
        (["Shell", "web"], ["run_shell", "web_search"], True),
    ],
)
def test_the_tools_that_a_skill_needs(needed: list[str], tools: list[str], fits: bool) -> None:
    read = skill(f"required_tools: {needed}\ntriggers: {{keywords: rope}}")
    assert usable(read, tools) is fits
    assert bool(choose([read], "rope", [], tools, quarter).slugs) is fits


def test_an_agent_with_skills_gets_their_list_and_only_their_triggers() -> None:
    many = [skill("description: For tests.\ntriggers: {keywords: rope}", stem=f"s{n:02}") for n in range(12)]
    chosen = choose(many, "a rope", [], [], quarter, assigned=("s01", "s11", "gone"))
    assert chosen.slugs == ("s01", "s11")
    assert chosen.text.startswith("## Your skills\n\nBefore you do work")
    assert "\n- s01: For tests.\n- s11: For tests.\n\n## Skills for this request" in chosen.text
    assert "s02" not in chosen.text
    assert choose(many, "hello", [], [], quarter, assigned=("*",)).text.count("\n- s") == 12
    assert choose(many, "rope", [], [], quarter, assigned=("gone",)) == NOTHING


def test_a_long_list_of_skills_is_shortened() -> None:
    many = [skill(f"description: {'x' * 400}", stem=f"{'n' * 40}{n:03}") for n in range(200)]
    text = choose(many, "hello", [], [], quarter, assigned=("*",)).text
    assert quarter(text) <= 2_000
    assert text.count(": xxx") >= 10
    assert " more" in text.splitlines()[-1]


# -- the built-in ones -------------------------------------------------------------------------------------


def test_there_are_four_and_they_are_sound() -> None:
    assert [each.slug for each in SHIPPED] == ["client-management", "code-review", "devops", "web-dev"]
    for each in SHIPPED:
        assert each.warnings == ()
        assert each.description
        assert 40 <= each.body.count("\n") + 1 <= 80
        assert quarter(each.body) < 1_300


@pytest.mark.parametrize(
    ("message", "slug"),
    [
        ("Please write an email to our client, the delivery is late", "client-management"),
        ("My customer is unhappy with the invoice", "client-management"),
        ("Can you draft a project proposal for ACME?", "client-management"),
        ("Could you review this pull request?", "code-review"),
        ("What is wrong with this function?\ndef f(): pass", "code-review"),
        ("Have a look at my diff, is it safe to merge?", "code-review"),
        ("The server is down since five", "devops"),
        ("How do I deploy this with Docker?", "devops"),
        ("our disk is nearly full again", "devops"),
        ("Make a landing page for my bakery", "web-dev"),
        ("How do I centre a div?", "web-dev"),
        ("I want to build a small website with React components", "web-dev"),
        ("The REST API should return 404", "web-dev"),
    ],
)
def test_natural_messages_match_their_triggers(message: str, slug: str) -> None:
    assert choose(SHIPPED, message, [], [], quarter).slugs[:1] == (slug,)


@pytest.mark.parametrize(
    "message",
    [
        "Hello!", "How are you today?", "Tell me a joke", "What time is it in Tokyo?", "Remind me to call my mother",
        "Thanks, that was helpful", "Translate 'good morning' into French", "What should I cook tonight?",
        "My flight is at 8, boarding at 7:20", "The service in the restaurant was slow", "Who wrote Hamlet?",
        "I have access to the pool now", "Summarise this article about climate", "My memory is full of good days",
        "Wie geht es dir?", "Расскажи сказку", "你好", "Set an alarm for 6", "The review of that film was bad",
    ],
)  # fmt: skip
def test_small_talk_matches_no_trigger(message: str) -> None:
    assert choose(SHIPPED, message, [], [], quarter) == NOTHING


def test_the_quick_test_finds_all_matches() -> None:
    patterns = ["a+b", "^hello", r"\bcode review\b", "x{3}|y"]
    any_of = compile_any(patterns)
    alone = [compile_pattern(pattern) for pattern in patterns]
    texts = ["AAB", "say hello", "hello there", "the Code Review of xxy", "xxx", "nothing", "y", ""]
    for text in texts:
        assert any_of(text) == any(matches(text) for matches in alone), text
    assert not compile_any([])("anything")
    assert compile_any(["[a-z]{900}" * 20] * 50)("too much together")
