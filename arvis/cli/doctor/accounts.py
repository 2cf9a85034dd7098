"""Checks that an account for models exists, that the servers of accounts can be reached, and that the last calls
succeeded. The checks make no model calls."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from arvis.bots.registry import sealed_of
from arvis.cli.doctor.findings import Check, Group, Verdict, fail, failed, ok, warn
from arvis.cli.doctor.scene import PLACEHOLDER, Scene
from arvis.domain.accounts import AccountStatus, StoredAccount
from arvis.domain.errors import PERMANENT, ArvisError, ProviderErrorKind, SecretLost
from arvis.domain.runs import Account
from arvis.extensions import PROVIDERS, installed
from arvis.llm.selection import DEMO, TOOLLESS
from arvis.process.secrets import SealedBox, secrets_key_file
from arvis.providers import anthropic_messages, google, ollama
from arvis.providers.openai import VENDORS

#: Seconds in which a server must accept a connection.
_TIMEOUT = 2.5

_MOST_FAIL = 0.5
_ADDRESSES = {
    **{name: vendor.base_url for name, vendor in VENDORS.items()},
    "anthropic": anthropic_messages.BASE_URL,
    "google": google.BASE_URL,
    "ollama": ollama.BASE_URL,
}
_DEMO = f"{DEMO.provider}/{DEMO.model} ({DEMO.name})"


def check_accounts(scene: Scene) -> Verdict:
    """Report which models answer. The accounts of the configuration come from the daemon's log, all other accounts from
    the database."""
    said = scene.daemon.start.models if scene.daemon is not None and scene.daemon.start is not None else None
    stored = tuple(f"{one.provider}/{one.model} ({one.name})" for one in _stored(scene))
    models = tuple(f"{account.provider}/{account.model} ({account.name})" for account in scene.config.accounts)
    configured = models if said is None else () if said == (_DEMO,) else said
    answering, expected = (*configured, *stored) or (_DEMO,), (*models, *stored) or (_DEMO,)
    if answering == (_DEMO,):
        fix = (
            "Set an environment variable such as OPENAI_API_KEY, or add an account with `arvis accounts create` or "
            "in config.yaml."
        )
        return warn("The built-in demo model answers", "No model account is configured.", fix)
    if said is not None and answering != expected:
        why = f"A daemon started from this shell would use {', '.join(expected)}."
        return ok(f"The daemon answers with {', '.join(answering)}", why)
    return ok(f"{'The daemon uses' if said else 'A daemon would use'} the models {', '.join(answering)}")


def check_stored_accounts(scene: Scene) -> Verdict | None:
    """Report accounts in the database that are not used, because the configuration has an account with the same name
    or the provider is not installed."""
    stored = [] if scene.records is None else [one for one in scene.records.accounts if _is_active(one)]
    if not stored:
        return None
    configured = {account.name for account in scene.config.accounts}
    if twins := [one.name for one in stored if one.name in configured]:
        fix = "Delete the stored account with `arvis accounts delete`, or rename the account in config.yaml."
        return warn(
            f"Accounts that are not used: {', '.join(twins)}", "config.yaml has accounts with the same names.", fix
        )
    known = installed(PROVIDERS)
    if strange := [f"{one.name} ({one.provider})" for one in stored if one.provider not in known]:
        why = f"This installation has the providers {', '.join(sorted(known))}."
        return warn(f"No provider for {', '.join(strange)}", why, "Remove the account, or install a newer version.")
    return ok(f"Accounts stored in the database: {', '.join(one.name for one in stored)}")


def check_stored_secrets(scene: Scene) -> Verdict | None:
    """Check that the encryption key of this installation decrypts all secrets in the database."""
    given = scene.config.encryption_key
    if scene.records is None or (given is not None and given.get_secret_value() == PLACEHOLDER):
        return None
    sealed = {f"the account {one.name}": one.sealed_key for one in scene.records.accounts if one.sealed_key}
    sealed |= {f"the variable {one.key}": one.value for one in scene.records.secrets}
    for bot in scene.records.bots:
        sealed |= {f"{name} of the bot {bot.platform}/{bot.name}": each for name, each in sealed_of(bot).items()}
    sealed |= {f"the secret of the webhook {hook.path}": hook.secret for hook in scene.records.webhooks}
    if not sealed:
        return None
    try:
        text = None if given is None else given.get_secret_value()
        box = SealedBox(file=secrets_key_file(scene.folder), given=text, tell=lambda _: None)
    except ArvisError as error:
        return failed(error)
    lost = {name: loss for name, value in sealed.items() if (loss := _loss(box, value)) is not None}
    if lost:
        first = next(iter(lost.values()))
        return fail(f"Secrets that cannot be decrypted: {', '.join(list(lost)[:5])}", first.why, first.fix)
    return ok(f"Secrets that can be decrypted: {len(sealed)}")


def _loss(box: SealedBox, sealed: str) -> SecretLost | None:
    try:
        box.open(sealed)
    except SecretLost as lost:
        return lost
    return None


def _is_active(stored: StoredAccount) -> bool:
    return stored.status is AccountStatus.ACTIVE


def _stored(scene: Scene) -> list[StoredAccount]:
    """Return the active accounts in the database whose names the configuration does not use."""
    configured = {account.name for account in scene.config.accounts}
    found = [] if scene.records is None else scene.records.accounts
    return [one for one in found if _is_active(one) and one.name not in configured]


def _accounts(scene: Scene) -> list[Account]:
    """Return all accounts in use. Accounts from the database have no keys, because no check needs the keys."""
    stored = (Account(one.name, one.provider, one.model, base_url=one.base_url) for one in _stored(scene))
    return [*scene.config.accounts, *stored]


class _Server(NamedTuple):
    host: str
    port: int
    tls: bool


def check_servers(scene: Scene) -> Verdict | None:
    """Check that each server accepts a connection and, for https, has a valid certificate. No model call is made, so
    nothing is charged."""
    accounts = _accounts(scene)
    servers = {account.name: server for account in accounts if (server := _server_of(account))}
    if not servers:
        return None
    refused = _refusals(sorted(set(servers.values())))
    away = {name: refused[server] for name, server in servers.items() if server in refused}
    if not away:
        return ok(f"Vendor servers that accept a connection: {len(set(servers.values()))}")
    what = f"Accounts whose server cannot be reached: {', '.join(away)}"
    why = "; ".join(f"{servers[name].host} port {servers[name].port}: {text}" for name, text in away.items())
    fix = "Start the server, check the network, or correct `base_url` of the account."
    return fail(what, f"{why}.", fix) if len(away) == len(accounts) else warn(what, f"{why}.", fix)


def check_calls(scene: Scene) -> Verdict | None:
    """Report the results of the daemon's own model calls."""
    if scene.records is None or not scene.records.calls:
        return None
    for calls in scene.records.calls:
        if calls.error is not None and ProviderErrorKind(calls.error) in PERMANENT:
            why = f"The last call ended with {calls.error}: {calls.detail or 'no details'}."
            fix = "Check the key, the credit and the model of the account. `arvis explain ID` shows the call."
            return warn(f"The vendor refused the account {calls.account}", why, fix)
        if calls.failed > calls.number * _MOST_FAIL:
            why = (
                f"{calls.failed} of {calls.number} calls of the last 24 hours failed. The last error was {calls.error}."
            )
            return warn(f"The account {calls.account} fails often", why, "Add a second account that can take over.")
    return ok(f"Model calls of the last day: {sum(calls.number for calls in scene.records.calls)}")


def check_account_tools(scene: Scene) -> Verdict | None:
    """Check that agents with tools have an account that supports tools."""
    accounts = _accounts(scene)
    without = [account.name for account in accounts if account.provider in TOOLLESS]
    if not without:
        return None
    names = ", ".join(without)
    if len(without) < len(accounts):
        return ok(f"Without tools: {names}", "Agents with tools use the other accounts while one is available.")
    why = "The `claude` program does not accept tools from Arvis, so agents answer without their tools."
    fix = "Add an account with an API key (`arvis accounts create`) for agents that need tools."
    return warn(f"No account can use tools: {names}", why, fix)


def _server_of(account: Account) -> _Server | None:
    """Return the server of an account; None for an account without a server."""
    url = account.base_url or _ADDRESSES.get(account.provider)
    if url is None:
        return None
    parts = urlsplit(url)
    tls = parts.scheme in {"https", "wss"}
    return _Server(parts.hostname or "", parts.port or (443 if tls else 80), tls)


def _refusals(servers: Sequence[_Server]) -> dict[_Server, str]:
    """Return the servers that cannot be reached, each with the reason. A separate thread connects to each server,
    because the look-up of a host name may block. A blocked thread ends with this process."""
    found = dict.fromkeys(servers, f"no answer within {_TIMEOUT:g} s")

    def look(server: _Server) -> None:
        found[server] = _refusal(server)

    threads = [threading.Thread(target=look, args=(server,), daemon=True) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_TIMEOUT)
    return {server: text for server, text in found.items() if text}


def _refusal(server: _Server) -> str:
    """Return the reason why a server accepts no connection; an empty text if it accepts a connection."""
    try:
        with socket.create_connection((server.host, server.port), timeout=_TIMEOUT) as connection:
            if server.tls:
                ssl.create_default_context().wrap_socket(connection, server_hostname=server.host).close()
    except OSError as error:
        return str(error.strerror or error)
    return ""


GROUP = Group(
    "accounts",
    (
        Check("accounts", check_accounts),
        Check("stored_accounts", check_stored_accounts),
        Check("stored_secrets", check_stored_secrets),
        Check("account_servers", check_servers),
        Check("account_calls", check_calls),
        Check("account_tools", check_account_tools),
    ),
)
