"""The parts of one delivery on their way: each is on record as under way before it is sent, and as sent behind it.

What was interrupted goes by the guarantee of the platform (`Guarantee`). A part that is the content of a message which
stands there already is an edit, and may be repeated anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from arvis.delivery import records
from arvis.delivery.rests import Rests
from arvis.domain.jobs import Job
from arvis.domain.messages import DeliveryState
from arvis.domain.platforms import Part, PartState
from arvis.ports.clock import Clock
from arvis.ports.connector import Connector, FindsParts, Guarantee, Reserves, SendError
from arvis.ports.store import Store


class Interrupted(Exception):
    """A part may have arrived, and nobody can tell."""


class Shipment:
    """Sends what is left of a delivery. `part` is the one that is under way; `rests` are those of all channels."""

    def __init__(self, *, store: Store, connector: Connector, clock: Clock, rests: Rests, job: Job, part: Part) -> None:
        self._store = store
        self._connector = connector
        self._clock = clock
        self._rests = rests
        self._job = job
        self.part = part

    async def resume(self) -> None:
        """Take up a part that was tried before. Raises `SendError`, `Interrupted`."""
        part = self.part
        if part.state is PartState.SENDING and part.platform_id is None:
            await self._settle_interrupted()
        if self.part.state is PartState.SENT:
            return
        if part.state is PartState.PENDING or part.delivery.state is not DeliveryState.SENDING:
            tried_at = part.tried_at or self._clock.now()
            self.part = replace(part, state=PartState.SENDING, tried_at=tried_at)
            await self._store.write(records.mark, self._job, self.part, self._clock.now())

    async def send(self, behind: Sequence[Part]) -> None:
        """This part and those behind it, to the end of the job. Raises `SendError`."""
        for following in behind:
            await self._send_part()
            now = self._clock.now()
            await self._store.write(records.go_on, self._job, self.part, following, now)
            self.part = replace(following, state=PartState.SENDING, tried_at=now)
        await self._send_part()
        await self._store.write(records.finish, self._job, self.part, self._clock.now())

    async def _settle_interrupted(self) -> None:
        guarantee = self._connector.capabilities.guarantee
        if guarantee is Guarantee.AT_MOST_ONCE and self.part.delivery.state is DeliveryState.SENDING:
            raise Interrupted
        if isinstance(self._connector, FindsParts) and guarantee is Guarantee.RECONCILED:
            await self._look_for(self._connector)

    async def _look_for(self, finder: FindsParts) -> None:
        try:
            receipt = await finder.find(self.part)
        except SendError as error:
            if error.permanent:  # it cannot be told here: rather twice than never
                return
            raise SendError(str(error), retry_after=error.retry_after, uncertain=True) from error
        if receipt is not None:
            self.part = replace(self.part, state=PartState.SENT, platform_id=receipt.platform_id)

    async def _send_part(self) -> None:
        if self.part.state is PartState.SENT:
            return
        if self.part.platform_id is None and self._connector.capabilities.guarantee is Guarantee.RESERVE_THEN_FILL:
            await self._reserve()
        whole = replace(self.part, data=await self._bytes())
        self._keep_rest()
        try:
            receipt = await self._connector.send(whole)
        except SendError as error:
            if not error.acknowledged:
                raise
            await self._take_for_sent(error)
        else:
            self.part = replace(self.part, state=PartState.SENT, platform_id=receipt.platform_id)

    async def _take_for_sent(self, error: SendError) -> None:
        """The platform says that it shows the part, but not under which id. Where it can be looked for, it is; elsewhere a
        second send could only show it twice. Raises `SendError`."""
        receipt = None
        if isinstance(self._connector, FindsParts):
            try:
                receipt = await self._connector.find(self.part)
            except SendError as unknown:
                if not unknown.permanent:
                    raise SendError(str(unknown), retry_after=unknown.retry_after, uncertain=True) from unknown
            else:
                if receipt is None:
                    raise error
        self.part = replace(self.part, state=PartState.SENT, platform_id=receipt.platform_id if receipt else None)

    async def _reserve(self) -> None:
        if isinstance(self._connector, Reserves):
            self._keep_rest()
            try:
                receipt = await self._connector.reserve(self.part)
            except SendError as error:
                if not error.acknowledged:
                    raise
                return  # A placeholder without a known id cannot be filled: the part is sent beside it.
            await self._store.write(records.reserved, self._job, self.part, receipt.platform_id)
            self.part = replace(self.part, state=PartState.RESERVED, platform_id=receipt.platform_id)

    def _keep_rest(self) -> None:
        """The channel may have asked for one through another lane, since this job began. Raises `SendError`."""
        if rest := self._rests.left(self.part.delivery.address):
            raise SendError("the platform asked for a rest", retry_after=rest)

    async def _bytes(self) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for file in self.part.piece.files:
            if file.sha256 and file.sha256 not in found:
                data = await self._store.get_blob(file.sha256)
                if data is None:
                    raise SendError(f"the file {file.filename} is not stored any more", permanent=True)
                found[file.sha256] = data
        return found
