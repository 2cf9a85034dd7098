"""The right to use an agent, outside a message of a conversation (for that see `routing.permit`). Rights only shrink
from one execution to the next.

`refusal` is the one decision. Every beginning of a run calls it (`begin_run`, `begin_keyed`) with the present rights
of all people involved: the person for whom the work is done, and the authors of the text that is executed
(`AUTHORS`). `may_reach` adds the rules for work that one agent gives to another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from arvis.domain.agents import HARMLESS_PLUGINS, HARMLESS_TOOLS, Agent
from arvis.domain.errors import Unprocessable
from arvis.domain.executions import Execution
from arvis.domain.messages import RANKS, Address, Principal, PrincipalRole, Sender
from arvis.domain.taint import CLEAN, Label, Taint, taint_in
from arvis.ports.store import Transaction
from arvis.routing import WEB, key_reaches, may_call

#: Key of a child's state: ids of the agents that wait for it within its turn, in order.
WAITING = "waiting"
#: Key of an execution's state: the authors of the text that it executes (ids of principals). The execution has only
#: the rights that all of them have.
AUTHORS = "authors"

#: Graphs that give an agent no powers of their own.
_PLAIN = frozenset({"agent", "planning", "handover"})

#: Roles that reach every agent without an `allow_users` list.
RUNS_THE_HOUSE = frozenset({PrincipalRole.OWNER, PrincipalRole.OPERATOR})


@dataclass(frozen=True, slots=True)
class Asker:
    """The person in whose name work continues: `principal` (None: no person, and no rights), limited by `standing`,
    in the place `address`, through `agent` (None: it was deleted). `own_words`: only this person's own text led there
    (no taint)."""

    principal: Principal | None
    standing: Mapping[str, Any]
    address: Address
    agent: Agent | None
    own_words: bool = False

    @property
    def sender(self) -> Sender:
        """As one who would write here themselves."""
        reach = self.standing.get("reach")
        agents = tuple(reach) if reach is not None else None
        person = self.principal
        user_id, name = (person.user_id, person.name) if person is not None else ("", "")
        return Sender(user_id, name, paired=bool(self.standing.get("paired")), agents=agents)


# -- the decision ------------------------------------------------------------------------------------------


def refusal(tx: Transaction, target: Agent, asker: Asker) -> str | None:
    """None when everybody who has a say may use this agent now; else why not, as a sentence for people."""
    reach = asker.standing.get("reach")
    owner = asker.principal is not None and asker.principal.role is PrincipalRole.OWNER
    if reach is not None and not owner and not key_reaches(tuple(reach), target):
        return "The key that began it does not reach this agent."
    against = _against(target, asker.principal, paired_there=bool(asker.standing.get("paired")))
    if against is not None:
        return against
    for author in authors_of(tx, asker.standing):
        # The trust in a place covers the person who asks there; an author is judged by the author's own rights.
        if (against := _against(target, author, paired_there=False)) is not None:
            return f"{author.name or author.user_id} wrote what would be done. {against}"
    return None


def check_use(tx: Transaction, target: Agent, asker: Asker) -> None:
    """Raise `Unprocessable` with the reason of `refusal`."""
    if (against := refusal(tx, target, asker)) is not None:
        raise out_of_reach(target, against)


def out_of_reach(target: Agent, why: str) -> Unprocessable:
    return Unprocessable(
        f"The agent {target.slug} is out of reach.",
        why=why,
        fix="Choose another agent, or ask an owner to allow this one (`allow_users`) or to write the work themselves.",
        code="out_of_reach",
    )


def may_reach(tx: Transaction, target: Agent, asker: Asker) -> bool:
    """Return whether the person reaches this agent through another one: each agent that they may use in this place.
    For members, and for work without a person, text of others leads to no agent with more powers than the agent that
    reads it."""
    if refusal(tx, target, asker) is not None:
        return False
    acting = limited(tx, asker.principal, asker.standing)
    if acting is not None and acting.role in RUNS_THE_HOUSE:
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
        return None if listed else "Only the people of its list (`allow_users`) may use it."
    if role is PrincipalRole.MEMBER and person is not None and (target.is_conductor or target.has_risky_tools):
        # Over the web the key or login decides who is vouched for, elsewhere the person's own row.
        paired = person.paired or (person.platform == WEB and paired_there)
        return None if paired else "It has tools for paired people only."
    return None


# -- in whose name -----------------------------------------------------------------------------------------


def asker_of(tx: Transaction, execution: Execution, agent: Agent | None) -> Asker:
    """Return in whose name an execution continues, through `agent`."""
    return Asker(
        principal=tx.principals.get(execution.principal_id or ""),
        standing=standing_of(execution),
        address=Address.from_json(execution.state["address"]),
        agent=agent,
        own_words=not taint_in(execution.state),
    )


def acting(tx: Transaction, execution: Execution) -> Principal | None:
    """The person for whom an execution works, with the fewest rights of all who have a say in it now."""
    return limited(tx, tx.principals.get(execution.principal_id or ""), standing_of(execution))


def limited(tx: Transaction, person: Principal | None, standing: Mapping[str, Any]) -> Principal | None:
    """This person with no more rights than the authors have."""
    if person is None:
        return None
    roles = [person.role, *(author.role for author in authors_of(tx, standing))]
    return replace(person, role=min(roles, key=RANKS.index))


def authors_of(tx: Transaction, standing: Mapping[str, Any]) -> list[Principal]:
    """As they are now; of whom nothing is known any more, nothing follows."""
    found = (tx.principals.get(author) for author in standing.get(AUTHORS, ()) if author is not None)
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
    others = authors_of(tx, {AUTHORS: authors})
    return person is not None and any(RANKS.index(each.role) < RANKS.index(person.role) for each in others)


def authors_may_use(tx: Transaction, target: Agent, authors: Iterable[str | None]) -> bool:
    """Return True if all authors of this text may use this agent."""
    return all(_against(target, author, paired_there=False) is None for author in authors_of(tx, {AUTHORS: authors}))


def standing_of(execution: Execution) -> dict[str, Any]:
    """Return the limits of a turn besides the person's role. They are stored with the turn that the person began, and
    with the tasks that follow from it."""
    return standing_in(execution.state)


def standing_in(state: Mapping[str, Any]) -> dict[str, Any]:
    """The same of an execution's state."""
    kept = state.get("lineage", {}).get("standing", state)
    authors = sorted({*kept.get(AUTHORS, ()), *state.get(AUTHORS, ())})
    limits = {"reach": kept.get("reach"), "paired": bool(kept.get("paired"))}
    return {**limits, AUTHORS: authors} if authors else limits


def _is_no_stronger(target: Agent, agent: Agent) -> bool:
    """Return True if the agent has no power that the other lacks. An agent that writes programs has the power of the
    sandbox, whichever tools it has."""
    return (
        HARMLESS_TOOLS.union(agent.tools).issuperset(target.tools)
        and HARMLESS_PLUGINS.union(agent.plugins).issuperset(target.plugins)
        and target.graph in {agent.graph, *_PLAIN}
    )
