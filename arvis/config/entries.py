"""The entries of the lists `agents` and `accounts` of `config.yaml`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from arvis.config.declarations import Section, setting
from arvis.config.values import IdList, Name, SecretText, TextList, Url, Whole
from arvis.domain.agents import Agent, Binding, Permission, graph_named
from arvis.domain.messages import Respond


class Channel(Section):
    """A channel that an agent is bound to, written `platform:channel` or as a mapping."""

    platform: str = Field(description="such as discord, telegram or slack")
    channel: str = Field(description="the platform's id of the channel")
    permission: Permission = setting(
        Permission.FULL, "what people in the channel may do: full, read_only or notify_only"
    )
    respond: Respond | None = setting(
        None, "the messages that the agent answers: mention, all or never; null: the bot's setting"
    )
    observe: Whole | None = setting(
        None, "the number of other messages that the agent reads as context; null: the bot's setting"
    )


def _bare_channel(value: object) -> object:
    if not isinstance(value, str):
        return value
    platform, _, channel = value.partition(":")
    return {"platform": platform, "channel": channel}


class AgentEntry(Section):
    """An agent that the first start of the daemon creates. Later starts use the agent in the database.
    `arvis.domain.agents` checks the values, because other code also creates agents."""

    slug: str = Field(description="its name in commands and addresses")
    name: str = Field(description="its name for people")
    role: str = setting("custom", "a word for the agent's work; only the agent `conductor` has the role conductor")
    description: str = setting("", "the purpose of the agent, for people and other agents")
    prompt: str = setting("", "the agent's instructions")
    model: str | None = setting(None, "`provider/model`; null: the model of the account")
    fallbacks: TextList = setting((), "models to try if the first model does not answer")
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = setting(
        None, "how much the model thinks: none, minimal, low, medium, high or xhigh; null: the default of the model"
    )
    tools: TextList = setting((), "names such as get_time, web_search, run_shell, or server.* of an MCP server")
    graph: str = setting("agent", "the working mode: agent, planning, code or handover (docs/how-to), or workflow:SLUG")
    ends: str = setting(
        "implicit", "implicit: the agent's answer ends its work; explicit: the agent reports when it is done"
    )
    on_new_message: Literal["queue", "steer", "restart"] | None = setting(
        None,
        "the effect of a message that arrives while the agent works for the same person: queue, steer or restart; "
        "null: steer with `ends: explicit`, otherwise queue",
    )
    plugins: TextList = setting((), "extensions of its prompt: time, workspace, helpers … (docs/how-to/plugins.md)")
    skills: TextList = setting((), "skills that its prompt lists and that it can read; *: all (docs/how-to/skills.md)")
    credentials: TextList = setting((), "credentials for its requests (docs/how-to/credentials.md)")
    knowledge: TextList = setting((), "slugs of knowledge bases that it searches (docs/how-to/knowledge.md)")
    handoff_to: TextList = setting(
        (), "slugs of agents to which it may hand over the conversation (docs/how-to/handing-over.md)"
    )
    context_tokens: Whole | None = setting(
        96_000, "the largest prompt, in tokens; null: the whole context window of the model"
    )
    timezone: str | None = setting(None, "such as Europe/Berlin")
    allow_users: IdList | None = setting(None, "platform user ids; null: everyone, []: only owners")
    channels: tuple[Annotated[Channel, BeforeValidator(_bare_channel)], ...] = setting(
        (),
        "`platform:channel`, or {platform: …, channel: …, permission: full|read_only|notify_only, respond: "
        "mention|all|never, observe: 20}",
    )

    @property
    def agent(self) -> Agent:
        """The agent, with an empty id."""
        fields = self.model_dump(exclude={"channels", "graph", "ends", "handoff_to"})
        return Agent(id="", **fields, graph=graph_named(self.graph), completion=self.ends, helpers=self.handoff_to)

    @property
    def bindings(self) -> tuple[Binding, ...]:
        """The channels to which the agent is bound, with an empty agent id."""
        return tuple(
            Binding(each.platform, each.channel, "", each.permission, each.respond, each.observe)
            for each in self.channels
        )


class AccountEntry(Section):
    """An account in the form of the file. `arvis.config.accounts` converts it to the `Account` of the domain."""

    name: Name = Field(description="its name in commands and receipts")
    provider: Literal["demo", "anthropic", "openai", "google", "ollama", "openrouter", "custom", "claude_cli"] = Field(
        description="the vendor; custom: any server with OpenAI's API"
    )
    model: Name | None = setting(
        None, "the model for agents that name no model; null: the usual model of the vendor (custom has none)"
    )
    models: TextList = setting((), "the models that the account serves; empty: all models of its vendor")
    api_key: SecretText | None = setting(None, "env:NAME or file:PATH")
    base_url: Url | None = setting(None, "the address of the server; null: the vendor's own")
    api: Literal["chat", "responses"] | None = setting(
        None,
        "for openai and custom: the API that calls use, chat (completions) or responses; null: the one that the model needs",
    )
    priority: Whole = setting(100, "the account with the lowest number is used first", ge=0, le=10_000)
