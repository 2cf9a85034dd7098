"""A write request that is sent twice with one `Idempotency-Key` is carried out once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from arvis.domain.errors import ArvisError, TooMany, Unavailable
from arvis.ports.api_requests import KEYS_KEPT_MS
from arvis.ports.store import Transaction
from arvis.web.http.endpoints import Call, Endpoint, answer
from arvis.web.http.idempotency import Idempotency
from arvis.web.http.identity import OWN, Identity, Role
from arvis.web.http.limits import SMALL
from tests.flows.web_server import CHAT_KEY, DAEMON_KEY, OPERATOR_KEY, OWNER_KEY, Answer, Site, files_with, running_site


@pytest_asyncio.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, real_insights=True) as running:
        yield running


async def put(site: Site, key: str | None, value: str = "one", *, name: str = "COLOUR", by: str = OWNER_KEY) -> Answer:
    headers = {} if key is None else {"Idempotency-Key": key}
    return await site.call("PUT", f"/api/variables/{name}", key=by, headers=headers, json={"value": value})


async def add_client(site: Site, key: str, name: str = "Acme", by: str = OWNER_KEY) -> Answer:
    return await site.call("POST", "/api/clients", key=by, headers={"Idempotency-Key": key}, json={"name": name})


async def clients(site: Site) -> list[Any]:
    return list((await site.call("GET", "/api/clients")).json()["items"])


async def test_the_second_answer_is_the_first_one(site: Site) -> None:
    first, second = await add_client(site, "k1"), await add_client(site, "k1")
    assert (first.status, second.status) == (201, 201)
    assert first.text == second.text
    assert "idempotency-replayed" not in first.headers
    assert second.headers["idempotency-replayed"] == "true"
    assert second.headers["content-type"] == "application/json"
    assert len(await clients(site)) == 1


async def test_refusals_are_kept_like_answers(site: Site) -> None:
    first, second = await add_client(site, "k1", ""), await add_client(site, "k1", "")
    assert (first.status, first.text) == (second.status, second.text)
    assert first.status == 422
    assert second.headers["idempotency-replayed"] == "true"


async def test_another_request_with_the_same_key_is_refused(site: Site) -> None:
    await add_client(site, "k1")
    assert (await add_client(site, "k1", "Bolt")).code == "key_reused"
    assert (await put(site, "k1")).code == "key_reused"
    assert len(await clients(site)) == 1


async def test_a_key_belongs_to_who_asks(site: Site) -> None:
    path = "/api/questions/nothing/answer"
    for key in (OPERATOR_KEY, DAEMON_KEY):
        asked = await site.call(
            "POST", path, key=key, headers={"Idempotency-Key": "k1"}, json={"decision": "approve", "note": key}
        )
        assert asked.code == "not_found"
    # All owners' keys belong to one user.
    assert (await add_client(site, "k2", by=OWNER_KEY)).status == 201
    assert "idempotency-replayed" in (await add_client(site, "k2", by=DAEMON_KEY)).headers


async def test_who_may_not_pass_learns_nothing_of_a_key(site: Site) -> None:
    await add_client(site, "k1")
    assert (await add_client(site, "k1", by=CHAT_KEY)).status == 403


@pytest.mark.parametrize("key", ["", " ", "x" * 201, "a b"])
async def test_a_key_that_is_none_is_refused(site: Site, key: str) -> None:
    assert (await put(site, key)).status == 422


async def test_after_a_day_a_key_is_free_again(site: Site) -> None:
    await add_client(site, "k1")
    site.clock.shift_ms += KEYS_KEPT_MS + 60_000
    assert (await add_client(site, "k1", "Bolt")).status == 201


async def test_nothing_of_it_is_readable_at_rest(site: Site, tmp_path: Path) -> None:
    made = await site.call("POST", "/api/auth/codes", headers={"Idempotency-Key": "k1"})
    again = await site.call("POST", "/api/auth/codes", headers={"Idempotency-Key": "k1"})
    assert made.json()["code"] == again.json()["code"]
    assert files_with(made.json()["code"], tmp_path) == []


async def test_the_filter_of_the_logs_does_not_learn_whole_answers(site: Site) -> None:
    """It would redact them, and get slower with each one."""
    answer = await add_client(site, "k1")
    assert site.redact(answer.text) == answer.text


async def test_a_message_takes_the_key_as_its_id(site: Site) -> None:
    for _ in range(2):
        sent = await site.call("POST", "/api/messages", headers={"Idempotency-Key": "k1"}, json={"content": "hello"})
        assert sent.status == 202
    assert [message.event_id for message in site.inbox.received] == ["k1"]


async def test_without_the_header_nothing_is_kept(site: Site) -> None:
    await put(site, None)
    assert await site.store.write(lambda tx: tx.idempotency.prune(2**53, 10)) == 0
    await put(site, "k1")
    assert await site.store.write(lambda tx: tx.idempotency.prune(2**53, 10)) == 1


# -- moments that a real server cannot be brought to -----------------------------------------------------------


class OpenBox:
    """A box that seals text in a form that the test can read."""

    def seal(self, text: str) -> str:
        return f"sealed {text}"

    def open(self, sealed: str) -> str:
        return sealed.removeprefix("sealed ")

    def unheard(self) -> OpenBox:
        return self


class Writing:
    """A handler that waits, fails or counts."""

    def __init__(self, site: Site, method: str = "POST") -> None:
        self.done = 0
        self.fails: Exception | None = None
        self.may_end = asyncio.Event()
        self.may_end.set()
        self.began = asyncio.Event()
        self.endpoint = Endpoint(method, "/api/things", "Make", OWN, self.handle, {200: {}})
        self.site = site
        self.process = self.restarted()

    def restarted(self) -> Idempotency:
        return Idempotency(store=self.site.store, secrets=OpenBox(), clock=self.site.clock)

    async def handle(self, call: Call) -> Response:
        self.began.set()
        await self.may_end.wait()
        if self.fails is not None:
            raise self.fails
        self.done += 1
        return answer({"done": self.done, "sent": (await call.request.body()).decode()})

    async def ask(self, key: str = "k1", body: bytes = b"{}") -> Response:
        parts = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> dict[str, Any]:
            return parts.pop()

        scope = {
            "type": "http", "method": self.endpoint.method, "path": "/api/things", "query_string": b"",
            "headers": [(b"idempotency-key", key.encode())], "server": ("arvis", 80), "scheme": "http",
        }  # fmt: skip
        call = Call(Request(scope, receive), Identity(Role.OWNER, "owner", "Owner"), SMALL)
        return await self.process.serve(self.endpoint, call)


async def refusal(asked: Any) -> str:
    with pytest.raises(ArvisError) as caught:
        await asked
    return caught.value.code


async def test_the_handler_still_reads_the_body(site: Site) -> None:
    assert b'"sent":"{}"' in (await Writing(site).ask()).body


async def test_while_the_first_runs_the_second_is_told_to_wait(site: Site) -> None:
    writing = Writing(site)
    writing.may_end.clear()
    first = asyncio.create_task(writing.ask())
    await writing.began.wait()
    assert await refusal(writing.ask()) == "in_progress"
    writing.may_end.set()
    assert (await first).status_code == 200
    assert writing.done == 1


async def test_what_did_not_happen_may_be_tried_again(site: Site) -> None:
    writing = Writing(site)
    for failure in (Unavailable("Not now"), TooMany("Too often"), RuntimeError("a mistake of ours")):
        writing.fails = failure
        assert (await writing.ask()).status_code in {503, 429, 500}
    writing.fails = None
    assert (await writing.ask()).status_code == 200


async def cut_short(writing: Writing) -> None:
    writing.may_end.clear()
    first = asyncio.create_task(writing.ask())
    await writing.began.wait()
    first.cancel()
    await asyncio.wait([first])
    writing.may_end.set()
    writing.process = writing.restarted()


async def test_a_post_that_was_cut_short_is_not_done_again(site: Site) -> None:
    writing = Writing(site)
    await cut_short(writing)
    for _ in range(2):
        assert await refusal(writing.ask()) == "outcome_unknown"
    assert writing.done == 0


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
async def test_a_write_that_comes_to_the_same_is_done_again(site: Site, method: str) -> None:
    writing = Writing(site, method)
    await cut_short(writing)
    assert (await writing.ask()).status_code == 200
    assert (await writing.ask()).headers["idempotency-replayed"] == "true"
    assert writing.done == 1


async def test_what_finds_its_own_work_by_the_key_is_done_again(site: Site) -> None:
    writing = Writing(site)
    writing.endpoint = replace(writing.endpoint, repeatable=True)
    await cut_short(writing)
    assert (await writing.ask()).status_code == 200
    assert writing.done == 1


async def test_a_stream_is_not_kept(site: Site) -> None:
    writing = Writing(site)

    async def stream(_: Call) -> Response:
        return StreamingResponse(iter([b"x"]))

    writing.endpoint = Endpoint("POST", "/api/things", "Make", OWN, stream, {200: {}})
    for _ in range(2):
        assert isinstance(await writing.ask(), StreamingResponse)


async def test_old_keys_are_swept(site: Site) -> None:
    def begin(tx: Transaction, at: int) -> None:
        tx.idempotency.reserve("owner", f"k{at}", "request", before=0, now=at)

    for at in (1, 2, 3):
        await site.store.write(begin, at)
    assert await site.store.write(lambda tx: tx.idempotency.prune(3, 10)) == 2
