"""Which topic a route of the API writes to, so that one place can tell of every change that was made through it."""

from __future__ import annotations

from collections.abc import Mapping

from arvis.domain.changes import ChangeTopic
from arvis.domain.events import Changed

_API = "/api/"
_LONGEST_ID = 200

#: First part of a path below /api -> what is changed there, where they are not called the same.
_OTHERS: Mapping[str, ChangeTopic] = {
    "api_keys": ChangeTopic.KEYS,
    "attachments": ChangeTopic.MESSAGES,
    "auth": ChangeTopic.USERS,
    "budgets": ChangeTopic.SETTINGS,
    "connectors": ChangeTopic.BOTS,
    "hooks": ChangeTopic.WEBHOOKS,
    "message": ChangeTopic.MESSAGES,
    "pairings": ChangeTopic.PEOPLE,
    "principals": ChangeTopic.PEOPLE,
    "queue": ChangeTopic.JOBS,
    "runs": ChangeTopic.WORKFLOWS,
    "sessions": ChangeTopic.USERS,
    "speech": ChangeTopic.MESSAGES,
}
#: What is sent there is looked at and not kept.
_ASKING = frozenset({"/api/workflows/check"})
_KNOWN: Mapping[str, ChangeTopic] = {**{topic.value: topic for topic in ChangeTopic}, **_OTHERS}


def topic_of(path: str) -> ChangeTopic | None:
    """Of the path of a route; None where it is none of the product's own. What has no topic yet counts as a setting, so that
    no change stays untold."""
    if not path.startswith(_API):
        return None
    return _KNOWN.get(path.removeprefix(_API).partition("/")[0], ChangeTopic.SETTINGS)


def change_by(method: str, path: str, parameters: Mapping[str, object]) -> Changed | None:
    """What a request that went well has changed; None when it only asked. `path` is the route's, `parameters` are the values
    of its braces in their order: the first names the thing, with a platform the first two."""
    topic = topic_of(path)
    if method in {"GET", "HEAD"} or topic is None or path in _ASKING:
        return None
    values = [str(value) for value in parameters.values()]
    id_ = "/".join(values[: 2 if "{platform}" in path else 1])[:_LONGEST_ID]
    return Changed(topic, id_ or None)
