"""Backups over HTTP: create one, and list the existing ones. Owners only. The port accepts no paths."""

from __future__ import annotations

from starlette.responses import Response

from arvis.domain.errors import Conflict, StoreError, Unavailable
from arvis.ports.backups import Backups
from arvis.web.http.endpoints import Call, Endpoint, answer
from arvis.web.http.identity import OWN
from arvis.web.http.schema import BACKUP, page_schema
from arvis.web.http.views import backup_view, page_view


class BackupRoutes:
    def __init__(self, *, backups: Backups) -> None:
        self._backups = backups

    def endpoints(self) -> list[Endpoint]:
        path = "/api/backups"
        return [
            Endpoint(
                "GET",
                path,
                "List the backups in the data folder, newest first",
                OWN,
                self._list,
                {200: page_schema(BACKUP)},
            ),
            Endpoint("POST", path, "Create a backup; may take minutes", OWN, self._make, {201: BACKUP}),
        ]

    async def _list(self, _: Call) -> Response:
        return answer(page_view([backup_view(backup) for backup in await self._backups.all()], None))

    async def _make(self, _: Call) -> Response:
        try:
            made = await self._backups.make()
        except Unavailable:
            raise
        except StoreError as error:
            # The owner requested the backup and receives the error about the database. It is not a defect of the
            # daemon.
            raise Conflict(error.what, why=error.why, fix=error.fix, code=error.code) from error
        return answer(backup_view(made), 201)
