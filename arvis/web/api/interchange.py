"""Exports and imports over HTTP: a file with the records of the installation, such as agents and conversations, or with
everything of one person or channel. Only owners may use them."""

from __future__ import annotations

import asyncio
import base64
import binascii
import tempfile
from collections.abc import Iterator, Mapping
from typing import IO, Annotated

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from arvis import __version__
from arvis.bus import EventBus
from arvis.domain.changes import ChangeTopic
from arvis.domain.effects import Access, AccessKind, access_entry
from arvis.domain.erasures import Channel
from arvis.domain.errors import Unprocessable
from arvis.domain.events import Changed, SchedulesChanged
from arvis.interchange.archive import MOST_BYTES, Contents, read_archive
from arvis.interchange.exporting import Choice, Exporter
from arvis.interchange.format import KINDS
from arvis.interchange.importing import Action, ArchiveImporter, Report, Rules
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.services import schedules
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import Call, Routes, answer, route
from arvis.web.http.identity import OWN
from arvis.web.http.limits import BodyLimit
from arvis.web.http.models import About, Body, View, Whole
from arvis.web.http.requests import unusable
from arvis.web.http.schema import FILE, LABEL

#: The kind of records whose import also makes the scheduler search for due occurrences.
_SCHEDULES = "schedules"
#: The topics of changes, for kinds of records whose name differs from their topic.
_TOPICS = {"values": ChangeTopic.MEMORY, "overheard": ChangeTopic.CONVERSATIONS}
_PIECE = 1 << 16
_TYPE = "application/zip"
_BODY = BodyLimit(size=MOST_BYTES * 4 // 3 + 65_536, marks=100)


class NewImport(Body):
    archive: Annotated[str, About("The file of an export.", contentEncoding="base64")]
    dry_run: Annotated[bool | None, About("Only report what an import would do.")] = None
    replace: Annotated[
        bool | None, About("Replace agents, skills, workflows, values, documents and cases that exist and differ.")
    ] = None


class ImportedView(View):
    kind: str
    name: str
    action: Action
    why: Annotated[str, About("The reason why a record is skipped, or a remark.")]


class ImportView(View):
    dry_run: bool
    source: Annotated[str, About("The program that wrote the file.")]
    counts: Annotated[dict[str, Whole], About("The numbers of records by action.")]
    items: list[ImportedView]
    asks: Annotated[list[str], About("The steps that an import cannot do, such as adding accounts.")]


class InterchangeRoutes(Routes):
    """Routes of exports and imports. `rules` are the limits of schedules."""

    def __init__(self, *, store: Store, gate: Authorizer, bus: EventBus, clock: Clock, rules: schedules.Rules) -> None:
        self._exporter = Exporter(store=store, clock=clock, program=f"arvis {__version__}")
        self._importer = ArchiveImporter(store=store, clock=clock)
        self._store = store
        self._bus = bus
        self._clock = clock
        self._gate = gate
        self._rules = rules

    @route(
        "GET",
        "/api/export",
        "Export records, or everything of a person or of a channel, as a file",
        OWN,
        {200: FILE},
        query={
            "kinds": {**LABEL, "description": f"Kinds, separated by commas: {', '.join(KINDS)}."},
            "person": {**LABEL, "description": "The id of a person."},
            "channel": {**LABEL, "description": "A channel with its threads, as PLATFORM:BOT:CHANNEL."},
        },
        media="*/*",
    )
    async def _export(self, call: Call) -> Response:
        person, channel, wanted = call.query("person"), call.query("channel"), call.query("kinds")
        if person is not None and channel is not None:
            raise Unprocessable("An export has one subject.", fix="Send either `person` or `channel`.")
        kinds = tuple(KINDS) if wanted is None else tuple(wanted.split(","))
        if unknown := [kind for kind in kinds if kind not in KINDS]:
            raise Unprocessable(f"There is no kind {unknown[0]!r}.", fix=f"Use {', '.join(KINDS)}.")
        by = await self._gate.principal_id(call.identity)
        target = tempfile.TemporaryFile()  # noqa: SIM115 - the response closes it
        try:
            manifest = await self._exporter.write(
                target, Choice(kinds, person, None if channel is None else _channel(channel))
            )
            await asyncio.to_thread(target.seek, 0)
            # The entry is stored before the first byte leaves the daemon.
            await self._store.write(_note, person or channel or "all", manifest.counts, by, self._clock.now())
        except BaseException:
            target.close()
            raise
        name = "arvis-person.zip" if person else "arvis-channel.zip" if channel else "arvis-export.zip"
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "private, no-store"}
        return _Download(target, headers)

    @route("POST", "/api/import", "Import the file of an export", OWN, {200: ImportView}, body=NewImport, keyed=False)
    async def _import(self, call: Call) -> Response:
        body = await call.read(NewImport, _BODY)
        try:
            data = base64.b64decode(body.archive, validate=True)
        except (binascii.Error, ValueError):
            raise Unprocessable("`archive` must be base64.", fix="Send the bytes of the file in base64.") from None
        contents = await asyncio.to_thread(read_archive, data)
        rules = Rules(await self._gate.principal_id(call.identity), self._rules, replace=bool(body.replace))
        run = self._importer.rehearse if body.dry_run else self._run
        report = await run(contents, rules)
        counts: dict[str, int] = {}
        for each in report.outcomes:
            counts[each.action] = counts.get(each.action, 0) + 1
        return answer(
            ImportView(
                dry_run=bool(body.dry_run),
                source=contents.manifest.program,
                counts=counts,
                items=[ImportedView.showing(each) for each in report.outcomes],
                asks=list(report.asks),
            )
        )

    async def _run(self, contents: Contents, rules: Rules) -> Report:
        """Import the records, and announce the kinds of data that have changed. An import that ends early may have changed
        all kinds that it contains."""
        changed = {kind for kind, found in contents.records.items() if found}
        try:
            report = await self._importer.run(contents, rules)
            changed = {each.kind for each in report.outcomes if each.action in {Action.CREATE, Action.UPDATE}}
        finally:
            for kind in changed:
                topic = _TOPICS.get(kind) or ChangeTopic(kind)
                self._bus.publish(SchedulesChanged() if kind == _SCHEDULES else Changed(topic))
        return report


def _channel(text: str) -> Channel:
    parts = text.split(":", 2)
    if len(parts) != 3 or not all(parts):  # noqa: PLR2004 - the three parts of a channel
        raise unusable("channel", "must be PLATFORM:BOT:CHANNEL, such as discord:main:123456789012345678")
    return Channel(*parts)


def _note(tx: Transaction, subject: str, counts: Mapping[str, int], by: str, now: int) -> None:
    """Record an export in the audit log: the user who exported (`by`), the exported person, channel or `all`, and the
    numbers of records by kind."""
    access = Access(AccessKind.EXPORT, subject, {"counts": dict(counts)})
    tx.audit.add(access_entry(tx.new_id(), access, now, by))


class _Download(StreamingResponse):
    """The content of an open file. The response closes the file, even if the client does not read it."""

    def __init__(self, file: IO[bytes], headers: Mapping[str, str]) -> None:
        super().__init__(_pieces(file), media_type=_TYPE, headers=headers)
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._file:
            await super().__call__(scope, receive, send)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece
