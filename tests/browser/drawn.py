"""Workflows for page tests: small documents, and API calls for them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from tests.browser.asking import until
from tests.browser.daemon import Daemon

#: Asks the boss; each answer has its own response.
ASKING: Mapping[str, Any] = {
    "schema": 1,
    "settings": {},
    "nodes": [
        {"id": "start", "type": "start", "x": 0, "y": 0, "data": {"initialInput": "A note about tea"}},
        {"id": "boss", "type": "approval", "label": "Boss", "x": 320, "y": 0, "data": {"prompt": "Send this out?"}},
        {"id": "sent", "type": "response", "label": "Sent", "x": 640, "y": -80, "data": {"template": "It was sent."}},
        {"id": "kept", "type": "response", "label": "Kept", "x": 640, "y": 140, "data": {"template": "It was kept."}},
    ],
    "connections": [
        {"id": "c1", "source": "start", "target": "boss", "sourceHandle": "", "targetHandle": ""},
        {"id": "c2", "source": "boss", "target": "sent", "sourceHandle": "approve", "targetHandle": ""},
        {"id": "c3", "source": "boss", "target": "kept", "sourceHandle": "reject", "targetHandle": ""},
    ],
}


def chain(*nodes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with a start and these nodes, one after the other."""
    first = {"id": "start", "type": "start", "data": {}}
    placed = [{"x": 320 * place, "y": 0, **node} for place, node in enumerate((first, *nodes))]
    ends = [str(node["id"]) for node in placed]
    ways = [
        {"id": f"c{place}", "source": one, "target": other, "sourceHandle": "", "targetHandle": ""}
        for place, (one, other) in enumerate(itertools.pairwise(ends))
    ]
    return {"schema": 1, "settings": {}, "nodes": placed, "connections": ways}


async def draw(daemon: Daemon, name: str, document: Mapping[str, Any], **more: object) -> dict[str, Any]:
    body = {"name": name, "document": document, **more}
    return dict(await daemon.api("POST", "/api/workflows", body))


async def begin(daemon: Daemon, workflow: Mapping[str, Any], **more: object) -> str:
    """Start a run, and return its id."""
    return str((await daemon.api("POST", f"/api/workflows/{workflow['id']}/runs", more))["id"])


async def run_until(daemon: Daemon, run: str, statuses: Sequence[str]) -> dict[str, Any]:
    """Return the run once it has one of these statuses."""
    found: dict[str, Any] = {}

    async def there() -> bool:
        found.update(await daemon.api("GET", f"/api/runs/{run}"))
        return found["status"] in statuses

    await until(there)
    return found
