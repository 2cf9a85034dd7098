"""Tool `read_skill`: shows the instructions of a skill, or one of its files. Every agent with skills has this tool,
even if its settings do not name the tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from arvis.domain.agents import Agent
from arvis.domain.errors import ToolError
from arvis.domain.text import storable
from arvis.domain.tools import READ_SKILL, Risk, ToolDeclaration
from arvis.ports.sandbox import SKILLS
from arvis.ports.skills import SkillFile, SkillFiles
from arvis.ports.tool import Caller, Tool
from arvis.tools.function import FunctionTool

_INSTRUCTIONS = "SKILL.md"
_SHOWN = 20_000
_MOST_NAMED = 100
#: The tools that run programs in the sandbox, where they find the files of skills.
_PROGRAMS = frozenset({"run_shell", "code_execution"})

#: An owner has trusted the files of a skill, so the output does not taint a turn.
DECLARATION = ToolDeclaration(risk=Risk.READ, harmless=True, own_output=True)


class SkillReader:
    """The `ToolSource` of this tool."""

    def __init__(self, *, files: SkillFiles) -> None:
        self._tool = tool(files)

    async def find(self, names: Sequence[str]) -> Sequence[Tool]:
        return (self._tool,) if READ_SKILL in names else ()

    async def all(self) -> Sequence[Tool]:
        """Return no tool, because settings of agents do not name this tool."""
        return ()


def tool(files: SkillFiles) -> Tool:
    async def read_skill(
        name: Annotated[str, Field(min_length=1, max_length=64, description="Name of the skill")],
        path: Annotated[str, Field(max_length=200, description="File of the skill")] = _INSTRUCTIONS,
        offset: Annotated[int, Field(ge=0, description="The first character")] = 0,
        *,
        caller: Caller,
    ) -> str:
        """Read the instructions of one of your skills, or a file to which they refer."""
        found = await files.read(caller.agent, name, path)
        text = _text_of(found)
        if text is None:
            return f"{path} is a binary file of {len(found.data):,} bytes. Use it in a program."
        if offset and offset >= len(text):
            raise ToolError(f"The text has only {len(text):,} characters. Use a smaller offset.")
        part = text[offset : offset + _SHOWN]
        if missing := len(text) - offset - len(part):
            return f"{part}\n[… {missing:,} more characters: continue with offset={offset + len(part)}]"
        if path != _INSTRUCTIONS or not found.others:
            return part
        return f"{part}\n\n{_listed(name, found, programs=_runs_programs(caller.agent))}"

    return FunctionTool(read_skill, DECLARATION)


def _text_of(found: SkillFile) -> str | None:
    try:
        return storable(found.data.decode("utf-8-sig"))
    except UnicodeError:
        return None


def _runs_programs(agent: Agent) -> bool:
    return agent.graph == "code" or not _PROGRAMS.isdisjoint(agent.tools)


def _listed(name: str, found: SkillFile, *, programs: bool) -> str:
    lines = [f"- {path} ({size:,} bytes)" for path, size in list(found.others.items())[:_MOST_NAMED]]
    more = len(found.others) - len(lines)
    place = f" Programs find them in {SKILLS}/{name}." if programs else ""
    head = f"[Files of this skill, which {READ_SKILL} shows with `path`.{place}]"
    return "\n".join([head, *lines, *([f"… and {more} more"] if more > 0 else [])])
