"""The accounts for model calls: configured accounts, and stored accounts, which owners manage in the dashboard.

Model calls read the accounts from memory; a change reloads the stored accounts from the database. An account that
cannot be used is left out. It prevents neither the start nor a turn that another account can answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import SecretStr, ValidationError

from arvis.bus import EventBus
from arvis.config.accounts import DEFAULT_MODELS, account_problems
from arvis.config.accounts import account as account_of
from arvis.config.entries import AccountEntry
from arvis.config.problems import Problem, dotted, from_validation
from arvis.config.values import is_reference
from arvis.domain.accounts import AccountStatus, StoredAccount
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import (
    ArvisError,
    Conflict,
    NotFound,
    ProviderError,
    ProviderErrorKind,
    SecretLost,
    Unprocessable,
    sentences,
)
from arvis.domain.events import AccountsChanged, NoticesMissed
from arvis.domain.runs import Account, RunRequest, RunResult, Turn
from arvis.llm.attempts import RunFailed
from arvis.llm.selection import DEMO
from arvis.ports.clock import Clock
from arvis.ports.provider import Providers
from arvis.ports.secrets import SecretBox
from arvis.ports.store import Store, Transaction

log = logging.getLogger(__name__)

#: The accounts are loaded again after this many seconds even without a notice, because a notice may be lost with the
#: process that sent it.
_LOOK_AGAIN = 60.0


class AccountRegistry:
    """The accounts that model calls may use. The `configured` accounts come from the file and the environment and
    change only at a restart. Stored accounts are missing until `learn` has loaded them."""

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
        """Return the usable accounts. If there are no accounts at all, not even disabled accounts, return the demo
        account. Return an empty sequence if accounts exist but none can be used."""
        return self._usable

    def current(self) -> Sequence[Account]:
        """Return the accounts in `usable`. Raise `RunFailed` if accounts exist but none can be used, because the demo
        account must not answer instead of them."""
        if not self._usable:
            reasons = "; ".join(f"{name}: {error.why or error.what}" for name, error in self._left_out.items())
            what = f"no account can be used ({reasons or 'all of them are disabled'})"
            raise RunFailed(ProviderError(ProviderErrorKind.AUTH, what), ())
        return self._usable

    def opened(self, stored: StoredAccount) -> Account:
        """Return the account with its key decrypted. Raise `SecretLost` if the key cannot be decrypted."""
        return Account(
            name=stored.name,
            provider=stored.provider,
            model=stored.model,
            api_key=None if stored.sealed_key is None else self._secrets.open(stored.sealed_key),
            base_url=stored.base_url,
            priority=stored.priority,
            models=stored.models,
            api=stored.api,
        )

    def trouble_of(self, stored: StoredAccount) -> ArvisError | None:
        """Return the reason why the account is left out; None if the account can be used."""
        if stored.name in self._configured:
            return ArvisError(
                f"The account {stored.name} in the database is not used",
                why="config.yaml or the environment has an account with the same name.",
                fix="Delete this account, or rename the account in config.yaml and restart Arvis.",
            )
        try:
            self.opened(stored)
        except SecretLost as lost:
            return lost
        return None

    async def learn(self) -> None:
        """Load the stored accounts. If they cannot be read, keep the accounts that were loaded before, and raise
        `StoreError`."""
        async with self._learning:
            rows = await self._store.read(_all)
            active = [stored for stored in rows if stored.status is AccountStatus.ACTIVE]
            # On a thread, because the first call reads the encryption key from its file and imports a library.
            usable, left_out = await asyncio.to_thread(self._open_all, active)
            self._report(left_out)
            known = (*self._configured.values(), *usable)
            self._usable, self._left_out = known if known or rows else (DEMO,), left_out

    async def follow(self, bus: EventBus, up: Callable[[], None]) -> None:
        """Load the accounts and call `up`. Then load the accounts again after each change and at least every minute,
        until cancelled. Raise `StoreError` if they cannot be read."""
        with bus.signal(AccountsChanged, NoticesMissed) as changed:
            await self.learn()
            up()
            while True:
                await changed.wait(_LOOK_AGAIN)
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
        """Log the problem of an account once, and not again when another account changes."""
        for name, trouble in left_out.items():
            if name not in self._left_out:
                log.warning("The account %s is left out. %s %s", name, trouble.why, trouble.fix)


def _all(tx: Transaction) -> list[StoredAccount]:
    return tx.accounts.all()


# -- changes by an owner -----------------------------------------------------------------------------------------------
#
# A change is committed before it is announced on the bus. A key is encrypted before it is stored, and is sent only to
# its vendor.


#: The time limit of a test call, in seconds.
_PATIENCE = 25.0

_FIXES: Mapping[str, str] = {
    ProviderErrorKind.AUTH: "Check the key, and enter a valid one.",
    ProviderErrorKind.QUOTA: "Check the credit and the limits of your account at the vendor.",
    ProviderErrorKind.RATE_LIMIT: "Try again later, or add a second account.",
    ProviderErrorKind.BAD_REQUEST: "Check the name of the model and the address.",
    ProviderErrorKind.TIMEOUT: "Check the address and the network.",
}
_LATER = "Try again later. If the error persists, check the address and the model."

_NAMES = {"api_key": "apiKey", "base_url": "baseUrl"}
_GAPS = {
    "api_key": "Enter the key itself. Arvis encrypts it before storing it.",
    "base_url": "Give the address of the server, such as http://127.0.0.1:8080/v1.",
}
_FIELDS = "GET /openapi.json describes every field."

#: The text that replaces an unchanged key in checks that only need to know that a key exists.
_KEPT = SecretStr("kept")


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a test call."""

    ok: bool
    model: str
    duration_ms: int
    #: The error and its fix, empty on success.
    error: str = ""
    fix: str = ""
    #: The kind of a `ProviderError`, `other` for any other error, and empty on success.
    kind: str = ""
    #: The provider's reply; None if there was none.
    result: RunResult | None = None


class AccountService:
    """The changes and tests of accounts. The parameter `fields` has the keys of an `AccountEntry`, and the key
    `status`. A change raises `Unprocessable` for invalid values, and `NotFound` for an unknown account. It raises
    `Conflict` for an account of the configuration, or if the name exists already."""

    def __init__(
        self,
        *,
        book: AccountRegistry,
        store: Store,
        secrets: SecretBox,
        providers: Providers,
        bus: EventBus,
        clock: Clock,
    ) -> None:
        self._book = book
        self._store = store
        self._secrets = secrets
        self._providers = providers
        self._bus = bus
        self._clock = clock

    @property
    def book(self) -> AccountRegistry:
        return self._book

    async def add(self, fields: Mapping[str, Any]) -> StoredAccount:
        entry, status = _checked(fields)
        self._refuse_configured(entry.name)
        sealed = await self._sealed(fields.get("api_key"))
        added = await self._store.write(_add, entry, sealed, status, self._clock.now())
        await self._tell()
        return added

    async def change(self, name: str, changes: Mapping[str, Any]) -> StoredAccount:
        """Change only the fields in `changes`; None removes a value."""
        if await self._store.read(_by_name, name) is None:
            self._refuse_configured(name)
        sealed = await self._sealed(changes.get("api_key"))
        changed = await self._store.write(_change, name, changes, sealed, self._clock.now())
        await self._tell()
        return changed

    async def remove(self, name: str) -> None:
        if not await self._store.write(_remove, name, self._clock.now()):
            self._refuse_configured(name)
            raise _no_account(name)
        await self._tell()

    async def try_out(self, name: str) -> Trial:
        """Make a test call, which costs almost nothing, and return its result, which may be a failure. If the call
        succeeds, end the account's cooldowns. Raise `NotFound` if there is no such account."""
        configured = {account.name: account for account in self._book.configured}
        stored = None if name in configured else await self._stored(name)
        if stored is None:
            trial = await self._trial(configured[name])
        else:
            try:
                account = await asyncio.to_thread(self._book.opened, stored)
            except SecretLost as lost:
                return Trial(False, stored.model, 0, sentences(lost.what, lost.why), lost.fix or _LATER, "other")
            trial = await self._trial(account)
        if trial.ok:
            await self._store.write(_forget_refusals, name, self._clock.now())
        return trial

    async def try_new(self, fields: Mapping[str, Any]) -> Trial:
        """Make a test call with an account that is not stored. Raise `Unprocessable` for invalid values."""
        entry, _ = _checked({"name": fields.get("provider"), **fields})
        key = fields.get("api_key")
        # The result is not used: encrypting the key also registers it with the filter of the logs.
        await self._sealed(key)
        made = account_of(entry)
        return await self._trial(replace(made, api_key=key.strip() if isinstance(key, str) else None))

    async def _trial(self, account: Account) -> Trial:
        started, model = self._clock.monotonic(), account.model
        try:
            result = await self._call(account)
        except ArvisError as error:
            known = error if isinstance(error, ProviderError) else None
            fix = error.fix or (_FIXES.get(known.kind, _LATER) if known else _LATER)
            text = sentences(error.what, error.why)
            return Trial(False, model, self._since(started), text, fix, known.kind if known else "other")
        return Trial(True, model, self._since(started), result=result)

    async def _call(self, account: Account) -> RunResult | None:
        """Make the test call. Return None if the answer was empty. Raise `ProviderError`, or `ConfigError` if the
        provider is not available."""
        provider = await self._providers.get(account.provider)
        asked = (Turn("user", "Say OK"),)
        request = RunRequest("Answer in one word.", asked, account.model, agent_name="Arvis", max_tokens=16)
        try:
            async with asyncio.timeout(_PATIENCE):
                return await provider.complete(request, account)
        except TimeoutError:
            what = f"no answer within {_PATIENCE:g} seconds"
            raise ProviderError(ProviderErrorKind.TIMEOUT, what) from None
        except ProviderError as error:
            # The model may have spent its few tokens on thoughts; even so, the empty answer proves that the account
            # works.
            if error.kind is not ProviderErrorKind.EMPTY:
                raise
            return None

    async def _stored(self, name: str) -> StoredAccount:
        stored = await self._store.read(_by_name, name)
        if stored is None:
            self._refuse_configured(name)
            raise _no_account(name)
        return stored

    def _refuse_configured(self, name: str) -> None:
        if any(account.name == name for account in self._book.configured):
            raise Conflict(
                f"The account {name} comes from the configuration.",
                fix="Change config.yaml or the environment variables that define the account, and restart Arvis.",
                code="configured",
            )

    async def _sealed(self, key: object) -> str | None:
        """Encrypt the key on a thread, because the first call creates the encryption key on disk."""
        return await asyncio.to_thread(self._secrets.seal, key.strip()) if isinstance(key, str) else None

    async def _tell(self) -> None:
        self._bus.publish(AccountsChanged())
        await self._book.learn()

    def _since(self, started: float) -> int:
        return round((self._clock.monotonic() - started) * 1000)


def _checked(fields: Mapping[str, Any]) -> tuple[AccountEntry, AccountStatus]:
    """Validate the fields by the rules of the configuration, and return the entry and its status. Unlike in the
    configuration, a key must not be a reference."""
    status = fields.get("status") or AccountStatus.ACTIVE
    if status not in list(AccountStatus):
        raise Unprocessable(f"`status` must be one of {', '.join(AccountStatus)}.", fix=_FIELDS)
    key = fields.get("api_key")
    if is_reference(key):
        raise Unprocessable(
            "`apiKey` must be the key itself.", fix="References such as `env:NAME` work only in config.yaml."
        )
    if isinstance(key, str) and not key.strip().isprintable():
        raise Unprocessable("`apiKey` must be one line of printable characters.", fix=_FIELDS)
    given = {name: value for name, value in fields.items() if value is not None and name != "status"}
    try:
        entry = AccountEntry.model_validate(given)
    except ValidationError as error:
        problems = from_validation(error.errors(include_url=False, include_input=False), AccountEntry)
    else:
        # Each path begins with `accounts` and the index of the entry.
        problems = [replace(problem, path=problem.path[2:]) for problem in account_problems([entry])]
        if not problems:
            return entry, AccountStatus(status)
    raise _unusable(problems[0])


def _unusable(problem: Problem) -> Unprocessable:
    name = str(problem.path[0]) if problem.path else ""
    fix = _GAPS.get(name) or problem.fix or _FIELDS
    return Unprocessable(f"`{_NAMES.get(name, dotted(problem.path))}` {problem.text}.", fix=fix)


def _fields_of(stored: StoredAccount) -> dict[str, Any]:
    return {
        "name": stored.name,
        "provider": stored.provider,
        "model": stored.model,
        "models": stored.models,
        "api_key": None if stored.sealed_key is None else _KEPT,
        "base_url": stored.base_url,
        "priority": stored.priority,
        "status": stored.status,
        "api": stored.api,
    }


def _no_account(name: str) -> NotFound:
    return NotFound(
        f"There is no account {name}.",
        fix="`arvis accounts list` and GET /api/accounts list the accounts.",
    )


# -- transaction scripts -----------------------------------------------------------------------------------


def _by_name(tx: Transaction, name: str) -> StoredAccount | None:
    return tx.accounts.by_name(name)


def _add(
    tx: Transaction, entry: AccountEntry, sealed_key: str | None, status: AccountStatus, now: int
) -> StoredAccount:
    added = _with(
        StoredAccount(tx.new_id(), entry.name, entry.provider, "", created_at=now), entry, sealed_key, status, now
    )
    if not tx.accounts.add(added, now):
        raise Conflict(f"There is an account {entry.name} already.", fix="Change that account, or choose another name.")
    _forget_refusals(tx, entry.name, now)
    return added


def _change(tx: Transaction, name: str, changes: Mapping[str, Any], sealed_key: str | None, now: int) -> StoredAccount:
    stored = tx.accounts.by_name(name)
    if stored is None:
        raise _no_account(name)
    entry, status = _checked({**_fields_of(stored), **changes})
    keep_key = stored.sealed_key is not None and "api_key" not in changes
    if keep_key and (entry.provider, entry.base_url) != (stored.provider, stored.base_url):
        # Otherwise a user could read the stored key by changing the address to a server of their own.
        why = "The stored key was entered for another address."
        raise Unprocessable("`apiKey` is missing.", why=why, fix="Send the key again, together with the new address.")
    changed = _with(stored, entry, stored.sealed_key if keep_key else sealed_key, status, now)
    tx.accounts.update(changed, now)
    _forget_refusals(tx, name, now)
    return changed


def _remove(tx: Transaction, name: str, now: int) -> bool:
    _forget_refusals(tx, name, now)
    return tx.accounts.remove(name)


def _with(
    stored: StoredAccount, entry: AccountEntry, sealed_key: str | None, status: AccountStatus, now: int
) -> StoredAccount:
    return replace(
        stored,
        provider=entry.provider,
        model=entry.model or DEFAULT_MODELS[entry.provider],
        models=entry.models,
        sealed_key=sealed_key,
        base_url=entry.base_url,
        priority=entry.priority,
        api=entry.api,
        status=status,
        updated_at=now,
    )


def _forget_refusals(tx: Transaction, name: str, now: int) -> None:
    """End the cooldowns of an account that was changed or that answers again, and resume the jobs that wait for a
    model."""
    for rest in tx.cooldowns.all():
        if rest.account == name and (rest.refusals or rest.until > now):
            tx.cooldowns.put(replace(rest, until=now, refusals=0, at=max(now, rest.at + 1)))
            tx.jobs.hasten(now)
