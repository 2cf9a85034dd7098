"""`arvis migrate`: update the database without starting the daemon. A start of the daemon updates it, too."""

from __future__ import annotations

import os
from pathlib import Path

import click

from arvis.app.database import database_of
from arvis.cli.options import json_option, place_options
from arvis.cli.output import print_json, tell
from arvis.config import load
from arvis.process.clock import SystemClock
from arvis.process.data_folder import lock_data_folder
from arvis.store.integrity.repair import make_sound
from arvis.store.open import bring_up_to_date


@click.command()
@json_option
@place_options
def migrate(*, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Update the database; a copy is made before. Refused while a daemon runs."""
    settings = load(config, data, os.environ)
    database, now = database_of(settings), SystemClock().now()
    with lock_data_folder(settings.data_dir):
        if (finding := make_sound(database, now)) is not None:
            tell(f"The database was examined: {finding.what}." + (f" See {finding.report}" if finding.report else ""))
        ran = bring_up_to_date(database, now)
    if as_json:
        print_json({"migrations": ran})
    else:
        print("\n".join(f"ran {name}" for name in ran) or "The database is up to date.")
