"""The running daemon's own reports: version, readiness, metrics.

The daemon is asked, because the environment of this command may differ from the daemon's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from arvis.cli.api_client import daemon_url, left_in, request
from arvis.cli.doctor.journal import Start
from arvis.config import Config
from arvis.domain.errors import ArvisError, ConfigError, DaemonUnreachable
from arvis.process.data_folder import Holder, address_file, api_key_file

#: Seconds that one answer may take.
_TIMEOUT = 3.0

_WAIT = "If it has just started, wait a moment; else look at its log, and start it again."

_WORDS = {"database": "the database", "disk": "room on the disk", "eventLoop": "the event loop"}

_OK = 200
_NOT_KNOWN = 401


@dataclass(frozen=True, slots=True)
class DaemonView:
    """A daemon that holds the data folder. `url` is None if it does not run the role `web`; `trouble` is the reason
    why it could not be asked. `down` names the parts that are not ready, `figures` are the metrics of its process,
    `start` is the entry of this start in its log."""

    pid: int
    url: str | None
    start: Start | None
    version: str | None = None
    down: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    trouble: ArvisError | None = None


def ask(config: Config, holder: Holder, lives: list[Start]) -> DaemonView:
    """One look at the daemon; what cannot be learned is left out."""
    start = next((life for life in lives if life.boot_id == holder.boot_id), None)
    # It may have been started with other roles than the configuration names.
    roles = config.roles if start is None else start.roles
    if "web" not in roles and not address_file(config.data_dir).exists():
        return DaemonView(holder.pid, None, start)
    url = daemon_url(config)
    try:
        health = request(url, "GET", "/health", timeout=_TIMEOUT)
        match health.data:
            case {"status": "ok", "version": str(version)}:
                figures = _figures(url, api_key_file(config.data_dir))
                return DaemonView(holder.pid, url, start, version=version, down=_down(url), figures=figures)
            case _:
                raise _stranger(url)
    except DaemonUnreachable as error:
        # That it runs is known: the usual advice, to start it, would mislead.
        trouble = DaemonUnreachable(error.what, why=error.why, fix=_WAIT)
        return DaemonView(holder.pid, url, start, trouble=trouble)
    except ConfigError as error:
        return DaemonView(holder.pid, url, start, trouble=error)


def _down(url: str) -> tuple[str, ...]:
    """Return the reasons why it is not ready, as text."""
    match request(url, "GET", "/ready", timeout=_TIMEOUT).data:
        case {"ready": bool(ready), "roles": dict(roles), **parts}:
            down = [f"the role {name}" for name, up in roles.items() if not up]
            down += [_WORDS.get(str(name), str(name)) for name, well in parts.items() if well is False]
            return () if ready else tuple(down or ["something that it does not name"])
        case _:
            raise _stranger(url)


def _figures(url: str, key_file: Path) -> Mapping[str, float]:
    answer = request(url, "GET", "/metrics", key=left_in(key_file), timeout=_TIMEOUT, decode=bytes.decode)
    if answer.status == _NOT_KNOWN:
        raise DaemonUnreachable(f"Another Arvis answers at {url}", why="It does not know the key of this data folder.")
    return dict(_plain_figures(answer.data)) if answer.status == _OK else {}


def _plain_figures(text: str) -> Iterator[tuple[str, float]]:
    """Those without labels, of Prometheus's text."""
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name.isidentifier() and not line.startswith("#"):
            yield name, float(value)


def _stranger(url: str) -> DaemonUnreachable:
    return DaemonUnreachable(f"What answers at {url} is not Arvis", why="It speaks of other things.")
