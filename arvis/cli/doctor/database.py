"""The database: opens, fits this version, is sound."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.app.database import database_of
from arvis.cli.doctor.findings import Check, Group, Verdict, fail, failed, ok, warn
from arvis.cli.doctor.scene import Scene
from arvis.domain.errors import ArvisError, Unprocessable
from arvis.ports.skills import StoredSkill
from arvis.process.data_folder import Holder
from arvis.skills.skill import Source, read_skill
from arvis.store.health import DatabaseState, log_bytes
from arvis.store.integrity.check import Damaged, LogCut, Sound

_MEGABYTE = 1_000_000

#: The log is cut back to 64 MB when no reader is active; twice that means that a reader never ends.
_LARGE_LOG = 128 * _MEGABYTE

#: The oldest server version that still gets fixes.
_OLDEST_SERVER = 140000
_VERSION_STEP = 10000


def check_database(scene: Scene) -> Verdict:
    name = _name(scene)
    match scene.database:
        case None if isinstance(scene.holder, Holder):
            return ok("The database is in the hands of a command")
        case None:
            return ok("There is no database yet: the first start makes it")
        case ArvisError() as error:
            return failed(error)
        case DatabaseState(missing=[_, *_] as missing):
            why = f"These migrations have not run: {', '.join(missing)}."
            return warn(f"{name} is not up to date", why, "Run `arvis migrate`, or start the daemon.")
    return ok(f"{name} opens and is up to date")


def check_files(scene: Scene) -> Verdict | None:
    """The fix describes what the running daemon would do: it never serves a damaged database."""
    if not isinstance(scene.database, DatabaseState) or scene.database.server is not None:
        return None
    match scene.database.files:
        case None:
            what = f"{_name(scene)} is too large to be read whole beside the daemon"
            return ok(what, "The daemon examines it at every start.")
        case Damaged(damage):
            why = f"{'; '.join(damage)}."
            fix = "Start the daemon again: it puts the newest sound backup in its place. `arvis restore` takes another one."
            return fail(f"{_name(scene)} is damaged", why, fix)
        case LogCut(str(lost)):
            fix = "Start the daemon: it keeps what is sound, and writes down what is missing."
            return fail(f"The log of {_name(scene)} is damaged", f"Lost: {lost}.", fix)
        case Sound(str(remark), warning=True):
            return warn(
                f"{_name(scene)} may not be whole", f"{remark}.", "Start the daemon: it writes down what it finds."
            )
    return ok("The files of the database are sound")


def check_rows(scene: Scene) -> Verdict | None:
    if not isinstance(scene.database, DatabaseState) or scene.database.rows is None:
        return None
    rows = scene.database.rows
    if isinstance(rows, ArvisError):
        return failed(rows)
    if unreadable := [*rows.unreadable, *_unreadable_skills(rows.skills)]:
        fix = "Save each of them again in the dashboard or by the command line, or remove it."
        return fail("Some rows cannot be read and count as disabled", f"{'; '.join(unreadable)}.", fix)
    return ok("The rows can be read")


def _unreadable_skills(skills: Sequence[StoredSkill]) -> list[str]:
    found = []
    for stored in skills:
        try:
            read_skill(stored.text, stem=stored.slug, source=Source.IMPORTED)
        except Unprocessable as error:
            found.append(f"skills {stored.slug} ({error.what})")
    return found


def check_log(scene: Scene) -> Verdict | None:
    if scene.database is None or scene.config.postgres_url is not None:
        return None
    size = log_bytes(database_of(scene.config))
    if size > _LARGE_LOG:
        why = f"It has {size // _MEGABYTE} MB, so some program holds the database open for reading."
        return warn("The write-ahead log grows", why, "Close what reads arvis.db, or start the daemon again.")
    return ok(f"The write-ahead log has {size / _MEGABYTE:.1f} MB")


def check_server(scene: Scene) -> Verdict | None:
    """A PostgreSQL server that keeps what it has committed."""
    if not isinstance(scene.database, DatabaseState) or scene.database.server is None:
        return None
    server = scene.database.server
    version = f"PostgreSQL {server.version // _VERSION_STEP}.{server.version % _VERSION_STEP}"
    if server.unsafe:
        why = f"Off: {', '.join(server.unsafe)}. A power cut may cost messages that were acknowledged."
        return fail("The server does not keep its promises", why, "Switch them on in postgresql.conf.")
    if server.version < _OLDEST_SERVER:
        why = f"Arvis is tested with {_OLDEST_SERVER // _VERSION_STEP} and newer."
        return warn(f"{version} is old", why, "Plan an update of the server.")
    return ok(f"{version} keeps what it has committed")


def _name(scene: Scene) -> str:
    return "PostgreSQL" if scene.config.postgres_url else str(scene.config.database_file)


GROUP = Group(
    "database",
    (
        Check("database", check_database),
        Check("database_files", check_files),
        Check("database_rows", check_rows),
        Check("write_ahead_log", check_log),
        Check("database_server", check_server),
    ),
)
