"""Lists the configuration keys that have new names. `migrated` rewrites a file that has old names.

The daemon never reads a key by its old name. It refuses the file, and asks people to run `arvis config migrate`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from arvis.config.problems import KeyPath, dotted
from arvis.config.yaml_text import Document
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ConfigError

#: For each old key, its new name, or None if the key was removed. `*` matches each entry of a list.
RENAMED: Mapping[tuple[str, ...], tuple[str, ...] | None] = {
    ("secrets_key",): ("encryption_key",),
    ("web", "session_idle"): ("web", "session_idle_timeout"),
    ("web", "session_life"): ("web", "session_max_age"),
    ("owners", "notify"): ("owners", "alert_channel"),
    ("queue", "retry_unit_seconds"): ("queue", "retry_base_seconds"),
    ("model", "fast"): ("model", "summarizer"),
    ("agents", "*", "completion"): ("agents", "*", "ends"),
    ("agents", "*", "helpers"): ("agents", "*", "handoff_to"),
    ("connectors",): ("bots",),
    ("speech", "engine"): ("speech", "stt", "engine"),
    ("speech", "model"): ("speech", "stt", "model"),
    ("speech", "language"): ("speech", "stt", "language"),
    ("speech", "command"): ("speech", "stt", "command"),
    ("speech", "speak"): ("speech", "tts", "engine"),
    ("speech", "speak_model"): ("speech", "tts", "model"),
    ("speech", "speak_command"): ("speech", "tts", "command"),
    ("speech", "voice"): ("speech", "tts", "voice"),
    ("limits", "tool_rounds"): ("limits", "max_tool_rounds"),
    ("limits", "agent_loops"): ("limits", "max_iterations"),
    ("retention", "archive_days"): ("retention", "compacted_days"),
    ("budgets", "stranger_daily_turns"): ("budgets", "unpaired_daily_turns"),
    ("telemetry", "content"): ("telemetry", "capture_content"),
    ("prices",): ("model_prices",),
    ("windows",): ("context_windows",),
    ("vision",): ("vision_models",),
    ("language",): None,
    ("tools", "search_url"): None,
}

#: The old names of graphs with their new names, for values of `agents[].graph`.
RENAMED_GRAPHS: Mapping[str, str] = {"converse": "handover"}

MIGRATE = "arvis config migrate"
_INDENT = 2


@dataclass(frozen=True, slots=True)
class Renamed:
    """An old key in a configuration, or a key whose value is an old name."""

    old: KeyPath
    #: The new name of the key; None if the key was removed.
    new: KeyPath | None
    #: The new value if only the value of the key is an old name; None if the key itself is an old name.
    value: str | None = None

    def __str__(self) -> str:
        if self.value is not None:
            return f"the value of `{dotted(self.old)}` is now `{self.value}`"
        return f"`{dotted(self.old)}` {f'is now `{dotted(self.new)}`' if self.new else 'was removed'}"


def old_keys(values: Mapping[str, Any]) -> Sequence[Renamed]:
    """Return the old keys of a configuration, and the keys whose value is the old name of a graph."""
    found = [found for old, new in RENAMED.items() for found in _matches(values, old, new, ())]
    for each in _matches(values, ("agents", "*", "graph"), ("agents", "*", "graph"), ()):
        graph = _at(values, each.old)
        if isinstance(graph, str) and graph in RENAMED_GRAPHS:
            found.append(Renamed(each.old, each.new, RENAMED_GRAPHS[graph]))
    return found


def _matches(
    values: Any, old: tuple[str, ...], new: tuple[str, ...] | None, indices: tuple[int, ...], depth: int = 0
) -> Iterator[Renamed]:
    if depth == len(old):
        yield Renamed(_with_indices(old, indices), None if new is None else _with_indices(new, indices))
    elif old[depth] == "*" and isinstance(values, list):
        for index, item in enumerate(values):
            yield from _matches(item, old, new, (*indices, index), depth + 1)
    elif isinstance(values, dict) and old[depth] in values:
        yield from _matches(values[old[depth]], old, new, indices, depth + 1)


def _with_indices(path: tuple[str, ...], indices: tuple[int, ...]) -> KeyPath:
    left = iter(indices)
    return tuple(next(left) if part == "*" else part for part in path)


def old_variables(environ: Mapping[str, str], prefix: str, delimiter: str) -> Sequence[tuple[str, Renamed]]:
    """Return the environment variables that set an old key, each with its old key."""
    found: list[tuple[str, Renamed]] = []
    for name in sorted(environ):
        if not name.upper().startswith(prefix):
            continue
        tree: Any = _plain(environ[name])
        for part in reversed(name[len(prefix) :].lower().split(delimiter)):
            tree = {part: tree}
        found.extend((name, renamed) for renamed in old_keys(tree))
    return found


def _plain(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


# -- rewriting a file --------------------------------------------------------------------------------------


def migrated(text: str) -> str:
    """Return the text of a configuration with the new keys. Comments, values and the order of keys do not change.

    Raise `UnreadableText` if the text cannot be read. Raise `ConfigError` if both an old key and its new name are set,
    or if the text cannot be rewritten in place.
    """
    mark, body = ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)
    before = Document(body)
    renamed = old_keys(before.values)
    if not renamed:
        return text
    expected = _moved(before.values, renamed)
    root = yaml.compose(body, Loader=yaml.CSafeLoader)
    after = _applied(body, _edits(body, root, renamed))
    if before.problems or Document(after).values != expected:
        names = "; ".join(str(each) for each in renamed)
        raise ConfigError(
            "The file cannot be rewritten",
            why="The layout of the file is unusual, so an automatic change could damage the file.",
            fix=f"Change the file by hand: {names}.",
        )
    return mark + after


def _moved(values: Mapping[str, Any], renamed: Sequence[Renamed]) -> dict[str, Any]:
    """Return a copy of the values in which each old key has its new name."""
    copied: dict[str, Any] = json.loads(json.dumps(values))
    for each in renamed:
        *above, name = each.old
        if each.value is not None:
            _at(copied, above)[name] = each.value
            continue
        value = _at(copied, above).pop(name)
        if each.new is None:
            continue
        *above, name = each.new
        section: Any = copied
        for part in above:
            section = section[part] if isinstance(part, int) else section.setdefault(part, {})
        if name in section:
            what = f"`{dotted(each.old)}` and `{dotted(each.new)}` are both set"
            raise ConfigError(
                what,
                why="The first one is the old name of the key, and the second one is its new name.",
                fix="Remove one of them.",
            )
        section[name] = value
    return copied


def _at(values: Any, path: Sequence[str | int]) -> Any:
    for part in path:
        values = values[part]
    return values


#: An edit of a text: its start, its end, and the replacement.
_Edit = tuple[int, int, str]
_Pair = tuple[yaml.Node, yaml.Node]


def _applied(text: str, edits: Sequence[_Edit]) -> str:
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _edits(text: str, root: Any, renamed: Sequence[Renamed]) -> list[_Edit]:
    edits: list[_Edit] = []
    for each in renamed:
        mapping, index = _pair_of(root, each.old)
        if each.value is not None:
            written = mapping.value[index][1]
            edits.append((written.start_mark.index, written.end_mark.index, each.value))
        elif each.new is None:
            edits.append(_removal(text, mapping, index))
        elif len(each.new) == len(each.old):
            edits += _rename(text, mapping.value[index], str(each.new[-1]))
    if any(each.new is not None and len(each.new) > len(each.old) for each in renamed):
        edits.append(_regrouped_speech(text, root))
    return edits


def _pair_of(root: Any, path: KeyPath) -> tuple[yaml.MappingNode, int]:
    node = root
    for part in path[:-1]:
        node = node.value[part] if isinstance(part, int) else node.value[_index(node, part)][1]
    return node, _index(node, path[-1])


def _index(mapping: yaml.MappingNode, name: str | int) -> int:
    return next(index for index, (key, _) in enumerate(mapping.value) if key.value == name)


def _rename(text: str, pair: _Pair, name: str, deeper: int = 0) -> Iterator[_Edit]:
    """Yield the edits that rename a key. `deeper` is the number of characters by which other edits indent the line of
    the key further."""
    key, value = pair
    yield key.start_mark.index, key.end_mark.index, name
    longer = len(name) - (key.end_mark.index - key.start_mark.index) + deeper
    yield from _realigned(text, value.end_mark.index, longer)


def _realigned(text: str, start: int, longer: int) -> Iterator[_Edit]:
    """Yield an edit that keeps a comment in its column, because the value before the comment moves right by `longer`
    characters."""
    end = start
    while end < len(text) and text[end] == " ":
        end += 1
    if end - start > 1 and text[end : end + 1] == "#":
        yield start, end, " " * max(1, end - start - longer)


def _removal(text: str, mapping: yaml.MappingNode, index: int) -> _Edit:
    key, value = mapping.value[index]
    if not mapping.flow_style:
        return _line_start(text, key.start_mark.index), _line_end(text, _end(value)), ""
    if index + 1 < len(mapping.value):
        return key.start_mark.index, mapping.value[index + 1][0].start_mark.index, ""
    before = mapping.value[index - 1][1].end_mark.index if index else key.start_mark.index
    return before, value.end_mark.index, ""


def _end(node: yaml.Node) -> int:
    """Return the position at which the text of a node ends. A block ends at the end of its last value."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    at_line_start = node.end_mark.column == 0 and node.end_mark.index > node.start_mark.index
    return int(node.end_mark.index) - (1 if at_line_start else 0)


def _line_start(text: str, position: int) -> int:
    return text.rfind("\n", 0, position) + 1


def _line_end(text: str, position: int) -> int:
    found = text.find("\n", position)
    return len(text) if found < 0 else found + 1


def _regrouped_speech(text: str, root: Any) -> _Edit:
    """Return an edit that moves keys of `speech` into the groups `stt` and `tts`. Each group replaces its first moved
    key."""
    section = root.value[_index(root, "speech")][1]
    if section.flow_style:
        start, end = section.start_mark.index, section.end_mark.index
        return start, end, "{" + ", ".join(_grouped_pairs(text, section)) + "}"
    starts = [_with_comments(text, key.start_mark.index) for key, _ in section.value]
    end = _line_end(text, _end(section))
    ends = [*starts[1:], end]
    groups: dict[str, list[str]] = {}
    indent = " " * section.value[0][0].start_mark.column
    for pair, start, stop in zip(section.value, starts, ends, strict=True):
        new = RENAMED.get(("speech", pair[0].value))
        lines = text[start:stop]
        if new is None:
            groups[pair[0].value] = [lines]
            continue
        edits = [(a - start, b - start, words) for a, b, words in _rename(text, pair, new[-1], _INDENT)]
        deeper = _applied(lines, edits).splitlines(keepends=True)
        shifted = "".join(" " * _INDENT + line if line.strip() else line for line in deeper)
        groups.setdefault(new[1], [f"{indent}{new[1]}:\n"]).append(shifted)
    parts = [part for found in groups.values() for part in found]
    return starts[0], end, "".join(part if part.endswith("\n") else f"{part}\n" for part in parts)


def _with_comments(text: str, position: int) -> int:
    """Return the start of the line of a key. If comment lines are directly above the key, return the start of the first
    one."""
    start = _line_start(text, position)
    while start > 0:
        above = _line_start(text, start - 1)
        if not text[above:start].lstrip().startswith("#"):
            return start
        start = above
    return start


def _grouped_pairs(text: str, section: yaml.MappingNode) -> Iterator[str]:
    groups: dict[str, list[str]] = {}
    for key, value in section.value:
        new = RENAMED.get(("speech", key.value))
        written = text[value.start_mark.index : value.end_mark.index]
        if new is None:
            groups[key.value] = [text[key.start_mark.index : value.end_mark.index]]
        else:
            groups.setdefault(new[1], []).append(f"{new[2]}: {written}")
    for name, parts in groups.items():
        moved = name in {"stt", "tts"} and not parts[0].startswith(f"{name}:")
        yield f"{name}: {{{', '.join(parts)}}}" if moved else parts[0]
