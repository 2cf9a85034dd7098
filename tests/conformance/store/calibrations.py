"""Cases for the token calibrations of models."""

from __future__ import annotations

from arvis.ports.conversations import Calibration
from arvis.ports.store import Store, Transaction
from tests.conformance.store.scripts import NOW
from tests.conformance.store.transactions import TransactionCases

MODEL = "openrouter/vendor/модель 1.5"


def put(tx: Transaction, calibration: Calibration) -> None:
    tx.calibrations.put(calibration, NOW)


class CalibrationCases(TransactionCases):
    async def test_a_calibration_comes_back_as_it_went_in(self, store: Store) -> None:
        for most in (None, 8_192, None):
            calibration = Calibration(MODEL, (0.1, 1 / 3, 0.0, -1e-300, 1e300, 5.0), 7, most)
            await store.write(put, calibration)
            assert await store.read(lambda tx: tx.calibrations.get(MODEL)) == calibration
        assert await store.read(lambda tx: tx.calibrations.get("openrouter/other")) is None

    async def test_the_calibrations_of_all_models_are_one_list(self, store: Store) -> None:
        known = [Calibration(f"a/{name}", (float(place),), place, None) for place, name in enumerate("xyz")]
        for calibration in known:
            await store.write(put, calibration)
        found = await store.read(lambda tx: tx.calibrations.all())
        assert sorted(found, key=lambda calibration: calibration.model) == known
