"""The repairs of `arvis doctor --fix`. A repair loses no data, and the daemon works in the same way with and without
the repair. Repairs that the daemon makes by itself at its next start, such as repairs of the database, are not
included."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from arvis.cli.doctor.scene import Scene
from arvis.cli.doctor.security import OTHERS, holds_secret, private_files
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ArvisError
from arvis.process.data_folder import address_file, lock_data_folder

#: The folders that the daemon creates in the data folder.
_FOLDERS = ("logs", "backups", "blobs")
#: The files and folders that a process leaves if it dies while it writes a backup, a file of the data folder, or a copy
#: for an examination of the database.
_LEFTOVERS = ("*.new", ".look-*", ".doctor-*", ".examination", "backups/.*.part")


@dataclass(frozen=True, slots=True)
class Repair:
    """A repair: a description in the imperative, and the function that makes it. The function raises `OSError` or
    `ArvisError` if the repair is impossible."""

    id: str
    what: str
    make: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a repair. `error` is empty if the repair succeeded."""

    id: str
    what: str
    error: str = ""


def repairs_of(scene: Scene) -> Sequence[Repair]:
    """Return the repairs that are possible now, in the order in which they are made."""
    if not scene.folder.is_dir() or not os.access(scene.folder, os.R_OK | os.X_OK):
        return []
    found = [*_modes(scene), *_missing_folders(scene)]
    # While a process uses the data folder, these files may be in use.
    return [*found, *_stale_files(scene)] if scene.holder is None else found


def make(repair: Repair) -> Outcome:
    """Make a repair, and return its result."""
    try:
        repair.make()
    except OSError as error:
        return Outcome(repair.id, repair.what, error.strerror or str(error))
    except ArvisError as error:
        return Outcome(repair.id, repair.what, f"{error.what}. {error.why}".strip())
    return Outcome(repair.id, repair.what)


def _modes(scene: Scene) -> Iterator[Repair]:
    """Yield the repairs of files and folders that other users can read. Links are not followed."""
    folder = scene.folder
    if _is_exposed(folder):
        yield Repair("data_folder_mode", f"Make {folder} private (mode 0700)", partial(folder.chmod, 0o700))
    for file in private_files(folder):
        if file.is_file() and not file.is_symlink() and _is_exposed(file):
            yield Repair("file_modes", f"Make {file} private (mode 0600)", partial(file.chmod, 0o600))
    config = scene.config.config_file
    if config is not None and config.is_file() and _is_exposed(config) and holds_secret(scene):
        yield Repair("secrets_in_file", f"Make {config} private (mode 0600)", partial(config.chmod, 0o600))


def _missing_folders(scene: Scene) -> Iterator[Repair]:
    if not scene.config.database_file.exists() and scene.config.postgres_url is None:
        return  # the first start creates all folders
    for name in _FOLDERS:
        folder = scene.folder / name
        if not folder.exists() and not folder.is_symlink():
            yield Repair("missing_folders", f"Create the folder {folder}", partial(folder.mkdir, 0o700))


def _stale_files(scene: Scene) -> Iterator[Repair]:
    address = address_file(scene.folder)
    if address.exists():
        what = f"Remove {address}, which a daemon left when it ended unexpectedly"
        yield Repair("stale_address", what, partial(_remove, scene.folder, address))
    for pattern in _LEFTOVERS:
        for file in sorted(scene.folder.glob(pattern)):
            what = f"Remove {file}, which an interrupted process left"
            yield Repair("leftovers", what, partial(_remove, scene.folder, file))


def _remove(folder: Path, file: Path) -> None:
    """Remove a file or a folder while no other process uses the data folder."""
    with lock_data_folder(folder):
        if file.is_dir() and not file.is_symlink():
            shutil.rmtree(file)
        else:
            file.unlink(missing_ok=True)


def _is_exposed(file: Path) -> bool:
    return bool(stat.S_IMODE(file.lstat().st_mode) & OTHERS)
