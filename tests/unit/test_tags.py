"""Parsing of a model's reply: proposals, wrappers, metadata."""

from __future__ import annotations

import pytest

from arvis.domain.effects import EffectKind, Proposal
from arvis.tags import Reply, Status, Wrapper, read


def only(text: str) -> Proposal:
    [proposal] = read(text).proposals
    return proposal


def block(name: str, *lines: str) -> Proposal:
    return only("\n".join([f"[{name}]", *lines, f"[/{name.partition(':')[0]}]"]))


def problem_of(name: str, *lines: str) -> str:
    return block(name, *lines).problem or ""


def wrapped(text: str) -> Wrapper:
    wrapper = read(text).wrapper
    assert wrapper is not None
    return wrapper


# -- memory, state, delegation -----------------------------------------------------------------------------------------


def test_m1_a_closed_fact() -> None:
    reply = read("[MEMORY:sticky] Never forget [/MEMORY]")
    assert reply.proposals == (Proposal(1, EffectKind.REMEMBER, "sticky", {"text": "Never forget"}),)
    assert reply.visible == ""


def test_m2_a_fact_and_a_state_in_lines() -> None:
    reply = read("[MEMORY:fact] one\n[STATE:alert.max] 150")
    assert reply.proposals == (
        Proposal(1, EffectKind.REMEMBER, "learned_pattern", {"text": "one"}),
        Proposal(2, EffectKind.STATE, "alert.max", {"text": "150"}),
    )
    assert reply.visible == ""


@pytest.mark.parametrize(
    ("word", "category"),
    [
        ("user_preference", "user_preference"),
        ("PREFERENCE", "user_preference"),
        ("project_context", "project_context"),
        ("important_event", "important_event"),
        ("whatever", "learned_pattern"),
    ],
)
def test_categories(word: str, category: str) -> None:
    assert only(f"[MEMORY:{word}] x").subject == category


@pytest.mark.parametrize("text", ["[MEMORY:sticky]", "[STATE:k] [/STATE]", "[DELEGATE:bob] [/DELEGATE]"])
def test_an_empty_tag_asks_for_nothing(text: str) -> None:
    assert only(text).problem


@pytest.mark.parametrize(("wish", "report"), [("", False), (" report", True), (" REPORT", True)])
def test_delegation(wish: str, report: bool) -> None:
    proposal = only(f"[delegate:Bob{wish}] look it up\nnow [/DELEGATE]")
    assert (proposal.kind, proposal.subject) == (EffectKind.DELEGATE, "bob")
    assert proposal.fields == {"text": "look it up\nnow", "report": report}


# -- blocks of the conductor -------------------------------------------------------------------------------------------


def test_an_agent_with_all_its_fields() -> None:
    proposal = block(
        "CREATE_AGENT",
        "slug: news",
        "name: 007",
        "role: researcher",
        "model: null",
        "allowed_tools: web_search",
        "fallbacks:",
        "- openai/y",
        '- "x"',
        'channels: [{"platform": "discord", "channelId": "1"}]',
        "personality:",
        "  voice: calm",
        "  quirks: [1, 2]",
        "system_prompt:",
        "  Be short.",
        "Note: colons are fine",
        "",
        "  - and lists",
        "description: reads: the news",
    )
    assert proposal.problem is None
    assert (proposal.kind, proposal.subject) == (EffectKind.CREATE_AGENT, "news")
    assert proposal.fields == {
        "slug": "news",
        "name": "007",
        "role": "researcher",
        "model": None,
        "tools": ["web_search"],
        "fallbacks": ["openai/y", "x"],
        "channels": [{"platform": "discord", "channelId": "1"}],
        "personality": {"voice": "calm", "quirks": [1, 2]},
        "prompt": "Be short.\nNote: colons are fine\n\n  - and lists",
        "description": "reads: the news",
    }


def test_c1_only_what_is_named_changes() -> None:
    proposal = block("UPDATE_AGENT:News", "description: new")
    assert (proposal.subject, proposal.fields, proposal.problem) == ("news", {"description": "new"}, None)


def test_a_fact_has_times() -> None:
    [proposal] = read(
        '[MEMORY:user_preference from=2024 until="2027-03" expires=2028] lives in Rome [/MEMORY]'
    ).proposals
    assert (proposal.subject, proposal.problem) == ("user_preference", None)
    assert proposal.fields == {"text": "lives in Rome", "from": "2024", "until": "2027-03", "expires": "2028"}
    [proposal] = read("[MEMORY:fact until=soon] is in Rome").proposals
    assert proposal.problem == "`until` must be a date such as 2024, 2024-03 or 2024-03-15"


def test_c4_long_numbers_keep_their_digits() -> None:
    lines = ("agent: news", "schedule: 0 8 * * *", "prompt: Go", "channel: 1234567890123456789")
    assert block("CREATE_CRON", *lines).fields["channel"] == "1234567890123456789"


def test_c5_reading_does_not_ask_who_wrote_and_nothing_is_shown() -> None:
    reply = read("Made it.\n[CREATE_AGENT]\nslug: x\n[/CREATE_AGENT]")
    assert reply.visible == "Made it."
    assert [proposal.kind for proposal in reply.proposals] == [EffectKind.CREATE_AGENT]


@pytest.mark.parametrize(
    ("name", "line", "words"),
    [
        ("CREATE_AGENT", "name: x", "`slug` is missing"),
        ("CREATE_CLIENT", "name: x", "`slug` is missing"),
        ("CREATE_CRON", "agent: x", "`schedule` is missing; `prompt` is missing"),
        ("CREATE_HEARTBEAT", "prompt: x", "`agent` is missing"),
        ("UPDATE_AGENT:x", "", "changes no field"),
        ("UPDATE_AGENT:x", 'allow_users: ["me"]', "`allow_users` cannot be set by a tag"),
        ("UPDATE_AGENT:x", "personality:\nallow_users: me", "`allow_users` cannot be set by a tag"),
        ("UPDATE_AGENT:x", "owner: me", "`owner` cannot be set by a tag"),
        ("UPDATE_AGENT:x", "role: Conductor", "tags cannot create a conductor"),
        ("UPDATE_AGENT:x", "budget: 5", "`budget` is not a key of this tag"),
        ("UPDATE_AGENT:x", "name: a\nname: b", "`name` occurs twice"),
        ("UPDATE_AGENT:x", "prompt: a\nsystem_prompt: b", "`prompt` occurs twice"),
        ("UPDATE_AGENT:x", "allowed_tools: [1]", "`allowed_tools` must be a list of names"),
        ("UPDATE_AGENT:x", "channels: somewhere", "`channels` must be a list"),
        ("UPDATE_AGENT:x", "just words", "has no key"),
        ("UPDATE_CRON:a b", "script: [1]", "`script` must be an object"),
        ("UPDATE_CRON:a b", "enabled: perhaps", "`enabled` must be true or false"),
        ("UPDATE_AGENT:x", "prompt: " + "x" * 9000, "longer than 8192 bytes"),
    ],
)
def test_problems_are_told(name: str, line: str, words: str) -> None:
    assert words in problem_of(name, line)


def test_many_problems_of_one_tag_are_told_briefly() -> None:
    assert problem_of("UPDATE_AGENT:x", "a\n" * 4000) == "; ".join(["the line “a” has no key"] * 3) + "; and 3998 more"
    assert len(problem_of("UPDATE_AGENT:x", "\n".join(f"{'k' * 60}{n}: x" for n in range(60)))) <= 300
    assert len(problem_of("UPDATE_AGENT:x", f"{'y' * 4000}\n" * 2)) <= 300


@pytest.mark.parametrize("value", ["[" * 4000, "NaN", "1e999", "{", '"', "9" * 5000])
def test_odd_values_are_text_or_a_problem(value: str) -> None:
    assert block("UPDATE_AGENT:x", f"name: {value}").fields["name"] == value
    assert block("UPDATE_AGENT:x", f"channels: {value}").problem


def test_a_script_of_several_lines() -> None:
    proposal = block("CREATE_HEARTBEAT", "agent: a", "script:", "{", ' "type": "script",', ' "url": "https://a"', "}")
    assert proposal.fields["script"] == {"type": "script", "url": "https://a"}
    assert proposal.problem is None


def test_the_order_in_which_they_are_carried_out() -> None:
    text = """[MEMORY:x] y
[DELEGATE:a] b [/DELEGATE] [LIST_AGENTS] [DELETE_CRON:morning news]
[CREATE_HEARTBEAT]
agent: n
[/CREATE_HEARTBEAT]
[CREATE_CLIENT]
name: c
slug: c
[/CREATE_CLIENT]
[PAUSE_AGENT:old]
[UPDATE_AGENT:m]name: M[/UPDATE_AGENT]
[CREATE_AGENT]slug: n[/CREATE_AGENT]"""
    order = [(proposal.kind.name, proposal.ordinal) for proposal in read(text).proposals]
    assert order == [
        ("CREATE_AGENT", 9),
        ("UPDATE_AGENT", 8),
        ("LIST_AGENTS", 3),
        ("PAUSE_AGENT", 7),
        ("CREATE_CLIENT", 6),
        ("DELETE_CRON", 4),
        ("CREATE_HEARTBEAT", 5),
        ("DELEGATE", 2),
        ("REMEMBER", 1),
    ]


# -- wrappers and metadata ---------------------------------------------------------------------------------------------


def test_w1_blocked_wins() -> None:
    reason = "<BLOCKER_REASON>No key</BLOCKER_REASON><UNBLOCK_REQUIREMENTS>Give one</UNBLOCK_REQUIREMENTS>"
    text = f"<AGENT_DONE>x</AGENT_DONE><AGENT_BLOCKED>{reason}</AGENT_BLOCKED>Sorry."
    wrapper = wrapped(text)
    assert (wrapper.status, wrapper.reason, wrapper.requirements) == (Status.BLOCKED, "No key", "Give one")
    assert wrapper.visible == "Sorry.\n\nNo key\n\nGive one"


def test_w2_no_wrapper() -> None:
    assert read("Hello!") == Reply("Hello!")


def test_w3_done_alone_shows_nothing() -> None:
    reply = read("<AGENT_DONE>\n<KEY_RESULT>42</KEY_RESULT>\n</AGENT_DONE>")
    assert reply.wrapper == Wrapper(Status.DONE, "42", "", "", "", "")
    assert reply.visible == ""


@pytest.mark.parametrize("tag", ["STATUS_REPORT", "status_message"])
def test_w4_a_report_alone_is_shown(tag: str) -> None:
    reply = read(f"<agent_continue><{tag}>Half done</{tag}></agent_continue>")
    assert reply.wrapper == Wrapper(Status.CONTINUE, "", "", "", "Half done", "Half done")
    assert reply.visible == "Half done"


def test_without_an_inner_tag_the_first_line_counts_and_tags_are_not_shown() -> None:
    assert wrapped("<AGENT_DONE>\n\nAll done\nreally</AGENT_DONE>").result == "All done"
    assert wrapped("<AGENT_BLOCKED>[LIST_AGENTS]I need x</AGENT_BLOCKED>").visible == "I need x"
    assert wrapped("<AGENT_CONTINUE/>").visible
    assert wrapped("<AGENT_BLOCKED/>").visible


def test_metadata() -> None:
    attributes = "<attributes>\n<to> bob &amp; co </to><empty> </empty><data><![CDATA[a<b]]></data></attributes>"
    reply = read(f"<response-metadata>\n{attributes}\n</response-metadata>\nMESSAGE TO SEND:\nHi")
    assert (reply.attributes, reply.visible) == ({"to": "bob & co", "data": "a<b"}, "Hi")


@pytest.mark.parametrize("body", ["<a>1", "<a>1</b>", "x<a>1</a>", "<a><b>1</b></a>", "<!ENTITY x>"])
def test_broken_metadata_has_no_attributes(body: str) -> None:
    reply = read(f"<response-metadata><attributes>{body}</attributes></response-metadata>MESSAGE TO SEND: Hi")
    assert (reply.attributes, reply.visible) == ({}, "Hi")
