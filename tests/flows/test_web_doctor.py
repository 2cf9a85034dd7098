"""The doctor over HTTP: a separate process finds problems, one process at a time, and results are reused for a few
seconds."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from arvis.app.administration import Doctor
from arvis.bus import EventBus
from arvis.config import load
from arvis.domain.errors import ToolError
from arvis.process.clock import SystemClock
from arvis.process.subprocesses import GuardedPrograms
from arvis.store.open import Database, open_store
from arvis.web.dependencies import AdminServices
from tests.conformance.databases import migrated
from tests.flows.web_admin import admin_services
from tests.flows.web_server import OPERATOR_KEY, VIEWER_KEY, running_site

CHECKS = [
    {"id": "disk", "group": "machine", "status": "ok", "what": "There is room", "why": "", "fix": ""},
    {"id": "key", "group": "security", "status": "fail", "what": "No key", "why": "Because.", "fix": "Set one."},
]


class Examiner:
    """A doctor with scripted findings, which counts its runs and its simultaneous runs."""

    def __init__(self, said: str = "") -> None:
        self.said = said or json.dumps({"ok": False, "checks": CHECKS})
        self.asked: list[bool] = []
        self.running = self.most = 0

    async def __call__(self, security: bool) -> str:
        self.asked.append(security)
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0.01)
        self.running -= 1
        if self.said == "late":
            raise ToolError("It took longer than 60 seconds.")
        return self.said


async def admin_with(folder: Path, examiner: Examiner) -> AdminServices:
    database = Database(file=folder / "arvis.db", url=None, folder=folder)
    migrated(database, 0)
    async with open_store(database, boot="app", new_id=lambda: "id") as (store, _):
        return await admin_services(folder, store, EventBus(), SystemClock(), examine=examiner)


async def test_findings_are_shown_and_kept_for_a_while(tmp_path: Path) -> None:
    examiner = Examiner()
    async with running_site(tmp_path, admin=await admin_with(tmp_path, examiner)) as site:
        answers = await asyncio.gather(*(site.call("GET", "/api/doctor", key=OPERATOR_KEY) for _ in range(5)))
        assert {answer.status for answer in answers} == {200}
        found = answers[0].json()
        assert (found["ok"], [item["id"] for item in found["items"]]) == (False, ["disk", "key"])
        assert (found["items"][0]["why"], found["items"][1]["fix"]) == (None, "Set one.")
        assert (examiner.asked, examiner.most) == ([False], 1)
        await site.call("GET", "/api/doctor?security=true")
        site.clock.shift_ms += 6_000
        await site.call("GET", "/api/doctor")
        assert examiner.asked == [False, True, False]
        assert (await site.call("GET", "/api/doctor", key=VIEWER_KEY)).status == 403


@pytest.mark.parametrize("said", ["late", "no findings", "[1]", '{"ok": true}'])
async def test_an_examination_that_stumbles_is_told_and_tried_anew(tmp_path: Path, said: str) -> None:
    examiner = Examiner(said)
    async with running_site(tmp_path, admin=await admin_with(tmp_path, examiner)) as site:
        answer = await site.call("GET", "/api/doctor")
        assert (answer.status, answer.code) == (503, "unavailable")
        assert (await site.call("GET", "/api/doctor")).status == 503
        assert len(examiner.asked) == 2


async def test_the_program_itself_says_what_the_command_says(tmp_path: Path) -> None:
    doctor = Doctor(config=load(None, tmp_path, {}), folder=tmp_path, programs=GuardedPrograms())
    said = json.loads(await doctor(True))
    assert {check["group"] for check in said["checks"]} == {"security"}
