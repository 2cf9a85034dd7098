"""`arvis service`: systemd accepts the unit, its command starts a daemon that reports its state, and the commands call the
service manager."""

from __future__ import annotations

import json
import os
import plistlib
import shlex
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from arvis.cli.service.definition import MARK, Service, launchd_plist, systemd_unit
from tests.acceptance.daemon import Daemon, arvis, environment
from tests.parts import require

#: A program in place of systemctl and journalctl that notes its arguments and prints the file `answer`.
NOTING = """#!/bin/sh
echo "${0##*/} $*" >> "$(dirname "$0")/calls"
cat "$(dirname "$0")/answer" 2>/dev/null
if [ "$1 $2" = "$(cat "$(dirname "$0")/refused" 2>/dev/null)" ]; then echo "no way" >&2; exit 1; fi
exit 0
"""
#: The highest exposure level that `systemd-analyze security` may compute (10 is the worst).
MOST_EXPOSED, MOST_EXPOSED_STRICT = 4.0, 2.5

#: Protections under which bubblewrap cannot start a program.
BREAKING_THE_SANDBOX = (
    "ProtectKernelTunables=",
    "ProtectKernelLogs=",
    "ProtectHostname=",
    "ProtectProc=",
    "RestrictNamespaces=",
    "MemoryDenyWriteExecute=",
)


def a_service(folder: Path, *, system: bool = True, strict: bool = False, user: str | None = None) -> Service:
    """Return a service whose paths have characters that systemd interprets."""
    return Service(
        name="arvis",
        program=[sys.executable, "-m", "arvis"],
        interpreter=Path(sys.executable).resolve(),
        config=folder / "config.yaml",
        data=folder / "my data 50% $HOME",
        variables=folder / "arvis.env",
        system=system,
        strict=strict,
        user=user,
    )


def analysed(folder: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    file = folder / "arvis.service"
    file.write_text(text)
    # systemd creates sockets in this folder, and their paths may have at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="arvis-") as runtime:
        return subprocess.run(
            ["systemd-analyze", *arguments, str(file)],
            env={**os.environ, "XDG_RUNTIME_DIR": runtime},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("system", [False, True])
def test_systemd_accepts_the_unit(tmp_path: Path, system: bool, strict: bool) -> None:
    require("systemd-analyze")
    unit = systemd_unit(a_service(tmp_path, system=system, strict=strict))
    done = analysed(tmp_path, unit, *([] if system else ["--user"]), "verify")
    assert (done.returncode, done.stderr) == (0, "")


def test_systemd_finds_the_system_service_well_protected(tmp_path: Path, figures: list[str]) -> None:
    require("systemd-analyze")
    for strict, most in ((False, MOST_EXPOSED), (True, MOST_EXPOSED_STRICT)):
        unit = systemd_unit(a_service(tmp_path, strict=strict))
        done = analysed(tmp_path, unit, "security", "--offline=true")
        level = float(done.stdout.rpartition("exposure level for arvis.service:")[2].split()[0])
        figures.append(f"exposure of the system service{', strict' if strict else ''}: {level} (limit {most})")
        assert level <= most


def test_a_system_service_gets_a_private_configuration_and_an_own_user(tmp_path: Path) -> None:
    unit = systemd_unit(a_service(tmp_path)).splitlines()
    assert "DynamicUser=yes" in unit
    assert f"LoadCredential=config.yaml:{tmp_path}/config.yaml" in unit
    assert f'ReadWritePaths="{tmp_path}/my data 50%% $$HOME"' in unit
    assert not [line for line in unit if line.startswith(BREAKING_THE_SANDBOX)]
    assert "User=ann" in systemd_unit(a_service(tmp_path, user="ann")).splitlines()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """Listen for the states of the daemon, as a service manager does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(f"\0arvis-test-{tmp_path.name}-{os.getpid()}")
        listening.settimeout(60)
        yield listening


def test_the_command_of_the_unit_starts_a_daemon_that_reports_its_state(tmp_path: Path, manager: socket.socket) -> None:
    (tmp_path / "config.yaml").write_text("web: {port: 0}\n")
    service = a_service(tmp_path, system=False)
    service.data.mkdir()
    (line,) = (line for line in systemd_unit(service).splitlines() if line.startswith("ExecStart="))
    command = [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(line.partition("=")[2])]
    name = manager.getsockname()
    environ = environment(NOTIFY_SOCKET=f"@{name[1:].decode()}", WATCHDOG_USEC="400000")
    with (
        (tmp_path / "log").open("wb") as log,
        subprocess.Popen(command, cwd=service.data, env=environ, stdout=subprocess.DEVNULL, stderr=log) as daemon,
    ):
        try:
            states = [manager.recv(100).decode() for _ in range(4)]
        finally:
            daemon.terminate()
        while (last := manager.recv(100).decode()) == "WATCHDOG=1":
            states.append(last)
    assert daemon.returncode == 0
    assert (states[0], set(states[1:]), last) == (
        "READY=1\nSTATUS=Ready",
        {"WATCHDOG=1"},
        "STOPPING=1\nSTATUS=Stopping",
    )
    assert (service.data / "arvis.db").exists()


def test_a_service_manager_that_is_gone_does_not_stop_the_daemon(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, settings={"NOTIFY_SOCKET": str(tmp_path / "gone")})
    try:
        daemon.start()
        daemon.stop()
    finally:
        daemon.close()
    assert "service_manager_unreachable" in daemon.log()


class Machine:
    """A machine with a service manager that notes its calls."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.programs = folder / "bin"
        self.programs.mkdir()
        for name in ("systemctl", "journalctl"):
            (self.programs / name).write_text(NOTING)
            (self.programs / name).chmod(0o755)
        self.unit = folder / "config" / "systemd" / "user" / "arvis.service"

    def service(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.programs}{os.pathsep}{os.environ['PATH']}"
        given = {"PATH": path, "XDG_CONFIG_HOME": str(self.folder / "config"), **environ}
        command, *options = arguments
        return arvis("service", command, "--user", *options, cwd=self.folder, environ=given)

    def calls(self) -> list[str]:
        file = self.programs / "calls"
        found = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return found


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_service_is_installed_replaced_and_removed(machine: Machine) -> None:
    data = machine.folder / "place"
    done = machine.service("install", "--data", str(data))
    assert done.returncode == 0, done.stderr
    assert machine.calls() == [
        f"systemctl --user {each}" for each in ("daemon-reload", "enable arvis", "restart arvis")
    ]
    assert machine.unit.read_text().startswith(MARK)
    assert f"--data {data}\n" in machine.unit.read_text()
    assert data.stat().st_mode & 0o777 == 0o700
    assert f"arvis login --data {data}" in done.stdout
    (machine.folder / "config.yaml").write_text("web: {port: 5071}\n")
    assert machine.service("install", "--data", str(data)).returncode == 0
    assert f"--config {machine.folder}/config.yaml" in machine.unit.read_text()
    machine.calls()
    (data / "kept").touch()
    assert machine.service("uninstall").returncode == 0
    assert machine.calls() == ["systemctl --user disable --now arvis", "systemctl --user daemon-reload"]
    assert not machine.unit.exists()
    assert (data / "kept").exists()
    assert "There is no service arvis" in machine.service("uninstall").stderr


def test_a_unit_of_another_author_is_kept(machine: Machine) -> None:
    machine.unit.parent.mkdir(parents=True)
    machine.unit.write_text("[Unit]\n")
    for command in ("install", "uninstall"):
        done = machine.service(command)
        assert done.returncode == 2
        assert "was not written by Arvis" in done.stderr
    assert machine.unit.read_text() == "[Unit]\n"
    assert machine.calls() == []


def test_a_configuration_that_cannot_be_used_installs_nothing(machine: Machine) -> None:
    (machine.folder / "config.yaml").write_text("web: {prot: 0}\n")
    done = machine.service("install")
    assert done.returncode == 2
    assert "web.prot" in done.stderr
    assert not machine.unit.exists()
    (machine.folder / "config.yaml").write_text("bots: {telegram: [{token: env:TOKEN_OF_TEST}]}\n")
    done = machine.service("install", "--print", TOKEN_OF_TEST="set only in this shell")
    assert f"needs TOKEN_OF_TEST: write NAME=value lines into {machine.folder}/config/arvis/arvis.env" in done.stderr
    assert f"EnvironmentFile=-{machine.folder}/config/arvis/arvis.env\n" in done.stdout
    variables = machine.folder / "config" / "arvis" / "arvis.env"
    variables.parent.mkdir(parents=True)
    variables.write_text("# of the service\nTOKEN_OF_TEST=x\n")
    assert machine.service("install", "--print").stderr == ""
    assert not machine.unit.exists()


def test_an_error_of_the_manager_is_shown(machine: Machine) -> None:
    (machine.programs / "refused").write_text("--user enable")
    done = machine.service("install")
    assert done.returncode == 1
    assert "`systemctl --user enable arvis` failed\n  why: no way" in done.stderr


def test_the_state_decides_the_exit_code(machine: Machine) -> None:
    answer = machine.programs / "answer"
    answer.write_text("LoadState=loaded\nActiveState=active\nSubState=running\nMainPID=77\nNRestarts=0\n")
    done = machine.service("status", "--json")
    assert (done.returncode, json.loads(done.stdout)["pid"]) == (0, "77")
    answer.write_text("LoadState=loaded\nActiveState=failed\nResult=exit-code\nExecMainStatus=2\n")
    done = machine.service("status")
    assert done.returncode == 1
    assert "exit_code  2" in done.stdout
    answer.write_text("LoadState=not-found\nActiveState=inactive\n")
    assert "There is no service arvis" in machine.service("status").stderr


def test_logs_come_from_the_journal(machine: Machine) -> None:
    (machine.programs / "answer").write_text("a line\n")
    done = machine.service("logs", "--lines", "7", "--follow")
    assert (done.returncode, done.stdout) == (0, "a line\n")
    assert machine.calls() == ["journalctl --user --unit=arvis.service --lines=7 --follow"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--name", "../x"), "must begin with a letter"),
        (("--run-as", "ann"), "--run-as needs --system"),
        (("--system", "--run-as", "no-such-user-here"), "There is no user no-such-user-here"),
        (("--system", "--data", "elsewhere"), "needs a user"),
    ],
)
def test_options_that_cannot_be_used(machine: Machine, options: tuple[str, ...], words: str) -> None:
    done = machine.service("install", "--print", *options)
    assert done.returncode == 2
    assert words in done.stderr
    assert machine.calls() == []


def test_without_a_service_manager_the_error_names_the_way_on(machine: Machine) -> None:
    for name in ("systemctl", "journalctl"):
        (machine.programs / name).unlink()
    done = machine.service("status", PATH=str(machine.programs))
    assert done.returncode == 2
    assert "arvis service install --print" in done.stderr


def test_the_property_list_of_launchd(tmp_path: Path) -> None:
    service = a_service(tmp_path, system=False)
    content = plistlib.loads(launchd_plist(service))
    start = [sys.executable, "-m", "arvis", "run", "--config", str(tmp_path / "config.yaml"), "--data"]
    assert content["ProgramArguments"] == [*start, str(service.data)]
    assert content["KeepAlive"] == {"SuccessfulExit": False}
    assert "UserName" not in content
