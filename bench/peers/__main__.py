"""`python -m bench.peers [NAMES]`: measure Arvis and other programs in one run with the same model server.

Each program starts with a configuration in a folder of its own, and must be installed in an environment of its own.
Without names, all programs that are found are measured.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import arvis
from bench import results
from bench.model import running_model
from bench.peers.measuring import Comparison, Sample, Work, compare
from bench.peers.programs import PEERS, Arvis, Program, version_of
from bench.report import CORES, Figure, Run, Target, Verdict, aligned, number

ROOT = Path(__file__).parents[2]
ROUNDS = 3
FULL = Work()

#: The peer to which the targets apply.
FASTEST = "nanobot"


@dataclass(frozen=True, slots=True)
class Measure:
    """A row of the table: the field of `Sample`, its name and unit, and the target of the ratio Arvis ÷ peer."""

    field: str
    name: str
    unit: str
    target: Target | None = None


MEASURES = (
    Measure("rate", "messages per second", "/s", Target(25, 50, of_ratio=True)),
    Measure("cpu_ms", "processor time per message", "ms", Target(1 / 25, 1 / 50, of_ratio=True, lower=True)),
    Measure("p50_ms", "one chat, time until the answer, p50", "ms", Target(1 / 20, 1 / 30, of_ratio=True, lower=True)),
    Measure("ready_s", "from the command until it is ready", "s"),
    Measure("idle_mb", "idle memory", "MB"),
    Measure("used_mb", "memory after the messages", "MB"),
    Measure("body_kb", "request body for “hello”", "KB"),
    Measure("calls", "model calls per message", ""),
)


def figures(ours: Sequence[Sample], theirs: Sequence[Sample], *, peer: str, version: str) -> list[Figure]:
    """Return the figures of Arvis with the peer as their control."""
    found = []
    for measure in MEASURES:
        a = [float(getattr(sample, measure.field)) for sample in ours]
        b = [float(getattr(sample, measure.field)) for sample in theirs]
        ratio = median(x / y for x, y in zip(a, b, strict=True))
        target = measure.target if peer == FASTEST else None
        name, against = f"{peer}: {measure.name}", f"{peer} {version}".strip()
        found.append(Figure(name, median(a), measure.unit, median(b), against, ratio, target))
    return found


def table(found: Sequence[Figure]) -> str:
    """Return the figures of one peer as a table."""
    rows = [
        (
            figure.name.partition(": ")[2],
            f"{number(figure.value)} {figure.unit}".rstrip(),
            f"{number(figure.control or 0)} {figure.unit}".rstrip(),
            times(figure.ratio or 0),
            "" if figure.target is None else times(figure.target.gate),
            "" if figure.target is None else times(figure.target.goal),
            figure.verdict,
        )
        for figure in found
    ]
    return "\n".join(aligned([("measure", "Arvis", found[0].against, "ratio", "gate", "goal", "verdict"), *rows]))


def times(ratio: float) -> str:
    """Return a ratio as a number, or as a fraction if it is less than one."""
    return number(ratio) if ratio >= 1 or ratio == 0 else f"1/{number(1 / ratio)}"


async def measure(
    peers: Mapping[str, str], *, folder: Path, work: Work, rounds: int
) -> tuple[Comparison, dict[str, str]]:
    """Measure Arvis and these peers (name: path of the command) in this empty folder. Return their versions too."""
    versions = {name: version_of(command) for name, command in peers.items()}
    programs: list[Program] = [Arvis(_made(folder / "arvis"))]
    programs += [PEERS[name].program(command, _made(folder / name)) for name, command in peers.items()]
    async with running_model() as model:
        return await compare(programs, model, work=work, rounds=rounds, say=_say), versions


def main() -> None:
    given, peers = _arguments()
    given.folder.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix="bench-peers-", dir=given.folder)).resolve()
    work = Work(chats=given.chats, messages=given.messages)
    before = os.getloadavg()[0]
    try:
        comparison, versions = asyncio.run(measure(peers, folder=place, work=work, rounds=given.rounds))
    finally:
        shutil.rmtree(place, ignore_errors=True)
    for failure in comparison.failures.values():
        print(f"\n{failure}", file=sys.stderr)
    if "Arvis" in comparison.failures:
        sys.exit(1)
    ours = comparison.samples["Arvis"]
    found = {
        name: figures(ours, comparison.samples[name], peer=name, version=versions[name])
        for name in peers
        if name in comparison.samples
    }
    about = {
        **results.about(),
        "versions": {"Arvis": arvis.__version__, **versions},
        "work": asdict(work),
        "failures": dict(comparison.failures),
        "rounds": {name: [asdict(sample) for sample in each] for name, each in comparison.samples.items()},
    }
    every = [figure for each in found.values() for figure in each]
    run = Run(every, short=work != FULL, load_before=before, load_after=os.getloadavg()[0], about=about)
    if given.json:
        run.write(given.json)
    show(run, list(found.values()), work=work, rounds=given.rounds)
    missed = any(figure.verdict is Verdict.DEFECT for figure in every) and not run.busy
    sys.exit(missed or bool(comparison.failures))


def show(run: Run, tables: Sequence[Sequence[Figure]], *, work: Work, rounds: int) -> None:
    print(f"medians of {rounds} rounds, {work.chats} chats with {work.messages} messages each\n")
    for each in tables:
        print(f"{table(each)}\n")
    print(f"load average {run.load_before:.1f} before, {run.load_after:.1f} after, on {CORES} cores")
    if run.busy:
        print("The machine was busy with other work: only the ratios and the processor times can be compared.")


def _arguments() -> tuple[argparse.Namespace, dict[str, str]]:
    """Return the arguments and the commands of the peers to measure."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(PEERS)} (default: all found)")
    for peer in PEERS.values():
        parser.add_argument(
            f"--{peer.name}",
            metavar="PATH",
            help=f"the command of {peer.name} (default: ${peer.variable}, or {peer.command} in the PATH)",
        )
    parser.add_argument("--rounds", type=_positive, default=ROUNDS, help="default: %(default)s")
    parser.add_argument("--chats", type=_positive, default=FULL.chats, help="default: %(default)s")
    parser.add_argument("--messages", type=_positive, default=FULL.messages, help="in each chat; default: %(default)s")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--folder", type=Path, default=ROOT / "data", help="a folder on the disk to measure")
    given = parser.parse_args()
    if unknown := set(given.names) - PEERS.keys():
        parser.error(f"there is no peer {', '.join(sorted(unknown))}; the peers are {', '.join(PEERS)}")
    commands = {name: peer.find(getattr(given, name)) for name, peer in PEERS.items()}
    named = set(given.names) | {name for name in PEERS if getattr(given, name)}
    wanted = [name for name in PEERS if (name in given.names if given.names else commands[name] or name in named)]
    for name in wanted or PEERS:
        if commands[name] is None:
            parser.error(_missing(name, getattr(given, name)))
    return given, {name: str(commands[name]) for name in wanted}


def _missing(name: str, given: str | None) -> str:
    peer = PEERS[name]
    where = (
        f"{given} is no program"
        if given
        else f"there is no {peer.command} in the PATH, and ${peer.variable} names none"
    )
    return (
        f"{name} is not found, because {where}. Install it into an environment of its own (python -m venv DIR; "
        f"DIR/bin/pip install {peer.package}), and pass --{name} DIR/bin/{peer.command}."
    )


def _positive(text: str) -> int:
    if not text.isdecimal() or (value := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return value


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
