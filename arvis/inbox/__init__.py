"""What becomes of an event of a chat platform, in one commit each: taken on, observed, dropped; changed; answered."""

from arvis.inbox.accept import InboxRules
from arvis.inbox.inbox import InboxService

__all__ = ["InboxRules", "InboxService"]
