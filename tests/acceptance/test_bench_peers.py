"""The comparison with other programs, with a small program in their place. Speed is not tested."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import aiohttp
import pytest

from bench.model import ANSWER, running_model
from bench.peers.__main__ import figures, table, times
from bench.peers.measuring import Comparison, Sample, Work, compare
from bench.peers.programs import PEERS, Arvis, Program, version_of
from bench.processes import cpu_seconds_of_family, family
from bench.report import Verdict

ROOT = Path(__file__).parents[2]
PEER = ROOT / "tests" / "fixtures" / "peer.py"
LITTLE = Work(chats=2, messages=2, warm_up=1, settle_seconds=0)


def command(folder: Path, manner: str = "good") -> str:
    """Write a command that runs the small program in this manner, and return its path."""
    file = folder / f"{manner}-peer"
    file.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" "{PEER}" {manner} "$@"\n')
    file.chmod(0o755)
    return str(file)


def peer(name: str, folder: Path, manner: str = "good") -> Program:
    (folder / name).mkdir()
    return PEERS[name].program(command(folder, manner), folder / name)


async def compared(programs: list[Program], rounds: int = 1) -> tuple[Comparison, list[str]]:
    """Compare the programs with little work. Return the messages about the progress too."""
    said: list[str] = []
    async with running_model() as model:
        return await compare(programs, model, work=LITTLE, rounds=rounds, say=said.append), said


async def test_arvis_and_the_peers_are_measured_in_turn(tmp_path: Path) -> None:
    children = set(family(os.getpid()))
    (tmp_path / "arvis").mkdir()
    programs: list[Program] = [Arvis(tmp_path / "arvis"), *(peer(name, tmp_path) for name in PEERS)]
    comparison, said = await compared(programs, rounds=2)

    names = ["Arvis", *PEERS]
    assert comparison.failures == {}
    assert list(comparison.samples) == names
    assert said == [
        *(f"{name}, first start …" for name in names),
        *(f"{name}, round {number} of 2 …" for number in (1, 2) for name in names),
    ]
    for sample in (sample for each in comparison.samples.values() for sample in each):
        assert all(value > 0 and math.isfinite(value) for value in asdict(sample).values()), sample
        assert sample.calls == 1
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello"}]})
    assert [sample.body_kb for sample in comparison.samples["nanobot"]] == [len(body) / 1000] * 2
    assert set(family(os.getpid())) <= children


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize(
    ("manner", "reason", "log"),
    [
        ("broken", "it ended before it was ready. It ended with code 1", "There is no workspace."),
        ("rude", "it answered 'Not now.' to 'hello, number 0'", "The program starts."),
        ("deaf", "it made 0 model calls for 4 messages", "The program starts."),
    ],
)
async def test_a_peer_that_fails_is_reported_with_its_log(
    tmp_path: Path, name: str, manner: str, reason: str, log: str
) -> None:
    comparison, said = await compared([peer(name, tmp_path, manner)], rounds=2)
    assert comparison.samples == {}
    assert f"{name} failed: {reason}" in comparison.failures[name]
    assert comparison.failures[name].endswith(f"The last lines of its log:\n  {log}")
    assert f"{name}, round 2 of 2 …" not in said


async def test_a_peer_without_its_program_is_reported(tmp_path: Path) -> None:
    (tmp_path / "nanobot").mkdir()
    gone = PEERS["nanobot"].program(str(tmp_path / "gone"), tmp_path / "nanobot")
    comparison, _ = await compared([gone])
    assert "No such file or directory" in comparison.failures["nanobot"]


def test_the_figures_are_ratios_of_the_rounds() -> None:
    def sample(rate: float, wait: float) -> Sample:
        return Sample(rate, wait, wait, 1, 50, 60, 1, 1)

    ours = [sample(300, 4), sample(100, 9), sample(200, 5)]
    theirs = [sample(10, 100), sample(10, 90), sample(2, 250)]
    found = figures(ours, theirs, peer="nanobot", version="1.2.3")
    rate, cpu, wait = found[:3]
    assert (rate.value, rate.control, rate.ratio, rate.verdict) == (200, 10, 30, Verdict.GATE)
    assert (cpu.value, cpu.control, cpu.ratio, cpu.verdict) == (5, 100, 1 / 25, Verdict.GATE)
    assert (wait.ratio, wait.verdict) == (1 / 25, Verdict.GATE)
    assert all(figure.verdict is Verdict.NONE for figure in figures(ours, theirs, peer="hermes", version=""))

    heading, _, first, second, *_ = (line.split("  ") for line in table(found).splitlines())
    assert [cell.strip() for cell in heading if cell.strip()][:4] == ["measure", "Arvis", "nanobot 1.2.3", "ratio"]
    assert [cell.strip() for cell in first if cell.strip()] == [
        "messages per second", "200 /s", "10 /s", "30", "25", "50", "gate passed",
    ]  # fmt: skip
    assert [cell.strip() for cell in second if cell.strip()][3:] == ["1/25", "1/25", "1/50", "gate passed"]


@pytest.mark.parametrize(("ratio", "text"), [(26.13, "26.13"), (1, "1"), (0.04, "1/25"), (1 / 30, "1/30"), (0, "0")])
def test_a_ratio_below_one_is_a_fraction(ratio: float, text: str) -> None:
    assert times(ratio) == text


def test_the_program_finds_a_peer_and_writes_the_figures(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    options = [
        "--rounds",
        "1",
        "--chats",
        "2",
        "--messages",
        "2",
        "--json",
        str(file),
        "--folder",
        str(tmp_path / "at"),
    ]
    ended = run_program("nanobot", *options, BENCH_PEER_NANOBOT=command(tmp_path))
    written = json.loads(file.read_text(encoding="utf-8"))
    assert ended.returncode in {0, 1}, ended.stderr  # a missed gate
    assert "nanobot 1.2.3" in ended.stdout
    assert "messages per second" in ended.stdout
    assert written["versions"]["nanobot"] == "1.2.3"
    assert [len(written["rounds"][name]) for name in ("Arvis", "nanobot")] == [1, 1]
    assert written["figures"][0]["name"] == "nanobot: messages per second"
    assert written["short"]
    assert list((tmp_path / "at").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([], "nanobot is not found, because there is no nanobot in the PATH, and $BENCH_PEER_NANOBOT names none"),
        (["--hermes", "/gone"], "hermes is not found, because /gone is no program"),
        (["hermes"], "DIR/bin/pip install hermes-agent aiohttp"),
        (["vim"], "there is no peer vim; the peers are nanobot, hermes"),
        (["--rounds", "0"], "'0' is not a whole number of at least 1"),
    ],
)
def test_the_program_says_what_is_missing(arguments: list[str], error: str) -> None:
    ended = run_program(*arguments, PATH="/nowhere")
    assert ended.returncode == 2
    assert error in " ".join(ended.stderr.split())


def test_a_command_without_a_version_has_none(tmp_path: Path) -> None:
    assert version_of(command(tmp_path)) == "1.2.3"
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\n")
    silent.chmod(0o755)
    assert version_of(str(silent)) == version_of(str(tmp_path / "gone")) == ""


def test_processor_time_includes_the_children_that_have_ended() -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    parent = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {burn!r}])\nprint(flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert cpu_seconds_of_family(process.pid) > 0.29
        process.communicate(b"\n")


async def test_the_model_answers_as_the_request_asks() -> None:
    async with running_model() as model, aiohttp.ClientSession() as http:
        async with http.get(f"{model.base_url}/models") as response:
            assert response.status == 404
        assert model.calls == 0
        async with http.post(f"{model.base_url}/chat/completions", json={"stream": True}) as response:
            assert response.content_type == "text/event-stream"
        async with http.post(f"{model.base_url}/chat/completions", json={"stream": False}) as response:
            assert (await response.json())["choices"][0]["message"]["content"] == ANSWER
        assert model.calls == 2
        assert model.received == len(b'{"stream": true}{"stream": false}')


def run_program(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BENCH_PEER")}
    return subprocess.run(
        [sys.executable, "-m", "bench.peers", *arguments],
        cwd=ROOT,
        env={**environment, "PYTHONPATH": str(ROOT), **environ},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
