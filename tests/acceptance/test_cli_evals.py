"""`arvis evals` against the real daemon with the demo model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.recall.cases import ARCHIVE, write
from bench.recall.talks import Asked, Said, Talk
from tests.acceptance.daemon import Daemon, running_daemon


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    folder = tmp_path_factory.mktemp("evals")
    (folder / "config.yaml").write_text("web: {port: 0}\n", encoding="utf-8")
    with running_daemon(folder) as daemon:
        yield daemon


def test_a_case_is_recorded_kept_in_a_file_and_evaluated(daemon: Daemon, tmp_path: Path) -> None:
    daemon.arvis("agents", "create", "clock", "--tools", "get_time")
    asked = 'demo: tool get_time {}\ndemo: say {"late": false}'
    assert daemon.arvis("chat", "--agent", "clock", asked).returncode == 0
    daemon.arvis("evals", "create", "clock", "--agent", "clock")
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "object", "required": ["late"]}', encoding="utf-8")
    recorded = daemon.arvis(
        "evals", "record", "clock", "--name", "late", "--tool", "get_time", "--no-tool", "http_fetch", "--max-cost", "1",
    )  # fmt: skip
    assert recorded.stdout == "The case late is recorded with 1 tool call.\n", recorded.stderr
    first = daemon.arvis("evals", "run", "clock")
    assert (first.returncode, "1 of 1 passed" in first.stdout) == (0, True), first

    folder = tmp_path / "cases"
    daemon.arvis("evals", "export", "clock", str(folder))
    file = folder / "late.json"
    document = json.loads(file.read_text("utf-8"))
    assert json.loads(daemon.arvis("evals", "show", "clock", "late").stdout) == document
    frozen = document["calls"][0]["output"]
    document["calls"][0]["output"] = "It is always noon."
    document["expect"].append({"contains": "always noon"})
    document["expect"].append({"schema": json.loads(schema.read_text())})
    file.write_text(json.dumps(document), encoding="utf-8")
    twice = daemon.arvis("evals", "import", "clock", str(folder)).stderr
    assert "late.json was not added" in twice
    assert "already" in twice
    assert daemon.arvis("evals", "import", "clock", str(folder), "--replace").returncode == 0
    second = daemon.arvis("evals", "run", "clock", "--json")
    shown = json.loads(second.stdout)
    assert second.returncode == 1, "the reply is no JSON, because it begins with the output"
    (result,) = shown["results"]
    assert "It is always noon." in result["reply"]
    assert frozen not in result["reply"]
    assert [check["passed"] for check in result["checks"]] == [True, True, True, True, False]

    ids = [row["id"] for row in json.loads(daemon.arvis("evals", "list", "--runs", "--json").stdout)["items"]]
    compared = daemon.arvis("evals", "compare", ids[1], ids[0])
    assert (compared.returncode, "+ get_time: It is always noon." in compared.stdout) == (1, True), compared
    assert "give a change" in daemon.arvis("evals", "compare", "clock").stderr
    for command in (("run", "clock"), ("compare", "clock", "--baseline", ids[1])):
        stopped = daemon.arvis("evals", *command, "--model", "nowhere/none")
        assert (stopped.returncode, "no account serves" in stopped.stderr) == (1, True), stopped
    assert daemon.arvis("evals", "delete", "clock", "late").returncode == 0
    assert "no cases" in daemon.arvis("evals", "run", "clock").stderr
    assert daemon.arvis("evals", "delete", "clock").returncode == 0


def test_the_recall_of_imported_conversations_is_reported(daemon: Daemon, tmp_path: Path) -> None:
    messages = [Said(f"m{number}", "Ann", text, 1_700_000_000_000 + number) for number, text in enumerate(
        ["My dog is called Rex.", "The sun shines.", "I sold the piano for 900 euros."]
    )]  # fmt: skip
    questions = [
        Asked("What is the name of the dog?", frozenset({"m0"}), "names"),
        Asked("How much did the piano cost?", frozenset({"m2"}), "numbers"),
    ]
    write(tmp_path, [Talk("own-test", messages, questions)])
    imported = daemon.arvis("import", str(tmp_path / ARCHIVE))
    assert imported.returncode == 0, imported.stderr
    for searched in ("messages", "facts"):
        daemon.arvis("evals", "create", searched, "--agent", "recall")
        added = daemon.arvis("evals", "import", searched, str(tmp_path / searched))
        assert added.stdout == f"2 cases are added to {searched}.\n", added.stderr
        run = daemon.arvis("evals", "run", searched, "--min-recall", "0.85")
        assert (run.returncode, "recall@5 1.00, recall@10 1.00" in run.stdout) == (0, True), run
