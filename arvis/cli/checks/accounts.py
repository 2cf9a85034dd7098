"""The models: there is an account, its server can be reached, and its last calls went well. No call is made here."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from arvis.cli.checks.findings import Check, Group, Verdict, fail, ok, warn
from arvis.cli.checks.scene import Scene
from arvis.domain.errors import PERMANENT, ProviderErrorKind
from arvis.domain.runs import Account
from arvis.providers import anthropic_prompt, google, ollama
from arvis.providers.openai import VENDORS
from arvis.runner import DEMO

#: Seconds in which a server must take a connection.
_PATIENCE = 2.5

_MOST_FAIL = 0.5
_ADDRESSES = {
    **{name: vendor.base_url for name, vendor in VENDORS.items()},
    "anthropic": anthropic_prompt.BASE_URL,
    "google": google.BASE_URL,
    "ollama": ollama.BASE_URL,
}
_DEMO = f"{DEMO.provider}/{DEMO.model} ({DEMO.name})"


def check_accounts(scene: Scene) -> Verdict:
    """A running daemon says itself what it answers with."""
    said = scene.daemon.start.models if scene.daemon is not None and scene.daemon.start is not None else None
    models = tuple(f"{account.provider}/{account.model} ({account.name})" for account in scene.config.accounts)
    if (said or models or (_DEMO,)) == (_DEMO,):
        fix = "Set a key such as OPENAI_API_KEY, or add an account to config.yaml (`arvis init` asks for one)."
        return warn("The built-in demo answers", "No account of a model is configured.", fix)
    if said is not None and said != (models or (_DEMO,)):
        why = f"From here it would be started with {', '.join(models) or _DEMO}."
        return ok(f"The daemon answers with {', '.join(said)}", why)
    return ok(f"{'The daemon answers' if said else 'Answers come'} with {', '.join(said or models)}")


class _Server(NamedTuple):
    host: str
    port: int
    tls: bool


def check_servers(scene: Scene) -> Verdict | None:
    """A connection, and for https its certificate. Nothing is asked, so nothing is paid."""
    servers = {account.name: server for account in scene.config.accounts if (server := _server_of(account))}
    if not servers:
        return None
    refused = _refusals(sorted(set(servers.values())))
    away = {name: refused[server] for name, server in servers.items() if server in refused}
    if not away:
        return ok(f"Servers of accounts that take a connection: {len(set(servers.values()))}")
    what = f"Not reached: {', '.join(away)}"
    why = "; ".join(f"{servers[name].host} port {servers[name].port}: {text}" for name, text in away.items())
    fix = "Start that server, mend the network, or change base_url of the account."
    return fail(what, f"{why}.", fix) if len(away) == len(scene.config.accounts) else warn(what, f"{why}.", fix)


def check_calls(scene: Scene) -> Verdict | None:
    """What the daemon met when it asked its accounts."""
    if scene.records is None or not scene.records.calls:
        return None
    for calls in scene.records.calls:
        if calls.error is not None and ProviderErrorKind(calls.error) in PERMANENT:
            why = f"The last call ended with {calls.error}: {calls.detail or 'no more is known'}."
            fix = "Check key, credit and model of the account; `arvis explain` shows the whole call."
            return warn(f"The account {calls.account} was refused", why, fix)
        if calls.failed > calls.number * _MOST_FAIL:
            why = f"{calls.failed} of {calls.number} calls of the last day failed, the last with {calls.error}."
            return warn(f"The account {calls.account} fails often", why, "Add a second account that can take over.")
    return ok(f"Model calls of the last day: {sum(calls.number for calls in scene.records.calls)}")


def _server_of(account: Account) -> _Server | None:
    """Where its calls go; None for those that need no server."""
    url = account.base_url or _ADDRESSES.get(account.provider)
    if url is None:
        return None
    parts = urlsplit(url)
    tls = parts.scheme in {"https", "wss"}
    return _Server(parts.hostname or "", parts.port or (443 if tls else 80), tls)


def _refusals(servers: Sequence[_Server]) -> dict[_Server, str]:
    """Those that cannot be reached, and why. A name that nobody resolves blocks its thread only, which ends with us."""
    found = dict.fromkeys(servers, f"no answer within {_PATIENCE:g} s")

    def look(server: _Server) -> None:
        found[server] = _refusal(server)

    threads = [threading.Thread(target=look, args=(server,), daemon=True) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_PATIENCE)
    return {server: text for server, text in found.items() if text}


def _refusal(server: _Server) -> str:
    """Why a server takes no connection; "" when it does."""
    try:
        with socket.create_connection((server.host, server.port), timeout=_PATIENCE) as connection:
            if server.tls:
                ssl.create_default_context().wrap_socket(connection, server_hostname=server.host).close()
    except OSError as error:
        return str(error.strerror or error)
    return ""


GROUP = Group(
    "accounts",
    (Check("accounts", check_accounts), Check("account_servers", check_servers), Check("account_calls", check_calls)),
)
