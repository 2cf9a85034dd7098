"""Compares the results of `POST /api/workflows/validate` with those of this process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arvis.domain.text import storable_json
from arvis.workflows.document import kinds
from tests.flows.web_server import Site, running_site
from tests.workflows.judging import Judged, Names, difference, judged

_PATH = "/api/workflows/validate"
#: Statuses for bodies that the API refuses without reading them, because they are too large or nested too deeply.
_UNREAD = {400, 413, 422}


async def differences_of_api(folder: Path, documents: Sequence[tuple[int, Any]]) -> list[str]:
    """Return the differences for all documents that are objects. The folder is for a separate daemon."""
    found: list[str] = []
    async with running_site(folder, real_insights=True) as site:
        names: Names = await _names(site)
        for number, document in documents:
            if isinstance(document, dict):
                differing = await _difference(site, storable_json(document), names)
                found += [f"document {number} by the API: {differing}"] if differing else []
    return found


async def _names(site: Site) -> Names:
    """Return the names that documents may use there."""
    shown = (await site.call("GET", "/api/names")).json()
    fields = {"webSearchAgents": "searching", "activeTriggers": "begun"}
    return {fields.get(name, name): each for name, each in shown.items() if each is not None}


async def _difference(site: Site, document: Any, names: Names) -> str | None:
    body = json.dumps({"document": document})
    answer = await site.call("POST", _PATH, data=body, headers={"Content-Type": "application/json"})
    ours = judged(document, names)
    if answer.status in _UNREAD:
        large = len(body) > kinds.MOST_BYTES or any(problem["rule"] == "too-deep" for problem in ours.problems)
        return None if large else f"it is refused: {answer.text[:300]}"
    shown = answer.json()
    theirs = Judged(shown["document"], shown["problems"])
    return difference(ours, theirs)
