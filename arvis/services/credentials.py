"""Credentials: changes by people, and their insertion into requests of agents."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import structlog

from arvis.domain.accounts import Variable
from arvis.domain.agents import Agent
from arvis.domain.credentials import MOST_CREDENTIALS, Credential, Insertion, flaws_of, insertion_of
from arvis.domain.effects import Access, AccessKind, access_entry
from arvis.domain.errors import Conflict, NotFound, SecretLost, ToolError, Unprocessable
from arvis.ports.secrets import SecretBox
from arvis.ports.store import Store, Transaction

log = structlog.get_logger(__name__)


class StoredCredentials:
    """Implements `CredentialInserter`. The rows are read for each request of an agent with credentials, so a change
    takes effect at once."""

    def __init__(self, *, store: Store, secrets: SecretBox) -> None:
        self._store = store
        self._secrets = secrets

    async def insertion(self, agent: Agent, url: str) -> Insertion | None:
        if not agent.credentials:
            return None
        found = await self._store.read(_applying, agent.credentials, url)
        if found is None:
            return None
        credential, variable = found
        if variable is None:
            raise ToolError(
                f"The credential {credential.name} cannot be used: its variable does not exist or is not secret. "
                "Tell the person who runs this bot."
            )
        try:
            made = insertion_of(credential, self._secrets.open(variable.value))
        except SecretLost as lost:
            raise ToolError(
                f"The credential {credential.name} cannot be decrypted. {lost.why} Tell the person who runs this bot."
            ) from None
        if made is None:
            raise ToolError(
                f"The credential {credential.name} cannot be used: its value contains characters that a header cannot have. "
                "Tell the person who runs this bot."
            )
        log.info("credential_used", credential=credential.name, agent=agent.slug)
        return made


def _applying(tx: Transaction, names: Sequence[str], url: str) -> tuple[Credential, Variable | None] | None:
    """Return the first of the named credentials that applies to the host of `url`, with its secret variable."""
    for name in names:
        credential = tx.credentials.get(name)
        if credential is not None and credential.applies_to(url):
            variable = tx.variables.get(credential.variable)
            return credential, variable if variable is not None and variable.secret else None
    return None


def hosts_of(tx: Transaction, names: Sequence[str]) -> Collection[str]:
    """Return the hosts, without ports, of the named credentials. Patterns such as `*.example.com` are left out."""
    found = (tx.credentials.get(name) for name in names)
    return frozenset(host for credential in found if credential is not None for host in credential.plain_hosts)


def put(tx: Transaction, credential: Credential, *, by: str, now: int) -> Credential:
    """Create or change a credential. Raise `Unprocessable` if a field is invalid."""
    for field, text, fix in flaws_of(credential):
        raise Unprocessable(f"`{field}` {text}.", fix=fix)
    variable = tx.variables.get(credential.variable)
    if variable is None or not variable.secret:
        raise Unprocessable(
            f"There is no secret variable {credential.variable}.",
            fix="Store the secret first: `arvis variables create KEY --secret`.",
        )
    known = tx.credentials.get(credential.name)
    if known is None and len(tx.credentials.all()) >= MOST_CREDENTIALS:
        raise Conflict(f"There are {MOST_CREDENTIALS} credentials already.", fix="Delete one that is not needed.")
    tx.credentials.put(credential, now)
    _note(tx, AccessKind.CREDENTIAL_CHANGED, credential, by, now)
    return tx.credentials.get(credential.name) or credential


def remove(tx: Transaction, name: str, *, by: str, now: int) -> None:
    """Delete a credential. Raise `NotFound` if it does not exist. Agents that name the credential then send their
    requests without it."""
    known = present(tx, name)
    tx.credentials.remove(name)
    _note(tx, AccessKind.CREDENTIAL_REMOVED, known, by, now)


def present(tx: Transaction, name: str) -> Credential:
    """Return the credential with this name. Raise `NotFound` if it does not exist."""
    known = tx.credentials.get(name)
    if known is None:
        raise no_credential()
    return known


def no_credential() -> NotFound:
    return NotFound(
        "There is no such credential.",
        fix="`arvis credentials list` and GET /api/credentials list the credentials.",
    )


def _note(tx: Transaction, kind: AccessKind, credential: Credential, by: str, now: int) -> None:
    details = {
        "variable": credential.variable,
        "hosts": list(credential.hosts),
        "header": credential.header,
        "template": credential.template,
    }
    tx.audit.add(access_entry(tx.new_id(), Access(kind, credential.name, details), now, by))
