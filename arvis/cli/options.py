"""The options that every command takes, spelled once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

ConfigFile = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="The configuration (default: ./config.yaml if there).")
]
DataFolder = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="The data folder (default: ARVIS_DATA_DIR, then data_dir).")
]
Limit = Annotated[int, typer.Option("--limit", min=1, max=200, help="At most so many.")]
Cursor = Annotated[str | None, typer.Option("--cursor", help="Go on where the page before ended.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def new_app(**settings: Any) -> typer.Typer:
    """A plain command or group: no colours, no completion, no pretty tracebacks, all of which cost start-up time."""
    return typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, no_args_is_help=True, **settings
    )
