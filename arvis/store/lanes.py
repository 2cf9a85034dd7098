"""Lanes of jobs over SQL: what joins one, what leaves it, and where in it a job stands. Only the head of a lane may run."""

from __future__ import annotations

from arvis.domain.jobs import JobStatus
from arvis.store.session import Session


class Lanes:
    """In one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def enter(self, lane: str, run_at: int, now: int) -> tuple[int, int]:
        """Position in the lane and the value of `ready` for a job that joins its tail."""
        position, live = self._counted(lane)
        if live > 1:
            return position, 0
        self.announce(run_at, now)
        return position, 1 if run_at <= now else 2

    def make_room(self, lane: str, count: int, now: int) -> tuple[int, bool] | None:
        """Make room for `count` jobs before all that waits in a lane, which is locked; what was to run next waits behind them.
        The first position, and whether the job there is the head now; None when nothing waits, so that they join the tail."""
        head = self._session.one("head_of_lane", lane=lane)
        waits = head is not None and head["status"] == JobStatus.PENDING and head["claim"] == 0
        if head is not None and waits:
            self._session.execute("stand_back", id=head["id"])
            first: int = head["position"]
        else:
            rows = self._session.rows("followers", lane=lane, limit=1)
            if not rows:
                return None
            first = rows[0]["position"]
        self._session.execute("join_lane", lane=lane, count=count)
        if waits:
            self.announce(now, now)
        return first - count, waits

    def leave(self, lane: str, count: int, now: int, *, promote: bool) -> None:
        if self._session.execute("leave_lane_empty", lane=lane, count=count):
            return
        self._session.execute("leave_lane", lane=lane, count=count)
        if promote and (promoted := self._session.one("promote_next", lane=lane, now=now)):
            self.announce(promoted["run_at"], now)

    def announce(self, run_at: int, now: int) -> None:
        """A head has come to stand: claimable at once, or at `run_at`."""
        if run_at <= now:
            self._session.notices.heads += 1
        else:
            self._session.notices.due(run_at)

    def _counted(self, lane: str) -> tuple[int, int]:
        """The lane's numbers with one job more. A server is asked once, whatever it has to do for it."""
        if not self._session.locks_rows and self._session.execute("open_lane", lane=lane):
            return 1, 1
        row = self._session.one("enter_lane", lane=lane)
        assert row is not None  # noqa: S101 an upsert returns its row
        return row["tail"], row["live"]
