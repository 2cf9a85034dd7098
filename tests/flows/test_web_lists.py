"""Jobs, waits, agents and conversations over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.executions import Answer, Wait, WaitKind
from arvis.domain.jobs import JobStatus
from arvis.domain.messages import PrincipalRole
from arvis.ports.operations import WaitAnswer
from tests.flows.web_script import NOW, a_job
from tests.flows.web_server import OPERATOR_KEY, VIEWER_KEY, Site, running_site


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as site:
        yield site


def a_wait(wait_id: str, *, answer: Answer | None = None) -> Wait:
    return Wait(
        id=wait_id, execution_id="e1", cursor_id="c1", kind=WaitKind.APPROVAL, prompt="Delete it?",
        choices=("approve", "reject"), asked_at=NOW, expires_at=None, answer=answer,
    )  # fmt: skip


async def test_a_job_shows_itself(site: Site) -> None:
    site.insights.all_jobs["job1"] = a_job("job1")
    shown = (await site.call("GET", "/api/jobs/job1")).json()
    expected = {
        "id": "job1", "kind": "message", "status": "failed", "lane": "conversation:c1", "priority": 5, "attempts": 3,
        "crashes": 0, "runAt": NOW, "error": "no model answered", "agent": "helper", "messageId": "m1",
        "executionId": "e1",
    }  # fmt: skip
    assert expected.items() <= shown.items()
    assert shown["payload"] == {"text": "hello"}
    (listed,) = (await site.call("GET", "/api/jobs")).json()["items"]
    assert expected.items() <= listed.items()
    assert "payload" not in listed


async def test_jobs_are_paged_and_filtered(site: Site) -> None:
    site.insights.all_jobs = {f"job{n}": a_job(f"job{n}") for n in range(5)}
    first = (await site.call("GET", "/api/jobs?limit=2")).json()
    assert [job["id"] for job in first["items"]] == ["job0", "job1"]
    rest = (await site.call("GET", f"/api/jobs?limit=200&cursor={first['nextCursor']}")).json()
    assert ([job["id"] for job in rest["items"]], rest["nextCursor"]) == (["job2", "job3", "job4"], None)
    await site.call("GET", "/api/jobs?kind=deliver&status=running&agent=helper")
    assert site.insights.asked[-1] == {
        "kind": "deliver", "status": "running", "agent": "helper", "limit": 50, "cursor": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=201", "limit=-1", "limit=x", "limit=", "cursor=", "cursor=%00", "cursor=%0A", "kind=dance",
     "status=lost", "agent=%00", f"agent={'a' * 201}"],
)  # fmt: skip
async def test_a_wrong_question_is_unprocessable(site: Site, query: str) -> None:
    answer = await site.call("GET", f"/api/jobs?{query}")
    assert (answer.status, answer.code) == (422, "unprocessable")
    assert not site.insights.asked


async def test_jobs_are_retried_cancelled_and_deleted(site: Site) -> None:
    site.insights.all_jobs["job1"] = a_job("job1")
    for action, status in [("retry", "pending"), ("cancel", "cancelled")]:
        answer = await site.call("POST", f"/api/jobs/job1/{action}", key=OPERATOR_KEY)
        assert (answer.status, answer.json()["status"]) == (200, status)
    assert (await site.call("DELETE", "/api/jobs/job1")).json() == {"ok": True}
    assert (await site.call("GET", "/api/jobs/job1")).status == 404


async def test_what_a_job_does_not_allow_is_a_conflict(site: Site) -> None:
    site.insights.all_jobs["job1"] = a_job("job1", status=JobStatus.RUNNING)
    for method, path in [("POST", "/api/jobs/job1/retry"), ("DELETE", "/api/jobs/job1")]:
        answer = await site.call(method, path)
        assert (answer.status, answer.code) == (409, "conflict")


async def test_what_is_no_job_is_not_found(site: Site) -> None:
    for method, path in [
        ("GET", "/api/jobs/none"),
        ("DELETE", "/api/jobs/none"),
        ("POST", "/api/jobs/none/retry"),
        ("POST", "/api/jobs/none/cancel"),
        ("GET", "/api/jobs/%00"),
    ]:
        assert (await site.call(method, path)).status == 404


async def test_the_methods_of_a_path_are_named(site: Site) -> None:
    answer = await site.call("PUT", "/api/jobs/job1")
    assert (answer.status, answer.code) == (405, "method_not_allowed")
    assert {"GET", "DELETE"} <= set(answer.headers["allow"].split(", "))


async def test_open_questions_are_listed(site: Site) -> None:
    site.insights.all_waits = {"w1": a_wait("w1"), "w2": a_wait("w2", answer=Answer({"decision": "reject"}, "p1"))}
    assert [wait["id"] for wait in (await site.call("GET", "/api/questions")).json()["items"]] == ["w1"]
    assert len((await site.call("GET", "/api/questions?open=false")).json()["items"]) == 2
    assert (await site.call("GET", "/api/questions?open=perhaps")).status == 422
    shown = (await site.call("GET", "/api/questions/w2", key=VIEWER_KEY)).json()
    assert (shown["kind"], shown["prompt"], shown["answer"]) == ("approval", "Delete it?", {"decision": "reject"})
    assert shown["choices"] == ["approve", "reject"]
    assert (await site.call("GET", "/api/questions/none")).status == 404


@pytest.mark.parametrize(
    ("body", "given"),
    [
        ({"decision": "approve", "note": "ok"}, WaitAnswer("approve", note="ok")),
        ({"decision": "accept"}, WaitAnswer("approve")),
        ({"decision": "reject"}, WaitAnswer("reject")),
        ({"decision": "edit", "arguments": {"a": 1}}, WaitAnswer("edit", arguments={"a": 1})),
        ({"decision": "feedback", "text": "no"}, WaitAnswer("feedback", text="no")),
        ({"decision": "answer", "text": "42"}, WaitAnswer("answer", text="42")),
    ],
)
async def test_a_question_is_answered_once(site: Site, body: dict[str, Any], given: WaitAnswer) -> None:
    site.insights.all_waits["w1"] = a_wait("w1")
    assert (await site.call("POST", "/api/questions/w1/answer", key=OPERATOR_KEY, json=body)).status == 200
    ((wait_id, answer, by),) = site.operations.answers
    assert (wait_id, answer) == ("w1", given)
    assert (by.platform, by.role) == ("web", PrincipalRole.OPERATOR)
    again = await site.call("POST", "/api/questions/w1/answer", json=body)
    assert (again.status, again.code) == (409, "already_answered")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"decision": "maybe"},
        {"decision": 1},
        {"decision": "edit"},
        {"decision": "edit", "arguments": "x"},
        {"decision": "feedback"},
        {"decision": "answer", "text": ""},
        {"decision": "approve", "note": 7},
    ],
)
async def test_an_answer_that_says_nothing_is_unprocessable(site: Site, body: dict[str, Any]) -> None:
    site.insights.all_waits["w1"] = a_wait("w1")
    assert (await site.call("POST", "/api/questions/w1/answer", json=body)).status == 422
    assert not site.operations.answers


async def test_agents_are_listed(site: Site) -> None:
    listed = (await site.call("GET", "/api/agents")).json()
    assert listed["nextCursor"] is None
    assert [(agent["slug"], agent["status"]) for agent in listed["items"]] == [("helper", "active")]
