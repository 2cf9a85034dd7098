"""The front matter of `SKILL.md` by the specification of Agent Skills (agentskills.io/specification), and its rules.

The rules are those of the specification and of its reference validator, with four differences. A name consists of ASCII
characters only, because a letter that looks like another letter could imitate a skill. A field that the specification
does not have is ignored with a warning, because published skills contain fields of other programs. A `license` or an
entry of `metadata` that is not a text is ignored with a warning, too. An empty `compatibility` is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.regex import regex

#: The name of the file of a skill. `SKILL_FILES` also contains the second name that the reference validator accepts.
SKILL_FILE = "SKILL.md"
SKILL_FILES = (SKILL_FILE, "skill.md")

LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1_024
LONGEST_COMPATIBILITY = 500
FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")

_NAME = regex(r"[a-z0-9-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Standard:
    """The fields of a valid front matter. Missing optional fields are empty."""

    name: str
    description: str
    license: str
    compatibility: str
    metadata: Mapping[str, str]
    allowed_tools: tuple[str, ...]
    #: Sentences about ignored fields.
    warnings: tuple[str, ...]


def errors_in(front: Mapping[str, Any], folder: str | None) -> list[str]:
    """Return the violations of the specification. Each violation completes the sentence *The skill cannot be used: …*.
    `folder` is the name of the skill's directory; None: the text has no directory."""
    return [
        *_errors_of_name(front.get("name"), folder),
        *_errors_of_text(front, "description", LONGEST_DESCRIPTION),
        *(_errors_of_text(front, "compatibility", LONGEST_COMPATIBILITY) if "compatibility" in front else ()),
        *_errors_of_tools(front.get("allowed-tools")),
    ]


def _errors_of_name(name: object, folder: str | None) -> Iterator[str]:
    if not isinstance(name, str) or not name.strip():
        yield "its `name` is missing"
        return
    name = name.strip()
    if len(name) > LONGEST_NAME:
        yield f"its `name` has {len(name)} characters; at most {LONGEST_NAME} are allowed"
    if not _NAME.fullmatch(name):
        yield "its `name` may contain only lower-case letters from a to z, digits and hyphens"
    if name.startswith("-") or name.endswith("-"):
        yield "its `name` must not begin or end with a hyphen"
    if "--" in name:
        yield "its `name` must not contain two hyphens in succession"
    if folder is not None and folder != name:
        yield f"its `name` is {name[:LONGEST_NAME]!r}, but its directory is called {folder[:LONGEST_NAME]!r}"


def _errors_of_text(front: Mapping[str, Any], field: str, longest: int) -> Iterator[str]:
    value = front.get(field)
    if not isinstance(value, str) or not value.strip():
        yield f"its `{field}` must be a text of 1 to {longest:,} characters"
    elif len(value) > longest:
        yield f"its `{field}` has {len(value):,} characters; at most {longest:,} are allowed"


def _errors_of_tools(value: object) -> Iterator[str]:
    entries: Sequence[object] = value if isinstance(value, list) else [value or ""]
    if not all(isinstance(entry, str) for entry in entries):
        yield "its `allowed-tools` must be a text or a list of texts"


def standard_of(front: Mapping[str, Any]) -> Standard:
    """Return the fields of a front matter without errors."""
    warnings = [f"the field {str(key)[:60]!r} is ignored" for key in front if key not in FIELDS]
    tools = front.get("allowed-tools") or ""
    metadata = front.get("metadata") or {}
    if not isinstance(metadata, dict):
        warnings.append("`metadata` is ignored, because it contains no `key: value` lines")
        metadata = {}
    licence = front.get("license") or ""
    if not isinstance(licence, str):
        warnings.append("`license` is ignored, because it is not a text")
        licence = ""
    for key, value in metadata.items():
        if not isinstance(value, str):
            warnings.append(f"the value of {str(key)[:60]!r} in `metadata` is ignored, because it is not a text")
    return Standard(
        name=front["name"].strip(),
        description=" ".join(front["description"].split()),
        license=" ".join(licence.split()),
        compatibility=" ".join(str(front.get("compatibility") or "").split()),
        metadata={str(key): value.strip() for key, value in metadata.items() if isinstance(value, str)},
        allowed_tools=tuple(tools.split() if isinstance(tools, str) else tools),
        warnings=tuple(warnings),
    )
