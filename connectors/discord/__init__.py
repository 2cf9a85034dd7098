"""Discord, by way of discord.py."""

from connectors.discord.connector import create

__all__ = ["create"]
