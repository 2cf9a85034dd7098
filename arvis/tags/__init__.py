"""What a model wrote to the system, read from its final text: proposals, wrappers, metadata. Reading changes nothing."""

from arvis.tags.tags import Reply, read
from arvis.tags.wrappers import Status, Wrapper

__all__ = ["Reply", "Status", "Wrapper", "read"]
