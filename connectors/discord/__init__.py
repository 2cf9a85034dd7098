"""The connector for Discord, which uses the library discord.py."""

from connectors.discord.connector import create

__all__ = ["create"]
