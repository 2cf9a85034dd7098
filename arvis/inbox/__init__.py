"""Handles the events of chat platforms. One commit for each event stores, rejects or changes a message, or answers a
question."""

from arvis.inbox.accept import InboxRules
from arvis.inbox.inbox import InboxService

__all__ = ["InboxRules", "InboxService"]
