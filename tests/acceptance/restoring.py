"""Back up a daemon under load, restore the backup in another folder, and continue a conversation there.

`python -m tests.acceptance.restoring --rounds 20` prints the number of differences. Each round has new folders.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import sqlite3
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.acceptance.daemon import Daemon, arvis
from tests.acceptance.place import Place, opened

#: People who write at the same time, each in a channel of their own, and their messages before the backup.
PEOPLE, BEFORE = 6, 3

_MESSAGES = "SELECT channel, role, content FROM messages WHERE channel LIKE 'load-%' ORDER BY rowid"


@dataclass(slots=True)
class Report:
    rounds: int = 0
    #: The messages in all restored databases, and those that were written in the source after the backups.
    restored: int = 0
    later: int = 0
    #: The turns that were under way in a backup. They failed in the restored database and were not repeated.
    interrupted: int = 0
    differences: list[str] = field(default_factory=list)


@asynccontextmanager
async def load(place: Place) -> AsyncIterator[None]:
    """Let people write without a pause until the end of the block, which begins after some messages of each."""
    begun = [asyncio.Event() for _ in range(PEOPLE)]

    async def person(number: int) -> None:
        for count in itertools.count(1):
            await place.ask(f"message {count} of person {number}", f"load-{number}")
            if count == BEFORE:
                begun[number].set()

    people = [asyncio.create_task(person(number)) for number in range(PEOPLE)]
    try:
        await asyncio.gather(*(event.wait() for event in begun))
        yield
    finally:
        for each in people:
            each.cancel()
        await asyncio.gather(*people, return_exceptions=True)


def messages(data: Path) -> dict[str, list[tuple[str, str]]]:
    """Return the role and text of all messages, in order, by channel."""
    found: dict[str, list[tuple[str, str]]] = {}
    with contextlib.closing(sqlite3.connect(data / "arvis.db")) as connection:
        for channel, role, content in connection.execute(_MESSAGES):
            found.setdefault(channel, []).append((role, content))
    return found


async def one_round(folder: Path, report: Report) -> None:
    (folder / "there").mkdir()
    (folder / "elsewhere").mkdir()
    file = folder / "backup.tar.gz"
    async with opened(folder / "there", {}) as place:
        async with load(place):
            made = await asyncio.to_thread(place.daemon.arvis, "backup", str(file))
            assert made.returncode == 0, made.stderr
        await asyncio.to_thread(place.daemon.stop)
        source = messages(place.daemon.data)

        daemon = Daemon(folder / "elsewhere", settings={"OPENAI_BASE_URL": place.model.base_url})
        done = await asyncio.to_thread(
            arvis, "restore", str(file), "--json", "--data", str(daemon.data), cwd=daemon.folder
        )
        assert done.returncode == 0, done.stderr
        report.interrupted += json.loads(done.stdout)["givenUp"]["executions"]
        restored = messages(daemon.data)
        _compare(source, restored, report)
        try:
            await asyncio.to_thread(daemon.start)
            await _go_on(Place(daemon, place.model, place.http), restored, report)
            await asyncio.to_thread(daemon.stop)
        finally:
            await asyncio.to_thread(daemon.close)
    report.rounds += 1


def _compare(
    source: dict[str, list[tuple[str, str]]], restored: dict[str, list[tuple[str, str]]], report: Report
) -> None:
    """The restored messages of each channel must be the first ones of the source."""
    for channel, all_messages in source.items():
        kept = restored.get(channel, [])
        report.restored += len(kept)
        report.later += len(all_messages) - len(kept)
        if kept != all_messages[: len(kept)] or len(kept) < 2 * BEFORE:
            report.differences.append(f"{channel} holds {kept} and not the first of {all_messages}")


async def _go_on(place: Place, restored: dict[str, list[tuple[str, str]]], report: Report) -> None:
    """Write in one channel. The prompt must contain its earlier messages, and nothing else may happen."""
    before = len(place.model.requests)
    channel, known = max(restored.items(), key=lambda item: len(item[1]))
    timeline = await place.ask("and now?", channel)
    prompts = [json.dumps(request.document) for request in place.model.requests[before:]]
    if timeline["status"] != "answered" or len(prompts) != 1:
        report.differences.append(f"status {timeline['status']}, and {len(prompts)} calls of the model instead of 1")
        return
    missing = [text for role, text in known if role == "user" and f"{text}" not in prompts[0]]
    # A turn that was interrupted by the backup has failed, so the prompt does not contain its question.
    if len(missing) > 1:
        report.differences.append(f"the prompt lacks {missing}")


async def main(folder: Path, rounds: int) -> Report:
    report = Report()
    for number in range(rounds):
        place = folder / str(number)
        place.mkdir()
        await one_round(place, report)
    return report


def run() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(main(Path(folder), arguments.rounds))
    print(json.dumps(asdict(report), indent=2))
    raise SystemExit(bool(report.differences))


if __name__ == "__main__":
    run()
