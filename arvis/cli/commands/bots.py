"""`arvis bots`: list, show, create, update, test and delete the bots of chat platforms. A token is never an
argument."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from arvis.cli.api_client import Api, ApiCommands
from arvis.cli.options import Pairs, secrets_of, settings_and_secrets, values_of
from arvis.cli.output import Output, Table, at, fields

_BOTS = Table(
    ("bot", lambda bot: f"{bot['platform']}/{bot['name']}"),
    ("state", lambda bot: bot["state"] if bot["enabled"] else "off"),
    ("as", "userName"),
    "source",
    ("since", at("since")),
    "error",
    nothing="No bots. `arvis bots create` adds one.",
)

#: The secrets that a bot of each platform needs. A person names other secrets with --secret.
SECRETS: Mapping[str, Sequence[str]] = {
    "discord": ("token",),
    "telegram": ("token",),
    "slack": ("bot_token", "app_token"),
}

#: The timeout of a test in seconds. The daemon's own time limit is shorter.
_TIMEOUT = 40.0


def _bot_name(text: str) -> tuple[str, str]:
    """Return the platform and the name of a bot from a text such as `discord/helper`. A text without a name, such as
    `discord`, means the bot `main`."""
    platform, _, name = text.partition("/")
    if not platform:
        raise click.BadParameter("must be PLATFORM or PLATFORM/NAME, such as discord/helper")
    return platform, name or "main"


_bot = click.argument("bot", type=_bot_name, metavar="BOT")

#: The options of `create` and `update`.
_details = settings_and_secrets("secret", "KEY")


@click.group(cls=ApiCommands)
def bots() -> None:
    """List, show, create, update, test and delete the bots of chat platforms.

    BOT is PLATFORM/NAME, such as discord/helper. PLATFORM alone means the bot called main.
    """


@bots.command("list")
def list_bots(*, api: Api) -> Output:
    """List bots, those of the configuration first."""
    return _BOTS.page(api.get("bots"))


@bots.command()
@_bot
def show(*, api: Api, bot: tuple[str, str]) -> Output:
    """Show one bot with its settings. Secrets are listed by name only."""
    found = api.get("bots", *bot)
    secrets = ", ".join(found["secrets"]) or None
    return Output(found, fields(found, "since", **{"settings": None, "secrets": secrets, **found["settings"]}))


@bots.command()
@_bot
@_details
@click.option("--off", is_flag=True, help="Create the bot without starting it; `arvis bots enable` starts it later.")
def create(
    *,
    api: Api,
    bot: tuple[str, str],
    settings: Pairs,
    asked: Sequence[str],
    variables: Pairs,
    files: Pairs,
    off: bool,
) -> Output:
    """Create a bot. Secrets come from variables, files or standard input (one per line).

    On a terminal, the command asks for the secrets.
    """
    given = {key for key, _ in (*variables, *files)}
    missing = [key for key in SECRETS.get(bot[0], ()) if key not in given and key not in asked]
    body = {
        "platform": bot[0],
        "name": bot[1],
        "settings": values_of(settings),
        "secrets": secrets_of([*asked, *missing], variables, files),
        "enabled": not off,
    }
    name = "/".join(bot)
    return Output(api.post("bots", body=body), f"The bot {name} is created. Test it with `arvis bots test {name}`.")


@bots.command()
@_bot
@_details
@click.option("--unset", "gone", multiple=True, metavar="KEY", help="Remove a setting.")
def update(
    *,
    api: Api,
    bot: tuple[str, str],
    settings: Pairs,
    asked: Sequence[str],
    variables: Pairs,
    files: Pairs,
    gone: Sequence[str],
) -> Output:
    """Change settings and secrets of a bot, and restart it. Bots of the configuration cannot be changed here."""
    changed: dict[str, Any] = {**values_of(settings), **dict.fromkeys(gone)}
    body = {"settings": changed, "secrets": secrets_of(asked, variables, files)}
    return _done(api.patch("bots", *bot, body=body), bot, "is changed")


@bots.command()
@_bot
def enable(*, api: Api, bot: tuple[str, str]) -> Output:
    """Start a bot that is not in the configuration."""
    return _done(api.patch("bots", *bot, body={"enabled": True}), bot, "is on")


@bots.command()
@_bot
def disable(*, api: Api, bot: tuple[str, str]) -> Output:
    """Stop a bot that is not in the configuration. Arvis keeps the bot's deliveries and sends them when the bot starts
    again."""
    return _done(api.patch("bots", *bot, body={"enabled": False}), bot, "is off")


@bots.command()
@_bot
def delete(*, api: Api, bot: tuple[str, str]) -> Output:
    """Delete a bot that is not in the configuration, and its secrets."""
    return _done(api.delete("bots", *bot), bot, "is deleted")


@bots.command()
@_bot
def test(*, api: Api, bot: tuple[str, str]) -> Output:
    """Check the token, scopes and intents of a bot on its platform. The exit code is 1 if one of them is missing."""
    answer = api.post("bots", *bot, "test", timeout=_TIMEOUT)
    lines: list[str] = []
    for finding in answer["findings"]:
        lines.append(f"{finding['level']:<8} {finding['text']}")
        if finding["fix"]:
            lines.append(f"{'':<8} fix: {finding['fix']}")
    failed = any(finding["level"] == "error" for finding in answer["findings"])
    return Output(answer, "\n".join(lines), failed=failed)


@bots.command()
@_bot
def restart(*, api: Api, bot: tuple[str, str]) -> Output:
    """Restart a bot in the process that runs it."""
    return _done(api.post("bots", *bot, "restart"), bot, "is restarting")


def _done(answer: Any, bot: tuple[str, str], words: str) -> Output:
    return Output(answer, f"The bot {'/'.join(bot)} {words}.")
