"""The plugins that come with Arvis, checked by the suite for all plugins."""

from __future__ import annotations

from arvis.plugins import QuietPlugin
from arvis.plugins.active_agents import ActiveAgentsPlugin
from arvis.plugins.environment import EnvironmentPlugin
from arvis.plugins.helpers import HelpersPlugin
from arvis.plugins.time import TimePlugin
from arvis.plugins.workspace import WorkspacePlugin
from arvis.ports.plugin import Plugin
from arvis.testing.conformance.plugin import PluginConformance


class TestQuiet(PluginConformance):
    def plugin(self) -> Plugin:
        return QuietPlugin()


class TestTime(PluginConformance):
    def plugin(self) -> Plugin:
        return TimePlugin()


class TestEnvironment(PluginConformance):
    def plugin(self) -> Plugin:
        return EnvironmentPlugin()


class TestActiveAgents(PluginConformance):
    def plugin(self) -> Plugin:
        return ActiveAgentsPlugin()


class TestHelpers(PluginConformance):
    def plugin(self) -> Plugin:
        return HelpersPlugin()


class TestWorkspace(PluginConformance):
    def plugin(self) -> Plugin:
        return WorkspacePlugin()
