"""Exports and imports evaluation suites with their cases. Evaluations and their results are not part of an export."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.domain.dataclass import replace
from arvis.domain.errors import ArvisError
from arvis.domain.evaluations import Case, Recorded, Retrieval, read_case
from arvis.interchange.format import Record, Suite
from arvis.ports.store import Transaction
from arvis.services import agents, evaluations

#: The maximum number of skipped cases that the report of an import names.
_MOST_NAMED = 5


def suites(tx: Transaction) -> list[Record]:
    """Return all suites with their cases."""
    found: list[Record] = []
    for suite in tx.evaluations.suites():
        agent = tx.agents.get(suite.agent_id)
        cases = [_document(tx, each.case) for each in tx.evaluations.cases(suite.id)]
        name = suite.agent_id if agent is None else agent.slug
        found.append(Suite(name=suite.name, agent=name, gate=suite.gate, cases=cases))
    return found


def _document(tx: Transaction, case: Case) -> dict[str, Any]:
    """Return the document of a case, which names its person by the platform and the user id there."""
    asked = case.asked
    if isinstance(asked, Retrieval) and asked.person is not None:
        person = tx.principals.get(asked.person)
        name = asked.person if person is None else f"{person.platform}:{person.user_id}"
        case = replace(case, asked=replace(asked, person=name))
    return case.to_json()


def put_suite(
    tx: Transaction, record: Suite, places: Mapping[str, str], *, overwrite: bool, now: int
) -> tuple[bool | None, str]:
    """Add the suite, or the cases that the existing suite does not have. `places` contains the ids of the imported
    conversations, by their ids in the file. With `overwrite`, replace cases that differ. Return two values: None for a
    new suite, else whether the existing suite was changed; and the reason if only a part was imported."""
    known = tx.evaluations.suite_named(record.name)
    agent = agents.find(tx, record.agent)
    if known is not None and (agent is None or known.agent_id != agent.id):
        return False, "a suite with this name evaluates another agent"
    suite = known or evaluations.create_suite(tx, record.name, record.agent, now)
    changed, skipped = False, list[str]()
    for document in record.cases:
        try:
            case = evaluations.with_person(tx, _here(read_case(document), places))
            stored = tx.evaluations.case_named(suite.id, case.name)
            if stored is not None and (not overwrite or stored.case == case):
                if stored.case != case:
                    skipped.append(f"{case.name}: a different case exists already; `--replace` replaces it")
                continue
            evaluations.put_case(tx, evaluations.suite_named(tx, suite.id), case, now, overwrite=overwrite)
            changed = True
        except ArvisError as error:
            name = str(document.get("name", ""))[:64]
            skipped.append(": ".join(filter(None, [name, " ".join(filter(None, [error.what, error.why]))])))
    if known is None and record.gate and changed:
        evaluations.set_gate(tx, suite.name, on=True)
    return (None if known is None else changed), _reason(skipped)


def _here(case: Case, places: Mapping[str, str]) -> Case:
    """Return the case with the id of its conversation in this installation, by which erasures find the case."""
    recorded = case.recorded
    if recorded is None:
        return case
    place = places.get(recorded.conversation, recorded.conversation)
    if place == recorded.conversation:
        return case
    return replace(case, recorded=Recorded(recorded.reply, recorded.model, "", place))


def _reason(skipped: list[str]) -> str:
    more = f"; and {len(skipped) - _MOST_NAMED} more" if len(skipped) > _MOST_NAMED else ""
    return f"skipped cases: {'; '.join(skipped[:_MOST_NAMED])}{more}" if skipped else ""
