"""Checks that a daemon runs and answers, or that its port is free."""

from __future__ import annotations

import socket

from arvis import __version__
from arvis.cli.doctor.findings import Check, Group, Verdict, fail, failed, ok, warn
from arvis.cli.doctor.scene import Scene
from arvis.config import Web, is_loopback
from arvis.process.data_folder import Holder

_HOUR_MS = 3_600_000
_MANY_DEATHS = 3


def check_daemon(scene: Scene) -> Verdict:
    if scene.daemon is not None:
        return ok(f"A daemon runs as process {scene.daemon.pid}{_since(scene)}")
    if isinstance(scene.holder, Holder):
        why = f"Process {scene.holder.pid} is an Arvis command that is using the data folder."
        return warn("No daemon can run now", why, "Wait until that command has ended.")
    return warn("No daemon is running", "Messages are not answered until one runs.", "Start it with `arvis run`.")


def check_address(scene: Scene) -> Verdict | None:
    if scene.daemon is None:
        return None
    if scene.daemon.trouble is not None:
        return failed(scene.daemon.trouble)
    if scene.daemon.url is None:
        return ok("The daemon runs without the role `web`, so this command cannot query it")
    return ok(f"The daemon answers at {scene.daemon.url}")


def check_ready(scene: Scene) -> Verdict | None:
    if scene.daemon is None or scene.daemon.version is None:
        return None
    if scene.daemon.down:
        why = f"Down: {', '.join(scene.daemon.down)}."
        return fail("The daemon is not ready", why, f"Look at its log in {scene.folder / 'logs'}.")
    return ok("All parts of the daemon are ready")


def check_version(scene: Scene) -> Verdict | None:
    if scene.daemon is None or scene.daemon.version is None:
        return None
    if scene.daemon.version != __version__:
        why = f"The daemon runs version {scene.daemon.version}, and {__version__} is installed."
        return warn("The daemon runs another version than the installed one", why, "Restart the daemon.")
    return ok(f"The daemon runs the installed version, {__version__}")


def check_starts(scene: Scene) -> Verdict | None:
    """Report repeated crashes, because a service manager that restarts the daemon hides them."""
    if not scene.lives:
        return None
    living = scene.daemon.start if scene.daemon is not None else None
    died = [life for life in scene.lives if not life.ended and life != living]
    recently = [life for life in died if scene.now - life.at < _HOUR_MS]
    if len(recently) >= _MANY_DEATHS:
        why = f"It started {len(recently)} times within the last hour and ended without being stopped."
        return fail("The daemon crashes repeatedly", why, f"Read the last lines of the log in {scene.folder / 'logs'}.")
    return ok(f"Crashes within the last hour: {len(recently)}")


def _since(scene: Scene) -> str:
    """Return the running time of the daemon in words; an empty text if the daemon does not report it."""
    if scene.daemon is None or "process_start_time_seconds" not in scene.daemon.figures:
        return ""
    seconds = max(0, round(scene.now / 1000 - scene.daemon.figures["process_start_time_seconds"]))
    minutes, hours = seconds // 60, seconds // 3600
    return f" for {f'{hours} h' if hours > 1 else f'{minutes} min' if minutes > 1 else f'{seconds} s'}"


DAEMON = Group(
    "daemon",
    (
        Check("daemon", check_daemon),
        Check("daemon_address", check_address),
        Check("daemon_ready", check_ready),
        Check("daemon_version", check_version),
        Check("daemon_starts", check_starts),
    ),
)


# Checks that the port is free or used by the daemon, and that people can reach the daemon by the host names that they
# use.

_EVERYWHERE = {"0.0.0.0", "::"}  # noqa: S104 - compared with, never bound


def check_port(scene: Scene) -> Verdict | None:
    """If no daemon runs, check that a daemon could listen at the address. The check binds the address for a moment and
    does not listen."""
    web = scene.config.web
    if scene.daemon is not None or "web" not in scene.config.roles:
        return None
    if web.port == 0:
        return ok("The web server uses any free port")
    complaint = _refusal(web)
    if complaint:
        fix = (
            "Stop the program that uses the port, or set `web.port` to a free port (0: any) and `web.host` to an "
            "address of this machine."
        )
        return fail(f"The web server cannot listen at {web.host} port {web.port}", f"{complaint}.", fix)
    return ok(f"{web.host} port {web.port} is free")


def check_names(scene: Scene) -> Verdict | None:
    """If other machines can connect, check that host names are configured, because the daemon refuses requests for
    unknown host names."""
    web = scene.config.web
    if web.host.strip("[]") in _EVERYWHERE and not web.allowed_hosts and web.public_url is None:
        why = f"`web.host` is {web.host}, but no host name is configured under which other machines reach this one."
        fix = (
            "Set `web.public_url` to the address that people open, or list the host names of this machine in "
            "`web.allowed_hosts`."
        )
        return warn("Browsers on other machines are refused", why, fix)
    if is_loopback(web.host) and web.public_url is None:
        return ok("Only this machine can reach the web server")
    return ok("The host names for other machines are configured")


def _refusal(web: Web) -> str:
    """Return the reason why the address cannot be bound; an empty text if it can be bound."""
    try:
        found = socket.getaddrinfo(web.host.strip("[]"), web.port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        with socket.socket(family, kind, protocol) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(address)
    except OSError as error:
        return error.strerror or str(error)
    return ""


WEB = Group("web", (Check("web_port", check_port), Check("web_names", check_names)))
