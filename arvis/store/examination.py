"""What `arvis doctor` reads from the rows, on either database. Every part of the look is bounded, for it may stand
beside a daemon with millions of rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from arvis.domain.accounts import StoredAccount, Variable
from arvis.domain.ids import first_id_at
from arvis.domain.messages import DeliveryState
from arvis.domain.platforms import BotStatus, StoredBot
from arvis.domain.schedules import ScheduleKind
from arvis.domain.webhooks import Webhook
from arvis.ports.skills import StoredSkill
from arvis.store.accounts import account_of, sound_account
from arvis.store.agents import sound_agent
from arvis.store.bots import bot_of, bot_status_of
from arvis.store.schedules import sound_schedule
from arvis.store.session import Row
from arvis.store.skills import skill_of
from arvis.store.snapshots import LAST
from arvis.store.unreadable import complaint, complaints
from arvis.store.variables import variable_of
from arvis.store.webhooks import sound_webhook, webhook_of
from arvis.store.workflows import sound_version

#: The key of `config/stored.py`.
_SETTINGS = "config.changes"

#: The most rows that one count looks at.
MOST = 1000

_DAY_MS = 86_400_000
_DELIVERIES_MS = 7 * _DAY_MS

#: Expired leases are looked for every ten seconds; for a while nobody is to blame.
_GRACE_MS = 60_000


@dataclass(frozen=True, slots=True)
class AccountCalls:
    """Model calls of one account in the last day, of which `failed` did. `error` is what the newest ended with (a
    provider error kind, None: it gave a reply), `detail` its sentence."""

    account: str
    number: int
    failed: int
    error: str | None
    detail: str | None


@dataclass(frozen=True, slots=True)
class Records:
    """How the rows stand; times in ms. Counts stop at `MOST`. `newest_at` is the latest time in the database,
    `installed_at` that of its first migration, `waiting_since` when the job that is next could have begun. Leases
    that ended long ago count as expired, `crashing` are ids of live jobs at which the process died more than once,
    `troubled` counts deliveries of the last week that failed or of which nobody knows. `accounts` are those that were
    entered in the product, `secrets` secret variables; `bots` and `webhooks` were entered there, too, and `bot_states` tells
    how all bots are. `settings` is the text of those that were set there (config/stored.py), None: none was."""

    installed_at: int
    newest_at: int
    failed_jobs: int
    poisoned_jobs: int
    waiting_since: int | None
    running_jobs: int
    expired_leases: int
    crashing: Sequence[str]
    troubled: Mapping[DeliveryState, int]
    calls: Sequence[AccountCalls]
    accounts: Sequence[StoredAccount]
    secrets: Sequence[Variable]
    bots: Sequence[StoredBot]
    bot_states: Sequence[BotStatus]
    webhooks: Sequence[Webhook]
    settings: str | None
    skills: Sequence[StoredSkill]
    unreadable: Sequence[str]


class Look(Protocol):
    """A named query in one snapshot."""

    def __call__(self, query: str, /, **parameters: Any) -> Sequence[Row]: ...


def read_records(look: Look, now: int) -> Records:
    """`now` in ms."""
    schema = look("schema_ages")[0]
    dead = look("dead_letters", limit=MOST)[0]
    running = look("running_jobs", expired=now - _GRACE_MS)[0]
    deliveries = look("troubled_deliveries", since=now - _DELIVERIES_MS, limit=2 * MOST)
    return Records(
        installed_at=schema["oldest"],
        newest_at=max([schema["newest"], *(row["created_at"] for row in look("newest_rows"))]),
        failed_jobs=dead["number"],
        poisoned_jobs=dead["poisoned"],
        waiting_since=min((row["run_at"] for row in look("next_of_pools")), default=None),
        running_jobs=running["number"],
        expired_leases=running["expired"],
        crashing=[row["id"] for row in look("crashing_jobs", limit=MOST)],
        troubled={DeliveryState(row["state"]): row["number"] for row in deliveries},
        calls=_by_account(look("recent_calls", first_id=first_id_at(now - _DAY_MS), limit=MOST)),
        accounts=[account_of(row) for row in look("all_accounts")],
        secrets=[variable_of(row) for row in look("variables_after", after="", limit=MOST) if row["secret"]],
        bots=[bot_of(row) for row in look("all_bots")],
        bot_states=[bot_status_of(row) for row in look("bot_statuses")],
        webhooks=[webhook_of(row) for row in _webhooks(look)],
        skills=[skill_of(row) for row in look("all_skills")],
        unreadable=_unreadable(look),
        settings=next((row["value"] for row in look("get_setting", key=_SETTINGS)), None),
    )


def _unreadable(look: Look) -> list[str]:
    """Rows that count as disabled, and why."""
    return complaints(
        [
            *(complaint("agents", "slug", row, sound_agent) for row in look("all_agents")),
            *(complaint("accounts", "name", row, sound_account) for row in look("all_accounts")),
            *(complaint("bots", "name", row, _sound_bot) for row in look("all_bots")),
            *(
                complaint("schedules", "name", row, sound_schedule)
                for kind in ScheduleKind
                for row in look("schedules_of_kind", kind=kind, limit=MOST)
            ),
            *(complaint("webhooks", "name", row, sound_webhook) for row in _webhooks(look)),
            *(_complaint_of(look, row) for row in look("all_workflows")),
        ]
    )


def _webhooks(look: Look) -> Sequence[Row]:
    return look("list_webhooks", before=LAST, agent_id=None, limit=MOST)


def _complaint_of(look: Look, workflow: Row) -> str | None:
    """Why the versions of a workflow that count, the newest and the one that runs, cannot be read."""
    versions = {workflow["version"], workflow["runnable"]} - {None}
    rows = [
        row
        for number in sorted(versions)
        for row in look("get_workflow_version", workflow_id=workflow["id"], version=number)
    ]
    found = complaints([complaint("version", "version", row, sound_version) for row in rows])
    return f"workflows {workflow['slug']}: {', '.join(found)}" if found else None


def _sound_bot(row: Row) -> None:
    for column in ("settings", "secrets"):
        dict[str, object](json.loads(row[column]))


def _by_account(calls: Sequence[Row]) -> list[AccountCalls]:
    """`calls` come newest first."""
    accounts: dict[str, list[Row]] = {}
    for call in calls:
        accounts.setdefault(call["account"], []).append(call)
    return [
        AccountCalls(
            account=name,
            number=len(own),
            failed=sum(call["error"] is not None for call in own),
            error=own[0]["error"],
            detail=own[0]["detail"],
        )
        for name, own in sorted(accounts.items())
    ]
