"""The files of what was said over this port: fetched by those who may read the message that they answer."""

from __future__ import annotations

from urllib.parse import quote

from starlette.responses import Response

from arvis.domain.errors import NotFound
from arvis.domain.messages import OutgoingFile
from arvis.ports.store import Store, Transaction
from arvis.web.endpoints import Call, Endpoint
from arvis.web.gate import Gate
from arvis.web.identity import ANYONE, READ
from arvis.web.schemas import FILE, INTEGER, Schema

#: What a browser may be told that a file is. Anything else is bytes: nothing that came from a model is to be run.
_SHOWN_AS = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BYTES = "application/octet-stream"
_NUMBER: Schema = {**INTEGER, "minimum": 0}


class DeliveryRoutes:
    def __init__(self, *, store: Store, gate: Gate) -> None:
        self._store = store
        self._gate = gate

    def endpoints(self) -> list[Endpoint]:
        path, summary = "/api/deliveries/{delivery}/files/{number}", "A file of what was said, counted from 0"
        names = {"number": _NUMBER}
        return [Endpoint("GET", path, summary, ANYONE, self._fetch, {200: FILE}, names=names, media="*/*")]

    async def _fetch(self, call: Call) -> Response:
        number, delivery_id = str(call.request.path_params["number"]), call.id("delivery")
        found = await self._store.read(_file_of, delivery_id, number)
        if found is None or not await self._may_read(call, found[1]):
            raise NotFound("There is no such file.", fix="Check the address of the file.")
        file = found[0]
        data = await self._store.get_blob(file.sha256) if file.sha256 else file.content.encode()
        if data is None:
            raise NotFound("This file is not stored any more.", fix="Ask for it again.")
        return Response(data, media_type=_media_type(file), headers=_headers(file))

    async def _may_read(self, call: Call, principals: tuple[str | None, ...]) -> bool:
        """A chat key sees what answers its own messages."""
        if call.identity.role in READ:
            return True
        for principal_id in principals:
            if await self._gate.owns(call.identity, principal_id):
                return True
        return False


def _file_of(tx: Transaction, delivery_id: str, number: str) -> tuple[OutgoingFile, tuple[str | None, ...]] | None:
    """The file, and whose messages its delivery answers."""
    delivery = tx.deliveries.get(delivery_id)
    if delivery is None or not number.isascii() or not number.isdecimal() or len(number) > len("999"):
        return None
    if int(number) >= len(delivery.files):
        return None
    answered = [tx.messages.get(message_id) for message_id in delivery.answers]
    return delivery.files[int(number)], tuple(message.principal_id for message in answered if message is not None)


def _media_type(file: OutgoingFile) -> str:
    return file.content_type if file.content_type in _SHOWN_AS else _BYTES


def _headers(file: OutgoingFile) -> dict[str, str]:
    return {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.filename, safe='')}",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cache-Control": "private, no-store",
    }
