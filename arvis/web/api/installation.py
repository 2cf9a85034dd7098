"""The installation over HTTP: the progress of its first setup, the findings of `arvis doctor`, and its backups."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Annotated, Any, Self

from starlette.requests import ClientDisconnect
from starlette.responses import FileResponse, Response

from arvis.bots.service import BotService
from arvis.domain.errors import Conflict, Invalid, NotFound, StoreError, ToolError, Unavailable
from arvis.domain.messages import Role
from arvis.domain.regex import regex
from arvis.llm.accounts import AccountService
from arvis.ports.backups import Backups, RestoreOutcome, RestoreState
from arvis.ports.browsing import ConversationFilter
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.store import Store, Transaction
from arvis.web.http.endpoints import FLAG, Call, Routes, answer, answer_page, done, route
from arvis.web.http.identity import OPERATE, OWN, PLATFORM
from arvis.web.http.models import About, OkView, Page, Time, View
from arvis.web.http.schema import STRING, one_of
from arvis.web.http.views import BackupView

# The progress of the first setup. It is derived from existing rows; only the fact that a person dismissed the setup is
# stored.

_DISMISSED = "setup.dismissed"
_DEMO = "demo"
#: The names of agents that exist from the first start on.
_GIVEN_AGENTS = frozenset({"helper", "conductor"})
#: The search for a first reply reads this many of the newest conversations of the dashboard and the API, and this many
#: of the newest messages in each of these conversations.
_LOOK = 20


class SetupView(View):
    has_password: bool
    has_account: Annotated[bool, About("An account other than the demo exists.")]
    has_own_agent: Annotated[bool, About("An agent besides `helper` and the conductor exists, or one was changed.")]
    has_bot: bool
    has_reply: Annotated[bool, About("An agent has replied to a message on the dashboard or the API.")]
    dismissed: bool
    done: Annotated[bool, About("All steps are done, or the setup was dismissed.")]


_SETUP = "/api/setup"


class SetupRoutes(Routes):
    """Routes of the setup. `password` is True if the configuration contains a password."""

    def __init__(
        self,
        *,
        insights: Insights,
        store: Store,
        accounts: AccountService,
        bots: BotService,
        clock: Clock,
        password: bool,
    ) -> None:
        self._insights = insights
        self._store = store
        self._accounts = accounts
        self._bots = bots
        self._clock = clock
        self._password = password

    @route("GET", _SETUP, "Show the progress of the first setup", OWN, {200: SetupView})
    async def _show(self, _: Call) -> Response:
        has_password, dismissed, own_agent = await self._store.read(_read_progress)
        registry = self._accounts.book
        usable = (*registry.configured, *registry.usable)
        found = {
            "has_password": self._password or has_password,
            "has_account": any(account.provider != _DEMO for account in usable),
            "has_own_agent": own_agent,
            "has_bot": any(spec.platform != "console" for spec in self._bots.registry.specs),
            "has_reply": await self._has_reply(),
        }
        return answer(SetupView(**found, dismissed=dismissed, done=dismissed or all(found.values())))

    @route("POST", f"{_SETUP}/dismiss", "Dismiss the first setup", OWN, {200: OkView})
    async def _dismiss(self, _: Call) -> Response:
        await self._store.write(_set_dismissed, self._clock.now())
        return done()

    async def _has_reply(self) -> bool:
        page = await self._insights.talks(ConversationFilter(platform=PLATFORM), limit=_LOOK, cursor=None)
        for conversation in page.items:
            messages = await self._insights.conversation_messages(conversation.id, limit=_LOOK, cursor=None)
            if any(message.role is Role.ASSISTANT for message in messages.items):
                return True
        return False


def _read_progress(tx: Transaction) -> tuple[bool, bool, bool]:
    agents = tx.agents.all()
    own = any(agent.slug not in _GIVEN_AGENTS and not agent.is_conductor for agent in agents)
    changed = any(len(tx.agents.versions(agent.id, 2)) > 1 for agent in agents)
    return tx.users.any_password(), tx.settings.get(_DISMISSED) is not None, own or changed


def _set_dismissed(tx: Transaction, now: int) -> None:
    tx.settings.put(_DISMISSED, str(now), now)


# The findings of `arvis doctor`, which runs as a separate program. The composition root provides the function that
# starts it. One examination runs at a time, and its findings are cached for `_KEEP` seconds.

#: Seconds for which findings are cached.
_KEEP = 5.0

#: Returns the output of `arvis doctor --json`. If the argument is True, only the security checks run.
Examine = Callable[[bool], Awaitable[str]]


class CheckView(View):
    id: Annotated[str, About("Stable identifier for programs.")]
    group: str
    status: Annotated[str, About(**one_of(("ok", "warn", "fail")))]
    what: str
    why: str | None
    fix: str | None

    @classmethod
    def of(cls, check: Mapping[str, Any]) -> Self:
        """Return one finding of the program. Raise `KeyError` or `TypeError` for unexpected output."""
        shown = {name: str(check[name]) for name in ("id", "group", "status", "what")}
        return cls(**shown, why=check["why"] or None, fix=check["fix"] or None)


class ChecksView(View):
    ok: Annotated[bool, About("No check has failed.")]
    at: Time
    items: list[CheckView]
    next_cursor: str | None


class DoctorRoutes(Routes):
    def __init__(self, *, examine: Examine, clock: Clock) -> None:
        self._examine = examine
        self._clock = clock
        self._examining = asyncio.Lock()
        #: For each choice of `security`: the newest findings, and the time at which they were made, in seconds of the
        #: monotonic clock.
        self._kept: dict[bool, tuple[float, ChecksView]] = {}

    @route(
        "GET",
        "/api/doctor",
        "Run `arvis doctor`",
        OPERATE,
        {200: ChecksView},
        query={"security": {**FLAG, "description": "Only the security checks."}},
    )
    async def _show(self, call: Call) -> Response:
        security = call.flag("security", default=False)
        async with self._examining:
            kept = self._kept.get(security)
            if kept is None or self._clock.monotonic() - kept[0] > _KEEP:
                ok, items = await self._findings(security)
                shown = ChecksView(ok=ok, at=self._clock.now(), items=items, next_cursor=None)
                kept = self._kept[security] = self._clock.monotonic(), shown
        return answer(kept[1])

    async def _findings(self, security: bool) -> tuple[bool, list[CheckView]]:
        try:
            found = json.loads(await self._examine(security))
            return bool(found["ok"]), [CheckView.of(check) for check in found["checks"]]
        except ToolError as error:
            why = error.what
        except (ValueError, KeyError, TypeError):
            why = "The output of `arvis doctor` contains no findings."
        fix = "Run `arvis doctor` on the machine."
        raise Unavailable("The checks did not finish.", why=why, fix=fix)


_BACKUPS = "/api/backups"


#: The longest silence in seconds between two parts of an upload.
_UPLOAD_SILENCE = 60
_FILE_NAME = regex(r"arvis-[\w-]{1,100}\.tar\.gz(\.enc)?", re.ASCII)
_NAMES = {"backup": {**STRING, "pattern": f"^{_FILE_NAME.pattern}$", "description": "The file name."}}
_ARCHIVE = "application/octet-stream"


class RestoreView(View):
    state: Annotated[str, About("`none`: no restore was requested.", **one_of(("none", *RestoreState)))]
    name: Annotated[str | None, About("The file name of the backup.")]
    at: Time | None
    messages: Annotated[int | None, About("The number of messages in the restored database.")]
    aside: Annotated[str | None, About("The folder with the replaced database.")]
    what: Annotated[str, About("The error of a failed restore.")]
    why: str
    fix: str

    @classmethod
    def of(cls, outcome: RestoreOutcome | None) -> Self:
        if outcome is None:
            return cls(state="none", name=None, at=None, messages=None, aside=None, what="", why="", fix="")
        what, why, fix = outcome.error
        return cls(
            state=outcome.state,
            name=outcome.name,
            at=outcome.at,
            messages=outcome.messages,
            aside=outcome.aside,
            what=what,
            why=why,
            fix=fix,
        )


class BackupRoutes(Routes):
    def __init__(self, *, backups: Backups) -> None:
        self._backups = backups

    @route("GET", f"{_BACKUPS}/restore", "Show the last restore that was requested here", OWN, {200: RestoreView})
    async def _last(self, _: Call) -> Response:
        return answer(RestoreView.of(await self._backups.last_restore()))

    @route(
        "POST",
        f"{_BACKUPS}/uploads",
        "Upload a backup that was made elsewhere: the bytes of the file",
        OWN,
        {201: BackupView},
        keyed=False,
    )
    async def _upload(self, call: Call) -> Response:
        if call.request.headers.get("content-type", "") != _ARCHIVE:
            raise Invalid("The body is not a file.", fix=f"Send the file with `Content-Type: {_ARCHIVE}`.")
        with _told_to_the_owner():
            return answer(BackupView.of(await self._backups.receive(_parts(call))), 201)

    @route(
        "GET",
        f"{_BACKUPS}/{{backup}}/file",
        "Download a backup",
        OWN,
        {200: STRING},
        names=_NAMES,
        media=_ARCHIVE,
    )
    async def _download(self, call: Call) -> Response:
        path = await self._backups.path(_name(call))
        return FileResponse(path, media_type=_ARCHIVE, filename=path.name)

    @route(
        "POST",
        f"{_BACKUPS}/{{backup}}/restore",
        "Restart Arvis with the data of a backup. All logins end; the present database is moved aside",
        OWN,
        {202: RestoreView},
        names=_NAMES,
        keyed=False,
    )
    async def _restore(self, call: Call) -> Response:
        with _told_to_the_owner():
            return answer(RestoreView.of(await self._backups.restore(_name(call))), 202)

    @route("GET", _BACKUPS, "List the backups in the data folder, newest first", OWN, {200: Page[BackupView]})
    async def _list(self, _: Call) -> Response:
        return answer_page([BackupView.of(backup) for backup in await self._backups.all()], None)

    @route("POST", _BACKUPS, "Create a backup; may take minutes", OWN, {201: BackupView})
    async def _make(self, _: Call) -> Response:
        with _told_to_the_owner():
            return answer(BackupView.of(await self._backups.make()), 201)


def _name(call: Call) -> str:
    name = call.named("backup", _FILE_NAME)
    if name is None:
        raise NotFound("There is no backup with this name.", fix="GET /api/backups lists the names of the backups.")
    return name


async def _parts(call: Call) -> AsyncIterator[bytes]:
    """Yield the parts of the body. Raise `Invalid` if the client disconnects, or sends nothing for `_UPLOAD_SILENCE`
    seconds."""
    stream = call.request.stream()
    while True:
        try:
            async with asyncio.timeout(_UPLOAD_SILENCE):
                part = await anext(stream, None)
        except (TimeoutError, ClientDisconnect):
            raise Invalid("The file did not arrive completely.", fix="Send the request again.") from None
        if part is None:
            return
        yield part


@contextlib.contextmanager
def _told_to_the_owner() -> Iterator[None]:
    """Convert errors of backups to `Conflict`, so that the response to the owner contains the texts of the errors. A
    `StoreError` would count as a defect of the daemon."""
    try:
        yield
    except Unavailable:
        raise
    except StoreError as error:
        raise Conflict(error.what, why=error.why, fix=error.fix, code=error.code) from error
