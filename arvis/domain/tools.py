"""Tools as a model sees them and asks for them, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Risk(StrEnum):
    """The worst that a tool can do (reliability.md §5.4), mildest first: look at what the asker may see anyway, send
    something out of the house, change something in it, run programs, spend money."""

    READ = "read"
    EGRESS = "egress"
    WRITE = "write"
    EXEC = "exec"
    MONEY = "money"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a model is told of a tool. `parameters` is the JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a model asks for. `id` is unique within the turn. `arguments` is None when what the model wrote is not an
    object; `written` is its text then. `signature` is what the vendor wants to see again beside the call."""

    id: str
    name: str
    arguments: Mapping[str, Any] | None
    written: str = ""
    signature: str = ""

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ToolCall:
        return cls(**data)


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a call of a tool gave, as text for the model. `failed`: the text says why there is nothing else."""

    call_id: str
    content: str
    failed: bool = False

    def to_json(self) -> dict[str, Any]:
        return {"callId": self.call_id, "content": self.content, "failed": self.failed}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ToolOutput:
        return cls(data["callId"], data["content"], data["failed"])
