"""The `config.yaml` that `arvis init` writes: short, commented, readable by its owner only, and never a half."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from arvis.cli.init.prompts import Answers, NewAccount
from arvis.config import load
from arvis.domain.errors import ConfigError

#: The column of comments.
_COLUMN = 32

_HEAD = """\
# Arvis: the keys that most people change. Any other key has its default; the config.yaml of the source explains all.
#
# The environment wins over this file: ARVIS__WEB__PORT=6000 sets web.port.
# A secret is written `env:NAME` (an environment variable) or `file:PATH` (relative to this file), never as it is.
"""
_ACCOUNTS = """\
# Without accounts, OPENAI_API_KEY, OPENROUTER_API_KEY (each also with suffix _1 … _50) and OPENAI_BASE_URL make them;
# without these, the built-in demo answers. With several accounts the lowest `priority` is asked first.
"""


def text_of(answers: Answers, data_dir: Path | None) -> str:
    """The whole file. `data_dir` None: beside the file."""
    return "\n".join(_lines(answers, data_dir))


def put_in_place(file: Path, text: str, *, variable: str | None, replace: bool) -> None:
    """Write the file, whole or not at all, once our own loader has taken it. `variable` need not be set yet. Raises
    `ConfigError` when it cannot be written, or is there already and must not be replaced."""
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
        fix = "Name another file with --config, or let this user write there."
        raise ConfigError(f"{file} cannot be written", why=error.strerror or str(error), fix=fix) from error
    finally:
        fresh.unlink(missing_ok=True)


def there_already(file: Path) -> ConfigError:
    fix = "Name another file with --config, or replace this one with --force."
    return ConfigError(f"{file} is there already", why="It may hold more than the questions ask for.", fix=fix)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _lines(answers: Answers, data_dir: Path | None) -> Iterator[str]:
    yield _HEAD
    where = "data" if data_dir is None else _quoted(str(data_dir.absolute()))
    yield _line(f"data_dir: {where}", "relative to this file; --data and ARVIS_DATA_DIR win")
    yield ""
    yield "web:"
    yield _line("  host: 127.0.0.1", "any other address needs an API key")
    yield _line(f"  port: {answers.port}", "0 takes a free one")
    yield ""
    yield _line("owners:", "user ids with full rights; the first dashboard user is an owner, too")
    yield f"  web: [{_quoted(answers.owner)}]"
    yield ""
    yield from _account_lines(answers.account)
    yield ""
    yield _line("agents:", "created on first start if absent; the database is the truth afterwards")
    yield f"  - slug: {_slug(answers.agent_name)}"
    yield f"    name: {_quoted(answers.agent_name)}"
    yield _line(f"    prompt: {_quoted(answers.prompt)}", "the agent's instructions")
    yield ""
    yield "scheduler:"
    yield _line(f"  timezone: {_quoted(answers.time_zone)}", "of schedules that name none")
    yield ""


def _account_lines(account: NewAccount | None) -> Iterator[str]:
    yield _ACCOUNTS.rstrip()
    if account is None:
        yield "accounts: []"
        return
    yield "accounts:"
    yield "  - name: main"
    yield f"    provider: {account.provider}"
    if account.base_url is not None:
        yield f"    base_url: {_quoted(account.base_url)}"
    if account.variable is not None:
        yield _line(f"    api_key: env:{account.variable}", "the name of the variable, never the key")
    yield f"    model: {_quoted(account.model)}"
    yield "    priority: 20"


def _line(text: str, comment: str) -> str:
    return f"{text:<{_COLUMN - 1}} # {comment}"


def _quoted(text: str) -> str:
    """Quote any text so that YAML reads it back unchanged: JSON's strings are valid YAML."""
    return json.dumps(text, ensure_ascii=False)


def _slug(name: str) -> str:
    """The agent's name as addresses use it."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:64].strip("-") or "helper"
