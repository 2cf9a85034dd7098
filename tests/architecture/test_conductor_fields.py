"""A conductor's tag can set the same fields of agents, crons and heartbeats as the dashboard, under the same names."""

from __future__ import annotations

import pytest

from arvis.tags import read
from arvis.web.api.agents import ChangedAgent
from arvis.web.api.schedules import ChangedSchedule
from arvis.web.http.models import Body

#: Fields that have another name in tags.
OTHER_NAMES = {"misfire_policy": "missed", "misfire_grace_ms": "grace", "max_iterations": "max_cycles"}
#: Fields of the dashboard that no tag sets, with the reason.
EXCEPT = {
    "allow_users": "no tag changes rights",
    "channel_id": "the tag says `channel`",
    "credentials": "no tag gives access to secrets",
    "knowledge": "no tag gives access to documents",
    "connector": "the bot of the present channel",
    "thread": "the thread of the present channel",
}


def problem_of(text: str) -> str:
    [proposal] = read(text).proposals
    return proposal.problem or ""


@pytest.mark.parametrize(
    ("body", "tag"),
    [(ChangedAgent, "UPDATE_AGENT"), (ChangedSchedule, "UPDATE_CRON"), (ChangedSchedule, "UPDATE_HEARTBEAT")],
)
def test_a_tag_sets_what_the_page_sets(body: type[Body], tag: str) -> None:
    unknown = {}
    for name in body.__annotations__:
        if name not in EXCEPT:
            problem = problem_of(f"[{tag}:some]\n{OTHER_NAMES.get(name, name)}: 5\n[/{tag}]")
            if "is not a key of this tag" in problem:
                unknown[name] = problem
    assert unknown == {}


def test_a_number_is_a_number() -> None:
    assert problem_of("[UPDATE_HEARTBEAT:some]\nmax_cycles: 3\n[/UPDATE_HEARTBEAT]") == ""
    for wrong in ("true", "many", "2.5"):
        problem = problem_of(f"[UPDATE_HEARTBEAT:some]\nmax_cycles: {wrong}\n[/UPDATE_HEARTBEAT]")
        assert "must be a whole number" in problem
