"""Requests of tool servers to a model at the expense of a person (sampling in the Model Context Protocol).

The model gets only the texts of the server, and no tools. So the server learns nothing from other sources.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from typing import Any

from arvis.domain.dataclass import dataclass


class Sampling(StrEnum):
    """The permission of a tool server to use a model."""

    OFF = "off"
    #: The person for whom the agent works is asked each time.
    ASK = "ask"
    ALLOW = "allow"


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request to a model. `turns` are pairs of role (`user` or `assistant`) and text, and begin with the user."""

    system: str
    turns: tuple[tuple[str, str], ...]
    max_tokens: int
    temperature: float | None = None
    stop: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> ModelRequest:
        turns = tuple((role, text) for role, text in kept["turns"])
        return cls(kept["system"], turns, kept["max_tokens"], kept["temperature"], tuple(kept["stop"]))

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "turns": [list(turn) for turn in self.turns], "stop": list(self.stop)}

    @property
    def parameters(self) -> dict[str, Any]:
        """The model parameters under OpenAI's names."""
        stop = {"stop": list(self.stop)} if self.stop else {}
        return stop if self.temperature is None else {**stop, "temperature": self.temperature}

    @property
    def text(self) -> str:
        """The whole request, for the person who decides about it."""
        parts = [f"[instructions]\n{self.system}"] if self.system else []
        parts += [f"[{role}]\n{text}" for role, text in self.turns]
        return "\n".join([*parts, f"[at most {self.max_tokens:,} tokens]"])
