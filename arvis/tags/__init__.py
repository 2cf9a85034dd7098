"""Parses the final text of a model into proposals, a wrapper and attributes. Parsing carries out no action."""

from arvis.tags.tags import Reply, Status, Wrapper, read

__all__ = ["Reply", "Status", "Wrapper", "read"]
