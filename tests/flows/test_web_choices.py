"""The choices of forms, and platform guides whose fields match the connectors' settings."""

from __future__ import annotations

from collections.abc import AsyncIterator
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import SecretStr

from arvis.bus import EventBus
from arvis.commands.hints import command_hints
from arvis.domain.agents import GRAPHS
from arvis.domain.runs import Account
from arvis.ports.choices import BotField, OfferedPlatform
from connectors.discord.settings import DiscordConfig
from connectors.settings import BotConfig
from connectors.slack.settings import SlackConfig
from connectors.telegram.settings import TelegramConfig
from tests.flows.web_admin import admin_services
from tests.flows.web_server import CHAT_KEY, VIEWER_KEY, Site, running_site

CONFIGS: dict[str, type[BotConfig]] = {"discord": DiscordConfig, "slack": SlackConfig, "telegram": TelegramConfig}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as site:
        yield site


async def listed(site: Site, path: str) -> dict[str, dict[str, Any]]:
    answer = await site.call("GET", path, key=VIEWER_KEY)
    assert answer.status == 200, answer.text
    return {item["name"]: item for item in answer.json()["items"]}


async def test_models_with_prices_and_windows(site: Site) -> None:
    found = await listed(site, "/api/models")
    haiku = found["anthropic/claude-haiku-4-5"]
    assert (haiku["inputUsd"], haiku["outputUsd"], haiku["contextWindow"], haiku["vision"]) == (1, 5, 200_000, True)
    assert haiku["accounts"] == []
    assert {"openai/gpt-4o-mini", "google/gemini-2.5-pro"} <= set(found)


async def test_models_of_accounts_come_first(site: Site, tmp_path: Path) -> None:
    accounts = (
        Account("own", "custom", "my-model", base_url="http://127.0.0.1:1"),
        Account("two", "openai", "gpt-4o", models=("gpt-5",)),
    )
    admin = await admin_services(tmp_path, site.store, EventBus(), site.clock, accounts=accounts)
    found = {f"{one.provider}/{one.model}": one for one in await admin.choices.models()}
    assert list(found)[:3] == ["custom/my-model", "openai/gpt-4o", "openai/gpt-5"]
    assert (found["custom/my-model"].price, found["custom/my-model"].accounts) == (None, ["own"])
    assert (found["openai/gpt-5"].accounts, found["openai/gpt-4o-mini"].accounts) == (["two"], [])


async def test_providers_plugins_and_graphs_have_words(site: Site) -> None:
    providers = await listed(site, "/api/providers")
    assert providers["anthropic"]["key"] == "required"
    assert (providers["custom"]["baseUrl"], providers["custom"]["key"]) == ("required", "optional")
    assert {"demo", "ollama", "openai", "openrouter", "google", "claude_cli"} <= set(providers)
    assert list(providers)[:3] == ["demo", "anthropic", "openai"], "those that most people use come first"
    plugins = await listed(site, "/api/plugins")
    assert {"time", "workspace", "helpers", "environment", "active_agents"} <= set(plugins)
    assert {name for name, one in plugins.items() if not one["harmless"]} == {"workspace"}
    graphs = await listed(site, "/api/graphs")
    assert set(graphs) == set(GRAPHS)
    for item in (*providers.values(), *plugins.values(), *graphs.values()):
        assert item["description"].endswith("."), item
        assert not item["description"].startswith("Plugin "), item


async def test_platforms_have_steps_and_fields(site: Site) -> None:
    found = await listed(site, "/api/platforms")
    assert set(CONFIGS) <= set(found)
    for name in CONFIGS:
        platform = found[name]
        assert len(platform["steps"]) >= 4
        assert platform["needs"]
        assert "http" not in " ".join([*platform["steps"], platform["description"]])
        assert all(field["label"] for field in platform["fields"])
    assert [field["name"] for field in found["slack"]["fields"] if field["secret"]] == [
        "bot_token",
        "app_token",
        "signing_secret",
    ]
    assert "socket_mode_enabled: true" in found["slack"]["manifest"]
    names = ", ".join(hint.name for hint in command_hints())
    assert f'usage_hint: "[{names} or a question]"' in found["slack"]["manifest"]
    assert found["slack"]["manifest"] in (Path(__file__).parents[2] / "docs" / "how-to" / "slack.md").read_text("utf-8")
    assert found["console"]["fields"] == []


@pytest.mark.parametrize("platform", sorted(CONFIGS))
async def test_the_fields_of_a_guide_are_those_of_the_connector(site: Site, tmp_path: Path, platform: str) -> None:
    admin = await admin_services(tmp_path, site.store, EventBus(), site.clock)
    guide = next(one for one in await admin.choices.platforms() if one.name == platform)
    assert isinstance(guide, OfferedPlatform)
    assert {field.name: shape_of_guide(field) for field in guide.fields} == {
        name: shape_of_model(CONFIGS[platform], name) for name in CONFIGS[platform].model_fields
    }


def shape_of_guide(field: BotField) -> tuple[bool, bool, Any, set[str]]:
    return field.secret, field.required, field.default, set(field.choices)


def shape_of_model(config: type[BotConfig], name: str) -> tuple[bool, bool, Any, set[str]]:
    field = config.model_fields[name]
    kinds = {field.annotation, *get_args(field.annotation)}
    secret = any(SecretStr in {kind, *get_args(kind)} for kind in kinds)
    default = None if field.is_required() else field.default
    plain = str(default) if isinstance(default, StrEnum) else list(default) if isinstance(default, tuple) else default
    members = [set(kind) for kind in kinds if isinstance(kind, type) and issubclass(kind, StrEnum)]
    literals = [set(get_args(kind)) for kind in (field.annotation, *get_args(field.annotation))]
    texts = [
        {str(each) for each in group}
        for group in (*members, *literals)
        if group and all(isinstance(e, str) for e in group)
    ]
    return secret, field.is_required(), plain, set().union(*texts)


async def test_tools_with_what_the_policy_says(tmp_path: Path) -> None:
    async with running_site(tmp_path) as site:
        assert (await site.call("GET", "/api/tools", key=VIEWER_KEY)).json()["items"] == []
        for path in ("tools", "models", "providers", "plugins", "graphs", "platforms"):
            assert (await site.call("GET", f"/api/{path}", key=CHAT_KEY)).status == 403
