"""`arvis agents`: list, show, create, update, pause and delete agents, and bind them to channels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import Api, ApiCommands
from arvis.cli.options import (
    CLEARED,
    all_options,
    changes,
    channel_as,
    choice,
    effort_option,
    existing_file,
    given,
    names,
    read_text,
)
from arvis.cli.output import Output, Row, Table, at, fields
from arvis.domain.agents import COMPLETIONS, LONGEST_PROMPT, MOST_OBSERVED, ON_NEW_MESSAGE, AgentStatus, Permission
from arvis.domain.messages import Respond


def _places(agent: Row) -> str:
    return ", ".join(f"{each['platform']}:{each['channel']}" for each in agent["bindings"])


_AGENTS = Table("slug", "name", "role", "model", "status", "description", nothing="No agents.")
_VERSIONS = Table(
    "version",
    ("at", at("at")),
    "by",
    ("name", lambda version: version["agent"]["name"]),
    ("status", lambda version: version["agent"]["status"]),
    ("channels", lambda version: _places(version["agent"])),
    nothing="This agent has no earlier versions.",
)

#: The value of `--allow-users` for an agent that everyone may use.
_EVERYBODY = "everybody"


@click.group(cls=ApiCommands)
def agents() -> None:
    """List, show, create, update, pause and delete agents; bind them to channels."""


#: The options for the fields of an agent. A list is written `a,b`. The value "" clears a field.
_details = all_options(
    click.option("--name", help="The name that people see."),
    click.option("--role", help="Its role, such as custom."),
    click.option("--description", help="Its purpose."),
    click.option("--prompt", help="Its instructions."),
    click.option(
        "--prompt-file", "file", type=existing_file, metavar="PATH", help="Read the instructions from this file."
    ),
    click.option("--model", metavar="PROVIDER/MODEL", help='The model; "" means the default model of the account.'),
    effort_option("the default of the model"),
    click.option("--fallbacks", type=names, metavar="MODELS", help="Models to use if the first model does not answer."),
    click.option("--tools", type=names, metavar="NAMES", help="Tools that it may use."),
    click.option("--graph", help="The graph: agent, planning, code, handover or workflow:SLUG."),
    click.option(
        "--ends",
        "completion",
        type=click.Choice(COMPLETIONS),
        help="When its work ends: with an answer (implicit), or when the agent reports that it is done (explicit).",
    ),
    click.option(
        "--context-tokens",
        "contextTokens",
        type=int,
        callback=lambda _context, _option, size: CLEARED if size == 0 else size,
        help="The maximum size of its prompt in tokens; 0: the model's whole context window.",
    ),
    click.option("--timezone", metavar="ZONE", help="Its time zone, such as Europe/Berlin."),
    click.option(
        "--allow-users",
        "allowUsers",
        type=lambda text: CLEARED if text.strip().lower() == _EVERYBODY else names(text),
        metavar="IDS",
        help=f'Ids of the people who may use it, besides owners; {_EVERYBODY}: everyone; "": only owners.',
    ),
    click.option(
        "--on-new-message",
        "onNewMessage",
        type=click.Choice(ON_NEW_MESSAGE),
        help="The effect of a message that arrives while the agent works.",
    ),
    click.option(
        "--plugins", type=names, metavar="NAMES", help="Plugins that extend the prompts and tools of the agent."
    ),
    click.option("--skills", type=names, metavar="NAMES", help="Skills that its prompt lists; *: all skills."),
    click.option("--credentials", type=names, metavar="NAMES", help="Credentials for its requests."),
    click.option("--knowledge", type=names, metavar="SLUGS", help="Knowledge bases that it searches."),
    click.option(
        "--handoff-to",
        "helpers",
        type=names,
        metavar="SLUGS",
        help="Agents to which it may hand over the conversation.",
    ),
)


@agents.command("list")
@click.option(
    "--status",
    type=choice(AgentStatus),
    help="Only agents with this status; archived: deleted agents.",
)
def list_agents(*, api: Api, **query: Any) -> Output:
    """List agents in order of creation."""
    return _AGENTS.page(api.get("agents", query=query))


@agents.command()
@click.argument("agent")
def show(*, api: Api, agent: str) -> Output:
    """Show one agent with its channels and its prompt."""
    return _shown(api.get("agents", agent))


@agents.command()
@click.argument("slug")
@_details
@click.option(
    "--channel",
    "bindings",
    type=channel_as("channel"),
    multiple=True,
    metavar="PLATFORM:CHANNEL",
    help="A channel in which it answers; may be repeated.",
)
def create(*, api: Api, **details: Any) -> Output:
    """Create an agent."""
    made = api.post("agents", body=given(_fields(**details)))
    return Output(made, f"The agent {made['slug']} is created: {made['id']}")


_no_gate = click.option(
    "--no-gate", is_flag=True, help="Store a changed prompt even if it has not passed a required suite."
)


@agents.command()
@click.argument("agent")
@_details
@_no_gate
def update(*, api: Api, agent: str, no_gate: bool, **details: Any) -> Output:
    """Change the given fields of an agent."""
    body = changes(_fields(**details), "--model")
    changed = api.patch("agents", agent, body=body, query={"gate": False} if no_gate else None)
    words = f"The agent {changed['slug']} is changed."
    if body.get("allowUsers") == []:
        words += (
            " Its list of people is empty, so only owners may use the agent. To allow everyone, run the command with "
            f"--allow-users {_EVERYBODY}."
        )
    return Output(changed, words)


@agents.command()
@click.argument("agent")
def pause(*, api: Api, agent: str) -> Output:
    """Pause an agent. It does not answer until it is resumed."""
    paused = api.post("agents", agent, "pause")
    return Output(paused, f"The agent {paused['slug']} is paused.")


@agents.command()
@click.argument("agent")
def resume(*, api: Api, agent: str) -> Output:
    """Resume a paused agent."""
    resumed = api.post("agents", agent, "resume")
    return Output(resumed, f"The agent {resumed['slug']} answers again.")


@agents.command()
@click.argument("agent")
def delete(*, api: Api, agent: str) -> Output:
    """Delete an agent. Other agents may then use its channels, but not its slug. `undo` restores the agent."""
    gone = api.delete("agents", agent)
    return Output(gone, f"The agent {gone['slug']} is deleted. `arvis agents undo {gone['slug']}` restores it.")


@agents.command()
@click.argument("agent")
@_no_gate
def undo(*, api: Api, agent: str, no_gate: bool) -> Output:
    """Restore the previous version of an agent. The agent also gets its former channels back, unless another agent now
    uses them."""
    return _shown(api.post("agents", agent, "undo", query={"gate": False} if no_gate else None))


@agents.command()
@click.argument("agent")
def versions(*, api: Api, agent: str) -> Output:
    """List the versions of an agent, newest first. With --json, show all fields."""
    return _VERSIONS.page(api.get("agents", agent, "versions"))


_channel = click.argument("channel", type=channel_as("channel"), metavar="PLATFORM:CHANNEL")


@agents.command()
@click.argument("agent")
@_channel
@click.option("--permission", type=choice(Permission), default="full", show_default=True)
@click.option("--respond", type=choice(Respond), help="The messages that it answers (default: the setting of the bot).")
@click.option(
    "--observe",
    type=click.IntRange(0, MOST_OBSERVED),
    help="The number of other messages that it reads as context (default: the setting of the bot).",
)
def bind(*, api: Api, agent: str, channel: dict[str, str], **details: Any) -> Output:
    """Let an agent answer in a channel, such as discord:1234567890."""
    bound = api.post("agents", agent, "bindings", body=channel | given(details))
    return Output(bound, f"The agent {bound['slug']} answers in {':'.join(channel.values())} now.")


@agents.command()
@click.argument("agent")
@_channel
def unbind(*, api: Api, agent: str, channel: dict[str, str]) -> Output:
    """Stop an agent from answering in a channel."""
    left = api.delete("agents", agent, "bindings", query=channel)
    return Output(left, f"The agent {left['slug']} no longer answers in {':'.join(channel.values())}.")


def _fields(*, prompt: str | None, file: Path | None, **details: Any) -> dict[str, Any]:
    if prompt is not None and file is not None:
        raise click.UsageError("Give either --prompt or --prompt-file.")
    if file is not None:
        # Read one character more than is allowed. The daemon then refuses a text that is too long.
        prompt = read_text(file, "--prompt-file", LONGEST_PROMPT + 1)
    return {**details, "prompt": prompt}


def _shown(agent: Row) -> Output:
    """Return the fields of an agent that are not empty, and its prompt."""
    listed = agent["allowUsers"]
    allowed = _EVERYBODY if listed is None else ", ".join(listed) or "only owners"
    described = {name: None if value in ("", []) else value for name, value in agent.items()}
    shown = fields(described, bindings=_places(agent) or None, prompt=None, allowUsers=allowed)
    return Output(agent, shown, agent["prompt"])
