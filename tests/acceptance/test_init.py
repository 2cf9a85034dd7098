"""`arvis init` as a new user meets it: on a terminal, in a script, and where a configuration file exists."""

from __future__ import annotations

import getpass
import json
import os
import pty
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from arvis.cli.init.command import put_in_place
from arvis.cli.init.prompts import Surroundings
from arvis.config import Config, load
from arvis.domain.errors import ConfigError
from tests.acceptance.daemon import Daemon, arvis, environment

Done = subprocess.CompletedProcess[str]

ENTER = "\n"


def on_a_terminal(folder: Path, *arguments: str, typed: str, environ: Mapping[str, str] | None = None) -> Done:
    """Run `arvis init` with a terminal as standard input; its output is captured separately."""
    ours, theirs = pty.openpty()
    os.write(ours, typed.encode())
    try:
        return subprocess.run(
            [sys.executable, "-m", "arvis", "init", *arguments],
            stdin=theirs,
            capture_output=True,
            text=True,
            cwd=folder,
            env=environment(**(environ or {})),
            timeout=60,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)


def written(folder: Path, **environ: str) -> Config:
    return load(folder / "config.yaml", None, environ)


# -- Enter, Enter, Enter -----------------------------------------------------------------------------------


def test_enter_at_every_question_gives_something_that_works(tmp_path: Path) -> None:
    done = on_a_terminal(tmp_path, typed=ENTER * 6)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n") == ["config.yaml was written. Next steps:", "  arvis run", "  arvis doctor", ""]
    for question in (
        "Provider [demo]: ",
        "The name of your agent [Helper]: ",
        "The instructions of your agent: ",
        "Your time zone [",
    ):
        assert question in done.stderr
    assert (tmp_path / "config.yaml").stat().st_mode & 0o777 == 0o600
    assert sorted(file.name for file in tmp_path.iterdir()) == ["config.yaml"]
    settings = written(tmp_path)
    assert settings.accounts == ()
    assert [(agent.slug, agent.name, agent.prompt) for agent in settings.agents] == [("helper", "Helper", "")]
    assert settings.owners == {"web": (getpass.getuser(),)}
    assert settings.data_dir == tmp_path / "data"


def test_a_daemon_runs_with_what_was_written(tmp_path: Path) -> None:
    assert arvis("init", "--yes", cwd=tmp_path).returncode == 0
    daemon = Daemon(tmp_path)
    try:
        daemon.start()
        assert "demo" in daemon.arvis("chat", "hello").stdout
        found = json.loads(daemon.arvis("doctor", "--json").stdout)["checks"]
        assert {finding["status"] for finding in found if finding["group"] == "configuration"} == {"ok"}
    finally:
        daemon.close()


def test_the_answers_stand_in_the_file(tmp_path: Path) -> None:
    typed = 'openai\nMY_OWN_KEY\ngpt-9: "x"\nÉmile & # Söhne\nYou\'re {kind}: #1, \\n "q"\n5991\nann\nEurope/Berlin\n'
    done = on_a_terminal(tmp_path, "--json", typed=typed)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["next"] == ["export MY_OWN_KEY=YOUR-KEY", "arvis run", "arvis doctor"]
    assert (said["file"], said["variable"]) == (str(tmp_path / "config.yaml"), "MY_OWN_KEY")
    settings = written(tmp_path, MY_OWN_KEY="sk-secret")
    (account,) = settings.accounts
    assert (account.provider, account.model, account.api_key) == ("openai", 'gpt-9: "x"', "sk-secret")
    (agent,) = settings.agents
    assert (agent.slug, agent.name, agent.prompt) == ("mile-s-hne", "Émile & # Söhne", 'You\'re {kind}: #1, \\n "q"')
    assert (settings.web.port, settings.owners, settings.scheduler.timezone) == (
        5991, {"web": ("ann",)}, "Europe/Berlin"
    )  # fmt: skip


def test_an_answer_that_makes_no_sense_is_asked_for_again(tmp_path: Path) -> None:
    """A pasted key is neither stored nor shown."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        typed = f"gemini\nopenai\nsk-abc-0123\nKEY\n{ENTER * 3}eleven\n{port}\n0\n{ENTER}Mars/Base\nUTC\n"
        done = on_a_terminal(tmp_path, typed=typed)
    assert done.returncode == 0, done.stderr
    for complaint in (
        "choose one of anthropic, openai, openrouter, google, ollama, custom, claude_cli, demo",
        "give the variable's name, such as OPENAI_API_KEY, never the key itself",
        "give a number up to 65535",
        f"another program uses the port {port}",
        "give a name such as UTC or Europe/Berlin",
    ):
        assert complaint in done.stderr
    assert "sk-abc" not in done.stdout + done.stderr + (tmp_path / "config.yaml").read_text()
    assert written(tmp_path, KEY="x").web.port == 0


def test_whoever_leaves_in_the_middle_leaves_no_file(tmp_path: Path) -> None:
    end_of_input = "\x04"
    done = on_a_terminal(tmp_path, typed=ENTER + end_of_input)
    assert (done.returncode, "Traceback" in done.stderr) == (130, False)
    assert list(tmp_path.iterdir()) == []


# -- keys in the environment -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environ", "provider", "variable"),
    [
        ({}, None, None),
        ({"OPENAI_API_KEY": "sk-1"}, "openai", "OPENAI_API_KEY"),
        ({"OPENAI_API_KEY_1": "sk-1"}, "openai", "OPENAI_API_KEY_1"),
        ({"OPENROUTER_API_KEY": "sk-1"}, "openrouter", "OPENROUTER_API_KEY"),
        ({"OPENAI_API_KEY": "sk-1", "OPENROUTER_API_KEY": "sk-2"}, None, None),
        ({"ANTHROPIC_API_KEY": "sk-1"}, "anthropic", "ANTHROPIC_API_KEY"),
        ({"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}, "anthropic", None),
    ],
)
def test_a_key_that_is_there_is_used(
    tmp_path: Path, environ: Mapping[str, str], provider: str | None, variable: str | None
) -> None:
    done = arvis("init", "--yes", "--json", cwd=tmp_path, environ=environ)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["provider"], said["variable"]) == (provider, variable)
    assert said["next"] == ["arvis run", "arvis doctor"]
    assert "sk-" not in (tmp_path / "config.yaml").read_text()
    # The file must not hide accounts that the environment alone gives.
    names = [account.provider for account in written(tmp_path, **environ).accounts]
    assert names == [account.provider for account in load_without_file(tmp_path, environ).accounts]


def load_without_file(folder: Path, environ: Mapping[str, str]) -> Config:
    empty = folder / "empty.yaml"
    empty.write_text("")
    return load(empty, None, environ)


def test_a_person_hears_what_there_is(tmp_path: Path) -> None:
    done = on_a_terminal(
        tmp_path, typed=ENTER * 6, environ={"ANTHROPIC_API_KEY": "x", "OPENAI_API_KEY": "y", "OPENROUTER_API_KEY": "z"}
    )
    assert done.returncode == 0, done.stderr
    assert "environment  the accounts from environment variables: anthropic, openai, openrouter\n" in done.stderr
    assert "Provider [environment]: " in done.stderr


class Models(BaseHTTPRequestHandler):
    """A model server that lists its models."""

    def do_GET(self) -> None:
        knows = self.path == "/v1/models" and self.headers["Authorization"] == "Bearer sk-1"
        self.send_response(200 if knows else 404)
        self.end_headers()
        self.wfile.write(b'{"data": [{"id": "llama-9"}, {"id": "other"}]}' if knows else b"[]")

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def model_server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Models) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()


def test_a_server_of_ones_own_names_its_model(tmp_path: Path) -> None:
    with model_server() as url:
        environ = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "sk-1"}
        assert arvis("init", "--yes", cwd=tmp_path, environ=environ).returncode == 0
    (account,) = written(tmp_path, OPENAI_API_KEY="sk-1").accounts
    assert (account.provider, account.base_url, account.model, account.api_key) == ("custom", url, "llama-9", "sk-1")


def test_a_server_that_is_not_there_yet(tmp_path: Path) -> None:
    typed = f"custom\nftp://x\nhttp://me:word@127.0.0.1:9/v1\nhttp://127.0.0.1:9/v1\n{ENTER * 7}"
    done = on_a_terminal(tmp_path, typed=typed)
    assert done.returncode == 0, done.stderr
    assert "give the address without user and password" in done.stderr
    (account,) = written(tmp_path).accounts
    assert (account.base_url, account.model, account.api_key) == ("http://127.0.0.1:9/v1", "default", None)


@pytest.mark.parametrize(
    ("environ", "link", "zone"),
    [
        ({"TZ": "Asia/Tokyo"}, "Europe/Berlin", "Asia/Tokyo"),
        ({"TZ": ":Asia/Tokyo"}, "Europe/Berlin", "Asia/Tokyo"),
        ({}, "Europe/Berlin", "Europe/Berlin"),
        ({}, "Etc/UTC", "UTC"),
        ({}, "America/Argentina/Salta", "America/Argentina/Salta"),
        ({}, "", "UTC"),
    ],
)
def test_the_time_zone_of_the_machine(tmp_path: Path, environ: Mapping[str, str], link: str, zone: str) -> None:
    local_time = tmp_path / "localtime"
    if link:
        local_time.symlink_to(f"/usr/share/zoneinfo/{link}")
    else:
        local_time.write_bytes(b"TZif")
    assert Surroundings(environ, tmp_path, local_time).time_zone == zone


def test_a_port_that_is_taken_unless_it_is_ours(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        around = Surroundings({}, tmp_path)
        assert not around.is_free(port)
        (tmp_path / "address").write_text(f"http://127.0.0.1:{port}\n")
        assert around.is_free(port), "the daemon of this folder has it already"


# -- an existing file, and no terminal ---------------------------------------------------------------------


def test_a_file_that_is_there_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("# mine\n")
    refused = arvis("init", "--yes", cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("config.yaml already exists.\n  why: ")
    assert on_a_terminal(tmp_path, typed=ENTER).returncode == 2
    assert file.read_text() == "# mine\n"
    assert on_a_terminal(tmp_path, typed=f"y\n{ENTER * 6}").returncode == 0
    assert file.read_text().startswith("# Arvis")
    file.write_text("# mine\n")
    assert arvis("init", "--yes", "--force", cwd=tmp_path).returncode == 0
    assert file.read_text().startswith("# Arvis")


def test_nothing_is_put_in_place_that_our_own_loader_refuses(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    with pytest.raises(ConfigError):
        put_in_place(file, "web: {prot: 1}\n", variable=None, replace=True)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_came_while_questions_were_asked(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("# mine\n")
    with pytest.raises(ConfigError):
        put_in_place(file, "web: {port: 1}\n", variable=None, replace=False)
    assert [(found.name, found.read_text()) for found in tmp_path.iterdir()] == [("config.yaml", "# mine\n")]


def test_the_place_of_the_file_and_of_the_data(tmp_path: Path) -> None:
    folder = tmp_path / "a b"
    folder.mkdir()
    link = tmp_path / "link.yaml"
    link.symlink_to(folder / "my.yaml")
    done = arvis("init", "--yes", "--config", str(link), "--data", "kept here", cwd=tmp_path)
    assert done.stdout.splitlines()[1] == f"  arvis run --config {link}"
    assert link.is_symlink()
    assert load(folder / "my.yaml", None, {}).data_dir == tmp_path / "kept here"
    done = arvis("init", "--yes", "--config", "a b/other.yaml", cwd=tmp_path)
    assert done.stdout.splitlines()[1] == "  arvis run --config 'a b/other.yaml'"


def test_without_a_terminal_nobody_is_asked(tmp_path: Path) -> None:
    done = arvis("init", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("No questions can be asked\n  why: Standard input is not a terminal.\n  fix: ")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    done = arvis("init", "--yes", "--config", "none/config.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("none/config.yaml cannot be written\n  why: No such file or directory\n  fix: ")
