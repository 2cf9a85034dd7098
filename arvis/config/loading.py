"""Defines `load`, which reads the file, overrides its values by environment variables, and checks all values. `load`
returns a `Config` or raises one `ConfigError`.

The caller passes the environment variables; this module does not read the environment of the process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError

from arvis.config.accounts import (
    account,
    account_problems,
    accounts_from_environment,
    bots_from_environment,
)
from arvis.config.environment import DELIMITER, PREFIX, names_of_variables, values_in
from arvis.config.problems import KeyPath, Problem, complaint, did_you_mean, dotted, from_validation
from arvis.config.renames import MIGRATE, old_keys, old_variables
from arvis.config.schema import ALERT_CHANNEL, ALL_ROLES, SQLITE, BotEntry, Common, Config, ConfigFile, alert_address
from arvis.config.search import with_environment
from arvis.config.sections import Web
from arvis.config.values import (
    MAKE_ONE,
    Refused,
    SecretSource,
    is_loopback,
    is_reference,
    is_weak_key,
    is_weak_password,
    key_rule,
    password_rule,
)
from arvis.config.yaml_text import MAX_TEXT, Document, UnreadableText
from arvis.domain.agents import flaws, flaws_of_binding
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ConfigError


class Overrides:
    """The values that environment variables set, and the variable that set each key."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._variables = names_of_variables(environ)
        self.problems = [
            Problem(path, "is not a known key", did_you_mean(path[:1], list(ConfigFile.model_fields)))
            for path in self._variables
            if path[0] not in ConfigFile.model_fields
        ]
        self.values = values_in(environ, ConfigFile)

    def variable_of(self, path: KeyPath) -> str | None:
        """Return the variable that sets this key or a section that contains the key; None if there is no such
        variable."""
        for end in range(len(path), 0, -1):
            if path[:end] in self._variables:
                return self._variables[path[:end]]
        return None

    def over(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return `values`, overridden by the values of the environment. Mappings are merged. A list of the environment
        replaces the whole list."""
        return _merge(values, self.values)


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        if isinstance(value, dict):
            merged[key] = _merge(under if isinstance(under, dict) else {}, value)
        else:
            # The text `null` means null, as in the file.
            merged[key] = None if value == "null" else value
    return merged


DEFAULT_FILE = Path("config.yaml")


def load(
    config_file: Path | None, data_dir: Path | None, environ: Mapping[str, str], *, text: str | None = None
) -> Config:
    """Return the configuration from `config_file`. If `config_file` is None, use `./config.yaml`; if there is no such
    file, use the built-in defaults.

    The data folder is the first of these that is set: the argument `data_dir`, the variable `ARVIS_DATA_DIR`, the key
    `data_dir` of the file. A relative path in the file starts at the folder of the file. If `text` is given, it
    replaces the content of the file. Raise one `ConfigError` with all problems if there are any.
    """
    document = None if text is None else Document(text)
    return _Loader(file=_file_in_use(config_file), environ=environ, document=document).load(data_dir)


def load_usable(config_file: Path | None, data_dir: Path | None, environ: Mapping[str, str]) -> Config:
    """Return the configuration without the unusable top-level keys of the file, and without the overrides of the
    environment. Commands that examine an installation use this function if `load` fails. Raise `ConfigError` only if
    the data folder cannot be used."""
    file, written = _file_in_use(config_file), written_values(config_file)
    environ = {name: value for name, value in environ.items() if not name.upper().startswith(PREFIX)}
    usable: dict[str, Any] = {}
    # `database` comes first, because some other keys, such as `roles`, can be used only with some databases.
    for key in sorted(written, key=lambda key: key != "database"):
        document = Document("")
        document.values = {**usable, key: written[key]}
        try:
            _Loader(file=file, environ=environ, document=document).load(data_dir)
        except ConfigError:
            continue
        usable = document.values
    document = Document("")
    document.values = usable
    return _Loader(file=file, environ=environ, document=document).load(data_dir)


def written_values(config_file: Path | None) -> Mapping[str, Any]:
    """Return the values as the file contains them; an empty mapping if there is no file or it cannot be read."""
    file = _file_in_use(config_file)
    try:
        return _read(file).values if file is not None else {}
    except ConfigError:
        return {}


def look(config: Config, environ: Mapping[str, str], changes: Mapping[str, Any]) -> Loaded:
    """Return the configuration of the next start. It comes from the current file, the environment, and the `changes` of
    the dashboard by dotted key. The environment overrides the changes, and the changes override the file. Raise
    `ConfigError` if a value cannot be used."""
    loader = _Loader(file=config.config_file, environ=environ, changes=changes)
    return Loaded(loader.load(config.data_dir), loader.origin)


def unset_variables(config_file: Path | None, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the variables to which the file refers as `env:NAME` and that `environ` does not contain. Commands use
    this function, because their environment may differ from the environment of the daemon. Raise `ConfigError` if the
    file cannot be read."""
    file = _file_in_use(config_file)
    texts = _texts(_read(file).values) if file is not None else ()
    names = dict.fromkeys(text.partition(":")[2] for text in texts if is_reference(text) and text.startswith("env:"))
    return tuple(name for name in names if not environ.get(name))


class OriginKind(StrEnum):
    DEFAULT = "default"
    FILE = "file"
    PRODUCT = "product"
    ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of a value. `place` is the file with its line, or the variable; "" for other sources."""

    kind: OriginKind
    place: str = ""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A configuration, and a function that returns the source of a key's value."""

    config: Config
    origin: Callable[[KeyPath], Origin]


class _Loader:
    """One pass of `load` or `look`. The object stores the position of each key in the file. If `document` is given, it
    replaces the content of the file."""

    def __init__(
        self,
        *,
        file: Path | None,
        environ: Mapping[str, str],
        changes: Mapping[str, Any] | None = None,
        document: Document | None = None,
    ) -> None:
        self._file = file
        self._changes: dict[KeyPath, Any] = {tuple(key.split(".")): value for key, value in (changes or {}).items()}
        self._environ = environ
        self._document = document or (_read(file) if file is not None else Document(""))
        self._overrides = Overrides(environ)
        self._secrets = SecretSource(environ, file.absolute().parent if file is not None else Path.cwd())

    def load(self, data_dir: Path | None) -> Config:
        parsed = self._parse()
        bots, problems = self._bots(parsed)
        self._refuse([*problems, *_cross_checks(parsed), *_alert_channel_problems(parsed, bots)])
        values = {name: getattr(parsed, name) for name in Common.model_fields}
        values |= {
            "config_file": self._file.absolute() if self._file is not None else None,
            "data_dir": self._data_dir(data_dir, parsed),
            "accounts": tuple(map(account, parsed.accounts)) or accounts_from_environment(self._environ),
            "bots": bots,
            "search": with_environment(parsed.search, self._environ),
        }
        # All values have already been checked.
        return Config.model_construct(**values)

    def _parse(self) -> ConfigFile:
        self._refuse_old_keys()
        # In YAML, a section with only comments is null. Here it means that the section has its defaults.
        written = {key: value for key, value in self._document.values.items() if value is not None}
        values = _laid_over(written, self._changes)
        values = self._overrides.over(values)
        problems = [*self._document.problems, *self._overrides.problems]
        try:
            parsed = ConfigFile.model_validate(values, context=self._secrets)
        except ValidationError as error:
            problems += from_validation(error.errors(include_url=False, include_input=False), ConfigFile)
            raise complaint(problems, self._place) from None
        self._refuse(problems)
        return parsed

    def _refuse_old_keys(self) -> None:
        """If the file has keys of an older version, raise one `ConfigError` that names each old key with its new
        name."""
        in_file = old_keys(self._document.values)
        lines = [f"- {each} ({self._file}, line {self._document.line_of(each.old)})" for each in in_file]
        variables = old_variables(self._environ, PREFIX, DELIMITER)
        lines += [f"- {renamed} (environment variable {name})" for name, renamed in variables]
        if not lines:
            return
        fixes = [f"Run `{MIGRATE}` to rename the keys of the file."] if in_file else []
        fixes += ["Rename the environment variables where the daemon is started."] if variables else []
        raise ConfigError(
            "The configuration cannot be used: it has keys of an older version",
            why="\n".join(lines),
            fix=" ".join(fixes),
        )

    def _refuse(self, problems: list[Problem]) -> None:
        if problems:
            raise complaint(problems, self._place)

    def _place(self, path: KeyPath) -> str:
        variable = self._overrides.variable_of(path)
        if variable is not None:
            return f"environment variable {variable}"
        if any(path[: len(changed)] == changed for changed in self._changes):
            return "the settings of the dashboard"
        if self._file is None:
            return "the built-in defaults"
        line = self._document.line_of(path)
        return f"{self._file}, line {line}" if line is not None else str(self._file)

    def origin(self, path: KeyPath) -> Origin:
        if (variable := self._overrides.variable_of(path)) is not None:
            return Origin(OriginKind.ENVIRONMENT, variable)
        if path in self._changes:
            return Origin(OriginKind.PRODUCT)
        if (line := self._document.lines.get(path)) is not None:
            return Origin(OriginKind.FILE, f"{self._file}, line {line}")
        return Origin(OriginKind.DEFAULT)

    def _data_dir(self, given: Path | None, parsed: ConfigFile) -> Path:
        from_environment = self._environ.get("ARVIS_DATA_DIR")
        if given is not None:
            return given.absolute()
        if from_environment:
            return Path(from_environment).absolute()
        if self._overrides.variable_of(("data_dir",)) is not None or self._file is None:
            return Path(parsed.data_dir).expanduser().absolute()
        return (self._file.absolute().parent / Path(parsed.data_dir).expanduser()).absolute()

    def _bots(self, parsed: ConfigFile) -> tuple[tuple[BotEntry, ...], list[Problem]]:
        if not parsed.bots:
            return bots_from_environment(self._environ, parsed.agents[0].slug if parsed.agents else None), []
        entries: list[BotEntry] = []
        problems: list[Problem] = []
        for platform, bots in parsed.bots.items():
            for index, values in enumerate(bots):
                entries.append(self._bot(("bots", platform, index), values, problems))
        problems.extend(_repeated_bots(entries))
        return tuple(entries), problems

    def _bot(self, path: KeyPath, values: Mapping[str, Any], problems: list[Problem]) -> BotEntry:
        secrets: set[str] = set()
        resolved = {key: self._resolve((*path, key), value, secrets, problems) for key, value in values.items()}
        name = resolved.setdefault("name", "main")
        if not isinstance(name, str) or not name:
            problems.append(Problem((*path, "name"), "must be text (put it in quotes)"))
        return BotEntry(
            platform=str(path[1]),
            name=str(name),
            path=dotted(path),
            values=resolved,
            places={key: self._place((*path, key)) for key in resolved},
            secrets=frozenset(secrets),
        )

    def _resolve(self, path: KeyPath, value: Any, secrets: set[str], problems: list[Problem]) -> Any:
        """Return `value` with every reference in it replaced by its secret. Add the secrets to `secrets`, and the
        errors to `problems`."""
        match value:
            case dict():
                return {key: self._resolve((*path, key), item, secrets, problems) for key, item in value.items()}
            case list():
                return [self._resolve((*path, index), item, secrets, problems) for index, item in enumerate(value)]
            case str() if is_reference(value):
                try:
                    text = self._secrets.resolve(value)
                except Refused as error:
                    problems.append(Problem(path, str(error), error.fix))
                    return value
                secrets.add(text)
                return text
            case _:
                return value


def _file_in_use(given: Path | None) -> Path | None:
    return given if given is not None else DEFAULT_FILE if DEFAULT_FILE.exists() else None


def _texts(value: Any) -> Iterator[str]:
    """Yield every text within a value, including those in nested lists and mappings."""
    match value:
        case str():
            yield value
        case dict():
            yield from (text for item in value.values() for text in _texts(item))
        case list():
            yield from (text for item in value for text in _texts(item))


def _read(file: Path) -> Document:
    try:
        with file.open(encoding="utf-8") as text:
            return Document(text.read(MAX_TEXT + 1))
    except UnreadableText as error:
        where = f"{file}, line {error.line}" if error.line is not None else str(file)
        raise ConfigError(f"The configuration cannot be read: {where}", why=error.text, fix=error.fix) from error
    except OSError as error:
        fix = "Name an existing file with --config. The config.yaml in the source code shows every key."
        raise ConfigError(f"The configuration cannot be read: {file}", why=error.strerror or "", fix=fix) from error
    except ValueError as error:
        fix = "Save the file as UTF-8 text."
        raise ConfigError(f"The configuration cannot be read: {file}", why="it is not UTF-8 text", fix=fix) from error


def _laid_over(values: Mapping[str, Any], changes: Mapping[KeyPath, Any]) -> dict[str, Any]:
    """Return `values` with the changes of single keys. If the value of a changed key's section is not a mapping, a new
    mapping replaces that value."""
    merged = dict(values)
    for (name, *rest), value in changes.items():
        under = merged.get(str(name))
        below = under if isinstance(under, dict) else {}
        merged[str(name)] = _laid_over(below, {tuple(rest): value}) if rest else value
    return merged


def _cross_checks(config: ConfigFile) -> Iterator[Problem]:
    """Yield the problems that concern more than one key."""
    yield from account_problems(config.accounts)
    yield from _agent_problems(config)
    if config.database == SecretStr(SQLITE) and config.roles != ALL_ROLES:
        fix = "Name all four roles, or use a postgresql:// database."
        why = "because only one process may write to the database"
        yield Problem(("roles",), f"must contain all four roles with SQLite, {why}", fix)
    if not is_loopback(config.web.host) and not config.web.api_keys and config.web.password is None:
        fix = "Set `web.password` or `web.api_keys`, or listen on 127.0.0.1."
        yield Problem(("web", "host"), "is open to other machines, but no password or API key protects it", fix)
    yield from _weak_secrets(config.web)
    for slug, count in Counter(agent.slug for agent in config.agents).items():
        if count > 1:
            yield Problem(("agents",), f"has {count} agents with the slug {slug}", "Give each agent its own slug.")


def _weak_secrets(web: Web) -> Iterator[Problem]:
    """If other machines can reach the port, yield a problem for each secret that is easy to guess."""
    if is_loopback(web.host):
        return
    for index, entry in enumerate(web.api_keys):
        key = entry.key.get_secret_value()
        if is_weak_key(key):
            fix = f"Make another one: {MAKE_ONE}. Or listen on 127.0.0.1."
            yield Problem(("web", "api_keys", index), f"can be guessed from other machines: {key_rule()}", fix)
    password = None if web.password is None else web.password.get_secret_value()
    if password is not None and is_weak_password(password):
        fix = "Choose three or four words that only you would combine, or listen on 127.0.0.1."
        yield Problem(("web", "password"), f"can be guessed from other machines: {password_rule()}", fix)


def _alert_channel_problems(config: ConfigFile, bots: Sequence[BotEntry]) -> Iterator[Problem]:
    try:
        alert_address(config.owners, {(bot.platform, bot.name) for bot in bots})
    except Refused as error:
        yield Problem(("owners", ALERT_CHANNEL), str(error), error.fix)


def _agent_problems(config: ConfigFile) -> Iterator[Problem]:
    for index, entry in enumerate(config.agents):
        yield from (Problem(("agents", index, flaw.field), flaw.text, flaw.fix) for flaw in flaws(entry.agent))
        for place, binding in enumerate(entry.bindings):
            for flaw in flaws_of_binding(binding):
                yield Problem(("agents", index, "channels", place, flaw.field), flaw.text, flaw.fix)


def _repeated_bots(entries: list[BotEntry]) -> Iterator[Problem]:
    for (platform, name), count in Counter((entry.platform, entry.name) for entry in entries).items():
        if count > 1:
            yield Problem(("bots", platform), f"has {count} bots named {name}", "Give each bot its own `name`.")
