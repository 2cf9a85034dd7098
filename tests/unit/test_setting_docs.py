"""`config.yaml`, the reference of all settings, the catalog and `arvis init` say what the settings declare."""

from __future__ import annotations

import pytest
import yaml

from arvis.cli.init.command import text_of
from arvis.cli.init.prompts import Answers, NewAccount
from arvis.config.catalog import Kind, catalog, keys_at_once, settings_of
from arvis.config.declarations import Section, declaration, setting
from arvis.config.schema import ConfigFile
from tests.fixtures.setting_docs import FILE, GUIDES, every_setting, file_text, guide_text

_AGAIN = "run: python -m tests.fixtures.setting_docs"


def test_the_shipped_file_is_that_of_the_declarations() -> None:
    assert FILE.read_text(encoding="utf-8") == file_text(), _AGAIN


def test_the_tables_of_the_guides_are_those_of_the_declarations() -> None:
    settings, servers = (guide.read_text(encoding="utf-8") for guide in GUIDES)
    assert (settings, servers) == (guide_text(settings), guide_text(servers)), _AGAIN
    assert all(f"| `{each.key}` |" in settings for each in every_setting())
    assert "| `trust_annotations` | `false` |" in servers


def test_every_key_has_a_description() -> None:
    assert [each.key for each in every_setting() if not each.words] == []


def test_the_catalog_has_what_a_section_declares() -> None:
    found = {each.key: each for each in catalog()}
    workers, policy, port = found["queue.workers"], found["approvals.policy"], found["web.port"]
    assert (workers.kind, workers.default, workers.minimum, workers.maximum) == (Kind.INTEGER, 8, 2, 256)
    assert workers.words.startswith("turns that run at the same time")
    assert (workers.fixed, workers.at_once, policy.at_once) == ("", False, True)
    assert (port.fixed, port.at_once) == ("A wrong value would shut you out of this page.", False)
    assert found["budgets.daily_usd"].at_once, "a section passes it to its keys"
    assert (found["web.api_keys"].kind, found["web.api_keys"].default) == (Kind.SECRET, "not set")
    assert not {"accounts", "agents", "bots", "mcp.servers"} & set(found), "these have pages of their own"


def test_the_catalog_is_in_the_order_of_the_file() -> None:
    written = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    keys: list[tuple[str, ...]] = []
    for name, value in written.items():
        keys += [(name, each) for each in value] if isinstance(value, dict) and value else [(name,)]
    shown = list(dict.fromkeys(each.path[:2] for each in catalog()))
    assert shown == [key for key in keys if key in shown]


def test_the_keys_that_act_at_once_are_those_of_the_catalog() -> None:
    assert list(keys_at_once()) == [each.key for each in catalog() if each.at_once]
    assert {"budgets.daily_usd", "routing.fallback", "approvals.policy"} <= set(keys_at_once())


def test_a_limit_of_a_key_is_narrower_than_that_of_its_type() -> None:
    found = {each.key: each for each in settings_of(ConfigFile)}
    lease, pause = found["queue.lease_seconds"], found["speech.buffer.pause_seconds"]
    assert (lease.minimum, lease.above_minimum, lease.maximum) == (1, False, 3600)
    assert (pause.minimum, pause.above_minimum, pause.maximum) == (0, True, 60)


def test_a_mapping_is_a_new_one_for_each_section() -> None:
    class Tried(Section):
        names: dict[str, str] = setting({}, "names")

    first, second = Tried(), Tried()
    first.names["a"] = "b"
    assert (second.names, Tried().names) == ({}, {})


@pytest.mark.parametrize("key", ["data_dir", "web.host", "web.port", "agents", "agents.prompt", "scheduler.timezone"])
def test_init_writes_the_descriptions_of_the_declarations(key: str) -> None:
    account = NewAccount(provider="openai", model="m", variable="KEY", base_url=None)
    answers = Answers(account=account, agent_name="A", prompt="P", port=1, owner="ann", time_zone="UTC")
    lines = text_of(answers, None).splitlines()
    name = key.rpartition(".")[2]
    line = next(line for line in lines if line.strip().startswith(f"{name}:"))
    assert line.endswith(f" # {declaration(ConfigFile, key).description}")
