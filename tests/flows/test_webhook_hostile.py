"""Attacks on webhooks: a caller without the right signature starts nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from arvis.ports.store import Transaction
from arvis.services.webhooks import find_webhook
from arvis.web.incoming_webhooks import MOST_BYTES
from tests.flows.hook_kit import ALL, SECRET, called, hook_site, jobs, made, signed, stripe_signed
from tests.flows.web_server import Site

BODY = b'{"commit": "abc"}'
URL = "/hooks/ci/deploy"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with hook_site(tmp_path) as site:
        yield site


async def test_who_does_not_sign_starts_nothing(site: Site) -> None:
    hook = await made(site)
    right = signed(BODY)["X-Webhook-Signature"]
    for headers in (
        {}, {"X-Webhook-Signature": ""}, {"X-Webhook-Signature": "sha256="}, {"X-Hub-Signature-256": "sha256=" + "0" * 64},
        signed(BODY, ""), signed(BODY, SECRET + " "), signed(BODY[:-1]), {"X-Webhook-Signature": right[7:]},
        {"X-Webhook-Signature": right, "X-Hub-Signature-256": "x"}, stripe_signed(BODY, site.clock.now() // 1000),
        {"Authorization": f"Bearer {SECRET}"},
    ):  # fmt: skip
        answer = await site.call("POST", URL, key=None, data=BODY, headers=headers)
        assert (answer.status, answer.code) == (401, "wrong_signature"), headers
        assert SECRET not in answer.text
    assert not await jobs(site)
    assert (await site.call("GET", f"{ALL}/{hook['id']}")).json()["triggerCount"] == 0


async def test_a_header_that_comes_twice_is_refused(site: Site) -> None:
    await made(site)
    pairs = [("X-Webhook-Signature", signed(BODY)["X-Webhook-Signature"])]
    async with site.http.post(site.url + URL, data=BODY, headers=[*pairs, *pairs]) as response:
        assert response.status == 401
    async with site.http.post(site.url + URL, data=BODY, headers=pairs) as response:
        assert response.status == 202


async def test_the_bytes_are_signed_and_not_what_they_mean(site: Site) -> None:
    await made(site)
    for other in (json.dumps(json.loads(BODY), indent=1).encode(), BODY + b"\n", b"\xef\xbb\xbf" + BODY):
        answer = await site.call("POST", URL, key=None, data=other, headers=signed(BODY))
        assert answer.status == 401


@pytest.mark.parametrize("shift", [-301, 301, -86_400])
async def test_an_old_stripe_call_is_refused_though_it_is_genuine(site: Site, shift: int) -> None:
    await made(site, preset="stripe")
    answer = await site.call(
        "POST", URL, key=None, data=BODY, headers=stripe_signed(BODY, site.clock.now() // 1000 + shift)
    )
    assert answer.status == 401


async def test_what_is_too_large_is_refused_before_it_is_read(site: Site) -> None:
    await made(site)
    for size, status in ((MOST_BYTES, 202), (MOST_BYTES + 1, 413)):
        assert (await called(site, body=b"x" * size)).status == status

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 65_536

    try:
        async with site.http.post(site.url + URL, data=endless(), headers=signed(b"")) as response:
            assert response.status == 413
    except OSError:
        pass  # the server closed the connection
    assert len(await jobs(site)) == 1


async def test_slow_bodies_do_not_block_other_calls(site: Site) -> None:
    await made(site)
    address = urlsplit(site.url)
    head = f"POST {URL} HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"
    slow = [await asyncio.open_connection(address.hostname, address.port) for _ in range(40)]
    try:
        for reader, writer in slow:
            writer.write(head.encode())
            assert b" 100 " in await reader.readline()  # the server waits for the body
        assert (await site.call("POST", URL, key=None, data=BODY, headers=signed(BODY))).status == 202
    finally:
        for _, writer in slow:
            writer.close()


async def test_a_replay_runs_nothing(site: Site) -> None:
    """Among many simultaneous and later repetitions, the call is accepted once within a week."""
    await made(site)
    headers = {"X-Webhook-Id": "d-1"}
    answers = await asyncio.gather(*(called(site, {"n": 1}, headers=headers) for _ in range(20)))
    site.clock.shift_ms += 6 * 86_400_000
    answers.append(await called(site, {"n": 1}, headers=headers))
    assert {answer.text for answer in answers} == {answers[0].text}
    assert len(await jobs(site)) == 1


async def test_a_hook_is_called_sixty_times_a_minute(site: Site) -> None:
    await made(site)
    await made(site, path="other")
    for _ in range(5):  # unsigned calls do not use the limit of signed ones
        assert (await called(site, {}, secret="wrong one")).status == 401
    passed = 0
    while (over := await called(site, {})).status == 202 and passed < 120:
        passed += 1
    assert 60 <= passed < 120  # one token is added each second
    assert (over.status, over.code) == (429, "too_many")
    assert 1 <= int(over.headers["retry-after"]) <= 2
    assert (await called(site, {}, path="/hooks/other")).status == 202
    site.clock.shift_ms += 2_000
    assert (await called(site, {})).status == 202


async def test_a_full_disk_takes_nothing_new(site: Site) -> None:
    await made(site)
    site.inbox.full = True
    assert (await called(site, {}, headers={"X-Webhook-Id": "1"})).status == 503
    site.inbox.full = False
    assert (await called(site, {}, headers={"X-Webhook-Id": "1"})).status == 202
    assert len(await jobs(site)) == 1


NEARLY = (
    "/hooks/", "/hooks//ci/deploy", "/hooks/ci/deploy/", "/hooks/CI/deploy", "/hooks/ci//deploy", "/hooks/ci/deploy%00",
    "/hooks/x" + "y" * 3_000, "/hooks/%2e%2e/ci/deploy", "/hooks/ci/deploy%20", "/hooks/ci",
)  # fmt: skip


async def test_no_other_path_leads_to_it(site: Site) -> None:
    await made(site)
    for path in NEARLY:
        answer = await called(site, {}, path=path)
        assert answer.status in {404, 414}, (path, answer.text)
    assert not await jobs(site)


async def test_a_secret_that_cannot_be_opened_is_not_guessed(site: Site) -> None:
    hook = await made(site)

    def damage(tx: Transaction, sealed: str) -> None:
        tx.webhooks.update(replace(find_webhook(tx, hook["id"]), secret=sealed))

    for sealed, status in (("v1.00000000.eA==", 503), ("", 401)):
        await site.store.write(damage, sealed)
        for secret in ("", SECRET):
            assert (await called(site, {}, secret=secret)).status == status
    assert not await jobs(site)
