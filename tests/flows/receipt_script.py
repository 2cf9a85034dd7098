"""Insights without receipts, for tests that need none."""

from __future__ import annotations

from arvis.ports.receipts import Receipts


class NoReceipts:
    async def receipts(self, of: str) -> Receipts | None:
        return None
