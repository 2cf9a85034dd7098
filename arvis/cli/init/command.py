"""`arvis init`: a few questions, and a `config.yaml` that works."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from arvis.cli.init.config_file import put_in_place, text_of, there_already
from arvis.cli.init.defaults import Surroundings
from arvis.cli.init.prompts import Answers, Ask, ask_everything
from arvis.cli.options import json_option, place_options
from arvis.cli.output import print_json, tell
from arvis.config import DEFAULT_FILE
from arvis.domain.errors import ConfigError

T = TypeVar("T")


@click.command()
@click.option("--yes", is_flag=True, help="Ask nothing and take every default.")
@click.option("--force", is_flag=True, help="Replace the file if it is there already.")
@json_option
@place_options
def init(*, yes: bool, force: bool, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Ask a few questions and write config.yaml (or --config FILE). Enter takes the default of a question."""
    file = config or DEFAULT_FILE
    ask = _asker(yes=yes)
    replace = _may_replace(file, force=force, yes=yes)
    around = Surroundings(os.environ, _data_folder(file, data))
    answers = ask_everything(ask, around, _say_nothing if yes else tell)
    variable = answers.account.variable if answers.account is not None else None
    put_in_place(file, text_of(answers, data), variable=variable, replace=replace)
    _report(file, answers, _next_steps(config, variable), as_json=as_json)


def _asker(*, yes: bool) -> Ask:
    if yes:
        return _take_default
    if not sys.stdin.isatty():
        fix = "Run it in a terminal, or take every default with `arvis init --yes`."
        raise ConfigError("No questions can be asked", why="Standard input is no terminal.", fix=fix)
    return _ask


def _ask(question: str, default: str, read: Callable[[str], T]) -> T:
    """On standard error, so that standard output is for the result. Click asks again after a bad answer."""
    answer: T = click.prompt(question, default, value_proc=read, show_default=bool(default), err=True)
    return answer


def _take_default(question: str, default: str, read: Callable[[str], T]) -> T:  # noqa: ARG001 - that of `Ask`
    return read(default)


def _may_replace(file: Path, *, force: bool, yes: bool) -> bool:
    """Return true if the file may be overwritten. Raises `ConfigError` if it exists and is kept."""
    if force or not file.exists():
        return force
    if yes or not click.confirm(f"{file} is there already. Replace it?", default=False, err=True):
        raise there_already(file)
    return True


def _data_folder(file: Path, data: Path | None) -> Path:
    """Return the data folder of a daemon with this file."""
    given = data or os.environ.get("ARVIS_DATA_DIR")
    return Path(given) if given else file.absolute().parent / "data"


def _next_steps(config: Path | None, variable: str | None) -> list[str]:
    """Commands, in their order."""
    missing = [variable] if variable is not None and not os.environ.get(variable) else []
    option = f" --config {shlex.quote(str(config))}" if config is not None else ""
    return [*(f"export {name}=YOUR-KEY" for name in missing), f"arvis run{option}", f"arvis doctor{option}"]


def _report(file: Path, answers: Answers, steps: list[str], *, as_json: bool) -> None:
    account = answers.account
    if as_json:
        written: dict[str, Any] = {
            "file": str(file.absolute()),
            "provider": account.provider if account is not None else None,
            "model": account.model if account is not None else None,
            "variable": account.variable if account is not None else None,
            "port": answers.port,
            "next": steps,
        }
        print_json(written)
        return
    print(f"{file} is written. Next:")
    for step in steps:
        print(f"  {step}")


def _say_nothing(_: str) -> None:
    """Without questions there is nothing to explain."""
