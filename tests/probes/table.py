"""The table of the probes: attacks that succeeded against comparable programs, and the checks that try them on Arvis."""

from __future__ import annotations

from collections.abc import Sequence

from tests.probes import probes_of_people, probes_of_systems
from tests.probes.probe import Probe

PROBES: Sequence[Probe] = (*probes_of_people.PROBES, *probes_of_systems.PROBES)
