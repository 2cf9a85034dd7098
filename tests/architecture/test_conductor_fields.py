"""A conductor's tag can set the same fields of agents, crons and heartbeats as the dashboard, under the same names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from arvis.tags import read
from arvis.web.api import agents, schedules

#: Fields that have another name in tags.
OTHER_NAMES = {"misfirePolicy": "missed", "misfireGraceMs": "grace", "maxIterations": "max_cycles"}
#: Fields of the dashboard that no tag sets, with the reason.
EXCEPT = {
    "allowUsers": "no tag changes rights",
    "channelId": "the tag says `channel`",
    "connector": "the bot of the present channel",
    "thread": "the thread of the present channel",
}


def snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def problem_of(text: str) -> str:
    [proposal] = read(text).proposals
    return proposal.problem or ""


@pytest.mark.parametrize(
    ("shape", "tag"),
    [
        (agents.CHANGED_AGENT, "UPDATE_AGENT"),
        (schedules.CHANGED_SCHEDULE, "UPDATE_CRON"),
        (schedules.CHANGED_SCHEDULE, "UPDATE_HEARTBEAT"),
    ],
)
def test_a_tag_sets_what_the_page_sets(shape: Mapping[str, Any], tag: str) -> None:
    unknown = {}
    for name in shape["properties"]:
        if name not in EXCEPT:
            problem = problem_of(f"[{tag}:some]\n{OTHER_NAMES.get(name, snake(name))}: 5\n[/{tag}]")
            if "not known here" in problem:
                unknown[name] = problem
    assert unknown == {}


def test_a_number_is_a_number() -> None:
    assert problem_of("[UPDATE_HEARTBEAT:some]\nmax_cycles: 3\n[/UPDATE_HEARTBEAT]") == ""
    for wrong in ("true", "many", "2.5"):
        problem = problem_of(f"[UPDATE_HEARTBEAT:some]\nmax_cycles: {wrong}\n[/UPDATE_HEARTBEAT]")
        assert "must be a whole number" in problem
