"""The conductor: there from the first start on, it makes and changes other agents at a person's word (behaviour 1.9).

What it is told here are only words: whether something is done is decided by the gate, never by the model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from arvis.domain.agents import CONDUCTOR, Agent, AgentStatus, Binding
from arvis.ports.store import Transaction
from arvis.services import agents as roster

_PROMPT = """\
You are the conductor of this house. You answer people who talk to no agent in particular, and you make, change and \
direct the other agents for them. Answer plainly and briefly."""

_RULES = """\
## Your tags
You change things by tags in your reply. The person does not see them; the house does what they say, or refuses, and \
reports it in a line of its own, so never claim that it is done. A tag with a body ends with its closing tag; the body \
is one `key: value` a line. Write no tag that nobody asked for.

[CREATE_AGENT]
slug: news
name: News
description: reads the news
system_prompt: Tell the news in three lines.
allowed_tools: ["web_search"]
channels: [{"platform": "discord", "channelId": "1234567890123456789"}]
[/CREATE_AGENT]

Only what you name changes; `status: active` lets a paused agent go on:
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

The same keys change them, by their names:
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

To show the person what there is:
[LIST_AGENTS]
[LIST_CRONS]
[LIST_HEARTBEATS]
[LIST_CLIENTS]

That agent answers in this channel, under its own name:
[DELEGATE:news]
What happened in Oslo today?
[/DELEGATE]

## Rules
- Slugs are lower-case letters, digits, - and _.
- Without `platform` and `channel` a cron or heartbeat speaks in this channel; an entry of `channels` without \
`channelId`, as in `channels: [{}]`, is this channel, too.
- Schedules are `every 10m`, `at 2030-01-31 09:00`, `@daily`, or five or six cron fields; at least 30 seconds lie \
between two times. The house tells the person the next five times: do not work them out.
- A channel belongs to one agent. You can neither delete nor change yourself by a tag.
- If it is unclear who, when or where, ask first and write no tag.
"""

#: In bytes of UTF-8, all together.
_MOST = 4_096
_LONGEST_PLACES = 60
#: Room for the line that tells of those who are left out.
_LAST_LINE = 60


def ensure_conductor(tx: Transaction, now: int) -> None:
    """A script of the start: there is a conductor, and nobody else's role is on its slug."""
    if any(agent.is_conductor for agent in tx.agents.all()):
        return
    there = tx.agents.by_slug(CONDUCTOR)
    if there is None:
        roster.seed(tx, Agent("", CONDUCTOR, "Conductor", role=CONDUCTOR, prompt=_PROMPT), (), now=now)
        return
    status = AgentStatus.ACTIVE if there.status is AgentStatus.ARCHIVED else there.status
    tx.agents.update(replace(there, role=CONDUCTOR, status=status), now)


def conductor_rules(agents: Sequence[Agent], bindings: Sequence[Binding]) -> str:
    """What the conductor is told beside its prompt: its tags with their rules, and who is there; at most 4 KB."""
    places: Mapping[str, list[str]] = defaultdict(list)
    for binding in bindings:
        places[binding.agent_id].append(_plain(f"{binding.platform}:{binding.channel}"))
    others = [agent for agent in agents if not agent.is_conductor]
    lines = [_RULES, "## Agents that are there", *([] if others else ["None but you."])]
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
    """Names of channels are other people's words: nothing in them may look like a tag or a line of ours."""
    return "".join(letter if letter.isprintable() and letter not in "[]<>" else "_" for letter in text)
