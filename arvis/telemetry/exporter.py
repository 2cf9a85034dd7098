"""Sends spans with OpenTelemetry's own exporter (OTLP over HTTP). This module is imported only if an endpoint is
configured."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from arvis.telemetry.export_queue import Span

_PATH = "/v1/traces"
#: The maximum duration of an export in seconds, including retries.
_TIMEOUT = 5.0
_NANOSECONDS = 1_000_000


class OtlpExporter:
    """The `Exporter` for OTLP. `endpoint` is the collector's address, with or without the path."""

    def __init__(self, *, endpoint: str, headers: Mapping[str, str], service: str, version: str) -> None:
        # The library would log each failure with the collector's address and answer, but the log line of `ExportQueue`
        # is enough.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        base = endpoint.rstrip("/")
        url = base if base.endswith(_PATH) else base + _PATH
        self._exporter = OTLPSpanExporter(endpoint=url, headers=dict(headers), timeout=_TIMEOUT)
        self._resource = Resource.create({"service.name": service, "service.version": version})
        self._scope = InstrumentationScope("arvis", version)

    def export(self, spans: Sequence[Span]) -> bool:
        return self._exporter.export([self._readable(span) for span in spans]) is SpanExportResult.SUCCESS

    def close(self) -> None:
        self._exporter.shutdown()  # type: ignore[no-untyped-call]  # it has no types

    def _readable(self, span: Span) -> ReadableSpan:
        return ReadableSpan(
            name=span.name,
            context=_context(span.trace_id, span.id),
            parent=None if span.parent is None else _context(span.trace_id, span.parent),
            resource=self._resource,
            attributes=dict(span.attributes),
            kind=SpanKind.CLIENT if span.outward else SpanKind.INTERNAL,
            status=Status(StatusCode.UNSET) if span.error is None else Status(StatusCode.ERROR, span.error),
            start_time=span.began_at * _NANOSECONDS,
            end_time=span.ended_at * _NANOSECONDS,
            instrumentation_scope=self._scope,
        )


def _context(trace_id: int, span_id: int) -> SpanContext:
    return SpanContext(trace_id, span_id, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
