"""Runs the checks of `arvis doctor`, group by group. Failures come first, then warnings. Causes come before their
consequences, so people should fix the first failure first. To add a check, write a function in the file of its group;
to add a group, extend `GROUPS`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from arvis.cli.doctor import accounts, bots, configuration, daemon, database, machine, optional_parts, security
from arvis.cli.doctor.findings import Finding, Group, Status, failed
from arvis.cli.doctor.scene import PLACEHOLDER, Scene, System, gather
from arvis.config import Config, load, load_usable, unset_variables
from arvis.config.stored import sift, stored_changes
from arvis.domain.dataclass import dataclass, replace
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


#: The groups that are checked if the configuration cannot be loaded. All other groups would only report consequences of
#: this error.
_WITHOUT_CONFIGURATION = (
    machine.MACHINE,
    machine.FOLDER,
    database.DATABASE,
    database.BACKUPS,
    daemon.DAEMON,
    bots.GROUP,
    database.QUEUE,
    security.GROUP,
)
_ORDER = (Status.FAIL, Status.WARN, Status.OK)


@dataclass(frozen=True, slots=True)
class Examination:
    """The findings, failures first and warnings second, and the input from which they were made."""

    findings: list[Finding]
    scene: Scene


def examine(
    config: Path | None,
    data: Path | None,
    environ: Mapping[str, str],
    *,
    system: System,
    now: int,
    only: str | None = None,
) -> Examination:
    """Run all checks, or the checks of the group `only`. If the configuration cannot be loaded, use its valid keys, and
    check only the groups in `_WITHOUT_CONFIGURATION`. Raise `ConfigError` if the data folder is unusable."""
    groups: Sequence[Group] = GROUPS
    broken: list[Finding] = []
    try:
        settings, environ, unset = _load(config, data, environ)
    except ConfigError as error:
        groups, unset = _WITHOUT_CONFIGURATION, ()
        broken = [Finding.of("configuration", configuration.GROUP.name, failed(error))]
        settings = load_usable(config, data, environ)
    scene = gather(settings, unset=unset, system=system, now=now)
    if scene.records is not None:
        stored = sift(settings, environ, stored_changes(scene.records.settings)) if not broken else None
        scene = replace(scene, config=stored.config if stored is not None else settings, stored=stored)
    chosen = [group for group in groups if only is None or group.name == only]
    looks = ((group.name, check.id, check.look(scene)) for group in chosen for check in group.checks)
    found = [Finding.of(check_id, group, verdict) for group, check_id, verdict in looks if verdict is not None]
    return Examination(sorted([*broken, *found], key=lambda finding: _ORDER.index(finding.status)), scene)


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
