"""Accounts and variables from the command line to the vendor: a known secret appears in no file, log or answer."""

from __future__ import annotations

import asyncio
import json
import tarfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from arvis.testing.openai_server import OpenAIServer, openai_server
from tests.acceptance.daemon import Daemon, arvis, running_daemon

KEY = "canary-key-9fKq27LmZx"
VALUE = "canary-value-5tRw81PnYc"
SEALING = "Q0ZDRkNGQ0ZDRkNGQ0ZDRkNGQ0ZDRkNGQ0ZDRkNGQ0Y="


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with running_daemon(tmp_path) as daemon:
        yield daemon


@pytest.fixture
async def model() -> AsyncIterator[OpenAIServer]:
    async with openai_server() as model:
        yield model


def holding(secret: str, folder: Path) -> list[Path]:
    """Return the files that contain the secret in clear text; archives are searched, too."""
    found = []
    for file in (file for file in folder.rglob("*") if file.is_file()):
        contents = [file.read_bytes()]
        if tarfile.is_tarfile(file):
            with tarfile.open(file) as archive:
                parts = [archive.extractfile(member) for member in archive.getmembers()]
                contents += [part.read() for part in parts if part is not None]
        if any(secret.encode() in content for content in contents):
            found.append(file)
    return found


async def test_a_key_goes_to_its_vendor_and_nowhere_else(daemon: Daemon, model: OpenAIServer) -> None:
    def people() -> list[str]:
        shown = [
            daemon.arvis(*command, typed=typed, **environ)
            for command, typed, environ in (
                (("accounts", "create", "local", "--provider", "openai", "--base-url", model.base_url), f"{KEY}\n", {}),
                (("accounts", "list"), "", {}),
                (("accounts", "list", "--json"), "", {}),
                (("accounts", "test", "local"), "", {}),
                (("chat", "hello"), "", {}),
                (("variables", "create", "--secret", "TOKEN", "--value-env", "MINE"), "", {"MINE": VALUE}),
                (("variables", "list"), "", {}),
                (("variables", "show", "TOKEN", "--json"), "", {}),
                (("backup",), "", {}),
                (("doctor", "--json"), "", {}),
            )
        ]
        failed = [done.stderr for done in shown[:-1] if done.returncode]
        assert failed == []
        return [done.stdout + done.stderr for done in shown]

    said = await asyncio.to_thread(people)
    assert "The account local works: gpt-4o-mini" in said[3]
    assert len(model.requests) == 2, "the trial, and the answer: no restart was needed"
    assert {request.headers["Authorization"] for request in model.requests} == {f"Bearer {KEY}"}
    await asyncio.to_thread(daemon.stop)
    assert [text for text in said if KEY in text or VALUE in text] == []
    assert holding(KEY, daemon.folder) == holding(VALUE, daemon.folder) == []
    assert len(list((daemon.data / "backups").iterdir())) == 1


def test_a_backup_does_not_hold_the_key_that_opens_it(daemon: Daemon) -> None:
    daemon.arvis("variables", "create", "--secret", "TOKEN", typed=VALUE)
    key = (daemon.data / "secrets.key").read_text().strip()
    daemon.arvis("backup")
    [file] = (daemon.data / "backups").iterdir()
    with tarfile.open(file) as archive:
        assert sorted(archive.getnames()) == ["arvis.db", "manifest.json"]
    assert holding(key, daemon.folder) == [daemon.data / "secrets.key"]


def test_accounts_outlive_a_restart_and_the_demo_does_not_take_their_place(daemon: Daemon) -> None:
    assert daemon.arvis("accounts", "list").stdout == "No accounts. Agents use the built-in demo model.\n"
    assert daemon.arvis("accounts", "create", "mine", "--provider", "demo").returncode == 0
    assert daemon.arvis("accounts", "create", "paid", "--provider", "openai", typed=KEY).returncode == 0
    daemon.stop()
    daemon.start()
    assert [one["name"] for one in json.loads(daemon.arvis("accounts", "list", "--json").stdout)["items"]] == [
        "mine",
        "paid",
    ]
    told = {check["id"]: check for check in json.loads(daemon.arvis("doctor", "--json").stdout)["checks"]}
    assert "demo/demo (mine), openai/gpt-4o-mini (paid)" in told["accounts"]["what"]
    assert told["stored_secrets"]["status"] == "ok"
    assert daemon.arvis("accounts", "delete", "mine").stdout == "The account mine is deleted.\n"
    daemon.stop()
    (daemon.data / "secrets.key").unlink()
    daemon.start()
    answer = daemon.arvis("chat", "hello")
    assert answer.returncode == 1, "the only account cannot be opened, and the demo is no stand-in"
    told = {check["id"]: check for check in json.loads(daemon.arvis("doctor", "--json").stdout)["checks"]}
    assert (told["stored_secrets"]["status"], "the account paid" in told["stored_secrets"]["what"]) == ("fail", True)
    assert "secrets.key" in told["stored_secrets"]["fix"]
    trial = daemon.arvis("accounts", "test", "paid")
    assert (trial.returncode, "cannot be decrypted" in trial.stderr) == (1, True)


async def test_an_account_that_one_process_was_given_is_used_by_another(
    tmp_path: Path, migrated_url: str, model: OpenAIServer
) -> None:
    def people() -> None:
        with ExitStack() as stack:
            web, _ = (stack.enter_context(a_process(tmp_path, roles, migrated_url)) for roles in ("web", "workers"))
            add = ("accounts", "create", "late", "--provider", "openai", "--base-url", model.base_url)
            added = web.arvis(*add, typed=KEY, **web.settings)
            assert added.returncode == 0, added.stderr
            answer = web.arvis("chat", "hello", **web.settings)
            assert (answer.returncode, answer.stderr) == (0, "")
            assert not list(tmp_path.rglob("secrets.key"))

    await asyncio.to_thread(people)
    assert [request.headers["Authorization"] for request in model.requests] == [f"Bearer {KEY}"]


@contextmanager
def a_process(folder: Path, roles: str, database: str) -> Iterator[Daemon]:
    """One of several processes, with the encryption key in its environment."""
    own = folder / roles
    own.mkdir()
    settings: Mapping[str, str] = {
        "ARVIS__DATABASE": database,
        "ARVIS__ROLES": roles,
        "ARVIS__ENCRYPTION_KEY": "env:SEALING",
        "SEALING": SEALING,
    }
    with running_daemon(own, settings=settings) as daemon:
        yield daemon


def test_variables_from_the_command_line(daemon: Daemon) -> None:
    assert daemon.arvis("variables", "list").stdout == "No variables.\n"
    assert daemon.arvis("variables", "create", "city", "Rome").stdout == "The variable city is created.\n"
    assert daemon.arvis("variables", "show", "city").stdout == "Rome\n"
    (daemon.folder / "value").write_text(f"{VALUE}\n")
    again = daemon.arvis("variables", "create", "city", "Oslo")
    assert (again.returncode, "`arvis variables update city`" in again.stderr) == (1, True)
    sealed = daemon.arvis("variables", "update", "city", "--secret", "--value-file", "value")
    assert sealed.stdout == "The variable city is changed and encrypted.\n"
    assert daemon.arvis("variables", "show", "city").stdout == "••••••••\n"
    assert daemon.arvis("variables", "delete", "city").stdout == "The variable city is deleted.\n"
    gone = daemon.arvis("variables", "show", "city")
    assert (gone.returncode, gone.stderr.startswith("There is no such variable.\n")) == (1, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("variables", "create", "x", "y", "--secret"),
        ("variables", "create", "x", "y", "--value-env", "HOME"),
        ("variables", "create", "x", "--value-env", "NOT_SET_ANYWHERE"),
        ("variables", "create", "x", "--value-file", "not-there"),
        ("accounts", "create", "x"),
        ("accounts", "create", "x", "--provider", "openai", "--key", KEY),
        ("accounts", "create", "x", "--provider", "openai", "--key-env", "HOME", "--key-file", "/dev/null"),
        ("accounts", "create", "x", "--provider", "openai", "--priority", "-1"),
    ],
)
def test_wrong_use_is_told_before_anybody_is_asked(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = arvis(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")


def test_the_daemon_says_which_account_it_cannot_take(daemon: Daemon) -> None:
    for arguments, words in [
        (("x", "--provider", "google", "--no-key"), "`apiKey` is missing"),
        (("x", "--provider", "nobody"), "`provider` must be one of"),
        (("x", "--provider", "custom", "--model", "m", "--no-key"), "`baseUrl` is missing"),
    ]:
        done = daemon.arvis("accounts", "create", *arguments)
        assert (done.returncode, words in done.stderr, "fix:" in done.stderr) == (1, True, True), done.stderr


def test_a_key_of_the_configuration_needs_no_file(tmp_path: Path) -> None:
    settings = {"ARVIS__ENCRYPTION_KEY": "env:SEALING", "SEALING": SEALING}
    with running_daemon(tmp_path, settings=settings) as daemon:
        daemon.arvis("variables", "create", "--secret", "TOKEN", typed=VALUE)
        told = json.loads(daemon.arvis("doctor", "--json", **settings).stdout)["checks"]
        assert {check["id"]: check["status"] for check in told}["stored_secrets"] == "ok"
        assert not (daemon.data / "secrets.key").exists()
        assert holding(SEALING, daemon.folder) == []


def test_a_key_that_is_none_ends_the_start(tmp_path: Path) -> None:
    for given, words in (
        ("env:SEALING", "`encryption_key` is not a valid key"),
        ("c2hvcnQ=", "`encryption_key` must not contain"),
    ):
        environ = {"ARVIS__ENCRYPTION_KEY": given, "SEALING": "c2hvcnQ="}
        done = arvis("run", "--data", str(tmp_path / "data"), cwd=tmp_path, environ=environ)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr
        assert "c2hvcnQ=" not in done.stderr
