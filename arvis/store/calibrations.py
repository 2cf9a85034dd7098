"""How models count, over SQL."""

from __future__ import annotations

import json

from arvis.ports.compactions import Calibration
from arvis.store.session import Row, Session, dump


class SqlCalibrations:
    """`Calibrations` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def all(self) -> list[Calibration]:
        return [_calibration_of(row) for row in self._session.rows("all_calibrations")]

    def get(self, model: str) -> Calibration | None:
        row = self._session.one("get_calibration", model=model)
        return _calibration_of(row) if row else None

    def put(self, calibration: Calibration, now: int) -> None:
        self._session.execute(
            "put_calibration",
            model=calibration.model,
            weights=dump(list(calibration.weights)),
            samples=calibration.samples,
            most=calibration.most,
            now=now,
        )


def _calibration_of(row: Row) -> Calibration:
    return Calibration(row["model"], tuple(json.loads(row["weights"])), row["samples"], row["most"])
