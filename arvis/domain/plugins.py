"""Text and commands that plugins add to the work of an agent, and their results from its replies (behaviour.md 5.3
and 5.4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class NextMessage(StrEnum):
    """The message that the model reads last."""

    USER_MESSAGE = "user_message"
    TOOL_RESPONSE = "tool_response"


@dataclass(frozen=True, slots=True)
class Item:
    """One part of an addition. `keep`: True permanently, a number for that many messages, False or 0 not at all."""

    content: tuple[str, ...]
    shown: bool
    keep: bool | int

    @property
    def kept(self) -> bool:
        return self.keep > 0

    @property
    def lasts(self) -> int | None:
        """In Python, True is also a number: it must not mean one message."""
        return None if self.keep is True else int(self.keep)


@dataclass(frozen=True, slots=True)
class Addition:
    """The text that one source adds to a message, under its heading. `outside`: the text is untrusted."""

    heading: str
    items: tuple[Item, ...]
    outside: bool = False


@dataclass(frozen=True, slots=True)
class PluginBlock:
    """A part of an agent's instructions. `changing`: it may differ in the next turn, so it is placed after the part
    that providers cache. `tools` are its tools; `outside`: the text is untrusted."""

    heading: str
    content: str
    tools: tuple[str, ...] = ()
    changing: bool = False
    outside: bool = False


@dataclass(frozen=True, slots=True)
class AttributeSpec:
    """A value that replies must contain besides their text, such as `AttributeSpec("mood", "string", "How you
    feel")`."""

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
        """The description of the command, including the format of its arguments."""
        shown = " ".join(each.name if each.required else f"[{each.name}]" for each in self.arguments)
        return f"{self.description} ({shown})" if shown else self.description


@dataclass(frozen=True, slots=True)
class Say:
    """The command is replaced by this text, and the agent answers it."""

    text: str


@dataclass(frozen=True, slots=True)
class Tell:
    """The command is answered with this text, without a model call."""

    text: str


@dataclass(frozen=True, slots=True)
class Heard:
    """The result of a plugin for a reply: files of the conversation's folder to send with it, and problems for the
    timeline."""

    files: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
