"""Workflows: check them, compile them to graphs of the engine, run them and log every step (behaviour.md 4, 2.7)."""
