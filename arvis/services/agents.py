"""Changes of agents by people, and the conductor, which creates and changes agents for people.

Transaction scripts. Each change stores a version in the same commit, so that it can be shown and undone. A deleted
agent keeps its slug, for three reasons: conversations and costs still refer to the agent, `undo` can restore the agent,
and the configuration must not create the agent again at the next start. The conductor exists from the
first start. Its instructions are only text: the gate decides whether an action is carried out, never the model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from arvis.domain.agents import (
    CONDUCTOR,
    Agent,
    AgentStatus,
    AgentVersion,
    Binding,
    Flaw,
    flaws,
    flaws_of_binding,
    graph_named,
)
from arvis.domain.dataclass import replace
from arvis.domain.errors import Conflict, NotFound, Unprocessable
from arvis.domain.evaluations import Evaluation, EvaluationStatus, Suite, hash_of_agent, hash_of_cases
from arvis.domain.text import storable
from arvis.extensions import TOOLS, installed
from arvis.ports.store import Transaction

#: The author that is stored for agents from `config.yaml`.
CONFIGURATION = "configuration"

#: The maximum number of agents. It is limited because routing reads all agents for each message.
MOST_AGENTS = 10_000

_TEXTS = frozenset({"slug", "name", "role", "description", "prompt", "graph", "completion"})
_OPTIONAL_TEXTS = frozenset({"model", "timezone", "on_new_message", "effort"})
_LISTS = frozenset({"fallbacks", "tools", "allow_users", "plugins", "helpers", "skills", "credentials", "knowledge"})


def find(tx: Transaction, name: str) -> Agent | None:
    """Return the agent with this id or slug, even if it is deleted."""
    return tx.agents.get(name) or tx.agents.by_slug(name)


def slugs(tx: Transaction) -> Mapping[str, str]:
    """Return the slugs of all agents by their ids."""
    return {agent.id: agent.slug for agent in tx.agents.all()}


def create(tx: Transaction, agent: Agent, bindings: Sequence[Binding], *, by: str, now: int) -> Agent:
    """Create an agent and bind it to channels. An agent without an id gets a new id. The id of the agent replaces the
    `agent_id` of each binding."""
    _refuse(flaws(agent))
    _refuse(_unknown_tools(agent.tools))
    there = tx.agents.by_slug(agent.slug)
    if there is not None:
        raise _taken(there)
    if len(tx.agents.all()) >= MOST_AGENTS:
        raise Conflict(f"There are {MOST_AGENTS} agents already.", fix="Delete one that is not needed.")
    return _make(tx, agent, bindings, by, now)


def seed(tx: Transaction, agent: Agent, bindings: Sequence[Binding], *, now: int) -> None:
    """Create a built-in or configured agent if no agent has its slug. If several processes start at once, one of them
    creates the agent; the scripts of the other processes run again and find the row of the agent."""
    if tx.agents.by_slug(agent.slug) is None:
        _refuse(flaws(agent))
        _make(tx, agent, bindings, CONFIGURATION, now)


def _make(tx: Transaction, agent: Agent, bindings: Sequence[Binding], by: str, now: int) -> Agent:
    made = replace(agent, id=agent.id or tx.new_id())
    tx.agents.add(made, now)
    for binding in bindings:
        _bind(tx, replace(binding, agent_id=made.id), now)
    _keep(tx, made, by, now)
    return made


def update(
    tx: Transaction, agent_id: str, changes: Mapping[str, Any], *, by: str, now: int, gate: bool = True
) -> Agent:
    """Change the fields of `Agent` that `changes` names; keep the other fields. With `gate`, raise `Conflict` if a
    suite must pass with a changed prompt and has not passed."""
    agent = present(tx, agent_id)
    changed = changed_agent(agent, changes)
    if changed.slug != agent.slug:
        why = "Channels, keys and the configuration refer to the agent by its slug."
        raise Unprocessable(
            "`slug` cannot be changed.", why=why, fix="Create another agent, or change the name of this one."
        )
    if agent.is_conductor != changed.is_conductor:
        raise Conflict(
            "The conductor must keep its role, and no other agent can get this role.",
            fix="Leave out `role`.",
            code="conductor",
        )
    _check_values(agent, changed, changes)
    if gate:
        _check_gates(tx, agent, changed)
    return _write(tx, agent, changed, by, now)


def proposed(agent: Agent, changes: Mapping[str, Any]) -> Agent:
    """Return the agent with these changes, without storing them. Raise `Unprocessable` for a value that cannot be
    used."""
    changed = changed_agent(agent, changes)
    _check_values(agent, changed, changes)
    return changed


def _check_values(agent: Agent, changed: Agent, changes: Mapping[str, Any]) -> None:
    _refuse(flaw for flaw in flaws(changed) if flaw.field in changes)
    _refuse(_unknown_tools(set(changed.tools) - set(agent.tools)))


def set_status(tx: Transaction, agent_id: str, status: AgentStatus, *, by: str, now: int) -> Agent:
    """Pause or resume an agent."""
    if status is AgentStatus.ARCHIVED:
        return archive(tx, agent_id, by=by, now=now)
    agent = present(tx, agent_id)
    return _write(tx, agent, replace(agent, status=status), by, now)


def archive(tx: Transaction, agent_id: str, *, by: str, now: int) -> Agent:
    """Delete an agent: it no longer answers, and other agents can use its channels. Raise `Conflict` for the
    conductor."""
    agent = present(tx, agent_id)
    if agent.is_conductor:
        raise Conflict("The conductor cannot be deleted.", fix="Pause it instead.", code="conductor")
    _begin(tx, agent, now)
    _leave(tx, tx.agents.bindings(agent.id))
    return _write(tx, agent, replace(agent, status=AgentStatus.ARCHIVED), by, now)


def bind(tx: Transaction, binding: Binding, *, by: str, now: int) -> Agent:
    """Bind an agent to a channel, or change its binding to that channel. Raise `Conflict` if the channel belongs to
    another agent; the error names that agent."""
    agent = present(tx, binding.agent_id)
    if tx.agents.binding_at(binding.platform, binding.channel) != binding:
        _begin(tx, agent, now)
        _bind(tx, binding, now)
        _keep(tx, agent, by, now)
    return agent


def unbind(tx: Transaction, binding: Binding, *, by: str, now: int) -> Agent:
    """Unbind the agent from the channel of `binding`; the permission in `binding` is ignored."""
    agent = present(tx, binding.agent_id)
    there = tx.agents.binding_at(binding.platform, binding.channel)
    if there is None or there.agent_id != agent.id:
        fix = f"`arvis agents show {agent.slug}` lists the channels of the agent."
        raise NotFound(f"{agent.slug} is not bound to this channel.", fix=fix)
    _begin(tx, agent, now)
    _leave(tx, [there])
    _keep(tx, agent, by, now)
    return agent


def undo(tx: Transaction, agent_id: str, *, by: str, now: int, gate: bool = True) -> Agent:
    """Restore the agent's previous version and store it as a new version, so a second call reverses the first. A
    channel that belongs to another agent by now is not restored. Undoing a deletion restores the agent. `gate` has the
    same effect as in `update`."""
    agent = _known(tx, agent_id)
    versions = tx.agents.versions(agent.id, 2)
    if len(versions) < 2:  # noqa: PLR2004 - the newest version is the present state
        raise Conflict(
            "There is no change of this agent to undo.", fix="`arvis agents versions SLUG` lists its versions."
        )
    before = versions[1]
    restored = replace(
        before.agent, id=agent.id, slug=agent.slug, role=agent.role if agent.is_conductor else before.agent.role
    )
    if gate:
        _check_gates(tx, agent, restored)
    _leave(tx, set(tx.agents.bindings(agent.id)) - set(before.bindings))
    for binding in before.bindings:
        if tx.agents.binding_at(binding.platform, binding.channel) is None:
            tx.agents.bind(replace(binding, agent_id=agent.id), now)
    tx.agents.update(restored, now)
    _keep(tx, restored, by, now)
    return restored


def versions(tx: Transaction, agent_id: str, limit: int) -> list[AgentVersion]:
    """Return the agent's versions, newest first."""
    return tx.agents.versions(_known(tx, agent_id).id, limit)


def present(tx: Transaction, agent_id: str) -> Agent:
    """Return the agent with this id. Raise `NotFound` if it does not exist or is deleted."""
    agent = _known(tx, agent_id)
    if agent.status is AgentStatus.ARCHIVED:
        raise NotFound(f"The agent {agent.slug} is deleted.", fix="Undo the deletion first.", code="agent_deleted")
    return agent


def changed_agent(agent: Agent, changes: Mapping[str, Any]) -> Agent:
    """Return the agent with the new values in `changes`, which come from a request or a tag and are keyed by field.
    Raise `Unprocessable` if a field does not exist or its value has the wrong type."""
    return replace(agent, **{field: _value(field, value) for field, value in changes.items()})


def _value(field: str, value: Any) -> Any:
    if field in _TEXTS and isinstance(value, str):
        return graph_named(storable(value)) if field == "graph" else storable(value)
    if field in _OPTIONAL_TEXTS and (value is None or isinstance(value, str)):
        return storable(value) if value else None
    if field == "allow_users" and value is None:
        return None
    if field in _LISTS and isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return tuple(dict.fromkeys(storable(item) for item in value))
    if field == "context_tokens" and (value is None or (isinstance(value, int) and not isinstance(value, bool))):
        return value
    kinds = {**dict.fromkeys(_LISTS, "a list of texts"), "context_tokens": "a whole number or null"}
    if field in _TEXTS | _OPTIONAL_TEXTS | kinds.keys():
        raise _unusable(Flaw(field, f"must be {kinds.get(field, 'a text')}", "Send a value of this type."))
    raise _unusable(Flaw(field, "is not a field of an agent", f"Use {', '.join(sorted(_TEXTS | _LISTS))}."))


def _known(tx: Transaction, agent_id: str) -> Agent:
    agent = tx.agents.get(agent_id)
    if agent is None:
        raise no_agent()
    return agent


def no_agent() -> NotFound:
    return NotFound("There is no such agent.", fix="`arvis agents list` and GET /api/agents list the agents.")


def _write(tx: Transaction, agent: Agent, changed: Agent, by: str, now: int) -> Agent:
    if changed != agent:
        _begin(tx, agent, now)
        tx.agents.update(changed, now)
        _keep(tx, changed, by, now)
    return changed


def _bind(tx: Transaction, binding: Binding, now: int) -> None:
    _refuse(flaws_of_binding(binding))
    there = tx.agents.binding_at(binding.platform, binding.channel)
    if there is not None and there.agent_id != binding.agent_id:
        owner = tx.agents.get(there.agent_id)
        who = owner.slug if owner is not None else there.agent_id
        raise Conflict(
            f"{binding.platform}:{binding.channel} is the channel of {who}.",
            fix=f"Remove the channel from {who} first, or choose another channel.",
            code="channel_taken",
        )
    if there is not None:
        _leave(tx, [there])
    tx.agents.bind(binding, now)


def _leave(tx: Transaction, bindings: Iterable[Binding]) -> None:
    for binding in bindings:
        tx.agents.unbind(binding.platform, binding.channel)


def _begin(tx: Transaction, agent: Agent, now: int) -> None:
    """Store the present state as the first version if the agent has no version yet. The caller then makes the first
    change."""
    if not tx.agents.versions(agent.id, 1):
        _keep(tx, agent, CONFIGURATION, now)


def _keep(tx: Transaction, agent: Agent, by: str, now: int) -> None:
    newest = tx.agents.versions(agent.id, 1)
    number = newest[0].version + 1 if newest else 1
    bindings = tuple(tx.agents.bindings(agent.id))
    tx.agents.keep_version(AgentVersion(agent.id, number, agent, bindings, by, now))


def _taken(there: Agent) -> Conflict:
    if there.status is AgentStatus.ARCHIVED:
        fix = "Undo its deletion, or choose another slug."
        return Conflict(f"A deleted agent has the slug {there.slug}.", fix=fix, code="slug_taken")
    return Conflict(f"There is an agent {there.slug} already.", fix="Choose another slug.", code="slug_taken")


def _refuse(found: Iterable[Flaw]) -> None:
    for flaw in found:
        raise _unusable(flaw)


def _unknown_tools(names: Iterable[str]) -> Iterator[Flaw]:
    """Yield a flaw for names of tools that no installed package provides. Tools of servers (`server.tool`) are not
    checked, because a server may be configured later or be unreachable."""
    if unknown := sorted(name for name in names if "." not in name and name not in installed(TOOLS)):
        text = f"names {', '.join(unknown)}, which no installed package provides"
        fix = f"Install the package, write server.tool for a tool of a server, or use {', '.join(sorted(installed(TOOLS)))}."
        yield Flaw("tools", text, fix)


def _unusable(flaw: Flaw) -> Unprocessable:
    return Unprocessable(f"`{flaw.field}` {flaw.text}.", fix=flaw.fix)


# -- the gate: suites that must pass with a changed prompt before it is stored --------------------------------------------

#: The maximum number of evaluations of a prompt that the gate examines, newest first, and the maximum number of failed
#: cases that its error names.
_EXAMINED, _NAMED = 20, 10


def _check_gates(tx: Transaction, agent: Agent, proposed: Agent) -> None:
    """Raise `Conflict` if a suite must pass before this change of an agent is stored, and has not passed with the
    proposed prompt and the present cases of the suite."""
    if proposed.prompt == agent.prompt:
        return
    for suite in tx.evaluations.gates(agent.id):
        cases = hash_of_cases(tx.evaluations.hashes(suite.id))
        known = tx.evaluations.of_agent(suite.id, hash_of_agent(proposed), cases, _EXAMINED)
        if suite.cases and not any(each.passes for each in known):
            raise _not_passed(tx, suite, known)


def _not_passed(tx: Transaction, suite: Suite, known: Sequence[Evaluation]) -> Conflict:
    newest = next(iter(known), None)
    if newest is None:
        why = "No evaluation of the suite has used this prompt and the present cases."
    elif newest.status is not EvaluationStatus.DONE:
        why = f"The evaluation {newest.id} with this prompt is {newest.status}."
    else:
        failed = [each.name for each in tx.evaluations.results(newest.id) if not each.passed]
        more = f" and {len(failed) - _NAMED} more" if len(failed) > _NAMED else ""
        why = f"These cases failed in the evaluation {newest.id}: {', '.join(failed[:_NAMED])}{more}."
    return Conflict(
        f"The prompt was not changed, because the new prompt has not passed the suite {suite.name}.",
        why=why,
        fix=(
            f"Correct the prompt and run `arvis evals run {suite.name} --prompt-file FILE`. An owner can store the "
            "prompt without this check: `--no-gate` (`?gate=false`)."
        ),
        code="suite_not_passed",
    )


# -- the conductor -----------------------------------------------------------------------------------------------------

_PROMPT = """\
You are the conductor of this system. You answer people who address no particular agent, and you create, change and direct \
the other agents for them. Answer plainly and briefly."""

_RULES = """\
## Your tags
To change agents, schedules and customers, write tags in your reply. The person does not see them. \
The system carries them out or refuses them, and \
reports the result to the person, so never claim that a change is done. A tag with a body ends with its closing tag; the body \
has one `key: value` per line. Write only tags that the person asked for.

[CREATE_AGENT]
slug: news
name: News
description: reads the news
system_prompt: Tell the news in three lines.
allowed_tools: ["web_search"]
channels: [{"platform": "discord", "channelId": "1234567890123456789"}]
[/CREATE_AGENT]

To change an agent, write only the keys that change; `status: active` resumes a paused agent:
[UPDATE_AGENT:news]
description: reads science news
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

To change or delete a cron or heartbeat, name it; the keys are the same:
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

To give a task to an agent, which then answers in this channel under its own name:
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

#: The maximum size (bytes of UTF-8) of the conductor's rules, including the list of agents.
_MOST = 4_096
_LONGEST_PLACES = 60
#: The bytes that are reserved for the last line, which gives the number of agents that did not fit into the list.
_LAST_LINE = 60


def ensure_conductor(tx: Transaction, now: int) -> None:
    """Create the conductor at startup if there is none. If an agent already has the slug of the conductor, make that
    agent the conductor."""
    if any(agent.is_conductor for agent in tx.agents.all()):
        return
    there = tx.agents.by_slug(CONDUCTOR)
    if there is None:
        seed(tx, Agent("", CONDUCTOR, "Conductor", role=CONDUCTOR, prompt=_PROMPT), (), now=now)
        return
    status = AgentStatus.ACTIVE if there.status is AgentStatus.ARCHIVED else there.status
    tx.agents.update(replace(there, role=CONDUCTOR, status=status), now)


def conductor_rules(agents: Sequence[Agent], bindings: Sequence[Binding]) -> str:
    """Return the text that follows the conductor's prompt: the rules of its tags, and the list of existing agents. The
    text has at most 4 KiB."""
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
    """Replace the characters of a channel's name that could form a tag or a new line, because other people chose the
    name."""
    return "".join(letter if letter.isprintable() and letter not in "[]<>" else "_" for letter in text)
