"""Outgoing messages: replies, notices, progress, and alerts to owners."""
