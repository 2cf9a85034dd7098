"""Lists of options for forms: tools, models, providers, plugins, graphs, platforms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from starlette.responses import Response

from arvis.config.accounts import DEFAULT_MODELS
from arvis.domain.agents import GRAPHS
from arvis.domain.dataclass import dataclass
from arvis.domain.tools import Need, Permit, Risk
from arvis.ports.choices import Choices, OfferedModel, OfferedPlatform, Origin
from arvis.ports.tool import Tool, declaration_of
from arvis.web.http.endpoints import Call, Routes, answer_page, route
from arvis.web.http.identity import READ
from arvis.web.http.models import About, Page, View
from arvis.web.http.schema import one_of


class ToolView(View):
    name: str
    description: str
    risk: Risk
    permit: Annotated[Permit, About("The policy: `ask` requires an approval.")]
    repeatable: Annotated[bool, About("A call may be repeated after a crash.")]
    sensitive: Annotated[bool, About("Its results are encrypted.")]
    harmless: Annotated[bool, About("Everyone may use an agent with only such tools and plugins.")]
    own_output: Annotated[bool, About("Arvis writes its results, so they do not taint the turn.")]
    needs: list[Need]
    origin: Origin
    package: Annotated[str | None, About("The package or MCP server that provides it.")]

    @classmethod
    def of(cls, tool: Tool, choices: Choices) -> Self:
        origin, package = choices.origin_of(tool)
        declared = declaration_of(tool)
        return cls.showing(
            tool,
            name=tool.spec.name,
            description=tool.spec.description,
            permit=choices.asks(tool),
            harmless=choices.is_harmless(tool),
            own_output=declared.own_output,
            needs=declared.needs,
            origin=origin,
            package=package or None,
        )


class ModelView(View):
    name: Annotated[str, About("provider/model.")]
    provider: str
    model: str
    input_usd: Annotated[float | None, About("US dollars per million tokens; null: unknown.")]
    output_usd: float | None
    cached_usd: float | None
    context_window: Annotated[int, About("In tokens, prompt and reply together.")]
    vision: Annotated[bool, About("It accepts images.")]
    accounts: Annotated[list[str], About("The accounts that serve it; empty: add an account first.")]

    @classmethod
    def of(cls, model: OfferedModel) -> Self:
        price = model.price
        return cls.showing(
            model,
            name=f"{model.provider}/{model.model}",
            input_usd=None if price is None else price.input,
            output_usd=None if price is None else price.output,
            cached_usd=None if price is None else price.cached,
            context_window=model.window,
            vision=model.sees,
        )


_NEED = one_of(("required", "optional", "none"))


class ProviderView(View):
    name: str
    title: str
    description: str
    key: Annotated[str, About("The need for an API key.", **_NEED)]
    key_source: Annotated[str | None, About("The place to get an API key.")]
    base_url: Annotated[str, About(**_NEED)]
    default_model: str | None

    @classmethod
    def of(cls, name: str) -> Self:
        vendor = _VENDORS.get(name, _UNKNOWN)
        return cls.showing(vendor, name=name, title=vendor.title or name, default_model=DEFAULT_MODELS.get(name))


class PluginView(View):
    name: str
    description: str
    built_in: bool
    harmless: bool


class GraphView(View):
    name: Annotated[str, About(**one_of(GRAPHS))]
    description: str


class FieldView(View):
    name: str
    label: str
    help: str
    kind: Annotated[str, About(**one_of(("boolean", "integer", "text", "choice", "duration", "list")))]
    secret: Annotated[bool, About("True: sent in `secrets`; false: in `settings`.")]
    required: bool
    default: Any
    choices: list[str]


class NeedView(View):
    name: str
    why: str


class PlatformView(View):
    name: str
    title: str
    description: str
    steps: Annotated[list[str], About("The steps to create a bot there.")]
    needs: Annotated[list[NeedView], About("The permissions that it needs.")]
    fields: Annotated[list[FieldView], About("null: the connector has no guide.")]
    manifest: Annotated[str | None, About("A text to paste on the platform.")]
    install: Annotated[str | None, About("The command that installs the platform's library. null: it is installed.")]

    @classmethod
    def of(cls, platform: OfferedPlatform) -> Self:
        return cls.showing(
            platform,
            description=platform.words,
            needs=[NeedView(name=name, why=why) for name, why in platform.needs.items()],
            fields=[FieldView.showing(each) for each in platform.fields],
            manifest=platform.manifest or None,
            install=platform.install or None,
        )


@dataclass(frozen=True, slots=True)
class _Vendor:
    title: str
    description: str
    key: str = "required"
    key_source: str | None = None
    base_url: str = "optional"


_VENDORS: Mapping[str, _Vendor] = {
    "demo": _Vendor("Demo", "Built in and free. Lets you try Arvis without a model.", "none", None, "none"),
    "anthropic": _Vendor("Anthropic", "The Claude models.", key_source="In the Anthropic console, under API keys."),
    "openai": _Vendor("OpenAI", "The GPT models.", key_source="On the OpenAI platform, under API keys."),
    "google": _Vendor("Google", "The Gemini models.", key_source="In Google AI Studio, under Get API key."),
    "openrouter": _Vendor(
        "OpenRouter", "Models of many vendors with one key.", key_source="At OpenRouter, under Keys."
    ),
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


class OptionRoutes(Routes):
    def __init__(self, *, choices: Choices) -> None:
        self._choices = choices

    @route("GET", "/api/tools", "List tools for agents", READ, {200: Page[ToolView]})
    async def _tools(self, _: Call) -> Response:
        found = sorted(await self._choices.tools(), key=lambda tool: tool.spec.name)
        return _all([ToolView.of(tool, self._choices) for tool in found])

    @route("GET", "/api/models", "List known models", READ, {200: Page[ModelView]})
    async def _models(self, _: Call) -> Response:
        return _all([ModelView.of(model) for model in await self._choices.models()])

    @route("GET", "/api/providers", "List model vendors", READ, {200: Page[ProviderView]})
    async def _providers(self, _: Call) -> Response:
        return _all([ProviderView.of(name) for name in sorted(self._choices.providers(), key=_rank)])

    @route("GET", "/api/plugins", "List plugins for agents", READ, {200: Page[PluginView]})
    async def _plugins(self, _: Call) -> Response:
        found = await self._choices.plugins()
        return _all(
            [
                PluginView.showing(each, description=each.words, built_in=each.origin is Origin.BUILT_IN)
                for each in found
            ]
        )

    @route("GET", "/api/graphs", "List graphs for agents", READ, {200: Page[GraphView]})
    async def _graphs(self, _: Call) -> Response:
        return _all([GraphView(name=name, description=words) for name, words in _GRAPHS.items()])

    @route("GET", "/api/platforms", "List chat platforms", READ, {200: Page[PlatformView]})
    async def _platforms(self, _: Call) -> Response:
        return _all([PlatformView.of(each) for each in await self._choices.platforms()])


def _all(items: Sequence[View]) -> Response:
    return answer_page(items, None)


def _rank(name: str) -> tuple[int, str]:
    """Return a sort key of a provider: the order of `_VENDORS`, then the providers of other packages by name."""
    known = list(_VENDORS)
    return (known.index(name) if name in _VENDORS else len(known), name)
