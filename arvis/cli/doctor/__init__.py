"""Runs the checks of `arvis doctor`, group by group. Causes are checked before their consequences, so people should fix
the first failed check first. To add a check, write a function in the file of its group; to add a group, extend
`GROUPS`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from arvis.cli.doctor import accounts, bots, configuration, daemon, database, machine, optional_parts, security
from arvis.cli.doctor.findings import Finding, failed
from arvis.cli.doctor.scene import PLACEHOLDER, System, gather
from arvis.config import Config, load, unset_variables
from arvis.config.stored import sift, stored_changes
from arvis.domain.dataclass import replace
from arvis.domain.errors import ConfigError

GROUPS = (
    configuration.GROUP,
    machine.MACHINE,
    machine.FOLDER,
    database.DATABASE,
    database.BACKUPS,
    daemon.DAEMON,
    daemon.WEB,
    accounts.GROUP,
    bots.GROUP,
    optional_parts.TOOLS,
    optional_parts.SPEECH,
    optional_parts.TELEMETRY,
    database.QUEUE,
    security.GROUP,
)


def examine(
    config: Path | None,
    data: Path | None,
    environ: Mapping[str, str],
    *,
    system: System,
    now: int,
    only: str | None = None,
) -> list[Finding]:
    """Return the findings of all checks, or of the checks of the group `only`. If the configuration cannot be loaded,
    return only this finding, because no other check is possible."""
    try:
        settings, environ, unset = _load(config, data, environ)
    except ConfigError as error:
        return [Finding.of("configuration", configuration.GROUP.name, failed(error))]
    scene = gather(settings, unset=unset, system=system, now=now)
    if scene.records is not None:
        stored = sift(settings, environ, stored_changes(scene.records.settings))
        scene = replace(scene, config=stored.config, stored=stored)
    chosen = [group for group in GROUPS if only is None or group.name == only]
    looks = ((group.name, check.id, check.look(scene)) for group in chosen for check in group.checks)
    return [Finding.of(check_id, group, verdict) for group, check_id, verdict in looks if verdict is not None]


def _load(
    config: Path | None, data: Path | None, environ: Mapping[str, str]
) -> tuple[Config, Mapping[str, str], tuple[str, ...]]:
    """Return the configuration, its environment, and the unset variables to which it refers. Each unset variable gets a
    placeholder, so that all other checks can run. The variable may be set in the daemon's environment."""
    try:
        return load(config, data, environ), environ, ()
    except ConfigError as error:
        unset = unset_variables(config, environ)
        try:
            filled = {**environ, **dict.fromkeys(unset, PLACEHOLDER)}
            return load(config, data, filled), filled, unset
        except ConfigError:
            raise error from None
