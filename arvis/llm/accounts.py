"""The accounts for model calls: the configured ones, and those added in the product.

They are read from memory for every call, and loaded again after a change. The rows are the source; an unusable
account affects only itself, never the start or a turn that another one can answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress

from arvis.domain.accounts import AccountStatus, StoredAccount
from arvis.domain.errors import ArvisError, ProviderError, ProviderErrorKind, SecretLost
from arvis.domain.events import AccountsChanged, NoticesMissed
from arvis.domain.runs import Account
from arvis.llm.attempts import RunFailed
from arvis.llm.candidates import DEMO
from arvis.ports.bus import Bus
from arvis.ports.secrets import SecretBox
from arvis.ports.store import Store, Transaction

log = logging.getLogger(__name__)

#: A notice may be lost with the process that sent it: seconds between checks without a notice.
_LOOK_AGAIN = 60.0


class AccountRegistry:
    """`configured` are those of file and environment, which only a restart changes. Empty of stored ones until it has
    learnt."""

    def __init__(self, *, configured: Sequence[Account], store: Store, secrets: SecretBox) -> None:
        self._configured = {account.name: account for account in configured}
        self._store = store
        self._secrets = secrets
        self._learning = asyncio.Lock()
        self._usable: tuple[Account, ...] = tuple(configured) or (DEMO,)
        self._left_out: Mapping[str, ArvisError] = {}

    @property
    def configured(self) -> Sequence[Account]:
        return tuple(self._configured.values())

    @property
    def usable(self) -> Sequence[Account]:
        """Return the usable accounts; the demo if no account exists, and none if none works."""
        return self._usable

    def current(self) -> Sequence[Account]:
        """`usable`, for the runner. Raises `RunFailed` when there are accounts and none can be used: the demo must not
        answer in their place (interfaces.md §5)."""
        if not self._usable:
            reasons = "; ".join(f"{name}: {error.why or error.what}" for name, error in self._left_out.items())
            what = f"no account can be used ({reasons or 'all of them are disabled'})"
            raise RunFailed(ProviderError(ProviderErrorKind.AUTH, what), ())
        return self._usable

    def opened(self, stored: StoredAccount) -> Account:
        """Raises `SecretLost` when its key cannot be opened."""
        return Account(
            name=stored.name,
            provider=stored.provider,
            model=stored.model,
            api_key=None if stored.sealed_key is None else self._secrets.open(stored.sealed_key),
            base_url=stored.base_url,
            priority=stored.priority,
            models=stored.models,
        )

    def trouble_of(self, stored: StoredAccount) -> ArvisError | None:
        """Return why an account is left out; None: it can be used."""
        if stored.name in self._configured:
            return ArvisError(
                f"The account {stored.name} of the product is passed over",
                why="the configuration has one of the same name.",
                fix="Remove it here, or give the other one a new name and start again.",
            )
        try:
            self.opened(stored)
        except SecretLost as lost:
            return lost
        return None

    async def learn(self) -> None:
        """Read the stored accounts. Raises `StoreError` and keeps what it knew when they cannot be read."""
        async with self._learning:
            rows = await self._store.read(_all)
            active = [stored for stored in rows if stored.status is AccountStatus.ACTIVE]
            # On a thread: the first time the key is read from its file, and the library loaded.
            usable, left_out = await asyncio.to_thread(self._open_all, active)
            self._report(left_out)
            known = (*self._configured.values(), *usable)
            self._usable, self._left_out = known if known or rows else (DEMO,), left_out

    async def follow(self, bus: Bus, up: Callable[[], None]) -> None:
        """Reload when another process reports a change, until cancelled. Raise `StoreError`."""
        changed = asyncio.Event()
        with ExitStack() as listening:
            for kind in (AccountsChanged, NoticesMissed):
                listening.callback(bus.subscribe(kind, lambda _: changed.set()))
            await self.learn()
            up()
            while True:
                with suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), _LOOK_AGAIN)
                changed.clear()
                await self.learn()

    def _open_all(self, active: Sequence[StoredAccount]) -> tuple[list[Account], dict[str, ArvisError]]:
        usable: list[Account] = []
        left_out: dict[str, ArvisError] = {}
        for stored in active:
            if (trouble := self.trouble_of(stored)) is None:
                usable.append(self.opened(stored))
            else:
                left_out[stored.name] = trouble
        return usable, left_out

    def _report(self, left_out: Mapping[str, ArvisError]) -> None:
        """Log the problem once, not at every change of another account."""
        for name, trouble in left_out.items():
            if name not in self._left_out:
                log.warning("The account %s is left out. %s %s", name, trouble.why, trouble.fix)


def _all(tx: Transaction) -> list[StoredAccount]:
    return tx.accounts.all()
