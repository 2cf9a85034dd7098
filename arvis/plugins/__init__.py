"""Plugins, which take part in the turns of agents: they add to prompts and read replies."""

from __future__ import annotations

from arvis.plugins.guard import Guarded
from arvis.plugins.quiet import QuietPlugin
from arvis.plugins.registry import InstalledPlugins, NoPlugins, Plugins

__all__ = ["Guarded", "InstalledPlugins", "NoPlugins", "Plugins", "QuietPlugin"]
