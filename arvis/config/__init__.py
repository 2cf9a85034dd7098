"""Reads `config.yaml` and the environment variables into one frozen object.

Every problem is a `ConfigError` that names the key, its position and the fix. The import of this package reads no file.
No repr shows a secret.
"""

from arvis.config.entries import AgentEntry, Channel
from arvis.config.loading import DEFAULT_FILE, load, load_usable, look, unset_variables, written_values
from arvis.config.schema import ALL_ROLES, BotEntry, Config
from arvis.config.sections import (
    ApiKey,
    Approvals,
    Backup,
    Budgets,
    Delivery,
    Limits,
    Model,
    Queue,
    Retention,
    Routing,
    Scheduler,
    Web,
)
from arvis.config.servers import Email, Mcp, McpServer
from arvis.config.speech import Speech
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
    "Email",
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
    "load_usable",
    "look",
    "unset_variables",
    "written_values",
]
