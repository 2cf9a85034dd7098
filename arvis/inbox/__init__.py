"""Events of chat platforms: each is one commit that accepts, observes or rejects a message, changes it, or answers a
question."""

from arvis.inbox.accept import InboxRules
from arvis.inbox.inbox import InboxService

__all__ = ["InboxRules", "InboxService"]
