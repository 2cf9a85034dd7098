"""Derives the catalog of settings from the declarations of the sections. For each setting, the catalog contains the
key, kind, limits, default and description, and states where and when it can be changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import Any

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from arvis.config.declarations import Section, notes_of
from arvis.config.schema import SQLITE, Config, ConfigFile
from arvis.config.values import duration_text
from arvis.domain.dataclass import dataclass

SET, NOT_SET = "set", "not set"

_DATABASE = "database"
#: The notes that a section passes to its keys.
_FOR_ALL_KEYS = ("file_only", "at_once", "own_page")


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
    """A key of the configuration, in the form in which the API and the dashboard show it."""

    key: str
    kind: Kind
    default: Any
    #: The description of the setting.
    words: str
    #: True if the key has no default and must be written.
    required: bool = False
    #: The permitted texts. If the setting is a list, its value is a list or one of these texts.
    choices: Sequence[str] = ()
    minimum: float | None = None
    #: True if the value must be larger than the minimum.
    above_minimum: bool = False
    maximum: float | None = None
    #: True if the value may be null.
    nullable: bool = False
    #: The reason why the dashboard cannot change the setting; empty if the dashboard can change it.
    fixed: str = ""
    #: True if a change takes effect without a restart.
    at_once: bool = False
    #: True if a separate page of the dashboard shows the setting.
    own_page: bool = False

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(self.key.split("."))

    def value_in(self, config: Config) -> Any:
        """Return the value in the form of the file. For a secret, return only the text `set` or `not set`."""
        return _written(self.key, self.kind, _at(config, self.path))


def catalog(platforms: Iterable[str] = ()) -> Sequence[Setting]:
    """Return the settings that have no page of their own, in the order of the file. `platforms` are additional
    platforms that can have owners."""
    return tuple(setting for setting in settings_of(ConfigFile, platforms=platforms) if not setting.own_page)


def keys_at_once() -> Sequence[str]:
    """Return the keys whose changes take effect without a restart. Unlike `catalog`, this function builds no schema,
    because this would delay each start."""
    declared = _declared(ConfigFile, (), {})
    return [".".join(path) for path, _, _, notes in declared if notes.get("at_once") and not notes.get("file_only")]


def settings_of(
    section: type[BaseModel], above: tuple[str, ...] = (), *, platforms: Iterable[str] = ()
) -> Iterator[Setting]:
    """Yield the settings of a section and of the sections in it. `above` is the key of the section."""
    for path, owner, field, notes in _declared(section, above, {}):
        schema, words = _schema_of(owner, path[-1]), field.description or ""
        if usual := notes.get("keys"):
            for key in dict.fromkeys((*usual, *platforms)):
                about = usual[key][1] if key in usual else words
                yield _setting((*path, key), schema["additionalProperties"], (), about, notes)
        elif field.is_required():
            yield _setting(path, schema, None, words, {**notes, "required": True})
        else:
            yield _setting(path, schema, field.get_default(call_default_factory=True), words, notes)


def _declared(
    section: type[BaseModel], above: tuple[str, ...], inherited: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, ...], type[BaseModel], FieldInfo, Mapping[str, Any]]]:
    """Yield for each key: its path, the section that declares it, its declaration, and its notes. The notes include the
    notes of all sections that contain the key."""
    for name, field in section.model_fields.items():
        path, notes = (*above, name), {**inherited, **notes_of(field)}
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, Section):
            yield from _declared(inner, path, {note: notes[note] for note in _FOR_ALL_KEYS if note in notes})
        else:
            yield path, section, field, notes


@cache
def _schema() -> Mapping[str, Any]:
    return ConfigFile.model_json_schema()


def _schema_of(section: type[BaseModel], name: str) -> Mapping[str, Any]:
    schema = _schema() if section is ConfigFile else _schema()["$defs"][section.__name__]
    found: Mapping[str, Any] = schema["properties"][name]
    return found


def _resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema. If it refers to a definition, add the content of the definition."""
    name = schema.get("$ref", "").rpartition("/")[2]
    return {**_schema()["$defs"][name], **schema} if name else schema


def _setting(
    path: tuple[str, ...], schema: Mapping[str, Any], default: Any, words: str, notes: Mapping[str, Any]
) -> Setting:
    key = ".".join(path)
    forms = [_resolved(form) for form in schema.get("anyOf", [schema])]
    real = [form for form in forms if form.get("type") != "null"]
    bounds = {name: value for form in real for name, value in form.items() if name in (*_LOWEST, *_HIGHEST)}
    lowest = next((name for name in _LOWEST if name in bounds), "")
    kind = _kind(key, real)
    fixed = notes.get("file_only", "")
    return Setting(
        key=key,
        kind=kind,
        default=_written(key, kind, default),
        words=words,
        required=notes.get("required", False),
        choices=tuple(str(value) for form in real for value in form.get("enum", ())),
        minimum=bounds.get(lowest),
        above_minimum=lowest in _ABOVE,
        maximum=next((bounds[name] for name in _HIGHEST if name in bounds), None),
        nullable=len(real) < len(forms),
        fixed=fixed,
        at_once=not fixed and notes.get("at_once", False),
        own_page=notes.get("own_page", False),
    )


#: The names of limits in pydantic's JSON schema. If both a type and its key have a limit, the limit of the key has the
#: first of these names and takes effect.
_ABOVE = ("exclusiveMinimum", "gt")
_LOWEST = ("minimum", "ge", *_ABOVE)
_HIGHEST = ("maximum", "le")


def _kind(key: str, forms: Sequence[Mapping[str, Any]]) -> Kind:
    if key != _DATABASE and any(_is_secret(form) for form in forms):
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
    """Return True if a value is secret or contains secret values."""
    inner = [form.get("additionalProperties"), form.get("items"), *form.get("properties", {}).values()]
    return form.get("format") == "password" or any(
        _is_secret(_resolved(each)) for each in inner if isinstance(each, Mapping)
    )


def _written(key: str, kind: Kind, value: Any) -> Any:
    """Return a value of the configuration as plain JSON, without secrets."""
    if kind is Kind.SECRET:
        return SET if value else NOT_SET
    if key == _DATABASE and isinstance(value, SecretStr):
        # An address may contain a password, so only the kind of database is shown.
        return SQLITE if value.get_secret_value() == SQLITE else "postgresql"
    if kind is Kind.DURATION and isinstance(value, int):
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
    """Return `config` with the values that `other` has for these keys."""
    for key in keys:
        config = _replaced(config, tuple(key.split(".")), _at(other, key.split(".")))
    return config


def _replaced(part: Any, path: tuple[str, ...], value: Any) -> Any:
    name, *rest = path
    if rest:
        value = _replaced(part[name] if isinstance(part, dict) else getattr(part, name), tuple(rest), value)
    return {**part, name: value} if isinstance(part, dict) else part.model_copy(update={name: value})
