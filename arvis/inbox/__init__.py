"""Handles the events of chat platforms. One commit for each event stores, rejects or changes a message, or answers a
question."""
