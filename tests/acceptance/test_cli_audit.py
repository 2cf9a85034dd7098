"""`arvis audit` against the real daemon, whose demo model replies with any text that a test asks for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.acceptance.daemon import Daemon, running_daemon

MAKE = r"demo: say [CREATE_AGENT]\nslug: {}\n[/CREATE_AGENT]"
CRON = r"demo: say [CREATE_CRON]\nagent: helper\nschedule: every 1s\nprompt: x\n[/CREATE_CRON]"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("audit")) as daemon:
        yield daemon


def out(daemon: Daemon, *arguments: str) -> str:
    done = daemon.arvis(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def told(daemon: Daemon, *arguments: str) -> list[dict[str, Any]]:
    return list(json.loads(out(daemon, "audit", *arguments, "--json"))["items"])


def test_what_models_wanted_is_listed_and_filtered(daemon: Daemon) -> None:
    assert "created the agent “news”" in out(daemon, "chat", MAKE.format("news"))
    assert "only a conductor" in out(daemon, "chat", "--agent", "helper", MAKE.format("mine"))
    assert "runs more often" in out(daemon, "chat", CRON)

    rows = [line.split()[2:6] for line in out(daemon, "audit").splitlines()[1:]]
    assert rows == [
        ["conductor", "create_cron", "helper", "failed"],
        ["helper", "create_agent", "mine", "refused"],
        ["conductor", "create_agent", "news", "done"],
    ]
    assert [entry["subject"] for entry in told(daemon, "--agent", "helper")] == ["mine"]
    assert [entry["subject"] for entry in told(daemon, "--kind", "create_agent", "--outcome", "done")] == ["news"]
    assert out(daemon, "audit", "--kind", "state") == "No requested changes.\n"


def test_the_list_goes_on_where_a_page_ended(daemon: Daemon) -> None:
    page = daemon.arvis("audit", "--limit", "2")
    cursor = page.stderr.split("--cursor ")[1].strip()
    assert [entry["subject"] for entry in told(daemon, "--cursor", cursor)] == ["news"]


def test_an_outcome_that_there_is_not_is_wrong_use(daemon: Daemon) -> None:
    done = daemon.arvis("audit", "--outcome", "nope")
    assert (done.returncode, "refused" in done.stderr) == (2, True)
