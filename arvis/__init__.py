"""Arvis brings AI agents to the places where people already talk, and never loses a message."""

__version__ = "0.2.0"
