"""The daemon: one runs, answers, and is the one that this command belongs to."""

from __future__ import annotations

from arvis import __version__
from arvis.cli.doctor.findings import Check, Group, Verdict, fail, failed, ok, warn
from arvis.cli.doctor.scene import Scene
from arvis.process.data_folder import Holder

_HOUR_MS = 3_600_000
_MANY_DEATHS = 3


def check_daemon(scene: Scene) -> Verdict:
    if scene.daemon is not None:
        return ok(f"A daemon runs as process {scene.daemon.pid}{_since(scene)}")
    if isinstance(scene.holder, Holder):
        why = f"Process {scene.holder.pid} is a command of Arvis that works in the data folder."
        return warn("No daemon can run now", why, "Wait until that command has ended.")
    return warn("No daemon is running", "Nothing is answered meanwhile.", "Start it with `arvis run`.")


def check_address(scene: Scene) -> Verdict | None:
    if scene.daemon is None:
        return None
    if scene.daemon.trouble is not None:
        return failed(scene.daemon.trouble)
    if scene.daemon.url is None:
        return ok("The web is not among the roles of the daemon, so it cannot be asked")
    return ok(f"It answers at {scene.daemon.url}")


def check_ready(scene: Scene) -> Verdict | None:
    if scene.daemon is None or scene.daemon.version is None:
        return None
    if scene.daemon.down:
        why = f"Down: {', '.join(scene.daemon.down)}."
        return fail("The daemon is not ready", why, f"Look at its log in {scene.folder / 'logs'}.")
    return ok("Everything in it is up")


def check_version(scene: Scene) -> Verdict | None:
    if scene.daemon is None or scene.daemon.version is None:
        return None
    if scene.daemon.version != __version__:
        why = f"It is {scene.daemon.version}, and {__version__} is installed."
        return warn("The daemon is of another version", why, "Restart it.")
    return ok(f"It is of this version, {__version__}")


def check_starts(scene: Scene) -> Verdict | None:
    """A service that starts it again and again hides that it dies."""
    if not scene.lives:
        return None
    living = scene.daemon.start if scene.daemon is not None else None
    died = [life for life in scene.lives if not life.ended and life != living]
    recently = [life for life in died if scene.now - life.at < _HOUR_MS]
    if len(recently) >= _MANY_DEATHS:
        why = f"{len(recently)} of its starts within the last hour ended without a stop."
        return fail("The daemon dies again and again", why, f"Look at the last lines in {scene.folder / 'logs'}.")
    return ok(f"Starts within the last hour that ended without a stop: {len(recently)}")


def _since(scene: Scene) -> str:
    """Return how long it has been running, if it reports that."""
    if scene.daemon is None or "process_start_time_seconds" not in scene.daemon.figures:
        return ""
    seconds = max(0, round(scene.now / 1000 - scene.daemon.figures["process_start_time_seconds"]))
    minutes, hours = seconds // 60, seconds // 3600
    return f" for {f'{hours} h' if hours > 1 else f'{minutes} min' if minutes > 1 else f'{seconds} s'}"


GROUP = Group(
    "daemon",
    (
        Check("daemon", check_daemon),
        Check("daemon_address", check_address),
        Check("daemon_ready", check_ready),
        Check("daemon_version", check_version),
        Check("daemon_starts", check_starts),
    ),
)
