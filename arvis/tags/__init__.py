"""The final text of a model, parsed into proposals, wrappers and metadata. Parsing changes nothing."""

from arvis.tags.tags import Reply, read
from arvis.tags.wrappers import Status, Wrapper

__all__ = ["Reply", "Status", "Wrapper", "read"]
