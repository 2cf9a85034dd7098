"""What must never happen inside a lane, seen from the times at which its jobs ran."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stay:
    """One job at work: its lane, its `number` in the order in which the jobs of the lane were added, and when it ran, in
    any unit."""

    lane: str
    number: int
    begun: float
    ended: float


def disorder(stays: Iterable[Stay]) -> tuple[int, int]:
    """How often two jobs of a lane ran at once, and how often a later one began first."""
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
