"""The right to use an agent for work that no message starts directly, and the person and customer who pay for it.
(`routing.py` decides about messages.) An execution never has more rights than the execution that started it.

The function `refusal` decides. Every start of a run (`begin_run`, `begin_keyed`) calls `refusal` with the present
rights of all people involved: the person for whom the work is done, and the authors of the text that is executed
(`AUTHORS`). `may_reach` adds the rules for work that an agent gives to another agent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import Unprocessable
from arvis.domain.executions import Execution
from arvis.domain.messages import RANKS, Address, Principal, PrincipalRole, Sender
from arvis.domain.money import Client, Spender
from arvis.domain.taint import CLEAN, Label, Taint, taint_in
from arvis.engine.state import State, stored
from arvis.extensions import is_risky, risky_plugins, risky_tools
from arvis.ports.store import Transaction
from arvis.routing import WEB, key_reaches, may_call

#: The key, in states and in stored limits, under which the authors of the executed text are listed.
AUTHORS = "authors"

_NOWHERE = Address("", "", "")

#: Graphs that give an agent no additional powers.
_PLAIN = frozenset({"agent", "planning", "handover"})

#: Roles that may use every agent that has no `allow_users` list.
OPERATING_ROLES = frozenset({PrincipalRole.OWNER, PrincipalRole.OPERATOR})


@dataclass(frozen=True, slots=True)
class CallerLimits:
    """The limits of an execution, in addition to the role of its person. They are stored with the turn that the person
    began, and apply to all work that this turn causes."""

    #: The slugs of the agents that the person's API key may use, or None for all agents.
    reach: tuple[str, ...] | None = None
    #: True if the person counts as paired because of the login or API key that was used.
    paired: bool = False
    #: The ids of the authors of the executed text. The execution has only the rights that all of them have.
    authors: tuple[str, ...] = ()

    def with_authors(self, authors: Iterable[str]) -> CallerLimits:
        return replace(self, authors=tuple(sorted({*self.authors, *authors})))

    def to_json(self) -> dict[str, Any]:
        limits = {"reach": None if self.reach is None else list(self.reach), "paired": self.paired}
        return {**limits, AUTHORS: list(self.authors)} if self.authors else limits

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> CallerLimits:
        reach = kept.get("reach")
        authors = sorted(author for author in kept.get(AUTHORS, ()) if author is not None)
        return cls(None if reach is None else tuple(reach), bool(kept.get("paired")), tuple(authors))


@dataclass(frozen=True, slots=True)
class Origin(State):
    """The origin of a turn that an agent or a run caused, not a message of a person. Such a turn handles a task of
    another agent, a report, or the results of a workflow."""

    #: The id of the turn that a person began (`root`), and the id of the turn that directly caused this one (`parent`).
    root: str = ""
    parent: str | None = None
    #: True if the agent of the turn `parent` gets a report of this turn's answer.
    report: bool = False
    limits: CallerLimits | None = stored(None, key="standing", read=CallerLimits.from_json, write=CallerLimits.to_json)
    #: The number of workflows that agents have started since the last message of a person.
    starts: int = 0


@dataclass(frozen=True, slots=True)
class PlacedState(State):
    """The part of the state that all executions of agents have: the agent that works, and its place."""

    #: The id of the agent, the address, and the id of the agent's conversation at this address.
    agent: str = ""
    address: Address = stored(_NOWHERE, read=Address.from_json, write=Address.to_json)
    conversation: str = ""
    #: The origin of an indirectly caused turn. None in a run, and in a turn that a person began.
    origin: Origin | None = stored(None, key="lineage", read=Origin.from_json)
    #: The ids of the agents above this child execution in the same turn, which wait for it, in order.
    waiting: Sequence[str] = ()


def origin_of(state: Mapping[str, Any]) -> Origin:
    """Return the origin of a turn that an agent or a run caused. For other executions return an empty `Origin`."""
    return PlacedState.from_json(state).origin or Origin()


@dataclass(frozen=True, slots=True)
class Asker:
    """The person for whom work is done, and everything that limits this person's rights."""

    #: The person, or None: work without a person has no rights of a person.
    principal: Principal | None
    limits: CallerLimits
    #: The place in which the work is requested.
    address: Address
    #: The agent that asks for the work, or None if no agent asks or it was deleted.
    agent: Agent | None
    #: True if the work follows only from this person's own text, so that it has no taint.
    own_words: bool = False

    @property
    def sender(self) -> Sender:
        """The person in the form of a message's sender, to which the rules about messages can be applied."""
        person = self.principal
        user_id, name = (person.user_id, person.name) if person is not None else ("", "")
        return Sender(user_id, name, paired=self.limits.paired, agents=self.limits.reach)


# -- the decision ------------------------------------------------------------------------------------------


def refusal(tx: Transaction, target: Agent, asker: Asker) -> str | None:
    """Return the reason why the asker or an author may not use this agent, as a sentence for people. Return None if all
    of them may use it."""
    reach = asker.limits.reach
    owner = asker.principal is not None and asker.principal.role is PrincipalRole.OWNER
    if reach is not None and not owner and not key_reaches(reach, target):
        return "The API key that started the task may not use this agent."
    against = _against(target, asker.principal, paired_there=asker.limits.paired)
    if against is not None:
        return against
    for author in authors_of(tx, asker.limits.authors):
        # `limits.paired` is about the asker, not about the authors.
        if (against := _against(target, author, paired_there=False)) is not None:
            return f"{author.name or author.user_id}, who wrote the task, may not use the agent. {against}"
    return None


def check_use(tx: Transaction, target: Agent, asker: Asker) -> None:
    """Raise `Unprocessable` if `refusal` returns a reason. The error contains this reason."""
    if (against := refusal(tx, target, asker)) is not None:
        raise out_of_reach(target, against)


def out_of_reach(target: Agent, why: str) -> Unprocessable:
    return Unprocessable(
        f"The agent {target.slug} may not be used for this task.",
        why=why,
        fix=(
            "Choose another agent, or ask an owner to add the author of the task to `allow_users` of this agent. "
            "The owner can also save the task in their own name."
        ),
        code="out_of_reach",
    )


def may_reach(tx: Transaction, target: Agent, asker: Asker) -> bool:
    """Return True if the asker's agent may pass work to `target`.

    Owners and operators may pass work to every agent that they may use. All others must be allowed to write to `target`
    at this address. If the work follows from text of other people, or if it has no person, `target` must also have no
    more powers than the asker's agent.
    """
    if refusal(tx, target, asker) is not None:
        return False
    acting = limited(tx, asker.principal, asker.limits)
    if acting is not None and acting.role in OPERATING_ROLES:
        return True
    if target.is_conductor or not may_call(tx, asker.sender, target, asker.address):
        return False
    if acting is not None and asker.own_words:
        return True
    return asker.agent is not None and _is_no_stronger(target, asker.agent)


def may_be_offered(tx: Transaction, target: Agent, agent: Agent, asker: Asker) -> bool:
    """Return True if a prompt of `agent` offers `target` for tasks: if `may_reach` allows it, or if `target` has no
    `allow_users` list and no risky tool that `agent` lacks."""
    if target.is_conductor:
        return False
    harmless = (
        target.allow_users is None
        and risky_tools(target.tools).issubset(agent.tools)
        and set(target.credentials).issubset(agent.credentials)
        and set(target.knowledge).issubset(agent.knowledge)
    )
    return harmless or may_reach(tx, target, asker)


def _against(target: Agent, person: Principal | None, *, paired_there: bool) -> str | None:
    role = person.role if person is not None else None
    if role is PrincipalRole.OWNER:
        return None
    if role is PrincipalRole.BLOCKED:
        return "This person is blocked."
    if target.allow_users is not None:
        listed = person is not None and person.user_id in target.allow_users
        return None if listed else "Only owners and the people in `allow_users` of the agent may use it."
    if role is PrincipalRole.MEMBER and person is not None and (target.is_conductor or is_risky(target)):
        # On the web, a login or API key can count as a pairing. On chat platforms only the stored pairing counts.
        paired = person.paired or (person.platform == WEB and paired_there)
        return None if paired else "The agent has risky tools, so only paired people may use it."
    return None


# -- the person and the authors ----------------------------------------------------------------------------


def asker_of(tx: Transaction, execution: Execution, agent: Agent | None) -> Asker:
    """Return the asker for work that this execution passes on. `agent` is the agent that passes it on."""
    return Asker(
        principal=tx.principals.get(execution.principal_id or ""),
        limits=caller_limits(execution.state),
        address=PlacedState.from_json(execution.state).address,
        agent=agent,
        own_words=not taint_in(execution.state),
    )


def acting(tx: Transaction, execution: Execution) -> Principal | None:
    """Return the person for whom an execution works, with the lowest of the roles of this person and the authors.
    Return None if the execution has no person."""
    return limited(tx, tx.principals.get(execution.principal_id or ""), caller_limits(execution.state))


def limited(tx: Transaction, person: Principal | None, limits: CallerLimits) -> Principal | None:
    """Return this person with the lowest of the roles of the person and the authors in `limits`."""
    if person is None:
        return None
    roles = [person.role, *(author.role for author in authors_of(tx, limits.authors))]
    return replace(person, role=min(roles, key=RANKS.index))


def authors_of(tx: Transaction, authors: Iterable[str | None]) -> list[Principal]:
    """Return the authors with these ids, as they are stored now. Ids without a row are left out."""
    found = (tx.principals.get(author) for author in authors if author is not None)
    return [author for author in found if author is not None]


def written_by(principal_id: str | None, *authors: str | None) -> dict[str, Any]:
    """Return the part of a state that lists these authors. The person for whom the work is done is left out."""
    others = sorted({author for author in authors if author is not None and author != principal_id})
    return {AUTHORS: others} if others else {}


def with_authors(state: Mapping[str, Any], authors: Iterable[str | None]) -> dict[str, Any]:
    """Return the state with these authors added to its list of authors."""
    known = {*state.get(AUTHORS, ()), *(author for author in authors if author is not None)}
    return {**state, AUTHORS: sorted(known)} if known else dict(state)


def taint_of_authors(tx: Transaction, principal_id: str | None, authors: Iterable[str | None]) -> Taint:
    """Return the taint of a text by these authors in work for this person. If an author has fewer rights than the
    person, the text has the label for text of other people. Otherwise it has no taint."""
    person = tx.principals.get(principal_id) if principal_id is not None else None
    if person is None:
        return CLEAN
    known = [tx.principals.get(author) for author in authors if author is not None and author != principal_id]
    rank = RANKS.index(person.role)
    lesser = any(author is not None and RANKS.index(author.role) < rank for author in known)
    return frozenset({Label.PEOPLE}) if lesser else CLEAN


def author_after(
    tx: Transaction, words: Mapping[str, Any], named: Collection[str], known: str | None, by: str | None
) -> str | None:
    """Return the author of a row after the person `by` has set the fields `named`. None means that the author is `by`.

    `words` contains the row's texts by field, and `known` is the author before this change. If no text was set, the
    author stays `known`. If all texts were set, the author is `by`. If some texts were set, the author is the person
    with fewer rights: `by` or `known`.
    """
    author = _author_after(tx, words, named, known, by)
    return author if author != by else None


def _author_after(
    tx: Transaction, words: Mapping[str, Any], named: Collection[str], known: str | None, by: str | None
) -> str | None:
    if not words.keys() & named:
        return known
    if not any(value for field, value in words.items() if field not in named):
        return by
    found = [tx.principals.get(each) for each in (by, known) if each is not None]
    people = [each for each in found if each is not None]
    return min(people, key=lambda each: RANKS.index(each.role)).id if people else by


def has_more_rights(tx: Transaction, person_id: str | None, authors: Iterable[str]) -> bool:
    """Return True if this person has more rights than one or more of the authors."""
    person = tx.principals.get(person_id) if person_id is not None else None
    others = authors_of(tx, authors)
    return person is not None and any(RANKS.index(each.role) < RANKS.index(person.role) for each in others)


def authors_may_use(tx: Transaction, target: Agent, authors: Iterable[str | None]) -> bool:
    """Return True if all authors of a text may use this agent."""
    return all(_against(target, author, paired_there=False) is None for author in authors_of(tx, authors))


def caller_limits(state: Mapping[str, Any]) -> CallerLimits:
    """Return the limits of an execution with this state. If the execution has an origin, these are the limits of the
    origin, with the execution's own authors added. Otherwise they are stored in the state itself."""
    own, inherited = CallerLimits.from_json(state), origin_of(state).limits
    return own if inherited is None else inherited.with_authors(own.authors)


def limits_of_sender(sender: Sender) -> CallerLimits:
    """Return the limits that the sender of a message has in the turn that the message begins."""
    return CallerLimits(sender.agents, sender.paired)


def _is_no_stronger(target: Agent, agent: Agent) -> bool:
    """Return True if `target` has no power that `agent` lacks. Powers are tools, plugins, credentials, knowledge bases, and
    graphs that do more than answer, such as running programs in the sandbox."""
    return (
        risky_tools(target.tools).issubset(agent.tools)
        and risky_plugins(target.plugins).issubset(agent.plugins)
        and set(target.credentials).issubset(agent.credentials)
        and set(target.knowledge).issubset(agent.knowledge)
        and target.graph in {agent.graph, *_PLAIN}
    )


# -- who pays --------------------------------------------------------------------------------------------


def spender_of(
    tx: Transaction,
    execution: Execution,
    *,
    agent_id: str | None,
    job_id: str = "",
    visit: str = "",
    principal: Principal | None = None,
) -> Spender:
    """Return the spender of a model call of this execution. It contains the turn at the root of the execution, and the
    customer of the channel in which that turn began. `visit` is the id of the node's visit; it stays the same if the
    visit is repeated after a crash. `principal` is the person of the execution if the caller has read it."""
    root = execution
    while (above := _above(tx, root)) is not None:
        root = above
    principal = principal or tx.principals.get(execution.principal_id or "")
    client = client_of(tx, root)
    return Spender(
        execution_id=execution.id,
        visit=visit,
        turn=root.id,
        job_id=job_id,
        agent_id=agent_id,
        principal_id=execution.principal_id,
        client_id=client.id if client else None,
        unpaired=principal is not None and _is_unpaired(tx, principal, agent_id),
        owner=principal is not None and principal.role is PrincipalRole.OWNER,
    )


def client_of(tx: Transaction, execution: Execution) -> Client | None:
    """Return the customer who pays for the channel of this execution, or None."""
    address = PlacedState.from_json(execution.state).address
    return tx.clients.at(address.platform, address.channel) if address.platform else None


def _above(tx: Transaction, execution: Execution) -> Execution | None:
    if execution.parent_wait is not None:
        wait = tx.waits.get(execution.parent_wait)
        return tx.executions.get(wait.execution_id) if wait is not None else None
    if execution.begun_by is None:
        return None  # no execution caused this one, so it has no delegation
    given = tx.delegations.get(execution.id)
    return tx.executions.get(given.root_id) if given is not None else None


def _is_unpaired(tx: Transaction, principal: Principal, agent_id: str | None) -> bool:
    """Return True if this person is a member on a chat platform and is not in the agent's `allow_users` list. (This
    function does not check if the person is paired.)"""
    if principal.role is not PrincipalRole.MEMBER or principal.platform == WEB:
        return False
    agent = tx.agents.get(agent_id or "")
    return agent is None or principal.user_id not in (agent.allow_users or ())
