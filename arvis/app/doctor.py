"""Runs `arvis doctor` as a separate program: its checks belong to a higher layer, and its errors do not harm the
daemon."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from arvis.config import Config
from arvis.domain.errors import ToolError
from arvis.ports.sandbox import Programs, Task

#: Seconds; it queries bots and accounts over the network.
_TIMEOUT = 60.0
_MOST_OUTPUT = 1_048_576
#: Exit codes of an examination that came to its end.
_DONE = (0, 1)


class Doctor:
    """For the configuration and data of this process. Calls give what `--json` prints. Raises `ToolError`."""

    def __init__(self, *, config: Config, folder: Path, programs: Programs) -> None:
        self._config = config
        self._folder = folder
        self._programs = programs

    async def __call__(self, security: bool) -> str:
        file = self._config.config_file
        argv = [sys.executable, "-m", "arvis", "doctor", "--json", "--data", str(self._folder)]
        argv += ["--config", str(file)] if file is not None else []
        argv += ["--security"] if security else []
        # Relative paths of the configuration and the default file start at the folder that the daemon was started in.
        environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
        task = Task(argv, Path.cwd(), environment=environment, timeout=_TIMEOUT, max_output=_MOST_OUTPUT)
        done = await self._programs.run(task)
        if done.timed_out:
            raise ToolError(f"It took longer than {_TIMEOUT:g} seconds.")
        if done.exit_code not in _DONE:
            raise ToolError(f"It ended with code {done.exit_code}.")
        return done.stdout.decode("utf-8", "replace")
