"""The workbench for scripts of graph `code`, and the packages that may be installed for them."""

from __future__ import annotations

import os

from arvis.app.foundation import Base
from arvis.app.sandbox import build_sandbox
from arvis.tools.code import PackageSets, Workbench, daemons_interpreter

#: Settings of pip that the daemon's environment may hold, and ways to the network.
_PIP = ("PIP_INDEX_URL", "PIP_TRUSTED_HOST", "PIP_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")


def build_workbench(base: Base) -> Workbench:
    sandbox, interpreter = build_sandbox(base), daemons_interpreter()
    packages = PackageSets(
        folder=base.folder.path / "code",
        sandbox=sandbox,
        interpreter=interpreter,
        allowed=base.config.tools.packages,
        settings={name: os.environ[name] for name in _PIP if name in os.environ},
    )
    return Workbench(sandbox, interpreter, packages)
