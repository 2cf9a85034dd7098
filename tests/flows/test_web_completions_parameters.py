"""Parameters, refusals and ends of requests to `/v1`: every parameter is used or refused by name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arvis.config.sections import Web
from arvis.domain.events import Delta
from arvis.domain.jobs import JobStatus
from arvis.domain.messages import MessageStatus
from arvis.web.http.limits import Timeouts
from arvis.web.openai.parameters import certain, cut
from tests.flows.test_web_completions import CHAT, answered, asked, refused, spoken, streamed
from tests.flows.web_script import a_job
from tests.flows.web_server import KEYS, Site, eventually, running_site

PAGE = "https://chat.example.org"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    web = Web(port=0, api_keys=KEYS, allowed_origins=(f"{PAGE}:443",))
    async with running_site(tmp_path, patience=Timeouts(look=0.05, put_off=0.1), web=web) as site:
        yield site


async def test_what_tunes_a_model_goes_along_to_it(site: Site) -> None:
    await answered(
        site, asked(temperature=0.2, top_p=1, seed=7, reasoning_effort="low", max_tokens=90, max_completion_tokens=50)
    )
    assert site.inbox.received[0].wishes == {
        "max_tokens": 50,
        "effort": "low",
        "sampling": {"temperature": 0.2, "top_p": 1, "seed": 7},
    }


@pytest.mark.parametrize(
    "harmless",
    [
        {
            "tools": [],
            "tool_choice": "auto",
            "n": 1,
            "logit_bias": {},
            "stop": None,
            "response_format": {"type": "text"},
        },
        {"metadata": {"chat": "1"}, "store": False, "service_tier": "auto", "parallel_tool_calls": True, "top_k": None},
    ],
)
async def test_what_says_what_is_so_anyway_is_taken(site: Site, harmless: dict[str, Any]) -> None:
    assert (await answered(site, asked(**harmless))).status == 200
    assert site.inbox.received[0].wishes == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tools", "look"),
        ("tools", [{"type": "function", "function": {"name": "x"}}] * 2),
        ("functions", [{"name": "x"}]),
        ("tool_choice", "required"),
        ("tool_choice", {"type": "function", "function": {"name": "x"}}),
        ("response_format", "json"),
        ("logprobs", True),
        ("logit_bias", {"1": 5}),
        ("max_tokens", 0),
        ("max_completion_tokens", "many"),
        ("temperature", 3),
        ("top_p", "high"),
        ("seed", 1.5),
        ("stop", ["a", "b", "c", "d", "e"]),
        ("stop", [""]),
        ("reasoning_effort", "extreme"),
        ("top_k", 40),
        ("web_search_options", {"search_context_size": "low"}),
    ],
)
async def test_what_cannot_be_heeded_is_refused_by_its_name(site: Site, name: str, value: Any) -> None:
    error = await refused(site, asked(**{name: value}))
    assert (error["status"], error["type"], error["param"]) == (400, "invalid_request_error", name)
    assert site.inbox.received == []


@pytest.mark.parametrize(
    ("name", "value", "param"),
    [
        ("tools", [{"type": "web_search"}], "tools[0].type"),
        ("tools", [{"type": "function", "function": {"name": "a b"}}], "tools[0].function.name"),
        (
            "tools",
            [{"type": "function", "function": {"name": "a", "parameters": {"type": "odd"}}}],
            "tools[0].function.parameters",
        ),
        ("response_format", {"type": "xml"}, "response_format.type"),
        ("response_format", {"type": "json_schema", "json_schema": {}}, "response_format.json_schema.schema"),
        (
            "response_format",
            {"type": "json_schema", "json_schema": {"schema": {}, "name": ""}},
            "response_format.json_schema.name",
        ),
    ],
)
async def test_a_part_of_a_parameter_is_refused_by_its_place(site: Site, name: str, value: Any, param: str) -> None:
    error = await refused(site, asked(**{name: value}))
    assert (error["status"], error["param"]) == (400, param)


async def test_formats_and_tools_go_along_to_the_model(site: Site) -> None:
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}, "strict": True}}
    await answered(site, asked(tools=[tool], parallel_tool_calls=False, response_format=form), reply="{}")
    assert site.inbox.received[0].wishes == {
        "format": {"schema": {"type": "object"}, "name": "x", "strict": True},
        "tools": [{"name": "look", "description": "", "parameters": {"type": "object"}}],
        "one_call": True,
    }
    await answered(site, asked("again", tools=[tool], tool_choice="none"))
    assert site.inbox.received[1].wishes == {}


@pytest.mark.parametrize(("role", "param"), [("assistant", "messages"), ("tool", "messages[0].tool_call_id")])
async def test_a_request_that_ends_with_no_question_says_so(site: Site, role: str, param: str) -> None:
    error = await refused(site, {"model": "helper", "messages": [{"role": role, "content": "Once upon"}]})
    assert (error["status"], error["param"]) == (400, param)


_SAID = {"role": "assistant", "content": "Once upon a time"}
_CALL = {"type": "function_call", "call_id": "x", "name": "a", "arguments": "{}"}
_OUTPUT = {"type": "function_call_output", "call_id": f"call_01J{'0' * 23}_1_0", "output": ""}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0].type"),
        ({"input": [{"role": "narrator", "content": "x"}]}, "input[0].role"),
        ({"input": "x", "background": True}, "background"),
        ({"input": "x", "previous_response_id": "resp_1"}, "previous_response_id"),
        ({"input": "x", "text": {"format": {"type": "xml"}}}, "text.format.type"),
        ({"input": "x", "reasoning": {"effort": "huge"}}, "reasoning.effort"),
        ({"input": "x", "max_output_tokens": 0}, "max_output_tokens"),
        ({"input": "x", "include": ["message.output_text.logprobs"]}, "include"),
        ({"input": "x", "text": {"verbosity": "low"}}, "text.verbosity"),
        ({"input": "x", "tools": [{"type": "function", "name": "a b"}]}, "tools[0].name"),
        ({"input": "x", "instructions": 5}, "instructions"),
        ({"input": [_SAID], "instructions": "Be brief."}, "input"),
        ({"input": [_SAID, {"role": "narrator", "content": "x"}], "instructions": "Be brief."}, "input[1].role"),
        ({"input": [_SAID, _CALL, {"type": "function_call_output", "call_id": "x", "output": ""}]}, "input[2].call_id"),
        ({"input": [_SAID, _CALL, {**_OUTPUT, "output": 5}]}, "input[2].output"),
    ],
)
async def test_the_responses_api_names_its_own_fields(site: Site, fields: dict[str, Any], param: str) -> None:
    answer = await site.call("POST", "/v1/responses", json={"model": "helper", **fields})
    assert (answer.status, answer.json()["error"]["param"]) == (400, param)


async def test_an_answer_ends_before_a_stop(site: Site) -> None:
    answer = await answered(site, asked(stop=["\n\n", "END"]), reply="One two END three")
    assert answer.json()["choices"][0]["message"]["content"] == "One two"


async def test_a_stream_shows_nothing_of_a_stop(site: Site) -> None:
    events, reading = await streamed(site, asked(stop="END"))
    address = site.inbox.received[0].address
    site.bus.publish(Delta(address, "m1", 0, "One two E"))
    await eventually(lambda: spoken(events) == "One two")
    site.bus.publish(Delta(address, "m1", 9, "ND three"))
    site.rest("m1", MessageStatus.ANSWERED, reply="One two END three")
    assert spoken(await reading) == "One two"


@pytest.mark.parametrize(
    ("text", "kept", "sure"), [("abc", "abc", "abc"), ("abE", "abE", "ab"), ("abENDc", "ab", "ab"), ("EN", "EN", "")]
)
def test_stops(text: str, kept: str, sure: str) -> None:
    assert cut(text, ["END"])[0] == kept
    assert certain(text, ["END"]) == sure


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/nothing", 404),
        ("POST", "/v1/embeddings", 404),
        ("DELETE", "/v1/models", 405),
        ("OPTIONS", CHAT, 405),
    ],
)
async def test_errors_have_openais_form_where_there_is_no_route(
    site: Site, method: str, path: str, status: int
) -> None:
    answer = await site.call(method, path)
    assert answer.status == status
    assert set(answer.json()["error"]) == {"message", "type", "code", "param"}
    assert answer.headers["x-request-id"].startswith("req_")


async def test_errors_have_openais_form_before_any_route(site: Site) -> None:
    answer = await site.call("GET", "/v1/models", headers={"Host": "evil.example"})
    assert (answer.status, answer.json()["error"]["code"]) == (403, "wrong_host")
    assert "param" in answer.json()["error"]


async def test_every_answer_has_a_request_id_of_its_own(site: Site) -> None:
    ids = {(await site.call("GET", "/v1/models")).headers["x-request-id"] for _ in range(3)}
    assert len(ids) == 3


async def test_a_page_that_the_configuration_names_may_call(site: Site) -> None:
    wanted = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    allowed = await site.call("OPTIONS", CHAT, key=None, headers={"Origin": PAGE, **wanted})
    assert allowed.status == 204
    assert allowed.headers["access-control-allow-origin"] == PAGE
    assert allowed.headers["access-control-allow-headers"] == "authorization,content-type"
    assert "access-control-allow-credentials" not in allowed.headers
    answer = await answered(site, asked(), headers={"Origin": PAGE, "Sec-Fetch-Site": "cross-site"})
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, PAGE)


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://chat.example.org", f"{PAGE}.evil.example"])
async def test_no_other_page_may(site: Site, origin: str) -> None:
    wanted = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    answer = await site.call("OPTIONS", CHAT, key=None, headers=wanted)
    assert answer.status == 405
    assert "access-control-allow-origin" not in answer.headers
    assert (await site.call("POST", CHAT, json=asked(), headers={"Origin": origin})).status == 403
    assert site.inbox.received == []


async def test_a_page_that_may_call_v1_may_call_nothing_else(site: Site) -> None:
    answer = await site.call("POST", "/api/messages", json={"content": "x"}, headers={"Origin": PAGE})
    assert answer.status == 403
    cookie = await site.log_in()
    headers = {"Origin": PAGE, "Cookie": f"arvis_session={cookie}"}
    assert (await site.call("POST", CHAT, key=None, json=asked(), headers=headers)).status == 403


async def test_an_answer_that_is_put_off_is_said_in_time(site: Site) -> None:
    begun = asyncio.create_task(site.call("POST", CHAT, json=asked()))
    await eventually(lambda: site.inbox.received)
    later = site.clock.now() + 120_000
    job = replace(a_job(status=JobStatus.PENDING), run_at=later, started_at=1, finished_at=None)
    site.insights.timelines["m1"] = replace(site.insights.timelines["m1"], job=job)
    async with asyncio.timeout(5):
        answer = await begun
    assert (answer.status, answer.json()["error"]["code"]) == (503, "put_off")
    assert answer.headers["x-should-retry"] == "false"
    assert 100 < int(answer.headers["retry-after"]) <= 120


async def test_a_stream_whose_answer_is_put_off_ends_with_the_reason(site: Site) -> None:
    _, reading = await streamed(site, asked())
    job = replace(a_job(status=JobStatus.PENDING), run_at=site.clock.now() + 120_000, started_at=1, finished_at=None)
    site.insights.timelines["m1"] = replace(site.insights.timelines["m1"], job=job)
    async with asyncio.timeout(5):
        assert (await reading)[-1]["error"]["code"] == "put_off"
