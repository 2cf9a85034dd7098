"""Workflows: check them, compile them to graphs of the engine, run them and log every step (docs/29-workflows.md)."""
