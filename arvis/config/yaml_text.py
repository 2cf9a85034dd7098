"""Reads a YAML text into plain values and records the line of each value.

The text is not trusted. A text with anchors, deep nesting or too many values is refused before any value is built. Tags
that name types of programming languages have no effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from arvis.config.problems import KeyPath, Problem

_MAX_DEPTH = 30
#: The maximum length of a configuration in characters. Code that reads a file may stop one character later, because the
#: text is then too long.
MAX_TEXT = 1_000_000
#: The maximum number of values and keys in a text. Building a value takes a thousand times as long as reading its
#: characters.
MAX_VALUES = 50_000
_SCALARS = ("null", "bool", "int", "float")

#: The maximum length of a number in characters. YAML reads `1:1:1:…` as base 60, which takes hours for a long text.
_LONGEST_NUMBER = 100


class UnreadableText(Exception):
    """The error for a text that is not YAML, or that contains YAML which a configuration may not use. `text` describes
    the problem."""

    def __init__(self, text: str, fix: str, line: int | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.fix = fix
        self.line = line


class Document:
    """The values of a text, the line of each key path (counted from 1), and the problems of keys that are written
    twice."""

    def __init__(self, text: str) -> None:
        self.lines: dict[KeyPath, int] = {}
        self.problems: list[Problem] = []
        self._scalars = yaml.CSafeLoader("")
        self.values = self._mapping_at_top(text)

    def line_of(self, path: KeyPath) -> int | None:
        """Return the line of `path`. If the text does not contain `path`, return the line of the nearest containing
        section that the text has."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return None

    def _mapping_at_top(self, text: str) -> dict[str, Any]:
        try:
            _refuse_traps(text)
            node = yaml.compose(text, Loader=yaml.CSafeLoader)
        except yaml.YAMLError as error:
            raise _unreadable(error) from error
        if node is None:
            return {}
        value = self._value(node, ())
        match value:
            case None:
                return {}
            case dict():
                return value
            case _:
                raise UnreadableText("it does not consist of keys with values", "Write `key: value` lines.", 1)

    def _value(self, node: yaml.Node, path: KeyPath) -> Any:
        self.lines.setdefault(path, _line(node))
        match node:
            case yaml.MappingNode():
                return dict(self._pairs(node, path))
            case yaml.SequenceNode():
                return [self._value(item, (*path, index)) for index, item in enumerate(node.value)]
            case _:
                return self._scalar(node)

    def _pairs(self, node: yaml.MappingNode, path: KeyPath) -> Iterator[tuple[str, Any]]:
        for key_node, value_node in node.value:
            line = _line(key_node)
            if not isinstance(key_node, yaml.ScalarNode):
                raise UnreadableText("a key must be plain text", "Quote the key or the braces around it.", line)
            key_path = (*path, key_node.value)
            if key_path in self.lines:
                fix = f"Keep one of lines {self.lines[key_path]} and {line}."
                self.problems.append(Problem(key_path, "is written twice", fix))
                continue
            self.lines[key_path] = line
            yield key_node.value, self._value(value_node, key_path)

    def _scalar(self, node: yaml.Node) -> Any:
        kind = node.tag.removeprefix("tag:yaml.org,2002:")
        if kind not in _SCALARS:
            # Dates and values of unknown types stay text.
            return node.value
        unreadable = UnreadableText(f"a value cannot be read as {kind}", "Put the value in quotes.", _line(node))
        if len(node.value) > _LONGEST_NUMBER:
            raise unreadable
        try:
            return self._scalars.construct_object(node)
        except (ValueError, KeyError, yaml.YAMLError):
            raise unreadable from None


def read_texts(text: str) -> Any:
    """Read a text whose values are all strings. Return lists, mappings and strings. Raise `UnreadableText` if the text
    cannot be read."""
    try:
        _refuse_traps(text)
        return yaml.load(text, Loader=yaml.CBaseLoader)  # noqa: S506 - it builds nothing but texts, lists and maps
    except yaml.YAMLError as error:
        raise _unreadable(error) from error


class _Plain(yaml.CSafeDumper):
    """A dumper that writes repeated values in full, not as references, and texts of several lines as blocks."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the library calls it so
        return True


def _as_lines(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Plain.add_representer(str, _as_lines)


def write_text(value: Any) -> str:
    """Return a YAML text with these plain values. `Document` can read it."""
    return str(yaml.dump(value, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=120))


def _line(part: yaml.Node | yaml.Event) -> int:
    return part.start_mark.line + 1 if part.start_mark is not None else 1


def _refuse_traps(text: str) -> None:
    """Raise `UnreadableText` for a text with anchors, deep nesting or too many values. The check reads the parser's
    events once, without recursion, before any tree is built."""
    if len(text) > MAX_TEXT:
        raise UnreadableText("it is larger than 1 MB", "Move long prompts into the dashboard.")
    depth = values = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        line = _line(event)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise UnreadableText("anchors (&name, *name) are not allowed", "Write the value out, or quote it.", line)
        if isinstance(event, yaml.NodeEvent):
            values += 1
        if values > MAX_VALUES:
            raise UnreadableText(f"it has more than {MAX_VALUES} values", "Remove values that you do not need.", line)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        if isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _MAX_DEPTH:
            raise UnreadableText(f"it is nested more than {_MAX_DEPTH} levels deep", "Use fewer levels.", line)


def _unreadable(error: yaml.YAMLError) -> UnreadableText:
    mark = getattr(error, "problem_mark", None)
    text = getattr(error, "problem", None) or "it has characters that YAML does not allow"
    fix = "Fix the YAML there: indent with spaces, put a space after `:` and quote special characters."
    return UnreadableText(f"it is not valid YAML: {text}", fix, mark.line + 1 if mark else None)
