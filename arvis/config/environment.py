"""Values of the configuration in environment variables, such as `ARVIS__WEB__PORT=6000`.

The package pydantic-settings does the same, but its import would take 4 MB and a twelfth of the CPU time of the start.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from arvis.config.problems import KeyPath

PREFIX = "ARVIS__"
DELIMITER = "__"


def names_of_variables(environ: Mapping[str, str]) -> dict[KeyPath, str]:
    """Return the variables that set keys of the configuration, by the path of the key."""
    ours = (name for name in environ if name.upper().startswith(PREFIX))
    return {tuple(name[len(PREFIX) :].lower().split(DELIMITER)): name for name in ours}


def values_in(environ: Mapping[str, str], root: type[BaseModel]) -> dict[str, Any]:
    """Return the values of the variables, nested as in the file. Variables without a key of `root` are left out.

    Lists and mappings are JSON. A value that is not JSON stays text; the check of its key then reports the value. If a
    key has its own variable, this variable overrides the value of the key in the variable of its section. A section
    that is null has its defaults, as in the file.
    """
    found: dict[str, Any] = {}
    by_path = {path: name for path, name in names_of_variables(environ).items() if path[0] in root.model_fields}
    for path, name in sorted(by_path.items(), key=lambda item: len(item[0])):
        *above, last = path
        part: Any = found
        for key in above:
            part = part.setdefault(key, {}) if isinstance(part, dict) else None
        if isinstance(part, dict):
            part[last] = _value(environ[name], _annotation(path, root))
    return {key: value for key, value in found.items() if value is not None}


def _annotation(path: KeyPath, root: type[BaseModel]) -> Any:
    """Return the type of a key; str for a key that no section declares."""
    annotation: Any = root
    for key in path:
        kinds = list(_alternatives(annotation))
        sections = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
        known = [each.model_fields[str(key)].annotation for each in sections if key in each.model_fields]
        if known:
            annotation = known[0]
        else:
            mappings = [get_args(kind) for kind in kinds if get_origin(kind) is dict]
            annotation = mappings[0][1] if mappings else str
    return annotation


def _alternatives(annotation: Any) -> Iterator[Any]:
    """Yield the types of a union, or the type itself."""
    match get_origin(annotation):
        case origin if origin is Annotated:
            yield from _alternatives(get_args(annotation)[0])
        case origin if origin is Union or origin is UnionType:
            for each in get_args(annotation):
                yield from _alternatives(each)
        case _:
            yield annotation


def _value(text: str, annotation: Any) -> Any:
    if not any(_holds_parts(kind) for kind in _alternatives(annotation)):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _holds_parts(kind: Any) -> bool:
    """Return whether values of the type are lists, mappings or sections."""
    plain = get_origin(kind) or kind
    return kind is Any or (
        isinstance(plain, type) and issubclass(plain, list | tuple | set | frozenset | dict | BaseModel)
    )
