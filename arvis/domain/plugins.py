"""What plugins add to the work of an agent, and what they make of its replies (behaviour.md 5.3 and 5.4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class NextMessage(StrEnum):
    """What the model is going to read last."""

    USER_MESSAGE = "user_message"
    TOOL_RESPONSE = "tool_response"


@dataclass(frozen=True, slots=True)
class Item:
    """`keep`: True for good, a number for so many messages, False or 0 not at all."""

    content: tuple[str, ...]
    shown: bool
    keep: bool | int

    @property
    def kept(self) -> bool:
        return self.keep > 0

    @property
    def lasts(self) -> int | None:
        """True is a number, too, in Python: it must not mean one message."""
        return None if self.keep is True else int(self.keep)


@dataclass(frozen=True, slots=True)
class Addition:
    """What one source adds to a message, under its heading. `outside`: nobody of the house vouches for it."""

    heading: str
    items: tuple[Item, ...]
    outside: bool = False


@dataclass(frozen=True, slots=True)
class PluginBlock:
    """A part of an agent's instructions. `changing`: it may be another one in the next turn, so it stands behind what
    providers keep in their cache. `tools` are those that come with it; `outside`: nobody of the house vouches for it."""

    heading: str
    content: str
    tools: tuple[str, ...] = ()
    changing: bool = False
    outside: bool = False


@dataclass(frozen=True, slots=True)
class AttributeSpec:
    """A value that replies are to carry besides their text, such as `AttributeSpec("mood", "string", "How you feel")`."""

    name: str
    type: str
    description: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class CommandArgument:
    name: str
    description: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class PluginCommand:
    """`/name argument …`; `name` in lower case."""

    name: str
    description: str
    arguments: tuple[CommandArgument, ...] = ()

    @property
    def about(self) -> str:
        """What it does, with how its arguments are written."""
        shown = " ".join(each.name if each.required else f"[{each.name}]" for each in self.arguments)
        return f"{self.description} ({shown})" if shown else self.description


@dataclass(frozen=True, slots=True)
class Say:
    """A command stands for this text: the agent is asked with it instead."""

    text: str


@dataclass(frozen=True, slots=True)
class Tell:
    """A command is answered with this text, and no model is asked."""

    text: str


@dataclass(frozen=True, slots=True)
class Heard:
    """What a plugin makes of a reply: files of the conversation's folder that go with it, and what went wrong, which the
    timeline tells."""

    files: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
