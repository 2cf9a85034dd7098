"""A site with agents and webhooks, and programs that call them."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import io
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.executions import Execution
from arvis.ports.store import Transaction
from tests.flows.web_server import Answer, Site, running_site

ALL = "/api/webhooks"
SECRET = "the-secret-of-the-caller"
TEMPLATE = "Look at {{payload.commit}} of {{headers.x-from}}."


@contextlib.asynccontextmanager
async def hook_site(folder: Path) -> AsyncIterator[Site]:
    def begin(tx: Transaction) -> None:
        for number, slug in enumerate(("helper", "other")):
            tx.agents.add(Agent(id=f"a{number}", slug=slug, name=slug), 0)

    async with running_site(folder, real_insights=True) as site:
        await site.store.write(begin)
        yield site


async def made(site: Site, **changes: Any) -> dict[str, Any]:
    answer = await site.call("POST", ALL, json=wanted(**changes))
    assert answer.status == 201, answer.text
    found = answer.json()
    assert isinstance(found, dict)
    return found


def wanted(**changes: Any) -> dict[str, Any]:
    fields = {
        "path": "ci/deploy", "agent": "helper", "template": TEMPLATE, "platform": "web", "channelId": "hall",
        "secret": SECRET,
    }  # fmt: skip
    return {name: value for name, value in {**fields, **changes}.items() if value is not None}


def signed(body: bytes, secret: str = SECRET) -> dict[str, str]:
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {"X-Webhook-Signature": f"sha256={digest}"}


def stripe_signed(body: bytes, seconds: int, secret: str = SECRET) -> dict[str, str]:
    digest = hmac.new(secret.encode(), f"{seconds}.".encode() + body, hashlib.sha256).hexdigest()
    return {"Stripe-Signature": f"t={seconds},v1={digest}"}


async def called(
    site: Site,
    payload: Any = None,
    *,
    path: str = "/hooks/ci/deploy",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    secret: str = SECRET,
) -> Answer:
    body = json.dumps(payload).encode() if body is None else body
    sent = {**signed(body, secret), **(headers or {})}
    return await site.call("POST", path, key=None, data=io.BytesIO(body), headers=sent)


async def jobs(site: Site) -> list[dict[str, Any]]:
    """Return the jobs of calls, oldest first."""
    return list(reversed((await site.call("GET", "/api/jobs?kind=webhook&limit=200")).json()["items"]))


async def execution(site: Site, execution_id: str) -> Execution:
    found = await site.store.read(lambda tx: tx.executions.get(execution_id))
    assert found is not None
    return found
