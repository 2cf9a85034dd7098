"""Data that plugins exchange with the daemon: texts for prompts, commands, and the results of reading a reply."""

from __future__ import annotations

from enum import StrEnum

from arvis.domain.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginDeclaration:
    """The properties that a plugin declares in the constant `DECLARATION` of its file. `arvis/extensions.py` reads the
    constant without importing the file, so its value must consist of literals."""

    #: True if the plugin adds no tools, or only harmless tools. Only trusted people may use an agent with a
    #: plugin that is not harmless.
    harmless: bool = False


class NextMessage(StrEnum):
    """The kinds of messages that can be the last one in a prompt."""

    USER_MESSAGE = "user_message"
    TOOL_RESPONSE = "tool_response"


@dataclass(frozen=True, slots=True)
class Item:
    """One part of an addition."""

    content: tuple[str, ...]
    #: True if the prompt of the current turn contains this item.
    shown: bool
    #: The number of messages for which later prompts contain the item. True means permanently; False means never.
    keep: bool | int

    @property
    def kept(self) -> bool:
        return self.keep > 0

    @property
    def lasts(self) -> int | None:
        """The number of messages for which the item stays in later prompts; None if it stays permanently."""
        # True is checked first, because int(True) is 1.
        return None if self.keep is True else int(self.keep)


@dataclass(frozen=True, slots=True)
class Addition:
    """The text that a plugin adds to a message, under a heading."""

    heading: str
    items: tuple[Item, ...]
    #: True if the text is untrusted.
    outside: bool = False


@dataclass(frozen=True, slots=True)
class PluginBlock:
    """A part that a plugin adds to an agent's instructions."""

    heading: str
    content: str
    #: The tools that this part explains.
    tools: tuple[str, ...] = ()
    #: True if the text may differ in the next turn. It is then placed after the part of the prompt that vendors cache.
    changing: bool = False
    #: True if the text is untrusted.
    outside: bool = False


@dataclass(frozen=True, slots=True)
class AttributeSpec:
    """A value that replies must contain besides their text, for example
    `AttributeSpec("mood", "string", "How you feel")`."""

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
    """A command that people write as `/name argument …`. `name` is in lower case."""

    name: str
    description: str
    arguments: tuple[CommandArgument, ...] = ()

    @property
    def about(self) -> str:
        """The description of the command, including the format of its arguments."""
        shown = " ".join(each.name if each.required else f"[{each.name}]" for each in self.arguments)
        return f"{self.description} ({shown})" if shown else self.description


@dataclass(frozen=True, slots=True)
class AgentInput:
    """The result of a command that the agent answers: `text` replaces the command."""

    text: str


@dataclass(frozen=True, slots=True)
class CommandReply:
    """The result of a command that is answered with `text`, without a model call."""

    text: str


@dataclass(frozen=True, slots=True)
class ResponseResult:
    """The result that a plugin returns after it has read a reply."""

    #: The paths of the files in the conversation's folder that are sent with the reply.
    files: tuple[str, ...] = ()
    #: Problems that the timeline shows.
    problems: tuple[str, ...] = ()
