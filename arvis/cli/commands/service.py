"""`arvis service`: install the daemon as a service of systemd or launchd, and manage it. The commands do not need the
daemon."""

from __future__ import annotations

import os
import pwd
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from arvis.cli.options import PlacedCommand, PrintingCommand, all_options
from arvis.cli.output import Output, fields, tell
from arvis.cli.service.definition import MARK, Service, state_folder
from arvis.cli.service.manager import ServiceManager, service_manager
from arvis.config import load, unset_variables
from arvis.domain.errors import ConfigError
from arvis.domain.regex import regex

_NAME = regex(r"[a-z][a-z0-9_-]{0,39}", re.ASCII)
_PLACEHOLDER = "set-in-the-environment-of-the-service"
_PRIVATE_FOLDER = 0o700


def _checked_name(text: str) -> str:
    if _NAME.fullmatch(text) is None:
        raise click.BadParameter("must begin with a letter, followed by up to 39 of a-z, 0-9, - and _")
    return text


#: The options of all commands of this group.
_which = all_options(
    click.option("--name", type=_checked_name, default="arvis", show_default=True, help="The name of the service."),
    click.option(
        "--system/--user",
        "system",
        default=None,
        help="A service of the whole machine or of the current user (default: --system for root, --user for others).",
    ),
)


@click.group()
def service() -> None:
    """Install Arvis as a service of systemd or launchd, and manage it."""


@service.command(cls=PlacedCommand)
@_which
@click.option("--run-as", metavar="USER", help="The user of a system service (default: a user that systemd creates).")
@click.option("--env-file", type=click.Path(path_type=Path), metavar="FILE", help="A file with environment variables.")
@click.option("--strict", is_flag=True, help="Add the protections with which agents cannot run programs.")
@click.option("--print", "only_print", is_flag=True, help="Print the definition of the service and change nothing.")
def install(
    *,
    name: str,
    system: bool | None,
    run_as: str | None,
    env_file: Path | None,
    strict: bool,
    only_print: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """Write the definition of the service, start the service, and enable its start at every boot.

    An existing service of this name is replaced. The configuration is checked first.
    """
    whole = _is_system(system)
    if run_as is not None and not whole:
        raise click.UsageError("--run-as needs --system.")
    file = _config_in_use(config)
    variables = env_file.absolute() if env_file is not None else _variables_file(name, system=whole)
    place = _data_folder(file, data, name, variables, system=whole)
    wanted = Service(
        name=name,
        program=_program(),
        interpreter=Path(sys.executable).resolve(),
        config=file,
        data=place,
        variables=variables,
        system=whole,
        user=run_as,
        strict=strict,
    )
    if whole:
        _check_user(wanted)
    manager = service_manager(system=whole)
    if only_print:
        click.echo(manager.text(wanted).decode(), nl=False)
        return
    _write(manager, wanted)
    _report(manager, wanted, running=manager.start(name))


@service.command(cls=PlacedCommand)
@_which
def uninstall(*, name: str, system: bool | None, config: Path | None, data: Path | None) -> None:  # noqa: ARG001 its options
    """Stop the service and remove it. The data and the configuration stay."""
    manager = service_manager(system=_is_system(system))
    manager.remove(name)
    click.echo(f"The service {name} is removed. Its data and its configuration are kept.")


@service.command(cls=PrintingCommand)
@_which
def status(*, name: str, system: bool | None, config: Path | None, data: Path | None) -> Output:  # noqa: ARG001 its options
    """Show the state of the service. The exit code is 1 if it does not run."""
    found = service_manager(system=_is_system(system)).status(name)
    running = found["state"] in {"active", "running"}
    return Output(found, fields({key: value for key, value in found.items() if value}), failed=not running)


@service.command(cls=PlacedCommand)
@_which
@click.option("--lines", type=click.IntRange(1), default=50, show_default=True, help="The number of lines.")
@click.option("--follow", "-f", is_flag=True, help="Wait for new lines.")
def logs(*, name: str, system: bool | None, lines: int, follow: bool, config: Path | None, data: Path | None) -> None:
    """Print the newest lines that the service has printed."""
    whole = _is_system(system)
    manager = service_manager(system=whole)
    place = _data_folder(_config_in_use(config), data, name, _variables_file(name, system=whole), system=whole)
    command = list(manager.logs(name, place, lines=lines, follow=follow))
    sys.exit(subprocess.run(command, check=False).returncode)  # noqa: S603 - the manager's own program


def _is_system(given: bool | None) -> bool:
    return os.geteuid() == 0 if given is None else given


def _config_in_use(config: Path | None) -> Path | None:
    """Return the absolute path of the file that `arvis run` would read in this folder."""
    file = config or Path("config.yaml")
    return file.absolute() if config is not None or file.exists() else None


def _variables_file(name: str, *, system: bool) -> Path:
    configured = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    folder = Path("/etc") if system else Path(configured)
    return folder / "arvis" / f"{name}.env"


def _data_folder(file: Path | None, data: Path | None, name: str, variables: Path, *, system: bool) -> Path:
    """Return the data folder, after a check of the configuration. The service does not have the environment of this
    command, so the variables that the configuration needs must be in the file of the service."""
    settings = load(file, data, {**os.environ, **dict.fromkeys(unset_variables(file, os.environ), _PLACEHOLDER)})
    if missing := unset_variables(file, _variables_in(variables)):
        tell(f"The configuration needs {', '.join(missing)}: write NAME=value lines into {variables} (mode 600).")
    is_default = data is None and "ARVIS_DATA_DIR" not in os.environ
    return state_folder(name) if system and is_default else settings.data_dir.absolute()


def _variables_in(file: Path) -> Mapping[str, str]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file} cannot be read", why=str(error), fix="Check its mode and its encoding.") from error
    return dict(line.strip().partition("=")[::2] for line in lines if not line.lstrip().startswith(("#", ";")))


def _program() -> list[str]:
    """Return the command that runs this Arvis."""
    script = Path(sys.executable).parent / "arvis"
    return [str(script)] if os.access(script, os.X_OK) else [sys.executable, "-m", "arvis"]


def _check_user(wanted: Service) -> None:
    """Raise `ConfigError` if the user of the service does not exist, or cannot reach the program."""
    if wanted.user is not None:
        try:
            pwd.getpwnam(wanted.user)
        except KeyError:
            fix = f"Create the user: useradd --system {wanted.user}"
            raise ConfigError(f"There is no user {wanted.user}", fix=fix) from None
        return
    if wanted.data != state_folder(wanted.name) and sys.platform != "darwin":
        raise ConfigError(
            "A system service with its own data folder needs a user",
            why=f"The user that systemd creates cannot own {wanted.data}.",
            fix="Name the owner of the folder with --run-as, or leave out --data.",
        )
    for program in (Path(wanted.program[0]), wanted.interpreter):
        private = [folder for folder in program.parents if not folder.stat().st_mode & 0o001]
        if private:
            raise ConfigError(
                f"The user of the service cannot run {program}",
                why=f"{private[-1]} is private.",
                fix="Install Arvis into a shared folder such as /opt/arvis, or name a user with --run-as.",
            )


def _write(manager: ServiceManager, wanted: Service) -> None:
    """Write the definition, and make the data folder if the service manager does not make it."""
    file, text = manager.file(wanted.name), manager.text(wanted)
    try:
        if file.exists() and file.suffix == ".service" and MARK.encode() not in file.read_bytes():
            raise ConfigError(
                f"{file} exists and was not written by Arvis", fix="Choose another --name, or remove the file."
            )
        if wanted.data != state_folder(wanted.name):
            wanted.data.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
            if wanted.user is not None and os.geteuid() == 0:
                user = pwd.getpwnam(wanted.user)
                os.chown(wanted.data, user.pw_uid, user.pw_gid)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text)
        file.chmod(0o644)
    except PermissionError as error:
        fix = "Run the command with sudo, or install a service of your own user with --user."
        raise ConfigError(f"{error.filename} cannot be written", why="Permission denied.", fix=fix) from error


def _report(manager: ServiceManager, wanted: Service, *, running: bool) -> None:
    scope = _scope_option(wanted)
    click.echo(f"The service {wanted.name} {'runs' if running else 'is still starting'}: {manager.file(wanted.name)}")
    for key, value in _places(wanted).items():
        click.echo(f"{key}: {value}")
    click.echo(f"Log in with the link of `arvis login --data {wanted.data}`. See also `arvis service status{scope}`.")
    if not wanted.system and sys.platform != "darwin":
        click.echo("To run it also while you are logged out: loginctl enable-linger")


def _scope_option(wanted: Service) -> str:
    return "" if wanted.system == (os.geteuid() == 0) else f" --{'system' if wanted.system else 'user'}"


def _places(wanted: Service) -> Mapping[str, object]:
    found = {"data": wanted.data, "configuration": wanted.config, "environment variables": wanted.variables}
    return {key: value for key, value in found.items() if value is not None}
