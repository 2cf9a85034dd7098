"""Backup and restore as their user does them: beside the daemon, after a kill, and with a page that has seen more
messages than the restored database holds."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import aiohttp

from tests.acceptance import restoring
from tests.acceptance.daemon import Daemon, arvis
from tests.acceptance.place import PATIENCE, Place, opened

Done = subprocess.CompletedProcess[str]


async def command(place: Place, *arguments: str) -> Done:
    """Run a command in a thread, since the model server needs the event loop."""
    return await asyncio.to_thread(place.daemon.arvis, *arguments)


def printed(done: Done) -> str:
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def complaint(done: Done, code: int) -> str:
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def asked(daemon: Daemon) -> list[str]:
    with closing(sqlite3.connect(daemon.data / "arvis.db")) as connection:
        return [text for (text,) in connection.execute("SELECT content FROM messages WHERE role = 'user' ORDER BY id")]


def database_files(daemon: Daemon) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in daemon.data.glob("arvis.db*")}


async def talk(place: Place, *texts: str) -> int:
    """Send these messages one by one, wait for the answers, and return the number of the last answer."""
    last = 0
    async with place.socket("web-x") as socket:
        for text in texts:
            await socket.say(text)
            last = int((await socket.until("message"))["seq"])
    return last


def age(backup: Path) -> None:
    """Rename a backup as if it were years old, so that the next start finds a backup due."""
    backup.rename(backup.with_name("arvis-20200101T000000Z.tar.gz"))


async def until_backed_up(place: Place, number: int) -> None:
    """Wait until this many backups exist; the daemon chooses when it makes those that are due."""
    async with asyncio.timeout(PATIENCE):
        while len((await place.call("GET", "/api/backups"))[1]["items"]) < number:  # noqa: ASYNC110 it is outside
            await asyncio.sleep(0.05)


async def test_the_worst_day(tmp_path: Path) -> None:
    async with opened(tmp_path, {}) as place:
        daemon = place.daemon
        await talk(place, "one")
        made = json.loads(printed(await command(place, "backup", "--json")))
        assert Path(made["path"]).parent == daemon.data / "backups"
        assert (made["messages"], made["missingAttachments"]) == (2, 0)
        own = printed(await command(place, "backup", "mine.tar.gz"))
        assert re.fullmatch(rf"The backup {tmp_path / 'mine.tar.gz'} contains 2 messages and has \d+ kB\.\n", own)
        assert "in use" in complaint(await command(place, "restore", made["name"]), 3)
        last = await talk(place, "two", "three")

        await asyncio.to_thread(daemon.kill)
        left = database_files(daemon)
        assert "contains 6 messages" in printed(await command(place, "backup", "mine.tar.gz"))
        assert database_files(daemon) == left
        listed = (await command(place, "restore")).stdout
        assert re.search(rf"^{re.escape(made['name'])}  \S+ \S+ +2  ", listed, re.MULTILINE)
        told = printed(await command(place, "restore", made["name"]))
        [aside] = (daemon.data / "aside").iterdir()
        assert f"{made['path']}, made " in told
        assert f"The previous database (6 messages) was moved to {aside}.\n" in told
        assert asked(daemon) == ["one"]

        age(Path(made["path"]))
        await asyncio.to_thread(daemon.start)
        await place.ask("after", "web-x")
        async with place.socket("web-x", last_seq=last) as socket:
            message = await socket.until("message")
            assert message["seq"] > last
            assert await socket.nothing_more()
        await until_backed_up(place, 2)
        await asyncio.to_thread(daemon.stop)
        assert asked(daemon) == ["one", "after"]


def test_what_cannot_be_done_is_told(tmp_path: Path) -> None:
    nothing = complaint(arvis("backup", "--data", "data", cwd=tmp_path), 1)
    assert nothing.startswith("There is no database ")
    assert not (tmp_path / "data").exists()
    (tmp_path / "file").write_bytes(b"no backup")
    refused = complaint(arvis("restore", "file", "--data", "data", cwd=tmp_path), 1)
    assert refused.startswith(f"{tmp_path / 'file'} cannot be restored\n  why: ")
    postgres = {"ARVIS__DATABASE": "postgresql://nobody@127.0.0.1:1/none"}
    assert "pg_dump" in complaint(arvis("backup", "--data", "data", cwd=tmp_path, environ=postgres), 1)


def address_of(daemon: Daemon) -> str:
    return (daemon.data / "address").read_text().strip()


async def until_restored(place: Place) -> dict[str, object]:
    """Wait until the daemon has restarted, with another port, and return the outcome of the restore."""
    async with asyncio.timeout(PATIENCE):
        while True:
            await asyncio.sleep(0.1)
            try:
                place.daemon.url = address_of(place.daemon)
                outcome: dict[str, object] = (await place.call("GET", "/api/backups/restore"))[1]
            except (OSError, aiohttp.ClientError):
                continue
            if outcome["state"] != "requested":
                return outcome


async def test_an_owner_restores_a_backup_while_the_daemon_runs(tmp_path: Path) -> None:
    async with opened(tmp_path, {}) as place:
        daemon, pid = place.daemon, place.daemon.pid
        await talk(place, "apricot")
        _, made = await place.call("POST", "/api/backups")
        await talk(place, "bergamot")
        status, requested = await place.call("POST", f"/api/backups/{made['name']}/restore")
        assert (status, requested["state"]) == (202, "requested")
        outcome = await until_restored(place)
        assert (outcome["state"], outcome["messages"]) == ("done", 2)
        assert daemon.pid == pid
        await place.ask("clementine", "web-x")
        prompt = json.dumps(place.model.requests[-1].document)
        assert ("apricot" in prompt, "bergamot" in prompt) == (True, False)
        await asyncio.to_thread(daemon.stop)
        assert asked(daemon) == ["apricot", "clementine"]


async def test_a_backup_that_is_gone_at_the_restart_changes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, {}) as place:
        await talk(place, "one")
        _, made = await place.call("POST", "/api/backups")
        await asyncio.to_thread(place.daemon.stop)
        (place.daemon.data / "backups" / made["name"]).unlink()
        fields = {"state": "requested", "name": made["name"], "at": 1, "messages": None, "aside": None}
        (place.daemon.data / "restore.json").write_text(json.dumps({**fields, "error": ["", "", ""]}))
        await asyncio.to_thread(place.daemon.start)
        _, outcome = await place.call("GET", "/api/backups/restore")
        assert (outcome["state"], "There is no file" in outcome["what"]) == ("failed", True)
        await place.ask("two", "web-x")
        await asyncio.to_thread(place.daemon.stop)
        assert asked(place.daemon) == ["one", "two"]


async def test_an_encrypted_backup_brings_the_secrets_to_another_machine(tmp_path: Path) -> None:
    secret = {"ARVIS__BACKUP__PASSPHRASE": "env:PASSPHRASE", "PASSPHRASE": "correct horse battery staple"}
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    async with opened(tmp_path / "here", secret) as place:
        await place.call("PUT", "/api/variables/TOKEN", json={"value": "hush", "secret": True})
        _, made = await place.call("POST", "/api/backups")
        assert (made["encrypted"], made["name"].endswith(".tar.gz.enc")) == (True, True)
    there, data = tmp_path / "there", ("--data", "data")
    unknown = complaint(arvis("restore", made["path"], *data, cwd=there), 1)
    assert "no passphrase is configured" in unknown
    wrong = arvis("restore", made["path"], *data, cwd=there, environ={**secret, "PASSPHRASE": "something else"})
    assert "the passphrase is wrong" in complaint(wrong, 1)
    short = arvis("restore", made["path"], *data, cwd=there, environ={**secret, "PASSPHRASE": "short"})
    assert "must have at least 12 characters" in complaint(short, 2)
    assert list((there / "data").glob("arvis.db*")) == []
    printed(arvis("restore", made["path"], *data, cwd=there, environ=secret))
    key = (tmp_path / "here" / "data" / "secrets.key").read_bytes()
    assert (there / "data" / "secrets.key").read_bytes() == key


async def test_a_backup_under_load_continues_elsewhere(tmp_path: Path) -> None:
    """The whole form is `python -m tests.acceptance.restoring`."""
    report = await restoring.main(tmp_path, rounds=1)
    assert report.differences == []
    assert report.restored >= 2 * restoring.BEFORE * restoring.PEOPLE
