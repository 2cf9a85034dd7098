"""The final text of a model, parsed into proposals, wrappers and metadata. Parsing changes nothing."""

from arvis.tags.tags import Reply, Status, Wrapper, read

__all__ = ["Reply", "Status", "Wrapper", "read"]
