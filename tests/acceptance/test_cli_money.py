"""`arvis usage` and `arvis clients` against the real daemon, with a price for the demo model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.acceptance.daemon import Daemon, running_daemon

CONFIG = """
web: {port: 0}
routing: {fallback: helper}
scheduler: {timezone: Europe/Berlin}
model_prices: {demo: {input: 1000, output: 2000}}
"""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    folder = tmp_path_factory.mktemp("money")
    (folder / "config.yaml").write_text(CONFIG, encoding="utf-8")
    with running_daemon(folder) as daemon:
        yield daemon


def out(daemon: Daemon, *arguments: str) -> str:
    done = daemon.arvis(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def told(daemon: Daemon, *arguments: str) -> Any:
    return json.loads(out(daemon, *arguments, "--json"))


def test_what_was_used(daemon: Daemon) -> None:
    answer = told(daemon, "chat", "demo: tokens 50")
    assert answer["costUsd"] >= 50 * 2000 / 1_000_000
    report = told(daemon, "usage", "--by", "agent")
    assert report["total"]["costUsd"] == answer["costUsd"]
    assert [group["name"] for group in report["groups"]] == ["helper"]
    table = out(daemon, "usage", "--by", "model").splitlines()
    assert table[0].split() == ["NAME", "CALLS", "ERRORS", "IN", "CACHED", "OUT", "COST"]
    assert table[1].startswith("demo/demo")
    assert table[-1].startswith("total")
    assert out(daemon, "usage", "--until", "2020-01-01") == "No model calls in this period.\n"
    assert daemon.arvis("usage", "--since", "yesterday").returncode == 1
    assert "$" in out(daemon, "explain", answer["messageId"])


def test_a_client_from_the_first_day_to_the_payment(daemon: Daemon) -> None:
    made = told(daemon, "clients", "create", "ACME", "--plan", "prepaid", "--price", "0.5", "--channel", "web:hall")
    assert (made["plan"], made["channels"]) == ("prepaid", [{"platform": "web", "channel": "hall"}])
    client = made["id"]
    assert "$20.00" in out(daemon, "clients", "pay", client, "20", "--for", "an advance")
    assert "$5.00" in out(daemon, "clients", "charge", client, "5", "--subscription")
    assert told(daemon, "clients", "charge", client, "1", "--credit")["amountUsd"] == -1
    shown = told(daemon, "clients", "show", client)
    assert (shown["balanceUsd"], shown["summary"]["chargedUsd"], shown["summary"]["paidUsd"]) == (16, 4, 20)
    assert "an advance" in out(daemon, "clients", "show", client)
    assert "$16.00" in out(daemon, "clients", "list")
    assert "the customer ACME was restored: prepaid, archived" in out(daemon, "clients", "undo", client)
    undone = told(daemon, "clients", "undo", client)
    assert (undone["status"], undone["balanceUsd"], len(undone["channels"])) == ("active", 16, 1)
    assert daemon.arvis("clients", "create", "Bolt", "--channel", "hall").returncode == 2
    assert daemon.arvis("clients", "show", "none").returncode == 1
