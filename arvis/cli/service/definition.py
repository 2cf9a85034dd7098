"""Writes the files that describe the service: a unit of systemd, or a property list of launchd.

The unit of a system service has most of systemd's protections. The remaining protections would break the sandbox in
which agents run programs (`arvis/process/sandbox.py`), because the sandbox mounts its own /proc and sets its own host
name. Therefore only the option `strict` adds them. The unit of a user's service has only the protections that need no
privileges.
"""

from __future__ import annotations

import plistlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from arvis.domain.dataclass import dataclass

#: The first line of a unit that this program may replace and remove.
MARK = "# Written by `arvis service install`. Change it with `systemctl edit`."

#: Seconds to stop: the daemon drains for 25 seconds, then sends the remaining deliveries.
_STOP_SECONDS = 45

#: Protections that the unit of a user's service can also have.
_UNPRIVILEGED = (
    "NoNewPrivileges=yes",
    "LockPersonality=yes",
    "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes",
    # AF_NETLINK: the sandbox of programs starts its loopback device with it.
    "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
    "SystemCallArchitectures=native",
    "SystemCallErrorNumber=EPERM",
)
_SANDBOX_CALLS = "SystemCallFilter=@system-service @mount sethostname"
_STRICT_CALLS = "SystemCallFilter=@system-service"
_PRIVILEGED = (
    "ProtectSystem=strict",
    "PrivateTmp=yes",
    "PrivateDevices=yes",
    "ProtectKernelModules=yes",
    "ProtectControlGroups=yes",
    "ProtectClock=yes",
    "CapabilityBoundingSet=",
    "AmbientCapabilities=",
    "KeyringMode=private",
    "RemoveIPC=yes",
)
#: Protections that break the sandbox of programs.
_STRICT = (
    "ProtectKernelTunables=yes",
    "ProtectKernelLogs=yes",
    "ProtectHostname=yes",
    "ProtectProc=invisible",
    "RestrictNamespaces=yes",
)
_HOMES = (Path("/home"), Path("/root"), Path("/run/user"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service. `system` is True for a service of the whole machine. `user` is the user that runs the service. If
    `user` is None, systemd creates a user for a system service, and the current user runs any other service."""

    name: str
    #: The program with its first arguments.
    program: Sequence[str]
    #: The Python interpreter that `program` starts.
    interpreter: Path
    config: Path | None
    data: Path
    #: A file with environment variables; it need not exist.
    variables: Path
    system: bool
    user: str | None = None
    strict: bool = False


def systemd_unit(service: Service) -> str:
    lines = [
        MARK,
        "[Unit]",
        f"Description=Arvis ({service.name})",
        "Wants=network-online.target",
        "After=network-online.target",
        "StartLimitIntervalSec=300",
        "StartLimitBurst=10",
        "",
        "[Service]",
        "Type=notify",
        f"ExecStart={' '.join(map(_word, service.program))} run {_places(service)}",
        f"WorkingDirectory={_path(service.data)}",
        f"EnvironmentFile=-{_path(service.variables)}",
        "Restart=on-failure",
        "RestartSec=2",
        "# 2: the configuration cannot be used. 3: another process uses the data folder. 5: the data was not upgraded.",
        "RestartPreventExitStatus=2 3 5",
        "# A start may wait for the database server.",
        "TimeoutStartSec=infinity",
        f"TimeoutStopSec={_STOP_SECONDS}",
        "WatchdogSec=120",
        "KillMode=mixed",
        "MemoryMax=75%",
        "UMask=0077",
        *_owner(service),
        "",
        *_protections(service),
        "",
        "[Install]",
        f"WantedBy={'multi-user.target' if service.system else 'default.target'}",
    ]
    return "\n".join(lines) + "\n"


def _places(service: Service) -> str:
    """Return the options for the configuration and the data. systemd passes the configuration of a system service as a
    credential, so that the file can stay private to root."""
    config = ""
    if service.config is not None:
        passed = "${CREDENTIALS_DIRECTORY}/config.yaml" if service.system else _word(str(service.config))
        config = f"--config {passed} "
    return f"{config}--data {_word(str(service.data))}"


def _owner(service: Service) -> Iterator[str]:
    if not service.system:
        return
    yield "DynamicUser=yes" if service.user is None else f"User={service.user}"
    if service.config is not None:
        yield f"LoadCredential=config.yaml:{_path(service.config)}"
    if service.data == state_folder(service.name):
        yield f"StateDirectory={service.name}"
        yield "StateDirectoryMode=0700"
    else:
        yield f"ReadWritePaths={_word(str(service.data))}"


def _protections(service: Service) -> Iterator[str]:
    yield from _UNPRIVILEGED
    yield _STRICT_CALLS if service.strict else _SANDBOX_CALLS
    if service.system:
        yield from _PRIVILEGED
        used = (Path(service.program[0]), service.interpreter, service.data)
        at_home = any(place.is_relative_to(home) for place in used for home in _HOMES)
        yield f"ProtectHome={'read-only' if at_home else 'yes'}"
        if service.strict:
            yield from _STRICT


def state_folder(name: str) -> Path:
    """Return the folder that systemd creates for the state of a system service."""
    return Path("/var/lib") / name


def _path(path: Path) -> str:
    return str(path).replace("%", "%%")


def _word(text: str) -> str:
    """Return a text as one word of a systemd command line."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if any(letter in text for letter in " \t'\"\\;") else escaped


def launchd_plist(service: Service) -> bytes:
    """Return the property list. launchd restarts the service unless it ends with the exit code 0."""
    config = [] if service.config is None else ["--config", str(service.config)]
    content: dict[str, object] = {
        "Label": launchd_label(service.name),
        "ProgramArguments": [*service.program, "run", *config, "--data", str(service.data)],
        "WorkingDirectory": str(service.data),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 30,
        "ExitTimeOut": _STOP_SECONDS,
        "ProcessType": "Background",
        "Umask": 0o077,
        "StandardOutPath": str(output_file(service.data)),
        "StandardErrorPath": str(output_file(service.data)),
    }
    if service.user is not None:
        content["UserName"] = service.user
    return plistlib.dumps(content)


def launchd_label(name: str) -> str:
    return f"local.{name}"


def output_file(data: Path) -> Path:
    """Return the file into which launchd writes the output of the service."""
    return data / "service.log"
