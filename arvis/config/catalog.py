"""Every setting as something that can be shown and set: its key, its kind, what it is, and who may change it where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from arvis.config.alert_channel import ALERT_CHANNEL
from arvis.config.schema import SQLITE, Config, ConfigFile
from arvis.config.sections import Section
from arvis.config.values import duration_text
from arvis.config.words import WORDS

SET, NOT_SET = "set", "not set"

#: These sections have a page and a list of their own.
_ELSEWHERE = frozenset({"accounts", "agents", "bots", "mcp"})
_OWNERS, _DATABASE = "owners", "database"
_PLATFORMS = ("discord", "telegram", "slack", "web", ALERT_CHANNEL)

#: Sections of which nothing can be changed in the product, and why.
_FILE_ONLY: Mapping[str, str] = {
    "data_dir": "It is the location of all other data.",
    "database": "It is the location of all other data.",
    "encryption_key": "A secret is named in config.yaml or the environment.",
    "roles": "It selects the parts that this process runs.",
    "web": "A wrong value would shut you out of this page.",
    "tools": "It decides what agents may reach on this machine and network.",
    "telemetry": "It says where traces of all activity are sent.",
}
#: The same for single keys.
_KEYS_FILE_ONLY: Mapping[str, str] = {
    "speech.api_key": "A secret is named in config.yaml or the environment.",
    "speech.base_url": "A stored key would be sent to the new address.",
    "speech.stt.command": "It names a program that runs on this machine.",
    "speech.stt.model": "It may name a file on this machine.",
    "speech.tts.command": "It names a program that runs on this machine.",
}
#: The daemon reads these on each use, so a change takes effect immediately. All others are read at the start.
_AT_ONCE = ("budgets.", "routing.", "approvals.policy")


class Kind(StrEnum):
    BOOLEAN = "boolean"
    INTEGER = "integer"
    NUMBER = "number"
    TEXT = "text"
    CHOICE = "choice"
    DURATION = "duration"
    LIST = "list"
    MAPPING = "mapping"
    SECRET = "secret"  # noqa: S105 - a kind of value


@dataclass(frozen=True, slots=True)
class Setting:
    """One key of the configuration, as the API and the dashboard show it. `nullable`: it may be null. `fixed` is the
    reason why it cannot be changed in the dashboard ("" if it can), `at_once` is true if a change takes effect
    without a restart. A list may also be one of `choices` if it has some."""

    key: str
    kind: Kind
    default: Any
    choices: Sequence[str] = ()
    minimum: float | None = None
    maximum: float | None = None
    nullable: bool = False
    fixed: str = ""
    at_once: bool = False

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(self.key.split("."))

    @property
    def words(self) -> str:
        return WORDS.get(self.key, "user ids with full rights" if self.path[0] == _OWNERS else "")

    def value_in(self, config: Config) -> Any:
        """As it would be written; of a secret only whether there is one."""
        return written(self, _at(config, self.path))


@cache
def _schema() -> Mapping[str, Any]:
    return ConfigFile.model_json_schema()


def catalog(platforms: Iterable[str] = ()) -> Sequence[Setting]:
    """In the order of the file. `platforms` are further ones that have owners."""
    return tuple(_settings(ConfigFile, (), platforms))


def _settings(section: type[BaseModel], above: tuple[str, ...], platforms: Iterable[str]) -> Iterator[Setting]:
    for name, field in section.model_fields.items():
        path = (*above, name)
        inner = field.annotation
        if not above and name in _ELSEWHERE:
            continue
        if path == (_OWNERS,):
            names = dict.fromkeys((*_PLATFORMS, *platforms))
            yield from (_setting((*path, each), {"type": "array"}, ()) for each in names)
        elif isinstance(inner, type) and issubclass(inner, Section):
            yield from _settings(inner, path, platforms)
        else:
            yield _setting(path, _schema_of(section, above, name), _default(field))


def _schema_of(section: type[BaseModel], above: tuple[str, ...], name: str) -> Mapping[str, Any]:
    whole = _schema()
    found: Mapping[str, Any] = (whole if not above else whole["$defs"][section.__name__])["properties"][name]
    return found


def _default(field: FieldInfo) -> Any:
    return field.get_default(call_default_factory=True)


def _setting(path: tuple[str, ...], schema: Mapping[str, Any], default: Any) -> Setting:
    key = ".".join(path)
    forms = schema.get("anyOf", [schema])
    real = [form for form in forms if form.get("type") != "null"]
    bounds = {name: value for form in real for name, value in form.items() if name in _BOUNDS}
    fixed = _KEYS_FILE_ONLY.get(key) or _FILE_ONLY.get(path[0], "")
    setting = Setting(
        key=key,
        kind=_kind(key, real),
        default=None,
        choices=tuple(str(value) for form in real for value in form.get("enum", ())),
        minimum=next((bounds[name] for name in ("minimum", "ge", "exclusiveMinimum", "gt") if name in bounds), None),
        maximum=next((bounds[name] for name in ("maximum", "le") if name in bounds), None),
        nullable=len(real) < len(forms),
        fixed=fixed,
        at_once=not fixed and key.startswith(_AT_ONCE),
    )
    return _with_default(setting, default)


_BOUNDS = frozenset({"minimum", "ge", "exclusiveMinimum", "gt", "maximum", "le"})


def _with_default(setting: Setting, default: Any) -> Setting:
    fields = {name: getattr(setting, name) for name in Setting.__slots__}
    return Setting(**{**fields, "default": written(setting, default)})


def _kind(key: str, forms: Sequence[Mapping[str, Any]]) -> Kind:
    if key == "web.api_keys" or (key != _DATABASE and any(_is_secret(form) for form in forms)):
        return Kind.SECRET
    kinds = {form.get("type") for form in forms}
    if "array" in kinds:
        return Kind.LIST
    if "object" in kinds:
        return Kind.MAPPING
    if any("enum" in form for form in forms):
        return Kind.CHOICE
    if any(form.get("format") == "duration" for form in forms):
        return Kind.DURATION
    return next((kind for kind in (Kind.BOOLEAN, Kind.INTEGER, Kind.NUMBER) if kind.value in kinds), Kind.TEXT)


def _is_secret(form: Mapping[str, Any]) -> bool:
    """Also of a mapping whose values are."""
    within = form.get("additionalProperties")
    return form.get("format") == "password" or (isinstance(within, Mapping) and within.get("format") == "password")


def written(setting: Setting, value: Any) -> Any:
    """A value of the configuration as plain JSON; a secret never leaves."""
    if setting.kind is Kind.SECRET:
        return SET if value else NOT_SET
    if setting.key == _DATABASE and isinstance(value, SecretStr):
        # An address may hold a password, so only its kind is shown.
        return SQLITE if value.get_secret_value() == SQLITE else "postgresql"
    if setting.kind is Kind.DURATION and isinstance(value, int):
        return duration_text(value)
    return _plain(value)


def _plain(value: Any) -> Any:
    match value:
        case SecretStr():
            return SET
        case BaseModel():
            return value.model_dump(mode="json")
        case StrEnum():
            return str(value)
        case tuple() | list():
            return [_plain(item) for item in value]
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)


def _at(config: BaseModel, path: Sequence[str]) -> Any:
    value: Any = config
    for name in path:
        value = value.get(name, ()) if isinstance(value, dict) else getattr(value, name)
    return value


def with_values_of(config: Config, other: Config, keys: Iterable[str]) -> Config:
    """`config`, but with what `other` has for these keys."""
    for key in keys:
        config = _replaced(config, tuple(key.split(".")), _at(other, key.split(".")))
    return config


def _replaced(part: Any, path: tuple[str, ...], value: Any) -> Any:
    name, *rest = path
    if rest:
        value = _replaced(part[name] if isinstance(part, dict) else getattr(part, name), tuple(rest), value)
    return {**part, name: value} if isinstance(part, dict) else part.model_copy(update={name: value})
