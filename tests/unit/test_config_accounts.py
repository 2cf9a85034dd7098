"""Configuration: secrets, accounts and connectors."""

from __future__ import annotations

from pathlib import Path

import pytest

from arvis.domain.runs import Account
from tests.unit.config_kit import CANARY, read, refusal

pytestmark = pytest.mark.usefixtures("empty_folder")


# --- Secrets ---


def test_secrets_are_resolved_at_their_keys_and_hidden(tmp_path: Path) -> None:
    (tmp_path / "key.txt").write_text(f"{CANARY}-file\n", encoding="utf-8")
    config = read(
        "database: env:DB\n"
        "web: {password: env:PW, api_keys: ['file:key.txt', {key: env:CHAT, role: chat, agents: [helper]}]}\n"
        "accounts: [{name: a, provider: openai, api_key: env:OPENAI}]\n"
        "bots: {telegram: [{token: env:TG, nested: {list: [env:DEEP]}}]}\n",
        {name: f"{CANARY}-{name}" for name in ("PW", "CHAT", "OPENAI", "TG", "DEEP")}
        | {"DB": f"postgresql://u:{CANARY}@h/n"},
    )

    owner, chat = config.web.api_keys
    assert owner.key.get_secret_value() == f"{CANARY}-file"
    assert (owner.role, chat.role, chat.agents) == ("owner", "chat", ("helper",))
    assert config.postgres_url == f"postgresql://u:{CANARY}@h/n"
    assert config.bots[0].values["nested"] == {"list": [f"{CANARY}-DEEP"]}
    assert {secret.rpartition("-")[2] for secret in config.secrets() if secret.startswith(CANARY)} == {
        "PW", "CHAT", "OPENAI", "TG", "DEEP", "file",
    }  # fmt: skip
    assert CANARY not in repr(config)
    assert CANARY not in str(config)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("web: {password: env:NOPE}", "`web.password`"),
        ("web: {api_keys: [env:NOPE]}", "`web.api_keys[0].key`"),
        ("accounts: [{name: a, provider: openai, api_key: env:NOPE}]", "`accounts[0].api_key`"),
        ("bots: {slack: [{app_token: env:NOPE}]}", "`bots.slack[0].app_token`"),
    ],
)
def test_an_unset_variable_is_an_error_at_the_key_that_uses_it(text: str, key: str) -> None:
    for environ in ({}, {"NOPE": ""}):
        shown = refusal(text, environ)
        assert key in shown
        assert "NOPE" in shown
        assert "line 1" in shown


@pytest.mark.parametrize("content", [None, b"", b"\xff\xff"])
def test_a_secret_file_that_cannot_be_used_is_an_error(content: bytes | None) -> None:
    if content is not None:
        Path("secret").write_bytes(content)

    shown = refusal("web: {password: 'file:secret'}")

    assert "`web.password`" in shown
    assert "the file secret" in shown


# --- Accounts and connectors ---


def test_accounts_of_the_file_become_the_domain_s() -> None:
    config = read(
        "accounts:\n"
        "  - {name: a, provider: openai, api_key: k, priority: 5}\n"
        "  - {name: b, provider: custom, base_url: 'http://127.0.0.1:1/v1', model: m}\n"
        "  - {name: c, provider: demo}\n"
        "  - {name: d, provider: anthropic, api_key: k}\n"
        "  - {name: e, provider: anthropic, base_url: 'http://127.0.0.1:1'}\n",
        {"OPENAI_API_KEY": "ignored"},
    )

    assert config.accounts == (
        Account("a", "openai", "gpt-4o-mini", "k", None, 5),
        Account("b", "custom", "m", None, "http://127.0.0.1:1/v1", 100),
        Account("c", "demo", "demo", None, None, 100),
        Account("d", "anthropic", "claude-sonnet-4-6", "k", None, 100),
        Account("e", "anthropic", "claude-sonnet-4-6", None, "http://127.0.0.1:1", 100),
    )


def test_an_unknown_provider_is_refused_by_name() -> None:
    shown = refusal("accounts: [{name: a, provider: nobody, api_key: k, model: m}]")

    assert "`accounts[0].provider`" in shown
    assert "claude_cli" in shown


@pytest.mark.parametrize(
    ("account", "expected"),
    [
        ("{name: a, provider: openai}", ["`accounts[0].api_key`", "env:OPENAI_API_KEY"]),
        ("{name: a, provider: anthropic}", ["`accounts[0].api_key`", "env:ANTHROPIC_API_KEY"]),
        ("{name: a, provider: openrouter, base_url: 'http://x'}", ["`accounts[0].api_key`"]),
        ("{name: a, provider: custom, model: m}", ["`accounts[0].base_url`"]),
        ("{name: a, provider: custom, base_url: 'http://x'}", ["`accounts[0].model`"]),
        ("{name: a, provider: opanai}", ["`accounts[0].provider`", "'openai'"]),
        ("{name: a, provider: demo}, {name: a, provider: demo}", ["`accounts[1].name`", "accounts[0].name"]),
    ],
)
def test_an_account_that_cannot_work_is_refused(account: str, expected: list[str]) -> None:
    shown = refusal(f"accounts: [{account}]")

    assert all(part in shown for part in expected), shown


def test_numbered_keys_make_accounts_up_to_the_first_gap() -> None:
    environ = {"OPENAI_API_KEY": "k", "OPENAI_API_KEY_1": "k1", "OPENAI_API_KEY_2": "k2", "OPENAI_API_KEY_4": "k4"}

    accounts = read("", environ | {"OPENROUTER_API_KEY_1": "r1"}).accounts

    assert [(a.name, a.api_key, a.priority) for a in accounts] == [
        ("openai", "k", 50),
        ("openai-1", "k1", 51),
        ("openai-2", "k2", 52),
        ("openrouter-1", "r1", 61),
    ]
    assert {a.model for a in accounts} == {"gpt-4o-mini", "openai/gpt-4o-mini"}


def test_keys_end_at_the_suffix_50() -> None:
    environ = {f"OPENAI_API_KEY_{n}": "k" for n in range(1, 60)}

    assert len(read("", environ).accounts) == 50


def test_a_base_url_alone_makes_an_account_without_a_key() -> None:
    address = "http://127.0.0.1:9/v1"

    assert read("", {"OPENAI_BASE_URL": address}).accounts == (
        Account("openai", "openai", "gpt-4o-mini", None, address, 50),
    )
    (with_key,) = read("", {"OPENAI_BASE_URL": address, "OPENAI_API_KEY": "k"}).accounts
    assert (with_key.api_key, with_key.base_url) == ("k", address)


def test_accounts_of_the_environment_ask_anthropic_s_small_model_and_come_first() -> None:
    config = read("", {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_API_KEY_1": "k1", "OPENAI_API_KEY": "o"})

    assert config.accounts[:2] == (
        Account("anthropic", "anthropic", "claude-haiku-4-5", "k", None, 20),
        Account("anthropic-1", "anthropic", "claude-haiku-4-5", "k1", None, 21),
    )
    assert config.accounts[2].priority > 21
    (server,) = read("", {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}).accounts
    assert (server.api_key, server.base_url) == (None, "http://127.0.0.1:9")


def test_keys_and_addresses_of_further_vendors_make_accounts() -> None:
    config = read("", {"GOOGLE_API_KEY_1": "k", "OLLAMA_HOST": "127.0.0.1:11434"})

    assert config.accounts == (
        Account("google-1", "google", "gemini-2.5-flash", "k", None, 71),
        Account("ollama", "ollama", "llama3.2", None, "127.0.0.1:11434", 200),
    )


def test_connectors_keep_their_settings_and_lines() -> None:
    config = read("bots:\n  telegram:\n    - name: one\n      token: env:T\n    - {name: two}\n", {"T": CANARY})

    one, two = config.bots
    assert (one.platform, one.name, one.path) == ("telegram", "one", "bots.telegram[0]")
    assert one.values == {"name": "one", "token": CANARY}
    assert one.places["token"].endswith("line 4")
    assert two.places["name"].endswith("line 5")


def test_tokens_in_the_environment_make_connectors() -> None:
    environ = {"TELEGRAM_TOKEN": "t", "SLACK_BOT_TOKEN": "b"}

    assert [c.platform for c in read("", environ).bots] == ["telegram"]
    telegram, slack = read("", environ | {"SLACK_APP_TOKEN": "a"}).bots
    assert telegram.values == {"name": "main", "token": "t", "agent": "helper"}
    assert slack.values == {"name": "main", "bot_token": "b", "app_token": "a", "agent": "helper"}
    assert (telegram.variable, telegram.places["token"]) == ("TELEGRAM_TOKEN", "environment variable TELEGRAM_TOKEN")


def test_connectors_of_the_file_leave_the_environment_aside() -> None:
    connectors = read("bots: {discord: [{token: x}]}", {"TELEGRAM_TOKEN": "t"}).bots

    assert [(c.platform, c.name) for c in connectors] == [("discord", "main")]
