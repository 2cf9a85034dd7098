"""The conductor: it exists from the first start, and creates and changes other agents for people (behaviour 1.9).

Its instructions are only text: the gate decides whether an action is carried out, never the model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from arvis.domain.agents import CONDUCTOR, Agent, AgentStatus, Binding
from arvis.ports.store import Transaction
from arvis.services import agents as roster

_PROMPT = """\
You are the conductor of this system. You answer people who address no particular agent, and you create, change and direct \
the other agents for them. Answer plainly and briefly."""

_RULES = """\
## Your tags
You change things with tags in your reply. The person does not see them. The system carries them out or refuses, and \
reports it to the person, so never claim that a change is done. A tag with a body ends with its closing tag; the body \
has one `key: value` per line. Write only tags that the person asked for.

[CREATE_AGENT]
slug: news
name: News
description: reads the news
system_prompt: Tell the news in three lines.
allowed_tools: ["web_search"]
channels: [{"platform": "discord", "channelId": "1234567890123456789"}]
[/CREATE_AGENT]

Only the named keys change; `status: active` resumes a paused agent:
[UPDATE_AGENT:news]
description: reads the news of science
[/UPDATE_AGENT]

[PAUSE_AGENT:news]
[DELETE_AGENT:news]

[CREATE_CRON]
agent: news
name: morning
schedule: 0 8 * * 1-5
prompt: Tell the news.
[/CREATE_CRON]

[CREATE_HEARTBEAT]
agent: news
name: watch
schedule: every 10m
prompt: Say whether something broke.
[/CREATE_HEARTBEAT]

Change them by name, with the same keys:
[UPDATE_CRON:morning]
schedule: @daily
[/UPDATE_CRON]
[UPDATE_HEARTBEAT:watch]
enabled: false
[/UPDATE_HEARTBEAT]
[DELETE_CRON:morning]
[DELETE_HEARTBEAT:watch]

[CREATE_CLIENT]
name: Acme Ltd
slug: acme
plan: per_task
[/CREATE_CLIENT]

To show lists to the person:
[LIST_AGENTS]
[LIST_CRONS]
[LIST_HEARTBEATS]
[LIST_CLIENTS]

The agent answers in this channel under its own name:
[DELEGATE:news]
What happened in Oslo today?
[/DELEGATE]

## Rules
- Slugs are lower-case letters, digits, - and _.
- Without `platform` and `channel` a cron or heartbeat posts in this channel; an entry of `channels` without \
`channelId`, as in `channels: [{}]`, means this channel.
- Schedules: `every 10m`, `at 2030-01-31 09:00`, `@daily`, or five or six cron fields; at least 30 seconds between \
two times. The system shows the person the next five times: do not compute them.
- A channel belongs to one agent. No tag can delete or change you.
- If the agent, time or channel is unclear, ask first and write no tag.
"""

#: In bytes of UTF-8, all together.
_MOST = 4_096
_LONGEST_PLACES = 60
#: Room for the line that counts the agents that are left out.
_LAST_LINE = 60


def ensure_conductor(tx: Transaction, now: int) -> None:
    """Ensure at startup that there is a conductor, and that no agent with another role has its slug."""
    if any(agent.is_conductor for agent in tx.agents.all()):
        return
    there = tx.agents.by_slug(CONDUCTOR)
    if there is None:
        roster.seed(tx, Agent("", CONDUCTOR, "Conductor", role=CONDUCTOR, prompt=_PROMPT), (), now=now)
        return
    status = AgentStatus.ACTIVE if there.status is AgentStatus.ARCHIVED else there.status
    tx.agents.update(replace(there, role=CONDUCTOR, status=status), now)


def conductor_rules(agents: Sequence[Agent], bindings: Sequence[Binding]) -> str:
    """Return the conductor's instructions after its prompt: its tags with their rules, and the existing agents; at
    most 4 KB."""
    places: Mapping[str, list[str]] = defaultdict(list)
    for binding in bindings:
        places[binding.agent_id].append(_plain(f"{binding.platform}:{binding.channel}"))
    others = [agent for agent in agents if not agent.is_conductor]
    lines = [_RULES, "## Existing agents", *([] if others else ["Only you."])]
    room = _MOST - _LAST_LINE - sum(len(line.encode()) + 1 for line in lines)
    for count, agent in enumerate(others):
        line = _line(agent, places[agent.id])
        room -= len(line.encode()) + 1
        if room < 0:
            lines.append(f"- and {len(others) - count} more: see [LIST_AGENTS]")
            break
        lines.append(line)
    return "\n".join(lines)


def _line(agent: Agent, places: Sequence[str]) -> str:
    paused = "" if agent.active else " (paused)"
    where = ", ".join(places)
    shown = where if len(where) <= _LONGEST_PLACES else f"{where[:_LONGEST_PLACES]}…"
    return f"- {agent.slug}{paused}{': ' if shown else ''}{shown}"


def _plain(text: str) -> str:
    """Return a channel's name, which is other people's text, so that it cannot look like a tag or a new line."""
    return "".join(letter if letter.isprintable() and letter not in "[]<>" else "_" for letter in text)
