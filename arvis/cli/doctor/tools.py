"""Checks that the tools and plugins of agents are available."""

from __future__ import annotations

import asyncio
from importlib.metadata import entry_points

from arvis.cli.doctor.findings import Check, Group, Verdict, ok, warn
from arvis.cli.doctor.scene import Scene
from arvis.domain.tools import Risk
from arvis.process.sandbox import Bubblewrap
from arvis.tools.code import CODE_EXECUTION

#: Tools that run programs.
_PROGRAMS = frozenset({"run_shell", CODE_EXECUTION})

#: Tools of agents of graph `code`, in addition to those of packages.
_HOUSE = frozenset({CODE_EXECUTION})


def check_tool_names(scene: Scene) -> Verdict | None:
    """Only the agents of the configuration: those of the database are looked at when they work."""
    named = {tool: agent.slug for agent in scene.config.agents for tool in agent.tools}
    if not named:
        return None
    known = {point.name for point in entry_points(group="arvis.tools")} | _HOUSE
    servers = {server.name for server in scene.config.mcp.servers}
    missing = [tool for tool in named if tool not in known and tool.partition(".")[0] not in servers]
    if missing:
        why = f"The agent {named[missing[0]]} is to have {', '.join(missing)}, and nothing offers that."
        return warn("A tool is not known", why, f"Use some of {', '.join(sorted(known))}, or configure its server.")
    return ok("Every tool of an agent is known")


def check_plugin_names(scene: Scene) -> Verdict | None:
    """The same for plugins: without one that is misspelt an agent works all the same."""
    named = {plugin: agent.slug for agent in scene.config.agents for plugin in agent.plugins}
    if not named:
        return None
    known = {point.name for point in entry_points(group="arvis.plugins")}
    if missing := [plugin for plugin in named if plugin not in known]:
        why = f"The agent {named[missing[0]]} is to have {', '.join(missing)}, and no package brings that."
        return warn("A plugin is not known", why, f"Use some of {', '.join(sorted(known))}, or install its package.")
    return ok("Every plugin of an agent is known")


def check_tool_policy(scene: Scene) -> Verdict | None:
    """A rule whose name is misspelt rules nothing."""
    rules = scene.config.approvals.policy
    if not rules:
        return None
    risks = {str(risk) for risk in Risk}
    tools = {point.name for point in entry_points(group="arvis.tools")} | _HOUSE
    servers = {server.name for server in scene.config.mcp.servers}
    strange = [name for name in rules if name not in risks | tools and name.partition(".")[0] not in servers]
    if strange:
        why = f"`approvals.policy` names {', '.join(strange)}: no tool, no server and no risk."
        fix = f"Write a tool such as run_shell, server.tool, server.*, or a risk: {', '.join(sorted(risks))}."
        return warn("A rule about tools has no effect", why, fix)
    return ok("Every rule about tools names something")


def check_sandbox(scene: Scene) -> Verdict | None:
    if not any(_PROGRAMS.intersection(agent.tools) for agent in scene.config.agents):
        return None
    refusal = asyncio.run(Bubblewrap().refusal())
    if refusal is not None:
        return warn(
            "Agents cannot run programs here",
            refusal,
            "Install bubblewrap, or take run_shell and code_execution from them.",
        )
    return ok("Programs of agents run in a sandbox")


GROUP = Group(
    "tools",
    (
        Check("tool_names", check_tool_names),
        Check("plugin_names", check_plugin_names),
        Check("tool_policy", check_tool_policy),
        Check("sandbox", check_sandbox),
    ),
)
