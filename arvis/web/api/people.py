"""People over HTTP: the people who have written, their roles, and pairing requests.

Viewers may read, operators may also approve or reject pairing requests, and only owners may change roles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

from arvis.domain.errors import NotFound, TooMany, Unprocessable
from arvis.domain.messages import Principal, PrincipalRole
from arvis.domain.platforms import Pairing, PairingStatus
from arvis.domain.users import UserRole
from arvis.domain.versions import Version
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.people import Person
from arvis.ports.store import Store, Transaction
from arvis.services import people
from arvis.services.people import GIVEN_ROLES, Owners, Paired, TooManyTries, TurnedAway, WrongCode
from arvis.web.auth.authorization import Authorizer
from arvis.web.auth.sessions import Sessions
from arvis.web.http.endpoints import FLAG, PAGING, Call, Endpoint, answer
from arvis.web.http.identity import OPERATE, OWN, PLATFORM, READ
from arvis.web.http.requests import unusable
from arvis.web.http.schema import BOOLEAN, LABEL, STRING, TIME, array, object_schema, one_of, optional, page_schema
from arvis.web.http.views import page_view

Json = dict[str, Any]

_MOST_CHANGES = 50
_LONGEST_CODE = 40
#: The maximum number of dashboard users that one request reads. Real installations have far fewer users.
_MOST_USERS = 10_000

PERSON = object_schema(
    {
        "id": STRING,
        "platform": STRING,
        "userId": STRING,
        "name": STRING,
        "role": one_of(PrincipalRole),
        "paired": BOOLEAN,
        "pairedAt": optional(TIME),
        "createdAt": TIME,
        "updatedAt": TIME,
    }
)
CHANGE = object_schema({"role": one_of(PrincipalRole), "paired": BOOLEAN, "by": optional(STRING), "at": TIME})
PERSON_DETAIL = object_schema({**PERSON["properties"], "changes": array(CHANGE)})
CHANGED_PERSON = object_schema({"role": one_of(GIVEN_ROLES), "paired": BOOLEAN}, required=())
PAIRING = object_schema(
    {
        "id": STRING,
        "platform": STRING,
        "connector": STRING,
        "channelId": STRING,
        "userId": STRING,
        "userName": STRING,
        "status": one_of(PairingStatus),
        "createdAt": TIME,
        "expiresAt": TIME,
    }
)
CODE = {"type": "string", "minLength": 1, "maxLength": _LONGEST_CODE}
ONE_CODE = object_schema({"code": CODE})
CODE_OR_ID = object_schema({"code": CODE, "id": STRING}, required=())


class PeopleRoutes:
    """Routes of people. `owners`: the owners in the configuration and the first user. Each request adds the dashboard
    users with the role `owner`."""

    def __init__(
        self, *, insights: Insights, store: Store, gate: Authorizer, clock: Clock, sessions: Sessions, owners: Owners
    ) -> None:
        self._insights = insights
        self._store = store
        self._gate = gate
        self._clock = clock
        self._sessions = sessions
        self._owners = owners

    def endpoints(self) -> list[Endpoint]:
        one, shown = "/api/people/{person}", {200: PERSON_DETAIL}
        filters = {"platform": LABEL, "role": one_of(PrincipalRole), "paired": FLAG, "q": LABEL}
        asked = {**PAGING, "pending": {**FLAG, "default": True}}
        return [
            Endpoint(
                "GET",
                "/api/people",
                "List people who have written, newest first",
                READ,
                self._list,
                {200: page_schema(PERSON)},
                query={**PAGING, **filters},
            ),
            Endpoint("GET", one, "Show a person and the changes of their role", READ, self._show, shown),
            Endpoint("PATCH", one, "Change a person's role or pairing", OWN, self._change, shown, body=CHANGED_PERSON),
            Endpoint(
                "GET",
                "/api/pairings",
                "List pending pairing requests, newest first",
                READ,
                self._pairings,
                {200: page_schema(PAIRING)},
                query=asked,
            ),
            Endpoint(
                "POST",
                "/api/pairings/approve",
                "Approve a pairing request",
                OPERATE,
                self._approve,
                {200: PERSON},
                ONE_CODE,
            ),
            Endpoint(
                "POST",
                "/api/pairings/reject",
                "Reject a pairing request",
                OPERATE,
                self._reject,
                {200: PAIRING},
                CODE_OR_ID,
            ),
        ]

    async def _list(self, call: Call) -> Response:
        role = _role(call.choice("role", PrincipalRole))
        page = await self._insights.people(
            platform=call.query("platform"),
            role=role,
            paired=None if call.query("paired") is None else call.flag("paired", default=False),
            text=call.query("q"),
            limit=call.limit,
            cursor=call.query("cursor"),
        )
        owners = await self._all_owners()
        shown = [_person_view(person, owners) for person in page.items]
        return answer(page_view([each for each in shown if role in {None, each["role"]}], page.next_cursor))

    async def _show(self, call: Call) -> Response:
        person = await self._person(call.id("person"))
        changes = await self._store.read(people.changes, call.id("person"), _MOST_CHANGES)
        owners = await self._all_owners()
        return answer({**_person_view(person, owners), "changes": [_change_view(each) for each in changes]})

    async def _change(self, call: Call) -> Response:
        fields = await call.fields()
        role, paired = _role(fields.label("role")), fields.raw("paired")
        if paired is not None and not isinstance(paired, bool):
            raise unusable("paired", "must be true or false")
        ended = await self._store.write(
            _change,
            call.id("person"),
            role=role,
            paired=paired,
            owners=await self._all_owners(),
            by=await self._gate.principal_id(call.identity),
            now=self._clock.now(),
        )
        self._sessions.announce_end(ended)
        return await self._show(call)

    async def _pairings(self, call: Call) -> Response:
        page = await self._insights.pairings(
            pending_at=self._clock.now() if call.flag("pending", default=True) else None,
            limit=call.limit,
            cursor=call.query("cursor"),
        )
        return answer(page_view([pairing_view(each) for each in page.items], page.next_cursor))

    async def _approve(self, call: Call) -> Response:
        code = (await call.fields()).label("code", _LONGEST_CODE)
        if code is None:
            raise unusable("code", "is missing")
        found = await self._store.write(
            people.approve, code, await self._gate.principal_id(call.identity), self._clock.now()
        )
        if not isinstance(found, Paired):
            raise self._refusal(found)
        return answer(_person_view(await self._person(found.principal.id), await self._all_owners()))

    async def _reject(self, call: Call) -> Response:
        fields = await call.fields()
        code, pairing_id = fields.label("code", _LONGEST_CODE), fields.label("id")
        by, now = await self._gate.principal_id(call.identity), self._clock.now()
        if (code is None) == (pairing_id is None):
            raise Unprocessable("Either `code` or `id` is required.", fix="GET /api/pairings lists the requests.")
        if pairing_id is not None:
            turned_away = await self._store.write(people.reject_by_id, pairing_id, by, now)
            if turned_away is None:
                raise NotFound("There is no pairing request with this id.", fix="GET /api/pairings lists the requests.")
            return answer(pairing_view(turned_away.pairing))
        found = await self._store.write(people.reject, code or "", by, now)
        if not isinstance(found, TurnedAway):
            raise self._refusal(found)
        return answer(pairing_view(found.pairing))

    def _refusal(self, found: WrongCode | TooManyTries) -> NotFound | TooMany:
        match found:
            case WrongCode(left=left):
                tries = f"{left} attempt(s) left." if left else "No attempts are left for up to 15 minutes."
                return NotFound(
                    f"This code is wrong, used or expired. {tries}",
                    fix="Ask the person to write to the bot again; they get a new code.",
                    code="wrong_code",
                )
            case TooManyTries(until=until):
                minutes = max(1, round((until - self._clock.now()) / people.MINUTE_MS))
                return TooMany("Too many wrong codes were entered.", fix=f"Try again in {minutes} minutes.")

    async def _person(self, person_id: str) -> Person:
        person = await self._insights.person(person_id)
        if person is None:
            raise NotFound("There is no such person.", fix="GET /api/people lists the people who have written.")
        return person

    async def _all_owners(self) -> Owners:
        users = await self._store.read(_owners_here)
        return {**self._owners, PLATFORM: [*self._owners.get(PLATFORM, ()), *users]}


def _change(tx: Transaction, person_id: str, /, **how: Any) -> Sequence[str]:
    """Change the person. If the person is now blocked, end all their logins and return the hashes of these logins."""
    changed = people.change(tx, person_id, **how)
    return tx.logins.close_sessions_of(changed.id) if changed.role is PrincipalRole.BLOCKED else ()


def _owners_here(tx: Transaction) -> list[str]:
    return [user.id for user in tx.users.after("", _MOST_USERS) if user.role is UserRole.OWNER]


def _person_view(person: Person, owners: Owners) -> Json:
    known: Principal = person.principal
    return {
        "id": known.id,
        "platform": known.platform,
        "userId": known.user_id,
        "name": known.name,
        "role": people.role_of(known, owners),
        "paired": known.paired,
        "pairedAt": person.paired_at,
        "createdAt": person.created_at,
        "updatedAt": person.updated_at,
    }


def pairing_view(asked: Pairing) -> Json:
    return {
        "id": asked.id,
        "platform": asked.address.platform,
        "connector": asked.address.connector,
        "channelId": asked.address.channel,
        "userId": asked.user_id,
        "userName": asked.user_name,
        "status": asked.status,
        "createdAt": asked.created_at,
        "expiresAt": asked.expires_at,
    }


def _change_view(version: Version) -> Json:
    data = version.data or {}
    return {"role": data.get("role"), "paired": data.get("paired"), "by": version.by_id, "at": version.at}


def _role(value: str | None) -> PrincipalRole | None:
    if value is not None and value not in set(PrincipalRole):
        raise unusable("role", f"must be one of {', '.join(PrincipalRole)}")
    return None if value is None else PrincipalRole(value)
