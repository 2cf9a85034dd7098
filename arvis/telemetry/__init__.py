"""Traces for OpenTelemetry, built from the stored records of executions that have ended."""
