"""The logins of a user over HTTP: where one is logged in, and ending one of them, which closes its sockets."""

from __future__ import annotations

import re
from collections.abc import Sequence

from starlette.responses import Response

from arvis.domain.errors import Forbidden, NotFound, Unprocessable
from arvis.ports.clock import Clock
from arvis.ports.logins import LoginSession
from arvis.ports.store import Store, Transaction
from arvis.web.endpoints import PAGING, Call, Endpoint, answer
from arvis.web.identity import ANYONE, OWN, PLATFORM
from arvis.web.schemas import BOOLEAN, LABEL, OK, STRING, TIME, listing, record
from arvis.web.sessions import Life, Sessions
from arvis.web.views import page_view

#: Digits of a login's hash that name it.
_SHOWN = 16
_ID = re.compile(rf"[0-9a-f]{{{_SHOWN}}}", re.ASCII)
_CURSOR = re.compile(r"(\d{1,15})-([0-9a-f]{64})", re.ASCII)
#: Behind every time and every hash.
_FIRST = (10**15, "g")

SESSION = record(
    {
        "id": STRING,
        "userId": STRING,
        "device": {**STRING, "description": "What the browser said of itself, such as `Firefox on Windows`."},
        "createdAt": TIME,
        "seenAt": {**TIME, "description": "The last use, exact to the minute."},
        "current": {**BOOLEAN, "description": "Whether it is the one that asks."},
    }
)


class SessionRoutes:
    """Everybody sees and ends their own; owners those of all."""

    def __init__(self, *, store: Store, sessions: Sessions, clock: Clock) -> None:
        self._store = store
        self._sessions = sessions
        self._clock = clock

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "GET",
                "/api/auth/sessions",
                "One's own logins, newest first; an owner may name another user",
                ANYONE,
                self._list,
                {200: listing(SESSION)},
                query={**PAGING, "user": LABEL},
            ),
            Endpoint("DELETE", "/api/auth/sessions/{session}", "End a login", ANYONE, self._end, {200: OK}),
        ]

    async def _list(self, call: Call) -> Response:
        user = call.query("user") or call.identity.user_id
        if user != call.identity.user_id and call.identity.role not in OWN:
            raise Forbidden("Only owners see the logins of others.", fix="Leave `user` out for your own.", code="role")
        found = await self._store.read(
            _sessions_of,
            user,
            life=self._sessions.life,
            now=self._clock.now(),
            before=_before(call.query("cursor")),
            limit=call.limit + 1,
        )
        shown = found[: call.limit]
        last = shown[-1] if len(found) > call.limit else None
        cursor = None if last is None else f"{last.created_at}-{last.token_hash}"
        return answer(page_view([_view(each, call.identity.session) for each in shown], cursor))

    async def _end(self, call: Call) -> Response:
        shown = call.named("session", _ID)
        found = None if shown is None else await self._store.read(_like, shown)
        own = found is not None and found.principal.user_id == call.identity.user_id
        if found is None or not (own or call.identity.role in OWN):
            raise NotFound("There is no such login.", fix="GET /api/auth/sessions lists yours.")
        await self._sessions.end(found.token_hash)
        return answer({"ok": True})


def _before(cursor: str | None) -> tuple[int, str]:
    if cursor is None:
        return _FIRST
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise Unprocessable("`cursor` is none of ours.", fix="Send the `nextCursor` of the page before.")
    return int(found[1]), found[2]


def _view(session: LoginSession, current: str | None) -> dict[str, object]:
    return {
        "id": session.token_hash[:_SHOWN],
        "userId": session.principal.user_id,
        "device": session.device,
        "createdAt": session.created_at,
        "seenAt": session.seen_at,
        "current": session.token_hash == current,
    }


def _sessions_of(
    tx: Transaction, user_id: str, *, life: Life, now: int, before: tuple[int, str], limit: int
) -> Sequence[LoginSession]:
    principal = tx.principals.find(PLATFORM, user_id)
    if principal is None:
        return ()
    return tx.logins.sessions_of(
        principal.id, seen_from=now - life.idle, created_from=now - life.whole, before=before, limit=limit
    )


def _like(tx: Transaction, shown: str) -> LoginSession | None:
    return tx.logins.session_like(shown)
