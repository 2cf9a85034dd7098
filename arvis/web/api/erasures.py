"""Erasures over HTTP: requests to erase all content of a person or a channel. Only owners may use them."""

from __future__ import annotations

from typing import Annotated, Self

from starlette.responses import Response

from arvis.domain.erasures import Channel, Erasure, ErasureKind, Phase
from arvis.domain.errors import NotFound
from arvis.erasing import begin_erasure
from arvis.ports.backups import Backups
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import PAGING, Call, Routes, answer, answer_page, route
from arvis.web.http.identity import OWN
from arvis.web.http.models import About, Body, Label, Page, Printable, Texts, Time, View, Whole

_ONE = "/api/erasures/{erasure}"


class ErasedChannel(Body):
    platform: Label
    connector: Annotated[Label, About("The name of the bot, or `web`.")]
    channel_id: Annotated[str, Printable(300)]


class NewErasure(Body):
    """Either `people` or `channel`."""

    people: Annotated[Texts | None, About("Ids of people. Name all identities of a person together.")] = None
    channel: ErasedChannel | None = None


class ErasureView(View):
    id: str
    kind: ErasureKind
    phase: Annotated[Phase, About("The present step; `done` at the end.")]
    counts: Annotated[dict[str, Whole], About("The numbers of deleted rows, by kind.")]
    mentions: Annotated[
        list[str],
        About("Ids of facts that other people wrote and that contain the person's name. They are not deleted."),
    ]
    by_id: str | None
    created_at: Time
    ended_at: Time | None

    @classmethod
    def of(cls, erasure: Erasure) -> Self:
        return cls.showing(erasure, counts=dict(erasure.counts), mentions=list(erasure.mentions))


class ErasureDetailView(ErasureView):
    backups: Annotated[
        Whole,
        About("The number of backups in the data folder that were made earlier and still contain the content."),
    ]


class ErasureRoutes(Routes):
    """Routes of erasures."""

    def __init__(self, *, store: Store, gate: Authorizer, backups: Backups, clock: Clock) -> None:
        self._store = store
        self._gate = gate
        self._backups = backups
        self._clock = clock

    @route("GET", "/api/erasures", "List erasures, newest first", OWN, {200: Page[ErasureView]}, query=PAGING)
    async def _list(self, call: Call) -> Response:
        found = await self._store.read(_newest, call.query("cursor"), call.limit + 1)
        more = found[call.limit - 1].id if len(found) > call.limit else None
        return answer_page([ErasureView.of(each) for each in found[: call.limit]], more)

    @route(
        "POST",
        "/api/erasures",
        "Erase all content of people or of a channel",
        OWN,
        {202: ErasureDetailView},
        body=NewErasure,
        repeatable=True,
    )
    async def _create(self, call: Call) -> Response:
        body = await call.read(NewErasure)
        where = body.channel
        erasure = await self._store.write(
            begin_erasure,
            body.people or (),
            None if where is None else Channel(where.platform, where.connector, where.channel_id),
            await self._gate.principal_id(call.identity),
            self._clock.now(),
        )
        return answer(await self._shown(erasure), 202)

    @route("GET", _ONE, "Show the progress of an erasure", OWN, {200: ErasureDetailView})
    async def _show(self, call: Call) -> Response:
        erasure = await self._store.read(_erasure, call.id("erasure"))
        if erasure is None:
            raise NotFound("There is no such erasure.", fix="GET /api/erasures lists the erasures.")
        return answer(await self._shown(erasure))

    async def _shown(self, erasure: Erasure) -> ErasureDetailView:
        until = erasure.ended_at or self._clock.now()
        older = [] if self._store.shared else [each for each in await self._backups.all() if each.created_at <= until]
        return ErasureDetailView.showing(
            erasure, counts=dict(erasure.counts), mentions=list(erasure.mentions), backups=len(older)
        )


def _newest(tx: Transaction, before: str | None, limit: int) -> list[Erasure]:
    return list(tx.erasures.before(before, limit))


def _erasure(tx: Transaction, erasure_id: str) -> Erasure | None:
    return tx.erasures.get(erasure_id)
