"""The tree of errors. Each error has a code for programs, a sentence for people and a fix.

ArvisError
├── ConfigError             the configuration cannot be used (exit code 2)
│   └── MissingPackage      an optional part needs a package that is not installed
├── UsageError              the request is invalid
│   ├── Invalid             a value is wrong (400)
│   ├── Unprocessable       the form is valid, but the content is not (422)
│   ├── TooLarge            a configured size limit is exceeded (413)
│   ├── NotFound            nothing has this id or name (404)
│   └── Conflict            the current state does not allow the request (409)
├── AccessError
│   ├── Unauthorised        not logged in, or the key is wrong (401)
│   ├── Forbidden           logged in, but not allowed (403)
│   └── TooMany             too many requests in a short time (429)
├── DataFolderInUse         another daemon uses this data folder (exit code 3)
├── DaemonUnreachable       the command line cannot reach the daemon (exit code 4)
├── StoreError
│   ├── SchemaTooNew        the database was written by a newer Arvis (exit code 5)
│   ├── MigrationFailed     a migration failed, or was edited after it had run (exit code 5)
│   ├── UpgradeFailed       a check failed after the migrations, so they were rolled back (exit code 5)
│   ├── BackupDamaged       a backup does not match its manifest, or cannot be restored
│   ├── BackupLocked        a backup is encrypted, and its passphrase is missing or wrong
│   ├── StoreLost           the content of the database is uncertain: the daemon must end
│   └── Unavailable         nothing was written; the request may be retried (503)
│       ├── DatabaseAway    the database cannot be reached, or is locked by another program
│       ├── DiskFull        the disk is full: nothing can be written
│       └── DiskLow         the disk is almost full: running work continues, new work is refused
├── ExecutionError          a graph broke its own rules (unknown node, too many steps)
├── BudgetReached           a budget or the daily number of questions is used up
├── BudgetBusy              running calls have reserved the remaining budget: retry in a second or two
├── LeaseLost               another process may run this job now: commit nothing
├── SecretLost              a sealed value cannot be opened with this key
├── ToolError               a tool failed; the text is for the model
│   ├── FetchRefused        the address to fetch is not allowed
│   ├── FetchFailed         the address to fetch gave no answer
│   └── LoginRequired       a person must log in at the server of the tool
└── ProviderError           a model call failed; its kind decides whether the call is retried
"""

from __future__ import annotations

from enum import StrEnum


def sentences(*parts: str) -> str:
    """Join the parts of an error to one text. Add a period to each part except the last one, unless the part ends with
    a punctuation mark."""
    given = [part.strip() for part in parts if part.strip()]
    ended = [part if part[-1] in ".!?:;…" else f"{part}." for part in given[:-1]]
    return " ".join([*ended, *given[-1:]])


class ArvisError(Exception):
    """The root of the error tree. `what` names the problem, `why` its cause, and `fix` a person's next step."""

    code = "internal"

    def __init__(self, what: str, *, why: str = "", fix: str = "", code: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.fix = fix
        if code is not None:
            self.code = code


class ConfigError(ArvisError):
    code = "bad_configuration"


class MissingPackage(ConfigError):
    code = "missing_package"


class UsageError(ArvisError):
    code = "bad_request"


class Invalid(UsageError):
    code = "invalid"


class Unprocessable(UsageError):
    code = "unprocessable"


class TooLarge(UsageError):
    code = "too_large"


class NotFound(UsageError):
    code = "not_found"


class Conflict(UsageError):
    code = "conflict"


class AccessError(ArvisError):
    code = "no_access"


class Unauthorised(AccessError):
    code = "unauthorised"


class Forbidden(AccessError):
    code = "forbidden"


class TooMany(AccessError):
    """The refusal of a request after too many requests in a short time. Another request may succeed after `seconds`."""

    code = "too_many"

    def __init__(self, what: str, *, why: str = "", fix: str = "", code: str | None = None, seconds: int = 60) -> None:
        super().__init__(what, why=why, fix=fix, code=code)
        self.seconds = seconds


class DataFolderInUse(ArvisError):
    code = "data_folder_in_use"


class DaemonUnreachable(ArvisError):
    code = "daemon_unreachable"


class StoreError(ArvisError):
    code = "store"


class SchemaTooNew(StoreError):
    code = "schema_too_new"


class MigrationFailed(StoreError):
    code = "migration_failed"


class UpgradeFailed(StoreError):
    code = "upgrade_failed"


class BackupDamaged(StoreError):
    code = "backup_damaged"


class BackupLocked(StoreError):
    code = "backup_locked"


class StoreLost(StoreError):
    code = "store_lost"


class Unavailable(StoreError):
    code = "unavailable"


class DatabaseAway(Unavailable):
    """An outage of the database. Running work waits until the outage ends. No job counts the outage as a failed
    attempt."""


class DiskFull(Unavailable):
    code = "disk_full"


class DiskLow(Unavailable):
    code = "disk_low"


class ExecutionError(ArvisError):
    code = "execution"


class BudgetReached(ArvisError):
    """The refusal of a model call because a budget is used up. `budget` is the budget's name
    (`arvis.domain.money.Budget`). The text contains amounts of money. It is shown in the timeline and to owners, never
    to the person who asked."""

    code = "budget"

    def __init__(self, budget: str, what: str, *, why: str = "", fix: str = "") -> None:
        super().__init__(what, why=why, fix=fix)
        self.budget = budget


class BudgetBusy(ArvisError):
    code = "budget_busy"


class LeaseLost(ArvisError):
    code = "lease_lost"


class SecretLost(ArvisError):
    code = "secret_lost"


class ToolError(ArvisError):
    code = "tool"


class FetchRefused(ToolError):
    code = "fetch_refused"


class FetchFailed(ToolError):
    code = "fetch_failed"


class LoginRequired(ToolError):
    """The signal that a call was not made because a person must log in at this tool server."""

    code = "login_required"

    def __init__(self, what: str, *, server: str) -> None:
        super().__init__(what)
        self.server = server


class ProviderErrorKind(StrEnum):
    """The kinds of failed model calls. The runner and the queue use the kind to decide whether to retry the call."""

    AUTH = "auth"
    QUOTA = "quota"
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    TIMEOUT = "timeout"
    TOO_LONG = "too_long"
    REFUSED = "refused"
    BAD_REQUEST = "bad_request"
    EMPTY = "empty"


#: Temporary errors: a retry within seconds may succeed.
TRANSIENT = frozenset({ProviderErrorKind.OVERLOADED, ProviderErrorKind.TIMEOUT, ProviderErrorKind.EMPTY})
#: Errors that a retry of the same request cannot fix.
PERMANENT = frozenset(
    {
        ProviderErrorKind.AUTH,
        ProviderErrorKind.QUOTA,
        ProviderErrorKind.TOO_LONG,
        ProviderErrorKind.REFUSED,
        ProviderErrorKind.BAD_REQUEST,
    }
)


class ProviderError(ArvisError):
    """The only exception that a provider raises. Its text contains no secret.

    - `retry_after`: the seconds until another call may succeed, if the vendor named them.
    - `silent`: no byte of an answer arrived within the time limit, so the next call would probably take as long.
    - `elsewhere`: another account may accept this request, for example because this account lacks the model.
    - `spent`: the call used its whole time limit, so another call would take as long.
    """

    code = "provider"

    def __init__(
        self,
        kind: ProviderErrorKind,
        what: str,
        *,
        retry_after: float | None = None,
        silent: bool = False,
        elsewhere: bool = False,
        spent: bool = False,
    ) -> None:
        super().__init__(what, code=f"provider_{kind}")
        self.kind = kind
        self.retry_after = retry_after
        self.silent = silent
        self.elsewhere = elsewhere
        self.spent = spent

    def refined(self, kind: ProviderErrorKind, *, retry_after: float | None = None) -> ProviderError:
        """Return a copy of this error with another kind. If `retry_after` is None, the copy keeps the value of this
        error."""
        wait = self.retry_after if retry_after is None else retry_after
        return ProviderError(
            kind, self.what, retry_after=wait, silent=self.silent, elsewhere=self.elsewhere, spent=self.spent
        )
