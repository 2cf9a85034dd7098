"""The usage part of scripted insights: no usage, and no customers."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.money import Charge, Client, ClientChannel
from arvis.ports.insights import ClientSums, UsageBy, UsagePoint, UsageReport, UsageSums
from arvis.ports.pages import Page


class NoMoney:
    async def usage(self, by: UsageBy, since: int, until: int, zone: str) -> UsageReport:
        return UsageReport((), UsageSums())

    async def usage_by_day(self, split: UsageBy, since: int, until: int, zone: str) -> Sequence[UsagePoint]:
        return ()

    async def clients(self, *, limit: int, cursor: str | None) -> Page[Client]:
        return Page((), None)

    async def client(self, client_id: str) -> Client | None:
        return None

    async def client_channels(self, client_id: str) -> Sequence[ClientChannel]:
        return ()

    async def charges(
        self, client_id: str, *, since: int, until: int | None, limit: int, cursor: str | None
    ) -> Page[Charge]:
        return Page((), None)

    async def client_sums(self, client_id: str, since: int, until: int) -> ClientSums:
        return ClientSums(0, 0)
