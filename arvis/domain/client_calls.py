"""Tool calls that are run by the client of a request instead of Arvis."""

from __future__ import annotations

import json
import re
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.regex import regex

_ID = regex(r"call_(?P<execution>[0-9A-HJKMNP-TV-Z]{26})_(?P<round>\d{1,4})_(?P<index>\d{1,3})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ClientCall:
    """One tool call that the client has to make."""

    #: The id of the execution that waits for the result.
    execution_id: str
    #: The number of the round of this execution, and the index of the call in the round.
    round: int
    index: int
    name: str
    #: The arguments as JSON.
    arguments: str

    @property
    def id(self) -> str:
        """The id for the client. It contains the execution, the round and the index of the call."""
        return f"call_{self.execution_id}_{self.round}_{self.index}"


@dataclass(frozen=True, slots=True)
class CallId:
    """The parts of a call's id."""

    execution_id: str
    round: int
    index: int

    @classmethod
    def read(cls, text: object) -> CallId | None:
        """Return the parts of an id that Arvis created, or None for any other text."""
        found = _ID.fullmatch(text) if isinstance(text, str) else None
        return None if found is None else cls(found["execution"], int(found["round"]), int(found["index"]))


@dataclass(frozen=True, slots=True)
class ClientCalls:
    """The calls for which a turn waits, and the text that the model wrote before them."""

    text: str
    calls: tuple[ClientCall, ...]

    def to_text(self) -> str:
        """Return the text and the calls as JSON, for the row of the wait."""
        calls = [[each.execution_id, each.round, each.index, each.name, each.arguments] for each in self.calls]
        return json.dumps({"text": self.text, "calls": calls}, ensure_ascii=False)

    @classmethod
    def read(cls, text: str) -> ClientCalls:
        kept: dict[str, Any] = json.loads(text)
        return cls(kept["text"], tuple(ClientCall(*each) for each in kept["calls"]))
