"""Bodies as people would send them, for the OpenAPI document: by method and path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

EXAMPLES: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("POST", "/api/message"): {"content": "What is on today?", "channelId": "dashboard-agent-helper", "id": "m-0001"},
    ("POST", "/api/agents"): {"slug": "helper", "name": "Helper", "prompt": "You help with everyday questions."},
    ("POST", "/api/waits/{wait}/answer"): {"decision": "approve", "note": "Go on."},
    ("POST", "/api/clients"): {"name": "Acme", "monthlyLimitUsd": 50},
    ("PUT", "/api/variables/{key}"): {"value": "blue"},
    ("POST", "/api/memory"): {"agent": "helper", "content": "The office is closed on Fridays."},
    ("POST", "/api/schedules"): {
        "kind": "cron",
        "agent": "helper",
        "schedule": "0 9 * * 1-5",
        "prompt": "Say what is on today.",
        "platform": "discord",
        "channelId": "1234567890",
    },
    ("POST", "/api/projects"): {"title": "Move to the new office"},
    ("POST", "/api/webhooks"): {
        "path": "issues",
        "agent": "helper",
        "template": "A new issue: {title}",
        "platform": "discord",
        "channelId": "1234567890",
    },
}
