"""Imports over HTTP announce the data that they change, so that open pages reload it."""

from __future__ import annotations

import base64
import io
from pathlib import Path

from arvis.domain.events import Changed, SchedulesChanged
from arvis.domain.memory import Category
from arvis.domain.schedules import ScheduleKind
from arvis.interchange import format as records
from arvis.interchange.archive import Writer
from tests.flows.web_server import OWNER_KEY, running_site

AT = 1_700_000_000_000


def archive() -> str:
    target = io.BytesIO()
    writer = Writer(target)
    writer.add("people", records.Person(platform="discord", user_id="42", name="Ann"))
    writer.add("skills", records.Skill(slug="knots", text="---\nname: knots\ndescription: Ties knots.\n---\nUse rope."))
    writer.add("agents", records.Agent(slug="sailor", name="Sailor"))
    place = records.Place(platform="discord", connector="main", channel="a")
    schedule = {"kind": ScheduleKind.CRON, "agent": "sailor", "name": "morning", "schedule": "0 8 * * *"}
    writer.add("schedules", records.Schedule.model_validate({**schedule, "prompt": "Report.", "place": place}))
    fact = records.Fact(agent="sailor", category=Category.LEARNED_PATTERN, content="Likes knots.", created_at=AT)
    writer.add("memory", fact)
    writer.close(records.Manifest(program="other 1", source="there", exported_at=AT))
    return base64.b64encode(target.getvalue()).decode()


async def test_an_import_announces_the_data_that_it_changes(tmp_path: Path) -> None:
    async with running_site(tmp_path) as site:
        topics: list[str] = []
        site.bus.subscribe(Changed, lambda event: topics.append(event.topic))
        site.bus.subscribe(SchedulesChanged, lambda _: topics.append("schedules"))
        for fields, announced in (
            ({"dryRun": True}, {"settings"}),
            ({}, {"settings", "people", "skills", "agents", "schedules", "memory"}),
            ({}, {"settings"}),  # nothing changes
        ):
            topics.clear()
            body = {"archive": archive(), **fields}
            answer = await site.call("POST", "/api/import", json=body, key=OWNER_KEY)
            assert (answer.status, [each for each in answer.json()["items"] if each["action"] == "skip"]) == (200, [])
            assert set(topics) == announced
