"""Defines how a section of `config.yaml` declares its keys.

A key is declared once, with its type, limits, default, description, and where and when it can be changed. The catalog
of settings, `config.yaml`, the reference in `docs/how-to/settings.md` and `arvis init` are derived from this
declaration.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo

T = TypeVar("T")


class Section(BaseModel):
    """A part of the configuration. It is frozen, and unknown keys are errors."""

    # pydantic builds the validator of a section at its first use. The start needs only the validator of the whole file,
    # which includes the validators of all sections.
    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, protected_namespaces=(), defer_build=True
    )

    @classmethod
    def defaults(cls) -> Self:
        """Return a section with only default values, without a check."""
        return cls.model_construct()


def setting(
    default: T,
    words: str = "",
    *,
    more: str = "",
    examples: Sequence[str] = (),
    keys: Mapping[str, tuple[Any, str]] | None = None,
    file_only: str = "",
    at_once: bool = False,
    own_page: bool = False,
    ge: float | None = None,
    le: float | None = None,
) -> T:
    """Declare a key with its default, its description and its limits. A key without a default is declared with
    pydantic's `Field(description=…)`.

    `more` contains further sentences for `config.yaml`, and `examples` contains further lines. `keys` are the usual
    keys of a mapping, each with the value that `config.yaml` shows and its description. `file_only` is the reason why
    the dashboard cannot change the key, and `at_once` is True if a change takes effect without a restart. For a
    section, both apply to all its keys. Code that uses a key with `at_once` must read `SettingsService.current()` at
    each use, because the configuration of the start does not change. `own_page` is True if a separate page shows the
    key; the catalog then omits the key.
    """
    notes: dict[str, Any] = {
        "more": more,
        "examples": examples,
        "keys": keys,
        "file_only": file_only,
        "at_once": at_once,
        "own_page": own_page,
    }
    declared: T = Field(
        default,
        description=words or None,
        ge=ge,
        le=le,
        json_schema_extra={name: value for name, value in notes.items() if value} or None,
    )
    return declared


def notes_of(field: FieldInfo) -> Mapping[str, Any]:
    """Return the notes that `setting` has stored about a key: everything except default, limits and description."""
    notes = field.json_schema_extra
    return notes if isinstance(notes, dict) else {}


def section_in(annotation: Any) -> type[BaseModel] | None:
    """Return the section of a type such as `Web`, `tuple[AgentEntry, ...]` or `dict[str, PriceEntry]`; None if it
    contains no section."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (section_in(argument) for argument in get_args(annotation))
    return next((section for section in inner if section is not None), None)


def declaration(root: type[BaseModel], key: str) -> FieldInfo:
    """Return the declaration of a key below `root`, such as `web.port` or `agents.prompt`."""
    *above, name = key.split(".")
    section = root
    for part in above:
        section = section_in(section.model_fields[part].annotation) or section
    return section.model_fields[name]


# The lines of a configuration file. The description of a key is a comment, either behind the key or above it.

#: The column of comments behind keys, and the width of the text of comments above keys.
_COLUMN, _WIDTH = 32, 126


def with_comment(text: str, comment: str | None) -> str:
    """Return a line of a configuration file with its comment."""
    return f"{text:<{_COLUMN - 1}} # {comment}" if comment else text


def comment_above(field: FieldInfo) -> Sequence[str]:
    """Return the description of a key and its further sentences as lines of a comment."""
    words = field.description or ""
    text = f"{words[:1].upper()}{words[1:]}. {notes_of(field).get('more', '')}"
    return [f"# {line}" for line in textwrap.wrap(text, _WIDTH, break_on_hyphens=False)]
