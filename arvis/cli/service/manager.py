"""Calls the service managers: systemd through `systemctl` and `journalctl`, launchd through `launchctl`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from arvis.cli.service.definition import MARK, Service, launchd_label, launchd_plist, output_file, systemd_unit
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ArvisError, ConfigError, NotFound

#: Seconds to wait for a manager's program. A start may take longer, because it may wait for the database server.
_PATIENCE = 60.0
_NO_TEXT = "it printed no reason"

#: The properties of systemd that `arvis service status` shows, by their names in its output.
_PROPERTIES = {
    "state": "ActiveState",
    "details": "SubState",
    "result": "Result",
    "exit_code": "ExecMainStatus",
    "pid": "MainPID",
    "restarts": "NRestarts",
    "since": "ActiveEnterTimestamp",
    "starts_at_boot": "UnitFileState",
}


class ServiceManager(Protocol):
    """A service manager. Its methods raise `ArvisError` if one of its programs fails."""

    def file(self, name: str) -> Path:
        """Return the file that describes the service."""
        ...

    def text(self, service: Service) -> bytes: ...

    def start(self, name: str) -> bool:
        """Start the service now and at every boot. Return False if it is still starting."""
        ...

    def remove(self, name: str) -> None:
        """Stop the service, and remove its file."""
        ...

    def status(self, name: str) -> Mapping[str, str]: ...

    def logs(self, name: str, data: Path, *, lines: int, follow: bool) -> Sequence[str]:
        """Return the command that prints the log."""
        ...


def service_manager(*, system: bool) -> ServiceManager:
    """Return the manager of this machine. Raise `ConfigError` if this machine has no supported manager."""
    if sys.platform == "darwin":
        return Launchd(system=system)
    if shutil.which("systemctl") is None:
        raise ConfigError(
            "This machine has no service manager that Arvis supports",
            why="There is no program systemctl (systemd).",
            fix="Let your own service manager run `arvis run`, or print the unit with `arvis service install --print`.",
        )
    return Systemd(system=system)


@dataclass(frozen=True, slots=True)
class Systemd:
    """Implements `ServiceManager` with systemd: for the whole machine, or for the current user."""

    system: bool

    def file(self, name: str) -> Path:
        configured = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
        folder = Path("/etc/systemd/system") if self.system else Path(configured) / "systemd" / "user"
        return folder / f"{name}.service"

    def text(self, service: Service) -> bytes:
        return systemd_unit(service).encode()

    def start(self, name: str) -> bool:
        self._systemctl("daemon-reload")
        self._systemctl("enable", name)
        # A restart also applies a changed unit to a service that runs.
        return self._systemctl("restart", name)

    def remove(self, name: str) -> None:
        file = self.file(name)
        if not file.exists():
            raise NotFound(
                f"There is no service {name}",
                why=f"The file {file} does not exist.",
                fix="Check the name of the service.",
            )
        if MARK not in file.read_text(encoding="utf-8", errors="replace"):
            raise ConfigError(
                f"{file} was not written by Arvis",
                fix="Stop the service with `systemctl disable --now`, then remove the file.",
            )
        self._systemctl("disable", "--now", name)
        file.unlink()
        self._systemctl("daemon-reload")

    def status(self, name: str) -> Mapping[str, str]:
        wanted = ",".join(["LoadState", *_PROPERTIES.values()])
        text = _output([*self._command, "show", f"--property={wanted}", f"{name}.service"])
        found = dict(line.partition("=")[::2] for line in text.splitlines())
        if found.get("LoadState") == "not-found":
            raise NotFound(f"There is no service {name}", fix="Install it with `arvis service install`.")
        return {field: found.get(name_there, "") for field, name_there in _PROPERTIES.items()}

    def logs(self, name: str, data: Path, *, lines: int, follow: bool) -> Sequence[str]:  # noqa: ARG002 its signature
        scope = [] if self.system else ["--user"]
        return ["journalctl", *scope, f"--unit={name}.service", f"--lines={lines}", *(["--follow"] if follow else [])]

    @property
    def _command(self) -> list[str]:
        return ["systemctl", *([] if self.system else ["--user"])]

    def _systemctl(self, *arguments: str) -> bool:
        return _completed([*self._command, *arguments])


@dataclass(frozen=True, slots=True)
class Launchd:
    """Implements `ServiceManager` with launchd, the manager of macOS."""

    system: bool

    def file(self, name: str) -> Path:
        folder = Path("/Library/LaunchDaemons") if self.system else Path.home() / "Library" / "LaunchAgents"
        return folder / f"{launchd_label(name)}.plist"

    def text(self, service: Service) -> bytes:
        return launchd_plist(service)

    def start(self, name: str) -> bool:
        # Unload an earlier version of the service first. Otherwise launchd would continue to use its definition.
        subprocess.run(["launchctl", "bootout", self._target(name)], capture_output=True, check=False)  # noqa: S603, S607
        _completed(["launchctl", "enable", self._target(name)])
        return _completed(["launchctl", "bootstrap", self._domain, str(self.file(name))])

    def remove(self, name: str) -> None:
        if not self.file(name).exists():
            raise NotFound(f"There is no service {name}", fix=f"The file would be {self.file(name)}.")
        _completed(["launchctl", "bootout", self._target(name)])
        self.file(name).unlink()

    def status(self, name: str) -> Mapping[str, str]:
        lines = _output(["launchctl", "print", self._target(name)]).splitlines()
        pairs = dict(line.strip().partition(" = ")[::2] for line in lines)
        names = {"state": "state", "pid": "pid", "exit_code": "last exit code", "restarts": "runs"}
        return {field: pairs.get(name_there, "") for field, name_there in names.items()}

    def logs(self, name: str, data: Path, *, lines: int, follow: bool) -> Sequence[str]:  # noqa: ARG002 its signature
        return ["tail", "-n", str(lines), *(["-F"] if follow else []), str(output_file(data))]

    @property
    def _domain(self) -> str:
        return "system" if self.system else f"gui/{os.getuid()}"

    def _target(self, name: str) -> str:
        return f"{self._domain}/{launchd_label(name)}"


def _completed(command: Sequence[str]) -> bool:
    """Run a command. Return False if it has not ended in `_PATIENCE` seconds; the manager then continues its work."""
    try:
        _output(command)
    except subprocess.TimeoutExpired:
        return False
    return True


def _output(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - the manager's own programs
            command, capture_output=True, text=True, check=False, timeout=_PATIENCE
        )
    except OSError as error:
        raise ArvisError(f"`{command[0]}` cannot be run", why=error.strerror or str(error)) from error
    if done.returncode != 0:
        why = (done.stderr or done.stdout).strip() or _NO_TEXT
        raise ArvisError(f"`{' '.join(command)}` failed", why=why, fix="`arvis service logs` may show the cause.")
    return done.stdout
