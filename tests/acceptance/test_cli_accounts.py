"""`arvis accounts update` against the real daemon."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.acceptance.daemon import Daemon, running_daemon


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("accounts")) as daemon:
        assert daemon.arvis("accounts", "create", "mine", "--provider", "demo").returncode == 0
        yield daemon


def account(daemon: Daemon) -> dict[str, Any]:
    items = json.loads(daemon.arvis("accounts", "list", "--json").stdout)["items"]
    return next(each for each in items if each["name"] == "mine")


def test_an_account_is_changed(daemon: Daemon) -> None:
    done = daemon.arvis("accounts", "update", "mine", "--priority", "7", "--model", "large", "--serves", "small")
    assert (done.returncode, done.stdout) == (0, "The account mine is changed.\n"), done.stderr
    changed = account(daemon)
    assert (changed["priority"], changed["model"], changed["models"]) == (7, "large", ["small"])


def test_an_account_is_disabled_and_enabled(daemon: Daemon) -> None:
    for option, status in (("--disable", "disabled"), ("--enable", "active")):
        assert daemon.arvis("accounts", "update", "mine", option).returncode == 0
        assert account(daemon)["status"] == status


def test_a_change_of_nothing_is_wrong_use(daemon: Daemon) -> None:
    done = daemon.arvis("accounts", "update", "mine")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Nothing to change" in done.stderr
