"""`arvis version`."""

from __future__ import annotations

import platform

from arvis import __version__
from arvis.cli.options import AsJson, ConfigFile, DataFolder, new_app
from arvis.cli.printing import print_json

app = new_app()


@app.command()
def version(*, as_json: AsJson = False, config: ConfigFile = None, data: DataFolder = None) -> None:  # noqa: ARG001
    """Print the version of this Arvis. (--config and --data are taken, as everywhere, and change nothing.)"""
    if as_json:
        print_json({"version": __version__, "python": platform.python_version()})
    else:
        print(f"arvis {__version__}")
