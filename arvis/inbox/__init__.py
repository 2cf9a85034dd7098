"""Events of chat platforms. Each event is one commit, which accepts, observes, rejects or changes a message, or answers
a question."""

from arvis.inbox.accept import InboxRules
from arvis.inbox.inbox import InboxService

__all__ = ["InboxRules", "InboxService"]
