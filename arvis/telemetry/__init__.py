"""Traces for OpenTelemetry, built from the stored records when an execution is over."""
