"""`ARVIS__WEB__PORT=6000`: environment variables that win over the file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict

from arvis.config.problems import KeyPath, Problem, did_you_mean
from arvis.config.schema import ConfigFile

PREFIX = "ARVIS__"
DELIMITER = "__"


class _Overrides(ConfigFile, BaseSettings):
    """The keys of the file as pydantic-settings wants to see them; never instantiated."""

    model_config = SettingsConfigDict(extra="forbid", defer_build=True)


class _Source(EnvSettingsSource):
    """Reads the environment that it is given, not the one of the process. Lists and mappings are JSON; what is
    no JSON stays text, so that the check of the key itself can complain about it."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__(_Overrides, env_prefix=PREFIX, env_nested_delimiter=DELIMITER)
        self.env_vars = {name.lower(): value for name, value in environ.items()}

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:  # noqa: ARG002 - its signature
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value


class Overrides:
    """The values that the environment sets, and which variable set each key."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        ours = {name: value for name, value in environ.items() if name.upper().startswith(PREFIX)}
        self._variables = {_path(name): name for name in ours}
        self.problems = [_unknown(path) for path in self._variables if path[0] not in ConfigFile.model_fields]
        self.values: dict[str, Any] = _Source(ours)() if ours else {}

    def variable_of(self, path: KeyPath) -> str | None:
        """The variable that set this key or something above it."""
        for end in range(len(path), 0, -1):
            if path[:end] in self._variables:
                return self._variables[path[:end]]
        return None

    def over(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """`values` with the environment laid over them; lists are replaced whole."""
        return _merge(values, self.values)


def _path(name: str) -> KeyPath:
    return tuple(name[len(PREFIX) :].lower().split(DELIMITER))


def _unknown(path: KeyPath) -> Problem:
    return Problem(path, "is not a known key", did_you_mean(path[:1], list(ConfigFile.model_fields)))


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        if isinstance(value, dict):
            merged[key] = _merge(under if isinstance(under, dict) else {}, value)
        else:
            # The text `null` means null, as in the file.
            merged[key] = None if value == "null" else value
    return merged
