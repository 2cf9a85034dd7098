"""The support archive of `arvis doctor --bundle`: a zip file without secrets that a person can send to others.

In every text, the redaction replaces the secrets of the configuration, of the data folder and of the database, and
other texts that look like keys. The archive contains no messages, no prompts and no files of people.
"""

from __future__ import annotations

import json
import os
import platform
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import distributions
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr

from arvis import __version__
from arvis.bots.registry import sealed_of
from arvis.cli.doctor.findings import Finding
from arvis.cli.doctor.scene import PLACEHOLDER, Scene, log_lines
from arvis.config import Config, written_values
from arvis.domain.errors import ArvisError, Conflict
from arvis.domain.regex import regex
from arvis.process.data_folder import api_key_file
from arvis.process.logging import Redactor
from arvis.process.secrets import SealedBox, secrets_key_file
from arvis.store.health import SQLITE_VERSION, DatabaseState

#: The maximum number of log lines and of files of the data folder in the archive.
_LOG_LINES = 5_000
_FILES = 2_000
#: The maximum number of characters of a log line.
_LONGEST_LINE = 4_000

_MASK = "[redacted]"
#: Names of settings, environment variables and fields whose values are secrets.
_SECRET_NAME = regex(r"token|secret|passw|(?:^|[_\W])key|api_?key|credential|cookie|authorization", re.IGNORECASE)
#: The characters between the words of a line of YAML.
_WORDS = regex(r"[\s,\[\]{}\"']+")
#: The minimum length of a secret that is replaced in all texts. A shorter secret could also occur in ordinary words, so
#: only the field that contains it is masked.
_SHORTEST = 4

_ABOUT = """\
Support archive of Arvis, made by `arvis doctor --bundle` at {at}.

about.json          versions of Arvis, Python, SQLite and the packages, and the system
findings.json       the findings of `arvis doctor`
configuration.json  the configuration in use; secrets are masked
database.json       the check of the database, numbers of the queue, accounts and bots without their secrets
files.json          names, sizes and modes of the files of the data folder
log.jsonl           the newest lines of the log

It contains no messages, prompts or files of people. Known secrets and texts that look like keys are replaced by
{mask}. The log and the configuration contain names, ids and addresses; read them before you send the archive.
"""


def write_bundle(file: Path, scene: Scene, findings: list[Finding], environ: Mapping[str, str]) -> Path:
    """Write the archive, which only this user can read, and return its path. If `file` is a folder, the archive gets a
    name with the time in it. Raise `Conflict` if the file exists or cannot be written."""
    at = datetime.fromtimestamp(scene.now / 1000, UTC)
    path = file / f"arvis-support-{at:%Y%m%d-%H%M%S}.zip" if file.is_dir() else file
    redact = Redactor(_secrets(scene, environ))
    parts = {
        "README.txt": _ABOUT.format(at=at.isoformat(" ", "seconds"), mask=_MASK),
        "about.json": _json(_about(scene)),
        "findings.json": _json([asdict(each) for each in findings]),
        "configuration.json": _json(_configuration(scene.config, environ)),
        "database.json": _json(_database(scene)),
        "files.json": _json(list(_files(scene.folder))),
        "log.jsonl": "".join(f"{line[:_LONGEST_LINE]}\n" for line in map(redact, log_lines(scene.folder, _LOG_LINES))),
    }
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        fix = "Name another file, or a folder in which this user may write."
        raise Conflict(f"{path} cannot be written", why=error.strerror or str(error), fix=fix) from error
    with os.fdopen(descriptor, "wb") as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, redact(text).encode(errors="replace"))
    return path


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n"


def _about(scene: Scene) -> Mapping[str, Any]:
    daemon = scene.daemon
    return {
        "arvis": __version__,
        "python": platform.python_version(),
        "sqlite": ".".join(map(str, SQLITE_VERSION)),
        "system": platform.platform(),
        "packages": dict(sorted({each.name: each.version for each in distributions()}.items())),
        "dataFolder": str(scene.folder),
        "daemon": None if daemon is None else {"pid": daemon.pid, "url": daemon.url, "version": daemon.version},
        "starts": [asdict(each) for each in scene.lives],
    }


def _configuration(config: Config, environ: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the configuration with masked secrets, and the names of the environment variables that configure Arvis."""
    names = sorted(name for name in environ if name.upper().startswith(("ARVIS", "OPENAI_", "ANTHROPIC_", "TELEGRAM_")))
    values = {name: _masked(name, getattr(config, name)) for name in type(config).model_fields}
    return {**values, "environmentVariables": names}


def _masked(name: str, value: Any) -> Any:
    """Return a value as plain data. Secrets are masked, and so are all texts in fields with the name of a secret."""
    match value:
        case None | bool() | int() | float():
            return value
        case SecretStr():
            return _MASK
        case str() | Path():
            return _MASK if value and _SECRET_NAME.search(name) else str(value)
        case Mapping():
            return {str(key): _masked(str(key), item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_masked(name, item) for item in value]
    fields = getattr(value, "__dataclass_fields__", None) or getattr(type(value), "model_fields", {})
    return {each: _masked(each, getattr(value, each)) for each in fields}


def _database(scene: Scene) -> Mapping[str, Any]:
    state = scene.database
    if not isinstance(state, DatabaseState):
        return {"problem": f"{state.what}: {state.why}" if isinstance(state, ArvisError) else "There is no database."}
    found: dict[str, Any] = {
        "missingMigrations": list(state.missing),
        "files": None if state.files is None else f"{type(state.files).__name__}: {state.files}",
        "server": None if state.server is None else asdict(state.server),
    }
    records = scene.records
    if records is None:
        return found
    counted = ("installed_at", "newest_at", "failed_jobs", "poisoned_jobs", "waiting_since", "running_jobs")
    return {
        **found,
        **{name: getattr(records, name) for name in (*counted, "expired_leases", "crashing", "unreadable")},
        "deliveries": {str(name): number for name, number in records.troubled.items()},
        "calls": [asdict(each) for each in records.calls],
        "accounts": [
            {"name": each.name, "provider": each.provider, "model": each.model, "status": each.status}
            for each in records.accounts
        ],
        "bots": [{"platform": each.platform, "name": each.name, "enabled": each.enabled} for each in records.bots],
        "botStates": [
            {"platform": each.platform, "name": each.name, "state": each.state, "error": each.error}
            for each in records.bot_states
        ],
        "webhooks": len(records.webhooks),
        "skills": [each.slug for each in records.skills],
    }


def _files(folder: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the files of the data folder, without the files of people."""
    if not folder.is_dir():
        return
    private = {"blobs", "sessions", "browser"}
    shown = (file for file in sorted(folder.rglob("*")) if file.relative_to(folder).parts[0] not in private)
    for file, _ in zip(shown, range(_FILES), strict=False):
        status = file.lstat()
        name = str(file.relative_to(folder))
        yield {"name": name, "bytes": status.st_size, "mode": f"{status.st_mode & 0o7777:04o}", "uid": status.st_uid}


# -- secrets -----------------------------------------------------------------------------------------------------------


def _secrets(scene: Scene, environ: Mapping[str, str]) -> set[str]:
    """Return all secrets that can be found: those of the configuration and its file, of the environment, of the data
    folder, and of the database."""
    found = {
        *scene.config.secrets(),
        *_passwords_in(scene.config.postgres_url),
        *_written(scene.config.config_file),
        *(value for name, value in environ.items() if _SECRET_NAME.search(name)),
        *_text_of(api_key_file(scene.folder)),
        *_text_of(secrets_key_file(scene.folder)),
        *_stored(scene),
    }
    return {secret for secret in found if len(secret.strip()) >= _SHORTEST} - {PLACEHOLDER}


def _passwords_in(url: str | None) -> Iterator[str]:
    password = urlsplit(url).password if url is not None else None
    if password:
        yield from (password, unquote(password))


def _written(file: Path | None) -> Iterator[str]:
    """Yield the secrets that the configuration file itself contains. If the file cannot be read as YAML, yield every
    word that follows the name of a secret on the same line."""
    if file is None:
        return
    if values := written_values(file):
        yield from _secret_texts("", values)
        return
    for line in "".join(_text_of(file)).splitlines():
        if (name := _SECRET_NAME.search(line)) is not None:
            yield from (word for word in _WORDS.split(line[name.end() :]) if not word.startswith(("env:", "file:")))


def _secret_texts(name: str, value: Any) -> Iterator[str]:
    match value:
        case dict():
            for key, item in value.items():
                yield from _secret_texts(str(key), item)
        case list():
            for item in value:
                yield from _secret_texts(name, item)
        case str() if _SECRET_NAME.search(name) and not value.startswith(("env:", "file:")):
            yield value


def _text_of(file: Path) -> Iterator[str]:
    try:
        yield file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return


def _stored(scene: Scene) -> Iterator[str]:
    """Yield the secrets of the database, in encrypted form, and decrypted if the key is known."""
    records = scene.records
    if records is None:
        return
    sealed = [each.sealed_key for each in records.accounts if each.sealed_key]
    sealed += [each.value for each in records.secrets]
    sealed += [value for bot in records.bots for value in sealed_of(bot).values()]
    sealed += [hook.secret for hook in records.webhooks]
    yield from sealed
    given = scene.config.encryption_key
    text = None if given is None or given.get_secret_value() == PLACEHOLDER else given.get_secret_value()
    try:
        box = SealedBox(file=secrets_key_file(scene.folder), given=text, tell=lambda _: None)
    except ArvisError:
        return
    for value in sealed:
        try:
            yield box.open(value)
        except ArvisError:
            continue
