"""`config.yaml` and the environment as one frozen tree (interfaces.md §3).

Every complaint is a `ConfigError` that names the key, where it is written and the fix. Nothing is read or
resolved at import time, and no secret shows in a repr.
"""

from arvis.config.availability import ineffective_keys
from arvis.config.loading import DEFAULT_FILE, load, look, unset_variables
from arvis.config.mcp import Mcp, McpServer
from arvis.config.schema import ALL_ROLES, Config, ConnectorEntry
from arvis.config.sections import (
    AgentEntry,
    ApiKey,
    Approvals,
    Backup,
    Budgets,
    Channel,
    Delivery,
    Limits,
    Model,
    Queue,
    Retention,
    Routing,
    Scheduler,
    Speech,
    Web,
)
from arvis.config.values import is_loopback

__all__ = [
    "ALL_ROLES",
    "DEFAULT_FILE",
    "AgentEntry",
    "ApiKey",
    "Approvals",
    "Backup",
    "Budgets",
    "Channel",
    "Config",
    "ConnectorEntry",
    "Delivery",
    "Limits",
    "Mcp",
    "McpServer",
    "Model",
    "Queue",
    "Retention",
    "Routing",
    "Scheduler",
    "Speech",
    "Web",
    "ineffective_keys",
    "is_loopback",
    "load",
    "look",
    "unset_variables",
]
