"""What becomes of an event of a chat platform, in one commit each: taken on, observed, dropped; changed; answered."""

from arvis.inbox.door import Door
from arvis.inbox.rules import InboxRules

__all__ = ["Door", "InboxRules"]
