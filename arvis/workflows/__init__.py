"""Workflows: what people draw is checked, compiled to a graph of the one engine, and told line by line (behaviour.md 4, 2.7)."""
