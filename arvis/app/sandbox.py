"""The sandbox for programs of agents."""

from __future__ import annotations

from arvis.app.foundation import Base
from arvis.process.sandbox import Bubblewrap


def build_sandbox(base: Base) -> Bubblewrap:
    """Return a sandbox that shows nothing of the data folder, with the bounds of the configuration."""
    limits = base.config.limits
    return Bubblewrap(hidden=[base.folder.path], disk=limits.workspace_bytes, files=limits.workspace_files)
