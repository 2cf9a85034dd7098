"""Lists of options for forms: tools, models, providers, plugins, graphs, platforms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from arvis.config.accounts import DEFAULT_MODELS
from arvis.domain.agents import GRAPHS
from arvis.domain.tools import Need, Permit, Risk
from arvis.ports.choices import BotField, Choices, ModelPrice, OfferedModel, OfferedPlatform, Origin
from arvis.ports.tool import Tool, declaration_of
from arvis.web.http.endpoints import Call, Endpoint, answer
from arvis.web.http.identity import READ
from arvis.web.http.schema import (
    ANYTHING,
    BOOLEAN,
    INTEGER,
    NUMBER,
    STRING,
    array,
    object_schema,
    one_of,
    optional,
    page_schema,
)

TOOL = object_schema(
    {
        "name": STRING,
        "description": STRING,
        "risk": one_of(Risk),
        "permit": {**one_of(Permit), "description": "The policy: `ask` requires an approval."},
        "repeatable": {**BOOLEAN, "description": "A call may be repeated after a crash."},
        "sensitive": {**BOOLEAN, "description": "Its results are encrypted."},
        "harmless": {**BOOLEAN, "description": "Everyone may use an agent with only such tools and plugins."},
        "ownOutput": {**BOOLEAN, "description": "Arvis writes its results, so they do not taint the turn."},
        "needs": array(one_of(Need)),
        "origin": one_of(Origin),
        "package": {**optional(STRING), "description": "The package or MCP server that provides it."},
    }
)
MODEL = object_schema(
    {
        "name": {**STRING, "description": "provider/model."},
        "provider": STRING,
        "model": STRING,
        "inputUsd": {**optional(NUMBER), "description": "US dollars per million tokens; null: unknown."},
        "outputUsd": optional(NUMBER),
        "cachedUsd": optional(NUMBER),
        "contextWindow": {**INTEGER, "description": "In tokens, prompt and reply together."},
        "vision": {**BOOLEAN, "description": "It accepts images."},
        "accounts": {**array(STRING), "description": "The accounts that serve it; empty: add an account first."},
    }
)
_NEED = ("required", "optional", "none")
PROVIDER = object_schema(
    {
        "name": STRING,
        "title": STRING,
        "description": STRING,
        "key": {**one_of(_NEED), "description": "The need for an API key."},
        "keySource": {**optional(STRING), "description": "The place to get an API key."},
        "baseUrl": one_of(_NEED),
        "defaultModel": optional(STRING),
    }
)
PLUGIN = object_schema({"name": STRING, "description": STRING, "builtIn": BOOLEAN, "harmless": BOOLEAN})
GRAPH = object_schema({"name": one_of(GRAPHS), "description": STRING})
FIELD = object_schema(
    {
        "name": STRING,
        "label": STRING,
        "help": STRING,
        "kind": one_of(("boolean", "integer", "text", "choice", "duration", "list")),
        "secret": {**BOOLEAN, "description": "True: sent in `secrets`; false: in `settings`."},
        "required": BOOLEAN,
        "default": ANYTHING,
        "choices": array(STRING),
    }
)
PLATFORM = object_schema(
    {
        "name": STRING,
        "title": STRING,
        "description": STRING,
        "steps": {**array(STRING), "description": "The steps to create a bot there."},
        "needs": {
            **array(object_schema({"name": STRING, "why": STRING})),
            "description": "The permissions that it needs.",
        },
        "fields": {**array(FIELD), "description": "null: the connector has no guide."},
        "manifest": {**optional(STRING), "description": "A text to paste on the platform."},
    }
)


@dataclass(frozen=True, slots=True)
class _Vendor:
    title: str
    words: str
    key: str = "required"
    key_from: str | None = None
    url: str = "optional"


_VENDORS: Mapping[str, _Vendor] = {
    "demo": _Vendor("Demo", "Built in and free. Lets you try Arvis without a model.", "none", None, "none"),
    "anthropic": _Vendor("Anthropic", "The Claude models.", key_from="In the Anthropic console, under API keys."),
    "openai": _Vendor("OpenAI", "The GPT models.", key_from="On the OpenAI platform, under API keys."),
    "google": _Vendor("Google", "The Gemini models.", key_from="In Google AI Studio, under Get API key."),
    "openrouter": _Vendor("OpenRouter", "Models of many vendors with one key.", key_from="At OpenRouter, under Keys."),
    "ollama": _Vendor("Ollama", "Models on your own machine; no key, no cost.", "none"),
    "custom": _Vendor("Your own server", "Any OpenAI-compatible server.", "optional", None, "required"),
    "claude_cli": _Vendor(
        "Claude Code", "The program `claude` on this machine, with its own login.", "none", None, "none"
    ),
}
_UNKNOWN = _Vendor("", "Provided by another package.", "optional")

_GRAPHS: Mapping[str, str] = {
    "agent": "Answers and uses tools as often as needed. The usual choice.",
    "planning": "Makes a plan first, then works through its steps. For tasks with several parts.",
    "code": "Writes Python that runs in a sandbox, with the agent's tools as functions. For data and calculations.",
    "handover": "Leads a conversation and hands it over to other agents on its list. For a reception agent.",
}


class OptionRoutes:
    def __init__(self, *, choices: Choices) -> None:
        self._choices = choices

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint("GET", "/api/tools", "List tools for agents", READ, self._tools, {200: page_schema(TOOL)}),
            Endpoint("GET", "/api/models", "List known models", READ, self._models, {200: page_schema(MODEL)}),
            Endpoint(
                "GET", "/api/providers", "List model vendors", READ, self._providers, {200: page_schema(PROVIDER)}
            ),
            Endpoint("GET", "/api/plugins", "List plugins for agents", READ, self._plugins, {200: page_schema(PLUGIN)}),
            Endpoint("GET", "/api/graphs", "List graphs for agents", READ, self._graphs, {200: page_schema(GRAPH)}),
            Endpoint(
                "GET", "/api/platforms", "List chat platforms", READ, self._platforms, {200: page_schema(PLATFORM)}
            ),
        ]

    async def _tools(self, _: Call) -> Response:
        found = sorted(await self._choices.tools(), key=lambda tool: tool.spec.name)
        return _page([self._tool(tool) for tool in found])

    async def _models(self, _: Call) -> Response:
        return _page([_model(model) for model in await self._choices.models()])

    async def _providers(self, _: Call) -> Response:
        return _page([_provider(name) for name in sorted(self._choices.providers(), key=_rank)])

    async def _plugins(self, _: Call) -> Response:
        found = await self._choices.plugins()
        return _page(
            [
                {
                    "name": one.name,
                    "description": one.words,
                    "builtIn": one.origin is Origin.BUILT_IN,
                    "harmless": one.harmless,
                }
                for one in found
            ]
        )

    async def _graphs(self, _: Call) -> Response:
        return _page([{"name": name, "description": words} for name, words in _GRAPHS.items()])

    async def _platforms(self, _: Call) -> Response:
        return _page([_platform(one) for one in await self._choices.platforms()])

    def _tool(self, tool: Tool) -> dict[str, Any]:
        origin, of = self._choices.origin_of(tool)
        declared = declaration_of(tool)
        return {
            "name": tool.spec.name,
            "description": tool.spec.description,
            "risk": tool.risk,
            "permit": self._choices.asks(tool),
            "repeatable": tool.repeatable,
            "sensitive": tool.sensitive,
            "harmless": self._choices.is_harmless(tool),
            "ownOutput": declared.own_output,
            "needs": list(declared.needs),
            "origin": origin,
            "package": of or None,
        }


def _page(items: list[dict[str, Any]]) -> Response:
    return answer({"items": items, "nextCursor": None})


def _model(model: OfferedModel) -> dict[str, Any]:
    return {
        "name": f"{model.provider}/{model.model}",
        "provider": model.provider,
        "model": model.model,
        **_price(model.price),
        "contextWindow": model.window,
        "vision": model.sees,
        "accounts": list(model.accounts),
    }


def _price(price: ModelPrice | None) -> dict[str, float | None]:
    if price is None:
        return {"inputUsd": None, "outputUsd": None, "cachedUsd": None}
    return {"inputUsd": price.input, "outputUsd": price.output, "cachedUsd": price.cached}


def _rank(name: str) -> tuple[int, str]:
    """Return a sort key of a provider: the order of `_VENDORS`, then the providers of other packages by name."""
    known = list(_VENDORS)
    return (known.index(name) if name in _VENDORS else len(known), name)


def _provider(name: str) -> dict[str, Any]:
    vendor = _VENDORS.get(name, _UNKNOWN)
    return {
        "name": name,
        "title": vendor.title or name,
        "description": vendor.words,
        "key": vendor.key,
        "keySource": vendor.key_from,
        "baseUrl": vendor.url,
        "defaultModel": DEFAULT_MODELS.get(name),
    }


def _platform(platform: OfferedPlatform) -> dict[str, Any]:
    return {
        "name": platform.name,
        "title": platform.title,
        "description": platform.words,
        "steps": list(platform.steps),
        "needs": [{"name": name, "why": why} for name, why in platform.needs.items()],
        "fields": [_field(one) for one in platform.fields],
        "manifest": platform.manifest or None,
    }


def _field(one: BotField) -> dict[str, Any]:
    return {
        "name": one.name,
        "label": one.label,
        "help": one.help,
        "kind": one.kind,
        "secret": one.secret,
        "required": one.required,
        "default": one.default,
        "choices": list(one.choices),
    }
