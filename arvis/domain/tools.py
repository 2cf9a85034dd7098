"""Tools as a model sees them and asks for them, and what comes back."""

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
    """The worst that a tool can do (reliability.md §5.4), mildest first: look at what the asker may see anyway, send
    something out of the house, change something in it, run programs, spend money."""

    READ = "read"
    EGRESS = "egress"
    WRITE = "write"
    EXEC = "exec"
    MONEY = "money"


#: Vendors take these characters in the name of a tool, and so many of them.
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64


class Permit(StrEnum):
    """Whether a tool that an agent has may run: not at all, once a person said so for this call, or unasked."""

    NEVER = "never"
    ASK = "ask"
    ALWAYS = "always"


def wire_name(name: str) -> str:
    """The name under which a model knows a tool: `server.tool` becomes `server__tool`."""
    wire = _NOT_IN_NAMES.sub("_", name.replace(".", "__"))
    if len(wire) <= _LONGEST_NAME:
        return wire
    return f"{wire[: _LONGEST_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a model is told of a tool. `parameters` is the JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a model asks for. `id` is unique within the turn. `arguments` is None when what the model wrote is not an
    object; `written` is its text then. `signature` is what the vendor wants to see again beside the call; `partial`: the reply
    was cut before the arguments were complete."""

    id: str
    name: str
    arguments: Mapping[str, Any] | None
    written: str = ""
    signature: str = ""
    partial: bool = False

    @property
    def what(self) -> str:
        """The same for calls that ask for the same."""
        asked = self.written if self.arguments is None else json.dumps(self.arguments, sort_keys=True)
        return f"{self.name} {asked}"

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ToolCall:
        return cls(**data)


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a call of a tool gave, as text for the model. `failed`: the text says why there is nothing else; `sealed`: only
    the key of the secrets opens it. `files` leave with the reply of the turn."""

    call_id: str
    content: str
    failed: bool = False
    sealed: bool = False
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
