"""Old keys of the configuration: the loader refuses them by name, and `arvis config migrate` renames them."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from arvis.cli.commands.config import config as command
from arvis.config import load
from arvis.config.catalog import catalog
from arvis.config.renames import RENAMED, migrated
from arvis.config.stored import KEY
from arvis.domain.errors import ConfigError
from arvis.store.open import Database, bring_up_to_date

OLD = """\
# My daemon.
secrets_key: env:SEALING      # of mine
web:
  session_idle: 1h            # short
  session_life: 2d
owners: {discord: ["1"], notify: "web:x"}
queue:
  retry_unit_seconds: 5
model: {fast: demo/demo}
agents:
  - slug: one
    name: One
    graph: converse
    completion: explicit      # says it itself
    helpers: [two]
  - {slug: two, name: Two, helpers: [], completion: implicit}
connectors:
  telegram: [{name: main, token: x}]
# What is heard.
speech:
  # The engine.
  engine: command             # a program
  base_url: null
  command: my-recogniser {file}
  # Reads answers.
  speak: command
  speak_command: >-
    espeak-ng
    --stdout
  buffer:
    pause_seconds: 1
  voice: alloy
  speak_model: my-voice
  language: de
  model: base

language: de                  # German
limits:
  tool_rounds: 3
  agent_loops: 7
retention: {archive_days: 3}
budgets:
  stranger_daily_turns: 9     # a day
telemetry: {content: true}
tools:
  search_url: https://search.example/ # of before
  allow_hosts: [nas.example]
"prices": {demo: {input: 1, output: 2}}
windows: {demo: 4096}
vision: {demo: true}          # it sees
"""
NEW = """\
# My daemon.
encryption_key: env:SEALING   # of mine
web:
  session_idle_timeout: 1h    # short
  session_max_age: 2d
owners: {discord: ["1"], alert_channel: "web:x"}
queue:
  retry_base_seconds: 5
model: {summarizer: demo/demo}
agents:
  - slug: one
    name: One
    graph: handover
    ends: explicit            # says it itself
    handoff_to: [two]
  - {slug: two, name: Two, handoff_to: [], ends: implicit}
bots:
  telegram: [{name: main, token: x}]
# What is heard.
speech:
  stt:
    # The engine.
    engine: command           # a program
    command: my-recogniser {file}
    language: de
    model: base
  base_url: null
  tts:
    # Reads answers.
    engine: command
    command: >-
      espeak-ng
      --stdout
    voice: alloy
    model: my-voice
  buffer:
    pause_seconds: 1

limits:
  max_tool_rounds: 3
  max_iterations: 7
retention: {compacted_days: 3}
budgets:
  unpaired_daily_turns: 9     # a day
telemetry: {capture_content: true}
tools:
  allow_hosts: [nas.example]
model_prices: {demo: {input: 1, output: 2}}
context_windows: {demo: 4096}
vision_models: {demo: true}   # it sees
"""


def test_comments_order_and_values_stay() -> None:
    assert migrated(OLD) == NEW
    assert migrated(NEW) == NEW


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{"language": "de", "model": {"fast": "a"}}', '{"model": {summarizer: "a"}}'),
        ('{"model": {"fast": "a"}, "language": "de"}', '{"model": {summarizer: "a"}}'),
        ("speech: {engine: faster-whisper, minutes: 3, voice: x}", "speech: {stt: {engine: faster-whisper}, minutes: 3, tts: {voice: x}}"),
        ("speech:\n    voice: x\nmodel:\n    fast:", "speech:\n    tts:\n      voice: x\nmodel:\n    summarizer:"),
        ("\ufefflanguage: de\r\nwindows: {a: 5000}\r\n", "\ufeffcontext_windows: {a: 5000}\r\n"),
        ("speech:\r\n  voice: x\r\n  engine: none", "speech:\r\n  tts:\n    voice: x\r\n  stt:\n    engine: none\n"),
        ("", ""),
    ],
)  # fmt: skip
def test_other_layouts(old: str, new: str) -> None:
    assert migrated(old) == new


@pytest.mark.parametrize(
    "text",
    ["model: {fast: a, summarizer: b}", "speech: {engine: none, stt: {engine: none}}", "windows: {}\nwindows: {}"],
)
def test_an_unclear_file_is_not_rewritten(text: str) -> None:
    with pytest.raises(ConfigError):
        migrated(text)


def test_the_loader_names_every_old_key(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(OLD, "utf-8")
    environ = {"ARVIS__MODEL__FAST": "demo/demo", "ARVIS__WEB": '{"session_idle": "1h"}', "SEALING": "x"}
    with pytest.raises(ConfigError, match="keys of an older version") as refused:
        load(file, None, environ)
    for old, new in RENAMED.items():
        assert f"{old[-1]}`" in refused.value.why
        assert new is None or f"{new[-1]}`" in refused.value.why
    assert f"`agents[1].helpers` is now `agents[1].handoff_to` ({file}, line 16)" in refused.value.why
    assert "`language` was removed" in refused.value.why
    assert "the value of `agents[0].graph` is now `handover`" in refused.value.why
    assert "`model.fast` is now `model.summarizer` (environment variable ARVIS__MODEL__FAST)" in refused.value.why
    assert "`web.session_idle` is now `web.session_idle_timeout` (environment variable ARVIS__WEB)" in refused.value.why
    assert "`arvis config migrate`" in refused.value.fix
    file.write_text(migrated(OLD).replace("env:SEALING", "null"), "utf-8")
    assert load(file, None, {}).speech.stt.command == "my-recogniser {file}"


def test_the_command_keeps_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(OLD, "utf-8")
    file.chmod(0o600)
    (tmp_path / "config.yaml.bak").write_text("mine", "utf-8")
    arguments = ["migrate", "--config", str(file)]

    checked = CliRunner().invoke(command, [*arguments, "--check"])
    assert (checked.exit_code, file.read_text("utf-8")) == (1, OLD)
    assert "`model.fast` is now `model.summarizer`" in checked.output

    done = CliRunner().invoke(command, arguments, env={"ARVIS__PRICES": "{}"})
    assert (done.exit_code, file.read_text("utf-8")) == (0, NEW)
    assert "ARVIS__PRICES" in done.output
    assert (tmp_path / "config.yaml.bak").read_text("utf-8") == "mine"
    backup = tmp_path / "config.yaml.bak2"
    assert (backup.read_text("utf-8"), backup.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (
        OLD,
        0o600,
        0o600,
    )

    again = CliRunner().invoke(command, [*arguments, "--check"])
    assert (again.exit_code, "has no old keys" in again.output) == (0, True)


def test_settings_of_the_dashboard_are_migrated_with_the_database(tmp_path: Path) -> None:
    file = Path(shutil.copy(Path(__file__).parents[1] / "fixtures" / "databases" / "0011.db", tmp_path / "arvis.db"))
    old = {
        **dict.fromkeys(
            ("owners.notify", "queue.retry_unit_seconds", "model.fast", "speech.engine", "speech.language"), 1
        ),
        **dict.fromkeys(("speech.speak", "speech.speak_model", "speech.voice", "limits.tool_rounds"), 1),
        **dict.fromkeys(("limits.agent_loops", "retention.archive_days", "budgets.stranger_daily_turns"), 1),
        **{key: {} for key in ("prices", "windows", "vision")},
        "routing.fallback": 'the "model.fast": x',
        "approvals.policy": {"vision": "never", "windows": "ask"},
    }
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(
            "INSERT OR REPLACE INTO settings (key, value, updated_at) VALUES (?, ?, 1)", (KEY, json.dumps(old))
        )
        connection.execute(
            "INSERT OR REPLACE INTO versions (kind, row_id, version, data, by_id, at) VALUES ('settings', 'config', 1, ?, NULL, 1)",
            (json.dumps(old, separators=(",", ":")),),
        )
    bring_up_to_date(Database(file, None, tmp_path), 1)
    names = {".".join(key): ".".join(new) for key, new in RENAMED.items() if new is not None}
    expected = {names.get(key, key): value for key, value in old.items()}
    with contextlib.closing(sqlite3.connect(file)) as connection:
        for query in (
            f"SELECT value FROM settings WHERE key = '{KEY}'",
            "SELECT data FROM versions WHERE kind = 'settings' AND version = 1",
        ):
            [(text,)] = connection.execute(query).fetchall()
            assert json.loads(text) == expected
    known = {setting.key for setting in catalog()}
    assert set(expected) <= known


def test_values_are_the_same_after_a_migration() -> None:
    old, new = yaml.safe_load(OLD), yaml.safe_load(NEW)
    assert new["speech"]["tts"]["command"] == old["speech"]["speak_command"]


def test_a_graph_with_a_new_name_is_renamed_and_nothing_else() -> None:
    old = 'agents:\n  - slug: one\n    graph: converse  # it hands over\n  - {slug: converse, graph: "converse", name: converse}\n'
    new = old.replace("graph: converse", "graph: handover").replace('graph: "converse"', "graph: handover")
    assert migrated(old) == new
    assert migrated(new) == new
