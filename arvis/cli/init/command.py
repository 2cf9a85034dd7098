"""`arvis init`: ask a few questions, and write a `config.yaml` that works."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from arvis.cli.init.prompts import Answers, Ask, NewAccount, Surroundings, ask_everything
from arvis.cli.options import PrintingCommand
from arvis.cli.output import Output, tell
from arvis.config import DEFAULT_FILE, load
from arvis.config.declarations import comment_above, declaration, with_comment
from arvis.config.schema import RULES, ConfigFile
from arvis.domain.errors import ConfigError

T = TypeVar("T")


@click.command(cls=PrintingCommand)
@click.option("--yes", is_flag=True, help="Ask no questions and use all defaults.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
def init(*, yes: bool, force: bool, config: Path | None, data: Path | None) -> Output:
    """Ask a few questions and write config.yaml (or --config FILE). Press Enter to accept the default of a question."""
    file = config or DEFAULT_FILE
    ask = _asker(yes=yes)
    replace = _may_replace(file, force=force, yes=yes)
    around = Surroundings(os.environ, _data_folder(file, data))
    answers = ask_everything(ask, around, _say_nothing if yes else tell)
    variable = answers.account.variable if answers.account is not None else None
    put_in_place(file, text_of(answers, data), variable=variable, replace=replace)
    return _report(file, answers, _next_steps(config, variable))


def _asker(*, yes: bool) -> Ask:
    if yes:
        return _take_default
    if not sys.stdin.isatty():
        fix = "Run `arvis init` in a terminal, or use all defaults with `arvis init --yes`."
        raise ConfigError("No questions can be asked", why="Standard input is not a terminal.", fix=fix)
    return _ask


def _ask(question: str, default: str, read: Callable[[str], T]) -> T:
    """Ask a question on standard error, because standard output is for the result. Click repeats the question after an
    invalid answer."""
    answer: T = click.prompt(question, default, value_proc=read, show_default=bool(default), err=True)
    return answer


def _take_default(question: str, default: str, read: Callable[[str], T]) -> T:  # noqa: ARG001 - that of `Ask`
    return read(default)


def _may_replace(file: Path, *, force: bool, yes: bool) -> bool:
    """Return True if the file may be replaced. Raise `ConfigError` if the file exists and must be kept."""
    if force or not file.exists():
        return force
    if yes or not click.confirm(f"{file} already exists. Replace it?", default=False, err=True):
        raise there_already(file)
    return True


def _data_folder(file: Path, data: Path | None) -> Path:
    """Return the data folder of a daemon that uses this configuration file."""
    given = data or os.environ.get("ARVIS_DATA_DIR")
    return Path(given) if given else file.absolute().parent / "data"


def _next_steps(config: Path | None, variable: str | None) -> list[str]:
    """Return the next commands for the person, in order."""
    missing = [variable] if variable is not None and not os.environ.get(variable) else []
    option = f" --config {shlex.quote(str(config))}" if config is not None else ""
    return [*(f"export {name}=YOUR-KEY" for name in missing), f"arvis run{option}", f"arvis doctor{option}"]


def _report(file: Path, answers: Answers, steps: list[str]) -> Output:
    account = answers.account
    written: dict[str, Any] = {
        "file": str(file.absolute()),
        "provider": account.provider if account is not None else None,
        "model": account.model if account is not None else None,
        "variable": account.variable if account is not None else None,
        "port": answers.port,
        "next": steps,
    }
    return Output(written, "\n".join([f"{file} was written. Next steps:", *(f"  {step}" for step in steps)]))


def _say_nothing(_: str) -> None:
    """Print nothing, because a command that asks no questions needs no explanations."""


# The configuration file. It is short, has comments, is readable only by its owner, and is always written as a whole.

_HEAD = "Arvis: the keys that most people change. All other keys have their defaults; the config.yaml in the source code explains them."


def text_of(answers: Answers, data_dir: Path | None) -> str:
    """Return the content of the file. `data_dir` is the data folder. If `data_dir` is None, the data folder is the
    folder `data` beside the file."""
    return "\n".join(_lines(answers, data_dir))


def put_in_place(file: Path, text: str, *, variable: str | None, replace: bool) -> None:
    """Check that `load` accepts the text, then write the whole file in one step. `variable` is the environment variable
    that will contain the account's key; it need not be set yet. Raise `ConfigError` if the file cannot be written, or
    if it exists and must not be replaced."""
    target = file.resolve()
    fresh = target.with_name(f".{target.name}.new")
    try:
        fresh.unlink(missing_ok=True)
        with open(fresh, "x", encoding="utf-8", opener=_private) as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        load(fresh, None, {variable: "set before the start"} if variable else {})
        if target.exists() and not replace:
            raise there_already(file)
        fresh.replace(target)
    except OSError as error:
        fix = "Name another file with --config, or give this user write permission for the folder."
        raise ConfigError(f"{file} cannot be written", why=error.strerror or str(error), fix=fix) from error
    finally:
        fresh.unlink(missing_ok=True)


def there_already(file: Path) -> ConfigError:
    fix = "Name another file with --config, or replace this one with --force."
    return ConfigError(
        f"{file} already exists.",
        why="It may contain settings that `arvis init` does not ask for, and they would be lost.",
        fix=fix,
    )


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _lines(answers: Answers, data_dir: Path | None) -> Iterator[str]:
    yield from (f"# {_HEAD}", "#", *(f"# {rule}" for rule in RULES), "")
    yield _line("data_dir", "data" if data_dir is None else _quoted(str(data_dir.absolute())))
    yield ""
    yield _line("web")
    yield _line("web.host", "127.0.0.1", indent="  ")
    yield _line("web.port", str(answers.port), indent="  ")
    yield ""
    yield _line("owners")
    yield f"  web: [{_quoted(answers.owner)}]"
    yield ""
    yield from _account_lines(answers.account)
    yield ""
    yield _line("agents")
    yield f"  - slug: {_slug(answers.agent_name)}"
    yield f"    name: {_quoted(answers.agent_name)}"
    yield _line("agents.prompt", _quoted(answers.prompt), indent="    ")
    yield ""
    yield _line("scheduler")
    yield _line("scheduler.timezone", _quoted(answers.time_zone), indent="  ")
    yield ""


def _account_lines(account: NewAccount | None) -> Iterator[str]:
    yield from comment_above(declaration(ConfigFile, "accounts"))
    if account is None:
        yield "accounts: []"
        return
    yield "accounts:"
    yield "  - name: main"
    yield f"    provider: {account.provider}"
    if account.base_url is not None:
        yield f"    base_url: {_quoted(account.base_url)}"
    if account.variable is not None:
        yield with_comment(f"    api_key: env:{account.variable}", "the name of the variable, never the key")
    yield f"    model: {_quoted(account.model)}"
    yield "    priority: 20"


def _line(key: str, value: str = "", indent: str = "") -> str:
    """Return the line of a key, with its description as the comment."""
    text = f"{indent}{key.rpartition('.')[2]}: {value}".rstrip()
    return with_comment(text, declaration(ConfigFile, key).description)


def _quoted(text: str) -> str:
    """Return the text as a JSON string. YAML reads it unchanged, because JSON strings are valid YAML."""
    return json.dumps(text, ensure_ascii=False)


def _slug(name: str) -> str:
    """Return a slug made from the agent's name."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:64].strip("-") or "helper"
