"""`arvis agents`: list, show, create, update, pause and delete agents, and bind them to channels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from arvis.cli.api_client import connect
from arvis.cli.options import Commands, json_option, place_options
from arvis.cli.output import moment, plain, print_fields, print_json, print_table
from arvis.domain.agents import COMPLETIONS, LONGEST_PROMPT, MOST_OBSERVED, ON_NEW_MESSAGE, AgentStatus, Permission
from arvis.domain.messages import Respond

_Function = TypeVar("_Function", bound=Callable[..., Any])

_COLUMNS = ("slug", "name", "role", "model", "status", "description")
_LINES = ("version", "at", "by", "name", "status", "channels")

#: The value of `--allow-users` for an agent that everyone may use.
_EVERYBODY = "everybody"
#: The options that have the same names in the API.
_SAME = ("name", "role", "description", "model", "graph", "completion", "timezone")
_LISTS = {
    "fallbacks": "fallbacks",
    "tools": "tools",
    "allow_users": "allowUsers",
    "plugins": "plugins",
    "helpers": "helpers",
}


@click.group(cls=Commands)
def agents() -> None:
    """List, show, create, update, pause and delete agents; bind them to channels."""


def agent_options(command: _Function) -> _Function:
    """Add the options for the fields of an agent; lists are written `a,b`, and "" clears a field."""
    file = click.Path(exists=True, dir_okay=False, path_type=Path)
    options = [
        click.option("--name", help="The name that people see."),
        click.option("--role", help="Its role, such as custom."),
        click.option("--description", help="Its purpose."),
        click.option("--prompt", help="Its instructions."),
        click.option("--prompt-file", type=file, metavar="PATH", help="Read the instructions from this file."),
        click.option("--model", metavar="PROVIDER/MODEL", help='The model; "" means the default model of the account.'),
        click.option("--fallbacks", metavar="MODELS", help="Models to use if the first model does not answer."),
        click.option("--tools", metavar="NAMES", help="Tools that it may use."),
        click.option("--graph", help="The graph: agent, planning, code, handover or workflow:SLUG."),
        click.option(
            "--ends",
            "completion",
            type=click.Choice(COMPLETIONS),
            help="When its work ends: with an answer (implicit), or when the agent reports that it is done (explicit).",
        ),
        click.option(
            "--context-tokens",
            type=int,
            help="The maximum size of its prompt in tokens; 0: the model's whole context window.",
        ),
        click.option("--timezone", metavar="ZONE", help="Its time zone, such as Europe/Berlin."),
        click.option(
            "--allow-users",
            metavar="IDS",
            help=f'Ids of the people who may use it, besides owners; {_EVERYBODY}: everyone; "": only owners.',
        ),
        click.option(
            "--on-new-message",
            type=click.Choice(ON_NEW_MESSAGE),
            help="The effect of a message that arrives while the agent works.",
        ),
        click.option("--plugins", metavar="NAMES", help="Plugins that extend its prompts and tools."),
        click.option(
            "--handoff-to", "helpers", metavar="SLUGS", help="Agents to which it may hand over the conversation."
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@agents.command("list")
@click.option(
    "--status",
    type=click.Choice([*map(str, AgentStatus)]),
    help="Only agents with this status; archived: deleted agents.",
)
@json_option
@place_options
def list_agents(*, status: str | None, as_json: bool, config: Path | None, data: Path | None) -> None:
    """List agents in order of creation."""
    page = connect(config, data).get("api", "agents", query={"status": status})
    if as_json:
        print_json(page)
    else:
        print_table(page["items"], _COLUMNS, nothing="No agents.")


@agents.command()
@click.argument("agent")
@json_option
@place_options
def show(*, agent: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Show one agent with its channels and its prompt."""
    _print_agent(connect(config, data).get("api", "agents", agent), as_json=as_json)


@agents.command()
@click.argument("slug")
@agent_options
@click.option(
    "--channel",
    "channels",
    multiple=True,
    metavar="PLATFORM:CHANNEL",
    help="A channel in which it answers; may be repeated.",
)
@json_option
@place_options
def create(
    *,
    slug: str,
    channels: tuple[str, ...],
    as_json: bool,
    config: Path | None,
    data: Path | None,
    **given: Any,
) -> None:
    """Create an agent."""
    body = {"slug": slug, **_body(given), "bindings": [_place(channel) for channel in channels]}
    made = connect(config, data).post("api", "agents", body=body)
    _tell(made, f"The agent {slug} is created: {made['id']}", as_json=as_json)


@agents.command()
@click.argument("agent")
@agent_options
@json_option
@place_options
def update(*, agent: str, as_json: bool, config: Path | None, data: Path | None, **given: Any) -> None:
    """Change the given fields of an agent."""
    body = _body(given)
    if not body:
        raise click.UsageError("Nothing to change. Give at least one option, such as --model.")
    changed = connect(config, data).patch("api", "agents", agent, body=body)
    words = f"The agent {changed['slug']} is changed."
    if body.get("allowUsers") == []:
        words += (
            " Its list of people is empty, so only owners may use it. To allow everyone, run it again with "
            f"--allow-users {_EVERYBODY}."
        )
    _tell(changed, words, as_json=as_json)


@agents.command()
@click.argument("agent")
@json_option
@place_options
def pause(*, agent: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Pause an agent. It does not answer until it is resumed."""
    paused = connect(config, data).post("api", "agents", agent, "pause")
    _tell(paused, f"The agent {paused['slug']} is paused.", as_json=as_json)


@agents.command()
@click.argument("agent")
@json_option
@place_options
def resume(*, agent: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Resume a paused agent."""
    resumed = connect(config, data).post("api", "agents", agent, "resume")
    _tell(resumed, f"The agent {resumed['slug']} answers again.", as_json=as_json)


@agents.command()
@click.argument("agent")
@json_option
@place_options
def delete(*, agent: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Delete an agent. Other agents may then use its channels, but not its slug. `undo` restores it."""
    gone = connect(config, data).delete("api", "agents", agent)
    _tell(
        gone,
        f"The agent {gone['slug']} is deleted. `arvis agents undo {gone['slug']}` restores it.",
        as_json=as_json,
    )


@agents.command()
@click.argument("agent")
@json_option
@place_options
def undo(*, agent: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Restore the previous version of an agent, and its former channels unless another agent has them."""
    _print_agent(connect(config, data).post("api", "agents", agent, "undo"), as_json=as_json)


@agents.command()
@click.argument("agent")
@json_option
@place_options
def versions(*, agent: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """List the versions of an agent, newest first; --json shows all fields."""
    page = connect(config, data).get("api", "agents", agent, "versions")
    if as_json:
        print_json(page)
        return
    rows = [
        {**each["agent"], **each, "at": moment(each["at"]), "channels": _places(each["agent"])}
        for each in page["items"]
    ]
    print_table(rows, _LINES, nothing="This agent has no earlier versions.")


@agents.command()
@click.argument("agent")
@click.argument("channel", metavar="PLATFORM:CHANNEL")
@click.option("--permission", type=click.Choice([*map(str, Permission)]), default="full", show_default=True)
@click.option(
    "--respond",
    type=click.Choice([*map(str, Respond)]),
    help="The messages that it answers (default: the setting of the bot).",
)
@click.option(
    "--observe",
    type=click.IntRange(0, MOST_OBSERVED),
    help="The number of other messages that it reads as context (default: the setting of the bot).",
)
@json_option
@place_options
def bind(
    *,
    agent: str,
    channel: str,
    permission: str,
    respond: str | None,
    observe: int | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """Let an agent answer in a channel, such as discord:1234567890."""
    given = {"respond": respond, "observe": observe}
    body = {**_place(channel), "permission": permission} | {
        key: value for key, value in given.items() if value is not None
    }
    bound = connect(config, data).post("api", "agents", agent, "bindings", body=body)
    _tell(bound, f"The agent {bound['slug']} answers in {channel} now.", as_json=as_json)


@agents.command()
@click.argument("agent")
@click.argument("channel", metavar="PLATFORM:CHANNEL")
@json_option
@place_options
def unbind(*, agent: str, channel: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Stop an agent from answering in a channel."""
    left = connect(config, data).delete("api", "agents", agent, "bindings", query=_place(channel))
    _tell(left, f"The agent {left['slug']} no longer answers in {channel}.", as_json=as_json)


def _body(given: dict[str, Any]) -> dict[str, Any]:
    """Return the given options under the names of the API."""
    body = {name: given[name] for name in _SAME if given[name] is not None}
    body |= {sent: _parts(given[name]) for name, sent in _LISTS.items() if given[name] is not None}
    if given["allow_users"] is not None and given["allow_users"].strip().lower() == _EVERYBODY:
        body["allowUsers"] = None
    if given["context_tokens"] is not None:
        body["contextTokens"] = given["context_tokens"] or None
    prompt = _prompt(given["prompt"], given["prompt_file"])
    return body if prompt is None else {**body, "prompt": prompt}


def _prompt(text: str | None, file: Path | None) -> str | None:
    if text is not None and file is not None:
        raise click.UsageError("Give either --prompt or --prompt-file.")
    if file is None:
        return text
    try:
        with file.open(encoding="utf-8") as opened:
            # One character more than allowed, so that the daemon refuses a text that is too long.
            return opened.read(LONGEST_PROMPT + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise click.BadParameter(f"{file} cannot be read: {reason}", param_hint="--prompt-file") from error


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _place(text: str) -> dict[str, str]:
    platform, colon, channel = text.partition(":")
    if not (platform and colon and channel):
        raise click.BadParameter(
            "must have the form PLATFORM:CHANNEL, such as telegram:-1001234", param_hint="PLATFORM:CHANNEL"
        )
    return {"platform": platform, "channel": channel}


def _places(agent: Any) -> str:
    return ", ".join(f"{each['platform']}:{each['channel']}" for each in agent["bindings"])


def _print_agent(agent: Any, *, as_json: bool) -> None:
    if as_json:
        print_json(agent)
        return
    shown = {**agent, "bindings": _places(agent), "prompt": None, "allowUsers": _allowed(agent)}
    print_fields({name: value for name, value in shown.items() if value not in ("", [])})
    if agent["prompt"]:
        print(f"\n{plain(agent['prompt'])}")


def _allowed(agent: Any) -> str:
    """Return the people who may use the agent, as text."""
    listed = agent["allowUsers"]
    return _EVERYBODY if listed is None else ", ".join(listed) or "only owners"


def _tell(agent: Any, words: str, *, as_json: bool) -> None:
    if as_json:
        print_json(agent)
    else:
        print(words)
