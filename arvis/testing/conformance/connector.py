"""The rules of the `Connector` port as tests: subclass `ConnectorConformance` and give it a stage.

A connector that passes loses no event, acknowledges an event only after it is stored, sends in order and within
limits, and reports for each failure what can be done about it. The cases need pytest-asyncio in its auto mode.
"""

from __future__ import annotations

from arvis.testing.conformance.connector_failures import FailureCases
from arvis.testing.conformance.connector_incoming import IncomingCases
from arvis.testing.conformance.connector_outgoing import OutgoingCases
from arvis.testing.conformance.connector_stage import Shown, Stage
from arvis.testing.conformance.connector_things import ThingCases


class ConnectorConformance(IncomingCases, OutgoingCases, ThingCases, FailureCases):
    """All cases for connectors. Override `stage`: a test platform as an asynchronous context."""


__all__ = ["ConnectorConformance", "Shown", "Stage"]
