"""Tools as models see and call them, and their results."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from arvis.domain.messages import OutgoingFile


class Risk(StrEnum):
    """The greatest risk of a tool (reliability.md §5.4), mildest first: read what the person may see anyway, send
    data to the outside, change data, run programs, spend money."""

    READ = "read"
    EGRESS = "egress"
    WRITE = "write"
    EXEC = "exec"
    MONEY = "money"


#: Vendors allow these characters in the name of a tool, and this length.
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64


class Permit(StrEnum):
    """The permission of an agent's tool to run: never, after a person approves the call, or always."""

    NEVER = "never"
    ASK = "ask"
    ALWAYS = "always"


def wire_name(name: str) -> str:
    """Return the tool's name for models: `server.tool` becomes `server__tool`."""
    wire = _NOT_IN_NAMES.sub("_", name.replace(".", "__"))
    if len(wire) <= _LONGEST_NAME:
        return wire
    return f"{wire[: _LONGEST_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """The description of a tool for the model. `parameters` is the JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that a model requests."""

    #: Unique within the turn.
    id: str
    name: str
    #: None if the model's text is not an object.
    arguments: Mapping[str, Any] | None
    #: The model's text, if `arguments` is None.
    written: str = ""
    #: A value that the vendor expects back with the call.
    signature: str = ""
    #: The reply was cut off before the arguments were complete.
    partial: bool = False

    @property
    def what(self) -> str:
        """The same key for identical calls."""
        asked = self.written if self.arguments is None else json.dumps(self.arguments, sort_keys=True)
        return f"{self.name} {asked}"

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ToolCall:
        return cls(**data)


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The result of a tool call."""

    call_id: str
    #: The text for the model.
    content: str
    #: The text explains the failure.
    failed: bool = False
    #: Only the secrets key can open the text.
    sealed: bool = False
    #: Sent with the reply of the turn.
    files: tuple[OutgoingFile, ...] = ()

    def to_json(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"callId": self.call_id, "content": self.content, "failed": self.failed}
        if self.files:
            fields["files"] = [asdict(file) for file in self.files]
        return {**fields, "sealed": True} if self.sealed else fields

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ToolOutput:
        files = tuple(OutgoingFile(**file) for file in data.get("files", ()))
        return cls(data["callId"], data["content"], data["failed"], data.get("sealed", False), files)
