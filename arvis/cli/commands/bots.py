"""`arvis bots`: list, show, create, update, test and delete the bots of chat platforms. A token is never an
argument."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import connect
from arvis.cli.options import Commands, json_option, place_options, read_secret
from arvis.cli.output import FAILED, moment, plain, print_fields, print_json, print_table

_COLUMNS = ("bot", "state", "as", "source", "since", "error")

#: The secrets that a bot of these platforms needs. Other secrets are named with --secret.
_SECRETS: Mapping[str, Sequence[str]] = {
    "discord": ("token",),
    "telegram": ("token",),
    "slack": ("bot_token", "app_token"),
}

#: The timeout of a test in seconds. The daemon's own time limit is shorter.
_TIMEOUT = 40.0

#: The maximum number of digits of a value that counts as a number. A longer value is an id of the platform and stays
#: text.
_LONGEST_NUMBER = 9


def _bot_name(text: str) -> tuple[str, str]:
    """Return the platform and the name of a bot from a text such as `discord/helper`. A text without a name, such as
    `discord`, means the bot `main`."""
    platform, _, name = text.partition("/")
    if not platform:
        raise click.BadParameter("must be PLATFORM or PLATFORM/NAME, such as discord/helper")
    return platform, name or "main"


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise click.BadParameter("must be KEY=VALUE")
    return key, value


_bot = click.argument("bot", type=_bot_name, metavar="BOT")


def _settings_options(command: Any) -> Any:
    """Add the options of `create` and `update`."""
    options = (
        click.option(
            "--set",
            "settings",
            type=_pair,
            multiple=True,
            metavar="KEY=VALUE",
            help="Set a setting; VALUE is text or JSON.",
        ),
        click.option(
            "--secret", "asked", multiple=True, metavar="KEY", help="Ask for this secret, without showing it."
        ),
        click.option(
            "--secret-env",
            "variables",
            type=_pair,
            multiple=True,
            metavar="KEY=NAME",
            help="Read this secret from the environment variable NAME.",
        ),
        click.option(
            "--secret-file",
            "files",
            type=_pair,
            multiple=True,
            metavar="KEY=PATH",
            help="Read this secret from the file PATH.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group(cls=Commands)
def bots() -> None:
    """List, show, create, update, test and delete the bots of chat platforms.

    BOT is PLATFORM/NAME such as discord/helper; without a name it is the bot called main.
    """


@bots.command("list")
@json_option
@place_options
def list_bots(*, as_json: bool, config: Path | None, data: Path | None) -> None:
    """List bots: first the bots of the configuration, then all others."""
    page = connect(config, data).get("api", "bots")
    if as_json:
        print_json(page)
        return
    print_table([_row(bot) for bot in page["items"]], _COLUMNS, nothing="No bots. `arvis bots create` adds one.")


@bots.command()
@_bot
@json_option
@place_options
def show(*, bot: tuple[str, str], as_json: bool, config: Path | None, data: Path | None) -> None:
    """Show one bot with its settings. Secrets are listed by name only."""
    found = connect(config, data).get("api", "bots", *bot)
    if as_json:
        print_json(found)
        return
    secrets = ", ".join(found["secrets"]) or None
    print_fields({**found, "settings": None, "secrets": secrets, "since": moment(found["since"])} | found["settings"])


@bots.command()
@_bot
@_settings_options
@click.option("--off", is_flag=True, help="Create it without starting it; `arvis bots enable` starts it later.")
@json_option
@place_options
def create(
    *,
    bot: tuple[str, str],
    settings: Sequence[tuple[str, str]],
    asked: Sequence[str],
    variables: Sequence[tuple[str, str]],
    files: Sequence[tuple[str, str]],
    off: bool,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """Create a bot. Secrets come from variables, files or standard input (one per line), or you are asked."""
    given = {key for key, _ in (*variables, *files)}
    missing = [key for key in _SECRETS.get(bot[0], ()) if key not in given and key not in asked]
    body = {
        "platform": bot[0],
        "name": bot[1],
        "settings": _values(settings),
        "secrets": _secrets([*asked, *missing], variables, files),
        "enabled": not off,
    }
    entered = connect(config, data).post("api", "bots", body=body)
    if as_json:
        print_json(entered)
    else:
        print(f"The bot {_name(bot)} is created. Test it with `arvis bots test {_name(bot)}`.")


@bots.command()
@_bot
@_settings_options
@click.option("--unset", "gone", multiple=True, metavar="KEY", help="Remove a setting.")
@json_option
@place_options
def update(
    *,
    bot: tuple[str, str],
    settings: Sequence[tuple[str, str]],
    asked: Sequence[str],
    variables: Sequence[tuple[str, str]],
    files: Sequence[tuple[str, str]],
    gone: Sequence[str],
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """Change settings and secrets of a bot that is not in the configuration, and restart it."""
    changed: dict[str, Any] = {**_values(settings), **dict.fromkeys(gone)}
    body = {"settings": changed, "secrets": _secrets(asked, variables, files)}
    _change(bot, body, "is changed", as_json=as_json, config=config, data=data)


@bots.command()
@_bot
@json_option
@place_options
def enable(*, bot: tuple[str, str], as_json: bool, config: Path | None, data: Path | None) -> None:
    """Start a bot that is not in the configuration."""
    _change(bot, {"enabled": True}, "is on", as_json=as_json, config=config, data=data)


@bots.command()
@_bot
@json_option
@place_options
def disable(*, bot: tuple[str, str], as_json: bool, config: Path | None, data: Path | None) -> None:
    """Stop a bot that is not in the configuration. Arvis sends its deliveries when the bot starts again."""
    _change(bot, {"enabled": False}, "is off", as_json=as_json, config=config, data=data)


@bots.command()
@_bot
@json_option
@place_options
def delete(*, bot: tuple[str, str], as_json: bool, config: Path | None, data: Path | None) -> None:
    """Delete a bot that is not in the configuration, with its secrets."""
    answer = connect(config, data).delete("api", "bots", *bot)
    if as_json:
        print_json(answer)
    else:
        print(f"The bot {_name(bot)} is deleted.")


@bots.command()
@_bot
@json_option
@place_options
def test(*, bot: tuple[str, str], as_json: bool, config: Path | None, data: Path | None) -> None:
    """Check on the platform that the bot has the token, scopes and intents that it needs. The exit code is 1 if one is
    missing."""
    answer = connect(config, data).post("api", "bots", *bot, "test", timeout=_TIMEOUT)
    findings = answer["findings"]
    if as_json:
        print_json(answer)
    else:
        for finding in findings:
            print(plain(f"{finding['level']:<8} {finding['text']}"))
            if finding["fix"]:
                print(plain(f"{'':<8} fix: {finding['fix']}"))
    if any(finding["level"] == "error" for finding in findings):
        sys.exit(FAILED)


@bots.command()
@_bot
@json_option
@place_options
def restart(*, bot: tuple[str, str], as_json: bool, config: Path | None, data: Path | None) -> None:
    """Restart a bot in the process that runs it."""
    found = connect(config, data).post("api", "bots", *bot, "restart")
    if as_json:
        print_json(found)
    else:
        print(f"The bot {_name(bot)} is restarting.")


def _change(
    bot: tuple[str, str], body: Any, words: str, *, as_json: bool, config: Path | None, data: Path | None
) -> None:
    changed = connect(config, data).patch("api", "bots", *bot, body=body)
    if as_json:
        print_json(changed)
    else:
        print(f"The bot {_name(bot)} {words}.")


def _name(bot: tuple[str, str]) -> str:
    return "/".join(bot)


def _row(bot: Any) -> dict[str, object]:
    state = bot["state"] if bot["enabled"] else "off"
    name = _name((bot["platform"], bot["name"]))
    return {**bot, "bot": name, "state": state, "as": bot["userName"], "since": moment(bot["since"])}


def _values(settings: Sequence[tuple[str, str]]) -> dict[str, Any]:
    return {key: _value(text) for key, text in settings}


def _value(text: str) -> Any:
    """Parse a value as JSON. A text that is not JSON stays text, and so does a long number, because it is an id."""
    if text.isdecimal() and len(text) > _LONGEST_NUMBER:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _secrets(
    asked: Sequence[str], variables: Sequence[tuple[str, str]], files: Sequence[tuple[str, str]]
) -> dict[str, str]:
    found = {key: read_secret(key, variable, None) for key, variable in variables}
    found |= {key: read_secret(key, None, Path(path)) for key, path in files}
    if not asked:
        return found
    if sys.stdin.isatty():
        answers = [read_secret(key, None, None) for key in asked]
    else:
        answers = read_secret("secrets", None, None).splitlines()
    return found | {key: answer for key, answer in zip(asked, answers, strict=False) if answer}
