"""Traces for OpenTelemetry, told from what is on record when work is over."""
