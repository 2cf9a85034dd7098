"""`config.yaml` and the environment as one frozen tree (interfaces.md §3).

Every complaint is a `ConfigError` that names the key, where it is written and the fix. Nothing is read or
resolved at import time, and no secret shows in a repr.
"""

from arvis.config.loading import DEFAULT_FILE, load, look, unset_variables
from arvis.config.schema import ALL_ROLES, BotEntry, Config
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
from arvis.config.servers import Mcp, McpServer
from arvis.config.values import is_loopback

__all__ = [
    "ALL_ROLES",
    "DEFAULT_FILE",
    "AgentEntry",
    "ApiKey",
    "Approvals",
    "Backup",
    "BotEntry",
    "Budgets",
    "Channel",
    "Config",
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
    "is_loopback",
    "load",
    "look",
    "unset_variables",
]
