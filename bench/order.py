"""Find violations of the order inside a lane from the times at which its jobs ran."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stay:
    """One job: its lane, its `number` in the order in which the jobs of the lane were added, and the times when it
    began and ended, in any unit."""

    lane: str
    number: int
    begun: float
    ended: float


def disorder(stays: Iterable[Stay]) -> tuple[int, int]:
    """Return how often two jobs of a lane ran at the same time, and how often a later one began first."""
    overlaps = inversions = 0
    lanes: dict[str, list[Stay]] = defaultdict(list)
    for stay in stays:
        lanes[stay.lane].append(stay)
    for lane in lanes.values():
        lane.sort(key=lambda stay: (stay.begun, stay.ended, stay.number))
        busy, newest = float("-inf"), float("-inf")
        for stay in lane:
            overlaps += stay.begun < busy
            inversions += stay.number <= newest
            busy, newest = max(busy, stay.ended), max(newest, stay.number)
    return overlaps, inversions
