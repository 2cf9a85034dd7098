"""Health, readiness, metrics."""
