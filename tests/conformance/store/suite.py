"""The rules of the `Store` port as tests: subclass `StoreConformance` and give it an `open_store` fixture.

A store that passes loses no message and never runs two jobs of a lane at the same time, with any number of writers,
failures and crashes. The cases need pytest-asyncio in its auto mode.
"""

from __future__ import annotations

from tests.conformance.store.agents import AgentCases
from tests.conformance.store.audit import AuditCases
from tests.conformance.store.bots import BotCases
from tests.conformance.store.calibrations import CalibrationCases
from tests.conformance.store.compactions import CompactionCases
from tests.conformance.store.events import EventCases
from tests.conformance.store.files import FileCases
from tests.conformance.store.lanes import LaneCases
from tests.conformance.store.logins import LoginCases
from tests.conformance.store.memory import MemoryCases
from tests.conformance.store.notifications import NotificationCases
from tests.conformance.store.people import PeopleCases
from tests.conformance.store.schedules import ScheduleCases
from tests.conformance.store.sending import MovingCases, SendingCases
from tests.conformance.store.timing import TimingCases
from tests.conformance.store.transactions import OpenStore
from tests.conformance.store.versions import VersionCases
from tests.conformance.store.work import WorkCases
from tests.conformance.store.workflows import WorkflowCases


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
    NotificationCases,
    LoginCases,
    BotCases,
    FileCases,
    EventCases,
    WorkCases,
    WorkflowCases,
    TimingCases,
):
    """All cases for stores.

    Override the fixture `open_store`: a function that opens the test's store as an asynchronous context, always the
    same one. It is opened several times in sequence, never twice at the same time.
    """


__all__ = ["OpenStore", "StoreConformance"]
