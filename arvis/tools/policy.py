"""The gate before every call of a tool: may it run, must a person say so first, or never."""

from __future__ import annotations

from collections.abc import Mapping

from arvis.domain.tools import Permit, Risk
from arvis.ports.tool import Tool

#: The permission by risk, unless the configuration has a rule (reliability.md §5.4). In any case an agent must have
#: the tool.
DEFAULTS: Mapping[Risk, Permit] = {
    Risk.READ: Permit.ALWAYS,
    Risk.EGRESS: Permit.ALWAYS,
    Risk.WRITE: Permit.ASK,
    Risk.EXEC: Permit.ASK,
    Risk.MONEY: Permit.ASK,
}

#: Built-in tools that only write the agent's or the asker's own notes, or start workflows that people made, within
#: limits. No person is asked unless a rule says so; the reasons are in their modules.
OWN_NOTES = frozenset({"update_project", "schedule", "start_workflow", "abort_workflow"})


class Policy:
    """`rules` by the name of a tool, by `server.*`, or by a risk; the nearest counts."""

    def __init__(self, *, rules: Mapping[str, Permit]) -> None:
        self._rules = rules

    def permit(self, tool: Tool) -> Permit:
        name = tool.spec.name
        if (rule := self._rule(tool)) is not None:
            return rule
        if tool.sensitive:
            return Permit.ASK
        return Permit.ALWAYS if name in OWN_NOTES else DEFAULTS[tool.risk]

    def ruled(self, tool: Tool) -> bool:
        """Return whether the configuration has a rule for this tool."""
        return self._rule(tool) is not None

    def _rule(self, tool: Tool) -> Permit | None:
        name = tool.spec.name
        server, dot, _ = name.partition(".")
        found = (name, f"{server}.*" if dot else name, tool.risk.value)
        return next((self._rules[rule] for rule in found if rule in self._rules), None)
