"""The rules of the `Store` port as tests: subclass `StoreConformance` and give it an `open_store` fixture.

A store that passes loses no message and never runs two jobs of a lane at the same time, with any number of writers,
failures and crashes. The cases need pytest-asyncio in its auto mode.
"""

from __future__ import annotations

from arvis.testing.conformance.store_agents import AgentCases
from arvis.testing.conformance.store_audit import AuditCases
from arvis.testing.conformance.store_bots import BotCases
from arvis.testing.conformance.store_calibrations import CalibrationCases
from arvis.testing.conformance.store_compactions import CompactionCases
from arvis.testing.conformance.store_events import EventCases
from arvis.testing.conformance.store_files import FileCases
from arvis.testing.conformance.store_lanes import LaneCases
from arvis.testing.conformance.store_logins import LoginCases
from arvis.testing.conformance.store_memory import MemoryCases
from arvis.testing.conformance.store_people import PeopleCases
from arvis.testing.conformance.store_schedules import ScheduleCases
from arvis.testing.conformance.store_sending import MovingCases, SendingCases
from arvis.testing.conformance.store_timing import TimingCases
from arvis.testing.conformance.store_transactions import OpenStore
from arvis.testing.conformance.store_versions import VersionCases
from arvis.testing.conformance.store_work import WorkCases
from arvis.testing.conformance.store_workflows import WorkflowCases


class StoreConformance(
    LaneCases,
    MemoryCases,
    AgentCases,
    ScheduleCases,
    CompactionCases,
    CalibrationCases,
    AuditCases,
    SendingCases,
    MovingCases,
    VersionCases,
    PeopleCases,
    LoginCases,
    BotCases,
    FileCases,
    EventCases,
    WorkCases,
    WorkflowCases,
    TimingCases,
):
    """All cases for stores. Override the fixture `open_store`: a function that opens the test's store, always the
    same one, as an asynchronous context. It is opened several times in sequence, never twice at the same time."""


__all__ = ["OpenStore", "StoreConformance"]
