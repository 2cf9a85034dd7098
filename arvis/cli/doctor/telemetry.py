"""Checks that the packages for traces are installed if the configuration needs them."""

from __future__ import annotations

from importlib.util import find_spec

from arvis.cli.doctor.findings import Check, Group, Verdict, fail, ok
from arvis.cli.doctor.scene import Scene

_MODULES = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")


def check_packages(scene: Scene) -> Verdict | None:
    settings = scene.config.telemetry
    if settings.endpoint is None:
        return None
    if all(_is_there(module) for module in _MODULES):
        return ok(f"Traces are sent to {settings.endpoint}")
    return fail(
        "Traces cannot be sent",
        "`telemetry.endpoint` is set, and the packages for OpenTelemetry are not installed.",
        "Run `pip install 'arvis[otel]'`, or set `telemetry.endpoint: null`.",
    )


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


GROUP = Group("telemetry", (Check("packages", check_packages),))
