"""The repository of credentials, and the service that inserts them into requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from arvis.domain.agents import Agent
from arvis.domain.credentials import Credential, Insertion


class Credentials(Protocol):
    def all(self) -> Sequence[Credential]:
        """Return the credentials in the order of their names."""
        ...

    def get(self, name: str) -> Credential | None: ...

    def put(self, credential: Credential, now: int) -> None:
        """Store a credential. If a credential has the same name, replace it, but keep its creation time."""
        ...

    def remove(self, name: str) -> bool:
        """Delete a credential; return False if no credential has this name."""
        ...


class CredentialInserter(Protocol):
    async def insertion(self, agent: Agent, url: str) -> Insertion | None:
        """Return the header that the agent's request to this address must contain; None if no credential of the agent
        applies to the host. Raise `ToolError` if the secret is not available, so that no request is made without it."""
        ...
