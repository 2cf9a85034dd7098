"""Applies the settings that people changed in the dashboard to the configuration.

A value that is no longer valid does not prevent a start. It is skipped, and the daemon reports the reason.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from arvis.config.catalog import Setting, catalog, with_values_of
from arvis.config.loading import Loaded, OriginKind, look
from arvis.config.schema import Config
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ConfigError

#: The key in the table `settings` under which these values are stored. The stored text is a JSON object by dotted key.
KEY = "config.changes"

Changes = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sifted:
    """The configuration of a start, with the stored values that can and cannot be used."""

    config: Config
    #: The stored values that can be used.
    usable: Changes
    #: The keys of the usable values that no environment variable overrides.
    effective: Sequence[str]
    #: The keys of the stored values that cannot be used, each with the reason.
    problems: Mapping[str, str]


def stored_changes(text: str | None) -> Changes:
    """Return the stored values. If the text is not a JSON object, return no values."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def settings_with(given: Config, changes: Changes) -> Sequence[Setting]:
    """Return all settings, including the settings of platforms that only the configuration or these changes name."""
    named = [key.split(".")[1] for key in changes if key.startswith("owners.") and key.count(".") == 1]
    return catalog([*given.owners, *named])


def sift(given: Config, environ: Mapping[str, str], changes: Changes) -> Sifted:
    """Return the configuration with all stored values that can be used. `given` is the configuration from the file and
    the environment."""
    if not changes:
        return Sifted(given, {}, (), {})
    known = {setting.key: setting for setting in settings_with(given, changes)}
    wanted = {key: value for key, value in changes.items() if key in known and not known[key].fixed}
    problems = {key: "This setting cannot be changed in the dashboard." for key in changes if key not in wanted}
    loaded: Loaded | None
    try:
        loaded = look(given, environ, wanted)
    except ConfigError:
        loaded, wanted, refused = _one_by_one(given, environ, wanted)
        problems |= refused
    if loaded is None:
        return Sifted(given, {}, (), problems)
    effective = [key for key in wanted if loaded.origin(known[key].path).kind is not OriginKind.ENVIRONMENT]
    return Sifted(with_values_of(given, loaded.config, effective), wanted, effective, problems)


def _one_by_one(
    given: Config, environ: Mapping[str, str], wanted: Changes
) -> tuple[Loaded | None, dict[str, Any], dict[str, str]]:
    usable: dict[str, Any] = {}
    problems: dict[str, str] = {}
    found: Loaded | None = None
    for key, value in wanted.items():
        try:
            found = look(given, environ, {**usable, key: value})
        except ConfigError as error:
            problems[key] = f"{error.what}. {error.fix}".strip()
        else:
            usable[key] = value
    return found, usable, problems
