"""The right to use an agent, outside a message of a conversation (for that see `routing.permit`), and who pays for its
work. Rights only shrink from one execution to the next.

`refusal` is the one decision. Every beginning of a run calls it (`begin_run`, `begin_keyed`) with the present rights
of all people involved: the person for whom the work is done, and the authors of the text that is executed
(`AUTHORS`). `may_reach` adds the rules for work that one agent gives to another.
"""

# ruff: noqa: RUF009 - `stored` declares fields, as `field` does

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from arvis.domain.agents import HARMLESS_PLUGINS, HARMLESS_TOOLS, Agent
from arvis.domain.errors import Unprocessable
from arvis.domain.executions import Execution
from arvis.domain.messages import RANKS, Address, Principal, PrincipalRole, Sender
from arvis.domain.money import Client, Spender
from arvis.domain.taint import CLEAN, Label, Taint, taint_in
from arvis.engine.state import State, stored
from arvis.ports.store import Transaction
from arvis.routing import WEB, key_reaches, may_call

#: Key of an execution's state and of stored limits: the authors of the text that is executed.
AUTHORS = "authors"

_NOWHERE = Address("", "", "")

#: Graphs that give an agent no powers of their own.
_PLAIN = frozenset({"agent", "planning", "handover"})

#: Roles that reach every agent without an `allow_users` list.
OPERATING_ROLES = frozenset({PrincipalRole.OWNER, PrincipalRole.OPERATOR})


@dataclass(frozen=True, slots=True)
class CallerLimits:
    """The limits of an execution besides the role of its person. They are stored with the turn that the person began,
    and with the work that follows from it."""

    #: The agents that the person's key reaches (None: all).
    reach: tuple[str, ...] | None = None
    #: The place vouches for the person.
    paired: bool = False
    #: The authors of the text that is executed (ids of principals), which has only the rights that all of them have.
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


@dataclass(slots=True)
class Origin(State):
    """The turn from which another agent's task, its report or the results of a workflow began this turn."""

    #: Ids of the executions: the turn that a person asked for, and the one from which this turn follows.
    root: str = ""
    parent: str | None = None
    #: True: the agent of `parent` gets a report of the answer.
    report: bool = False
    limits: CallerLimits | None = stored(None, key="standing", read=CallerLimits.from_json, write=CallerLimits.to_json)
    #: Number of workflows that agents have started since the last message of a person.
    starts: int = 0


@dataclass(slots=True)
class PlacedState(State):
    """The part that every execution has which works in a place for an agent."""

    #: Id of the agent, its place, and the id of its conversation there.
    agent: str = ""
    address: Address = stored(_NOWHERE, read=Address.from_json, write=Address.to_json)
    conversation: str = ""
    #: None in a turn of a person, and in a run.
    origin: Origin | None = stored(None, key="lineage", read=Origin.from_json)
    #: Ids of the agents that wait for this child within its turn, in order.
    waiting: Sequence[str] = ()


def origin_of(state: Mapping[str, Any]) -> Origin:
    """Return the origin of an agent's turn; an empty one for all other executions."""
    return PlacedState.from_json(state).origin or Origin()


@dataclass(frozen=True, slots=True)
class Asker:
    """The person in whose name work continues: `principal` (None: no person, and no rights) within `limits`, in the
    place `address`, through `agent` (None: it was deleted). `own_words`: only this person's own text led there (no
    taint)."""

    principal: Principal | None
    limits: CallerLimits
    address: Address
    agent: Agent | None
    own_words: bool = False

    @property
    def sender(self) -> Sender:
        """As one who would write here themselves."""
        person = self.principal
        user_id, name = (person.user_id, person.name) if person is not None else ("", "")
        return Sender(user_id, name, paired=self.limits.paired, agents=self.limits.reach)


# -- the decision ------------------------------------------------------------------------------------------


def refusal(tx: Transaction, target: Agent, asker: Asker) -> str | None:
    """None when everybody who has a say may use this agent now; else why not, as a sentence for people."""
    reach = asker.limits.reach
    owner = asker.principal is not None and asker.principal.role is PrincipalRole.OWNER
    if reach is not None and not owner and not key_reaches(reach, target):
        return "The API key that started the task may not use this agent."
    against = _against(target, asker.principal, paired_there=asker.limits.paired)
    if against is not None:
        return against
    for author in authors_of(tx, asker.limits.authors):
        # The trust in a place covers the person who asks there; an author is judged by the author's own rights.
        if (against := _against(target, author, paired_there=False)) is not None:
            return f"{author.name or author.user_id}, who wrote the task, may not use the agent. {against}"
    return None


def check_use(tx: Transaction, target: Agent, asker: Asker) -> None:
    """Raise `Unprocessable` with the reason of `refusal`."""
    if (against := refusal(tx, target, asker)) is not None:
        raise out_of_reach(target, against)


def out_of_reach(target: Agent, why: str) -> Unprocessable:
    return Unprocessable(
        f"The agent {target.slug} may not be used for this task.",
        why=why,
        fix=(
            "Choose another agent. Or ask an owner to list the author in `allow_users` of this agent, or to save the "
            "text themselves."
        ),
        code="out_of_reach",
    )


def may_reach(tx: Transaction, target: Agent, asker: Asker) -> bool:
    """Return whether the person reaches this agent through another one: each agent that they may use in this place.
    For members, and for work without a person, text of others leads to no agent with more powers than the agent that
    reads it."""
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


def _against(target: Agent, person: Principal | None, *, paired_there: bool) -> str | None:
    role = person.role if person is not None else None
    if role is PrincipalRole.OWNER:
        return None
    if role is PrincipalRole.BLOCKED:
        return "This person is blocked."
    if target.allow_users is not None:
        listed = person is not None and person.user_id in target.allow_users
        return None if listed else "Only owners and the people in `allow_users` of the agent may use it."
    if role is PrincipalRole.MEMBER and person is not None and (target.is_conductor or target.has_risky_tools):
        # Over the web the key or login decides who is vouched for, elsewhere the person's own row.
        paired = person.paired or (person.platform == WEB and paired_there)
        return None if paired else "The agent has risky tools, so only paired people may use it."
    return None


# -- in whose name -----------------------------------------------------------------------------------------


def asker_of(tx: Transaction, execution: Execution, agent: Agent | None) -> Asker:
    """Return in whose name an execution continues, through `agent`."""
    return Asker(
        principal=tx.principals.get(execution.principal_id or ""),
        limits=caller_limits(execution.state),
        address=PlacedState.from_json(execution.state).address,
        agent=agent,
        own_words=not taint_in(execution.state),
    )


def acting(tx: Transaction, execution: Execution) -> Principal | None:
    """The person for whom an execution works, with the fewest rights of all who have a say in it now."""
    return limited(tx, tx.principals.get(execution.principal_id or ""), caller_limits(execution.state))


def limited(tx: Transaction, person: Principal | None, limits: CallerLimits) -> Principal | None:
    """This person with no more rights than the authors have."""
    if person is None:
        return None
    roles = [person.role, *(author.role for author in authors_of(tx, limits.authors))]
    return replace(person, role=min(roles, key=RANKS.index))


def authors_of(tx: Transaction, authors: Iterable[str | None]) -> list[Principal]:
    """Return these authors as they are now, without those of whom nothing is known any more."""
    found = (tx.principals.get(author) for author in authors if author is not None)
    return [author for author in found if author is not None]


def written_by(principal_id: str | None, *authors: str | None) -> dict[str, Any]:
    """The part of a state that names the authors besides the person for whom the work is done."""
    others = sorted({author for author in authors if author is not None and author != principal_id})
    return {AUTHORS: others} if others else {}


def with_authors(state: Mapping[str, Any], authors: Iterable[str | None]) -> dict[str, Any]:
    """The state with these authors, too."""
    known = {*state.get(AUTHORS, ()), *(author for author in authors if author is not None)}
    return {**state, AUTHORS: sorted(known)} if known else dict(state)


def taint_of_authors(tx: Transaction, principal_id: str | None, authors: Iterable[str | None]) -> Taint:
    """Return the taint of text by these authors in work for this person: the text of an author with fewer rights
    counts as text of other people."""
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
    """Return the author of a row after the person `by` changed the fields `named` of its `words` (by field), changed
    or not; None: `by`. Where text of the author before remains, the author is the one of the two with fewer rights."""
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
    """Return True if this person has more rights than one of these people."""
    person = tx.principals.get(person_id) if person_id is not None else None
    others = authors_of(tx, authors)
    return person is not None and any(RANKS.index(each.role) < RANKS.index(person.role) for each in others)


def authors_may_use(tx: Transaction, target: Agent, authors: Iterable[str | None]) -> bool:
    """Return True if all authors of this text may use this agent."""
    return all(_against(target, author, paired_there=False) is None for author in authors_of(tx, authors))


def caller_limits(state: Mapping[str, Any]) -> CallerLimits:
    """Return the limits of an execution with this state: those of the turn that it follows from, and its authors."""
    own, inherited = CallerLimits.from_json(state), origin_of(state).limits
    return own if inherited is None else inherited.with_authors(own.authors)


def limits_of_sender(sender: Sender) -> CallerLimits:
    """Return the limits of a person besides the role, for the actions of a turn in their name."""
    return CallerLimits(sender.agents, sender.paired)


def _is_no_stronger(target: Agent, agent: Agent) -> bool:
    """Return True if the agent has no power that the other lacks. An agent that writes programs has the power of the
    sandbox, whichever tools it has."""
    return (
        HARMLESS_TOOLS.union(agent.tools).issuperset(target.tools)
        and HARMLESS_PLUGINS.union(agent.plugins).issuperset(target.plugins)
        and target.graph in {agent.graph, *_PLAIN}
    )


# -- who pays --------------------------------------------------------------------------------------------


def spender_of(
    tx: Transaction, execution: Execution, *, agent_id: str | None, job_id: str = "", visit: str = ""
) -> Spender:
    """Return who pays for a call of this execution: the turn at its root, and the client in whose channel it was
    asked. `visit` names the visit of the node, the same when it is repeated after a crash."""
    root = execution
    while (above := _above(tx, root)) is not None:
        root = above
    principal = tx.principals.get(execution.principal_id or "")
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
    """The client whose channel this execution answers in."""
    address = PlacedState.from_json(execution.state).address
    return tx.clients.at(address.platform, address.channel) if address.platform else None


def _above(tx: Transaction, execution: Execution) -> Execution | None:
    if execution.parent_wait is not None:
        wait = tx.waits.get(execution.parent_wait)
        return tx.executions.get(wait.execution_id) if wait is not None else None
    given = tx.delegations.get(execution.id)
    return tx.executions.get(given.root_id) if given is not None else None


def _is_unpaired(tx: Transaction, principal: Principal, agent_id: str | None) -> bool:
    """Return whether this is a member without a pairing (behaviour.md 1.4): no owner or operator, no key or login,
    and not in the agent's list of users."""
    if principal.role is not PrincipalRole.MEMBER or principal.platform == WEB:
        return False
    agent = tx.agents.get(agent_id or "")
    return agent is None or principal.user_id not in (agent.allow_users or ())
