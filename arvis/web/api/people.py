"""People over HTTP: the people who have written, their roles, and pairing requests.

Viewers may read, operators may also approve or reject pairing requests, and only owners may change roles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Self

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
from arvis.services import identities, people, roles
from arvis.services.people import GIVEN_ROLES, Paired, TooManyTries, TurnedAway, WrongCode
from arvis.services.roles import Owners
from arvis.web.auth.authorization import Authorizer
from arvis.web.auth.sessions import Sessions
from arvis.web.http.endpoints import FLAG, PAGING, Call, Routes, answer, answer_page, route
from arvis.web.http.identity import ANYONE, OPERATE, OWN, PLATFORM, READ
from arvis.web.http.models import MEMBER, About, Body, Label, Page, Printable, Time, View
from arvis.web.http.schema import LABEL, one_of

_MOST_CHANGES = 50
#: The maximum number of dashboard users that one request reads. Real installations have far fewer users.
_MOST_USERS = 10_000


class ForgottenView(View):
    facts: Annotated[int, About("The number of deleted facts.")]
    values: Annotated[int, About("The number of deleted values.")]


class PersonView(View):
    id: Annotated[str, About("The id of this identity.")]
    person: Annotated[str, About("The id of the person, which all linked identities share.")]
    platform: str
    user_id: str
    name: str
    role: PrincipalRole
    paired: bool
    paired_at: Time | None
    timezone: Annotated[str | None, About("The time zone that the person has chosen.")]
    language: Annotated[str | None, About("The language that the person has chosen, such as de.")]
    created_at: Time
    updated_at: Time

    @classmethod
    def of(cls, person: Person, owners: Owners, /, **others: Any) -> Self:
        known: Principal = person.principal
        return cls.showing(
            person,
            id=known.identity,
            person=known.id,
            platform=known.platform,
            user_id=known.user_id,
            name=known.name,
            role=roles.role_of(known, owners),
            paired=known.paired,
            timezone=known.timezone,
            language=known.language,
            **others,
        )


class PersonChangeView(View):
    role: PrincipalRole
    paired: bool
    by: str | None
    at: Time

    @classmethod
    def of(cls, version: Version) -> Self:
        data: Any = version.data or {}
        return cls(role=data.get("role"), paired=data.get("paired"), by=version.by_id, at=version.at)


class IdentityView(View):
    id: str
    platform: str
    user_id: str
    name: str


class PersonDetailView(PersonView):
    identities: Annotated[list[IdentityView], About("Identities of the person; the others are linked to the first.")]
    changes: list[PersonChangeView]


class ChangedPerson(Body):
    role: Annotated[PrincipalRole | None, MEMBER, About(**one_of(GIVEN_ROLES))] = None
    paired: bool | None = None
    timezone: Annotated[str | None, About("Such as Europe/Berlin; empty: the default.")] = None
    language: Annotated[str | None, About("Such as de or pt-BR; empty: the default.")] = None


class OtherIdentity(Body):
    identity: Annotated[Label, About("The id of the other identity, which gets the rights of the person.")]


class PreferencesView(View):
    timezone: Annotated[str | None, About("Such as Europe/Berlin; null: the agent's time zone.")]
    language: Annotated[str | None, About("Such as de; null: the language of the messages.")]


class Preferences(Body):
    timezone: Annotated[str | None, About("Such as Europe/Berlin; empty: the default.")] = None
    language: Annotated[str | None, About("Such as de or pt-BR; empty: the default.")] = None


class PairingView(View):
    id: str
    platform: str
    connector: str
    channel_id: str
    user_id: str
    user_name: str
    status: PairingStatus
    created_at: Time
    expires_at: Time

    @classmethod
    def of(cls, asked: Pairing) -> Self:
        address = asked.address
        return cls.showing(asked, platform=address.platform, connector=address.connector, channel_id=address.channel)


_Code = Annotated[str, Printable(40)]


class PairingCode(Body):
    code: _Code


class PairingCodeOrId(Body):
    code: _Code | None = None
    id: Label | None = None


_ONE = "/api/people/{person}"


class PeopleRoutes(Routes):
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

    @route(
        "GET",
        "/api/people",
        "List people who have written, newest first",
        READ,
        {200: Page[PersonView]},
        query={**PAGING, "platform": LABEL, "role": one_of(PrincipalRole), "paired": FLAG, "q": LABEL},
    )
    async def _list(self, call: Call) -> Response:
        chosen = call.choice("role", PrincipalRole)
        role = None if chosen is None else PrincipalRole(chosen)
        page = await self._insights.people(
            platform=call.query("platform"),
            role=role,
            paired=None if call.query("paired") is None else call.flag("paired", default=False),
            text=call.query("q"),
            limit=call.limit,
            cursor=call.query("cursor"),
        )
        owners = await self._all_owners()
        shown = [PersonView.of(person, owners) for person in page.items]
        return answer_page([each for each in shown if role in {None, each.role}], page.next_cursor)

    @route("GET", _ONE, "Show a person and the changes of their role", READ, {200: PersonDetailView})
    async def _show(self, call: Call) -> Response:
        person = await self._person(call.id("person"))
        changes = await self._store.read(people.changes, person.principal.id, _MOST_CHANGES)
        found = await self._store.read(_identities, person.principal.id)
        return answer(
            PersonDetailView.of(
                person,
                await self._all_owners(),
                changes=[PersonChangeView.of(each) for each in changes],
                identities=[IdentityView.showing(each) for each in found],
            )
        )

    @route(
        "POST", f"{_ONE}/link", "Link another identity to a person", OWN, {200: PersonDetailView}, body=OtherIdentity
    )
    async def _link(self, call: Call) -> Response:
        body, by = await call.read(OtherIdentity), await self._gate.principal_id(call.identity)
        await self._store.write(identities.link, call.id("person"), body.identity, by, self._clock.now())
        return await self._show(call)

    @route("DELETE", f"{_ONE}/link", "End the link of an identity", OWN, {200: PersonDetailView})
    async def _unlink(self, call: Call) -> Response:
        by = await self._gate.principal_id(call.identity)
        await self._store.write(identities.unlink, call.id("person"), by, self._clock.now())
        return await self._show(call)

    @route(
        "DELETE",
        f"{_ONE}/memory",
        "Delete all facts and values about a person, of all agents, with their history",
        OWN,
        {200: ForgottenView},
    )
    async def _forget(self, call: Call) -> Response:
        person = (await self._person(call.id("person"))).principal
        by = await self._gate.principal_id(call.identity)
        return answer(
            ForgottenView.showing(await self._store.write(people.forget, person, by=by, now=self._clock.now()))
        )

    @route(
        "PATCH",
        _ONE,
        "Change a person's role, pairing, time zone or language",
        OWN,
        {200: PersonDetailView},
        body=ChangedPerson,
    )
    async def _change(self, call: Call) -> Response:
        body = await call.read(ChangedPerson)
        ended = await self._store.write(
            _change,
            call.id("person"),
            role=body.role,
            paired=body.paired,
            timezone=body.timezone,
            language=body.language,
            owners=await self._all_owners(),
            by=await self._gate.principal_id(call.identity),
            now=self._clock.now(),
        )
        self._sessions.announce_end(ended)
        return await self._show(call)

    @route("GET", "/api/auth/preferences", "Show the caller's preferences", ANYONE, {200: PreferencesView})
    async def _preferences(self, call: Call) -> Response:
        known = await self._gate.known(call.identity)
        chosen = (None, None) if known is None else (known.timezone, known.language)
        return answer(PreferencesView(timezone=chosen[0], language=chosen[1]))

    @route(
        "PATCH",
        "/api/auth/preferences",
        "Change the caller's time zone or language",
        ANYONE,
        {200: PreferencesView},
        body=Preferences,
    )
    async def _prefer(self, call: Call) -> Response:
        body, me = await call.read(Preferences), await self._gate.principal_id(call.identity)
        now = self._clock.now()
        await self._store.write(people.prefer, me, timezone=body.timezone, language=body.language, now=now)
        return await self._preferences(call)

    @route(
        "GET",
        "/api/pairings",
        "List pending pairing requests, newest first",
        READ,
        {200: Page[PairingView]},
        query={**PAGING, "pending": {**FLAG, "default": True}},
    )
    async def _pairings(self, call: Call) -> Response:
        page = await self._insights.pairings(
            pending_at=self._clock.now() if call.flag("pending", default=True) else None,
            limit=call.limit,
            cursor=call.query("cursor"),
        )
        return answer_page([PairingView.of(each) for each in page.items], page.next_cursor)

    @route("POST", "/api/pairings/approve", "Approve a pairing request", OPERATE, {200: PersonView}, body=PairingCode)
    async def _approve(self, call: Call) -> Response:
        body = await call.read(PairingCode)
        found = await self._store.write(
            people.approve, body.code, await self._gate.principal_id(call.identity), self._clock.now()
        )
        if not isinstance(found, Paired):
            raise self._refusal(found)
        return answer(PersonView.of(await self._person(found.principal.id), await self._all_owners()))

    @route(
        "POST", "/api/pairings/reject", "Reject a pairing request", OPERATE, {200: PairingView}, body=PairingCodeOrId
    )
    async def _reject(self, call: Call) -> Response:
        body = await call.read(PairingCodeOrId)
        code, pairing_id = body.code, body.id
        by, now = await self._gate.principal_id(call.identity), self._clock.now()
        if (code is None) == (pairing_id is None):
            raise Unprocessable("Either `code` or `id` is required.", fix="GET /api/pairings lists the requests.")
        if pairing_id is not None:
            turned_away = await self._store.write(people.reject_by_id, pairing_id, by, now)
            if turned_away is None:
                raise NotFound("There is no pairing request with this id.", fix="GET /api/pairings lists the requests.")
            return answer(PairingView.of(turned_away.pairing))
        found = await self._store.write(people.reject, code or "", by, now)
        if not isinstance(found, TurnedAway):
            raise self._refusal(found)
        return answer(PairingView.of(found.pairing))

    def _refusal(self, found: WrongCode | TooManyTries) -> NotFound | TooMany:
        match found:
            case WrongCode(left=left):
                tries = f"{left} attempt(s) left." if left else "No attempts are left for up to 15 minutes."
                return NotFound(
                    f"This code is wrong, used or expired. {tries}",
                    fix="Ask the person to write to the bot again. The bot then sends a new code.",
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


def _change(
    tx: Transaction, person_id: str, /, *, timezone: str | None, language: str | None, now: int, **how: Any
) -> Sequence[str]:
    """Change the person. If the person is now blocked, end all their logins and return the hashes of these logins."""
    changed = people.prefer(tx, person_id, timezone=timezone, language=language, now=now)
    if how["role"] is None and how["paired"] is None and (timezone is not None or language is not None):
        return ()  # Only preferences were changed. This is allowed for owners too.
    changed = people.change(tx, person_id, now=now, **how)
    if changed.role is not PrincipalRole.BLOCKED:
        return ()
    return [each for one in tx.identities.of(changed.id) for each in tx.logins.close_sessions_of(one.id)]


def _identities(tx: Transaction, person_id: str) -> Sequence[Principal]:
    return tx.identities.of(person_id)


def _owners_here(tx: Transaction) -> list[str]:
    return [user.id for user in tx.users.after("", _MOST_USERS) if user.role is UserRole.OWNER]
