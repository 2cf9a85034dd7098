"""Exports traces if the configuration names a collector. Otherwise no OpenTelemetry package is imported."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from arvis import __version__
from arvis.app.foundation import Base
from arvis.config.servers import Telemetry
from arvis.domain.errors import ConfigError
from arvis.domain.events import StatusChanged
from arvis.domain.jobs import Job, JobKind, JobResult, Unfinished
from arvis.domain.messages import MessageStatus
from arvis.ports.extras import install_command
from arvis.ports.store import Transaction
from arvis.process.supervisor import Role, Supervisor
from arvis.queue.queue import Handler
from arvis.telemetry.export_queue import Exporter, ExportQueue


class TracedHandler:
    """A handler that runs another handler. After the commit of a job, it queues the job's execution for the export of
    its trace. Implements `Handler`."""

    def __init__(self, *, handler: Handler, queue: ExportQueue) -> None:
        self._handler = handler
        self._queue = queue

    async def run(self, job: Job) -> JobResult:
        verdict = await self._handler.run(job)
        self._enqueue(job)
        return verdict

    def postponed(self, tx: Transaction, job: Job, outcome: Unfinished, now: int) -> None:
        self._handler.postponed(tx, job, outcome, now)

    async def announce(self, job: Job, outcome: Unfinished) -> None:
        await self._handler.announce(job, outcome)
        self._enqueue(job)

    def _enqueue(self, job: Job) -> None:
        if job.execution_id is not None:
            self._queue.add(job.execution_id)


async def traced(base: Base, handlers: Mapping[JobKind, Handler], supervisor: Supervisor) -> Mapping[JobKind, Handler]:
    """Return the handlers. If a collector is configured, each handler is traced. Tracing runs in a role on which no
    other role depends."""
    settings = base.config.telemetry
    if settings.endpoint is None:
        return handlers
    exporter = exporter_of(settings, settings.endpoint)
    queue = ExportQueue(receipts=base.insights.receipts, exporter=exporter, content=settings.capture_content)

    async def run(up: Any) -> None:
        forget = base.bus.subscribe(StatusChanged, stopped)
        up()
        try:
            await queue.run()
        finally:
            forget()

    def stopped(event: StatusChanged) -> None:
        """Queue a cancelled turn for export, because it may have waited for a person. In this case no job of the turn
        ends, and no `TracedHandler` queues the turn."""
        if event.status is MessageStatus.CANCELLED:
            queue.add(event.message_id)

    await supervisor.start(Role("telemetry", run, required=False))
    return {kind: TracedHandler(handler=handler, queue=queue) for kind, handler in handlers.items()}


def exporter_of(settings: Telemetry, endpoint: str) -> Exporter:
    """Return the exporter. Raise `ConfigError` if the OpenTelemetry packages are not installed."""
    try:
        package: Any = importlib.import_module("arvis.telemetry.exporter")
    except ImportError as error:
        raise ConfigError(
            "`telemetry.endpoint` is set, but the packages for OpenTelemetry are not installed.",
            why=f"{error}.",
            fix=f"Run `{install_command('otel')}`, or set `telemetry.endpoint: null`.",
        ) from error
    headers = {name: text.get_secret_value() for name, text in settings.headers.items()}
    exporter: Exporter = package.OtlpExporter(
        endpoint=endpoint, headers=headers, service=settings.service_name, version=__version__
    )
    return exporter
