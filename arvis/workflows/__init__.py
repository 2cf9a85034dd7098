"""Workflows: check them, compile them to graphs of the engine, run them and log every step (docs/how-to/workflows.md)."""
