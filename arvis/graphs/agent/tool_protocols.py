"""The protocols between an agent's model and its tools: offering tools, and reading calls from replies."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Protocol

from arvis.domain.dataclass import replace
from arvis.domain.runs import RunResult, Turn
from arvis.domain.tools import Permit, ToolCall, ToolSpec
from arvis.ports.tool import Pinned, Tool, Wary
from arvis.tools.code import CODE_EXECUTION, Workbench, code_of, code_tool, envelope, functions_text
from arvis.tools.code.packages import ANY
from arvis.tools.registry import Offer, Registry

# In the protocol of graph `code`, a reply contains a script. The script can call the agent's other tools as functions.
# The nodes handle a script as one call of the tool `code_execution`: the policy and approvals apply to it, and its
# result is stored as an effect. The list of the agent's tools must contain `code_execution`. The model gets the
# description of this tool as text, so models without a tool interface can use it too.


_RULES = """\
You can run Python scripts. To run one, reply with one such block and the line after it:
{example}
Omit the first element if you need no packages. The script runs in a sandbox without network, for at most {seconds:.0f} \
seconds, in your own folder. Files in it are kept for later scripts; variables are not. You get back only the \
printed output: print everything that you \
need. A person may have to approve the script first. A reply without such a block is your answer.
{packages}"""

_FUNCTIONS = """\
Scripts can call these functions without an import. Each takes one dict and returns text, or raises ToolError. They work \
only inside scripts. Tools that need approval are not available.
{functions}"""

_EXAMPLE = "print('hello')"
_SAYING = "One sentence about what you are doing."

_ANY_PACKAGES = "You can install any package that has a wheel: write name or name==version."
_SOME_PACKAGES = "You can install these packages (name or name==version): {}."
_NO_PACKAGES = "You cannot install packages: use the standard library."

_NOT_A_PERSON = "[Not a person's message: the output of your script.]"
_NO_MORE = "[The limit of scripts is reached. Answer with the results that you have.]"


class CodeTools:
    """The `ToolProtocol` of graph `code`. A script may call the agent's other tools if they need no approval and are
    not sensitive. `permit` returns the policy's permit for a tool."""

    graph = "code"

    def __init__(self, *, registry: Registry, permit: Callable[[Tool], Permit], bench: Workbench) -> None:
        self._registry = registry
        self._permit = permit
        self._bench = bench

    async def offer(self, names: Sequence[str]) -> Offer:
        if CODE_EXECUTION not in names:
            return Offer({})
        return Offer({CODE_EXECUTION: code_tool(self._bench, (await self._for_scripts(names)).tools)})

    async def specs(self, _names: Sequence[str]) -> tuple[ToolSpec, ...]:
        return ()

    async def rules(self, names: Sequence[str]) -> str:
        if CODE_EXECUTION not in names:
            return ""
        example = envelope(_EXAMPLE, ["one", "another==1.0"], _SAYING)
        rules = _RULES.format(example=example, seconds=self._bench.seconds, packages=self._packages())
        functions = functions_text((await self._for_scripts(names)).tools)
        return "\n\n".join([rules, _FUNCTIONS.format(functions=functions)] if functions else [rules])

    def read(self, result: RunResult) -> RunResult:
        code = code_of(result.content)
        if code is None:
            return replace(result, calls=())
        arguments = {"libraries": list(code.libraries), "script": code.script}
        return replace(result, content=code.text, calls=(ToolCall(_id_of(result), CODE_EXECUTION, arguments),))

    def shown(self, turns: Sequence[Turn], *, off: bool = False) -> tuple[Turn, ...]:
        """Return the messages of the rounds. Each call and output becomes text, because the request to the model offers
        no tools. If `off`, the last message also says that no more scripts run in this turn."""
        written = [_in_words(turn) for turn in turns]
        if off and written:
            written[-1] = replace(written[-1], content=f"{written[-1].content}\n{_NO_MORE}")
        return tuple(written)

    async def _for_scripts(self, names: Sequence[str]) -> Offer:
        offer = await self._registry.offer([name for name in names if name != CODE_EXECUTION])
        free = {
            name: tool
            for name, tool in offer.tools.items()
            if not (tool.sensitive or isinstance(tool, Wary) or (isinstance(tool, Pinned) and tool.change))
            and self._permit(tool) is Permit.ALWAYS
        }
        return Offer(free)

    def _packages(self) -> str:
        allowed = self._bench.packages.allowed
        if ANY in allowed:
            return _ANY_PACKAGES
        return _SOME_PACKAGES.format(", ".join(allowed)) if allowed else _NO_PACKAGES


def _id_of(result: RunResult) -> str:
    """Return an id for the call in this reply. The id is made from the text and the token counts, so that two
    replies with the same text usually get different ids."""
    source = f"{result.input_tokens} {result.output_tokens} {result.content}"
    return f"code_{hashlib.sha256(source.encode('utf-8', 'replace')).hexdigest()[:16]}"


def _in_words(turn: Turn) -> Turn:
    if turn.calls:
        return replace(turn, content="\n\n".join(_asked(call, turn.content) for call in turn.calls), calls=())
    if turn.outputs:
        parts = [_NOT_A_PERSON, *(output.content for output in turn.outputs), turn.content]
        return replace(turn, content="\n".join(filter(None, parts)), outputs=())
    return turn


def _asked(call: ToolCall, said: str) -> str:
    arguments = call.arguments or {}
    return envelope(str(arguments.get("script", call.written)), list(arguments.get("libraries", ())), said)


class ToolProtocol(Protocol):
    """The way in which tools are offered to a model, and in which the model calls them."""

    @property
    def graph(self) -> str:
        """The name of the graph with this protocol."""
        ...

    async def offer(self, names: Sequence[str]) -> Offer:
        """Return the tools that an agent with these tool names can call."""
        ...

    async def specs(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        """Return the tool specifications for the request to the vendor."""
        ...

    async def rules(self, names: Sequence[str]) -> str:
        """Return the instructions for the model about the use of tools; "" if none are needed."""
        ...

    def read(self, result: RunResult) -> RunResult:
        """Return the reply. The field `calls` contains the calls that were found in the text."""
        ...

    def shown(self, turns: Sequence[Turn], *, off: bool = False) -> tuple[Turn, ...]:
        """Return the messages of the rounds in the form for the next prompt. If `off`, no more calls are made in this
        turn."""
        ...


class ToolCalling:
    """The `ToolProtocol` of graph `agent`: the vendors' own interface for tools."""

    graph = "agent"

    def __init__(self, *, registry: Registry) -> None:
        self._registry = registry

    async def offer(self, names: Sequence[str]) -> Offer:
        return await self._registry.offer(names)

    async def specs(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        return (await self._registry.offer(names)).specs

    async def rules(self, _names: Sequence[str]) -> str:
        return ""

    def read(self, result: RunResult) -> RunResult:
        return result

    def shown(self, turns: Sequence[Turn], *, off: bool = False) -> tuple[Turn, ...]:
        del off  # the provider reads the field `tools_off` of the request instead
        return tuple(turns)
