"""The location of the configured database; commands need no more of the composition root than this."""

from __future__ import annotations

from arvis.config import Config
from arvis.store.location import Database


def database_of(config: Config) -> Database:
    return Database(config.database_file, config.postgres_url, config.data_dir, config.backup.keep)
