"""Reads the accounts and bots of the configuration from the entries of the file. If the file has no entries, the
accounts and bots come from well-known environment variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from arvis.config.entries import AccountEntry
from arvis.config.problems import Problem
from arvis.config.schema import BotEntry
from arvis.domain.dataclass import dataclass
from arvis.domain.runs import Account

DEFAULT_MODELS = {
    "demo": "demo",
    "anthropic": "claude-sonnet-4-6",
    "openai": "gpt-4o-mini",
    "openrouter": "openai/gpt-4o-mini",
    "google": "gemini-2.5-flash",
    "ollama": "llama3.2",
    "claude_cli": "claude-sonnet-4-6",
}
_MAX_SUFFIX = 50


@dataclass(frozen=True, slots=True)
class _Family:
    """The environment variables of one provider. If only the variable of the address is set, the account has no key.
    `model` is the model of these accounts. If it is None, the accounts use the provider's default in
    `DEFAULT_MODELS`."""

    provider: str
    key: str | None
    url: str | None
    priority: int
    model: str | None = None


_FAMILIES = (
    _Family("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", 20, "claude-haiku-4-5"),
    _Family("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", 50),
    _Family("openrouter", "OPENROUTER_API_KEY", None, 60),
    _Family("google", "GOOGLE_API_KEY", None, 70),
    _Family("ollama", None, "OLLAMA_HOST", 200),
)

_CONNECTOR_VARIABLES: Sequence[tuple[str, Mapping[str, str]]] = (
    ("discord", {"token": "DISCORD_TOKEN"}),
    ("telegram", {"token": "TELEGRAM_TOKEN"}),
    ("slack", {"bot_token": "SLACK_BOT_TOKEN", "app_token": "SLACK_APP_TOKEN"}),
)


def account_problems(entries: Sequence[AccountEntry]) -> Iterator[Problem]:
    """Yield the problems of accounts that the checks of single values do not find."""
    seen: dict[str, int] = {}
    for index, entry in enumerate(entries):
        path = ("accounts", index)
        first = seen.setdefault(entry.name, index)
        if first != index:
            yield Problem((*path, "name"), f"is the same as accounts[{first}].name", "Give each account its own name.")
        yield from (Problem((*path, key), text, fix) for key, text, fix in _gaps(entry))


def _gaps(entry: AccountEntry) -> Iterator[tuple[str, str, str]]:
    own_server = entry.provider in {"anthropic", "openai"} and entry.base_url is not None
    needs_key = entry.provider in {"anthropic", "openai", "openrouter", "google"} and not own_server
    if needs_key and entry.api_key is None:
        variable = f"{entry.provider.upper()}_API_KEY"
        yield "api_key", f"is missing, and {entry.provider} needs one", f"Write `api_key: env:{variable}`."
    if entry.provider == "custom" and entry.base_url is None:
        fix = "Write the address of the server, such as `base_url: http://127.0.0.1:8080/v1`."
        yield "base_url", "is missing, and a custom provider needs one", fix
    if entry.api is not None and entry.provider not in {"openai", "custom"}:
        yield "api", f"is only for the providers openai and custom, and this is {entry.provider}", "Remove it."
    if entry.model is None and entry.provider not in DEFAULT_MODELS:
        yield "model", "is missing", "Write the name of the model to ask."


def account(entry: AccountEntry) -> Account:
    return Account(
        name=entry.name,
        provider=entry.provider,
        model=entry.model or DEFAULT_MODELS[entry.provider],
        api_key=entry.api_key.get_secret_value() if entry.api_key else None,
        base_url=entry.base_url,
        priority=entry.priority,
        models=entry.models,
        api=entry.api,
    )


def accounts_from_environment(environ: Mapping[str, str]) -> tuple[Account, ...]:
    """Return the accounts for which environment variables are set."""
    return tuple(
        _environment_account(family, number, variable, environ)
        for family in _FAMILIES
        for number, variable in _variables(family, environ)
    )


def _variables(family: _Family, environ: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Yield the variables of a family that are set, each with its number. A variable name without a suffix counts as 0.
    The search ends at the first suffix whose variable is not set. If no variable of a key is set, yield the variable of
    the address."""
    found = False
    if family.key is not None:
        if environ.get(family.key):
            found = True
            yield 0, family.key
        for number in range(1, _MAX_SUFFIX + 1):
            variable = f"{family.key}_{number}"
            if not environ.get(variable):
                break
            found = True
            yield number, variable
    if not found and family.url is not None and environ.get(family.url):
        yield 0, family.url


def _environment_account(family: _Family, number: int, variable: str, environ: Mapping[str, str]) -> Account:
    return Account(
        name=f"{family.provider}-{number}" if number else family.provider,
        provider=family.provider,
        model=family.model or DEFAULT_MODELS[family.provider],
        api_key=None if variable == family.url else environ[variable].strip(),
        base_url=(environ.get(family.url) or None) if family.url else None,
        priority=family.priority + number,
    )


def bots_from_environment(environ: Mapping[str, str], agent: str | None) -> tuple[BotEntry, ...]:
    """Return a bot for each platform whose variables are all set. If `agent` is given, the bots serve that agent."""
    entries: list[BotEntry] = []
    for platform, variables in _CONNECTOR_VARIABLES:
        secrets = {key: environ.get(variable, "").strip() for key, variable in variables.items()}
        if not all(secrets.values()):
            continue
        entries.append(
            BotEntry(
                platform=platform,
                name="main",
                path=f"bots.{platform}[0]",
                values={"name": "main", **secrets, **({"agent": agent} if agent else {})},
                places={key: f"environment variable {variable}" for key, variable in variables.items()},
                secrets=frozenset(secrets.values()),
                variable=next(iter(variables.values())),
            )
        )
    return tuple(entries)
