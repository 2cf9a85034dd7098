"""One trial: Schemathesis calls every operation as one role, and the results are counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import schemathesis
from schemathesis.engine import Status, from_schema
from schemathesis.engine.events import FatalError, NonFatalError, PhaseFinished, ScenarioFinished
from schemathesis.engine.recorder import ScenarioRecorder

from tests.api.bed import NOBODY, Bed

#: Operation -> the reason why trials leave it out.
LEFT_OUT: Mapping[str, str] = {}
#: Check of Schemathesis -> the reason why it does not apply here.
UNFIT: Mapping[str, str] = {
    "positive_data_acceptance": "a body of the right shape may name an agent, a zone or a cron line that does not exist",
    "missing_required_header": "the only required header is the credential, which ignored_auth checks",
}
_SERVER_ERROR = 500
#: Statuses that a route may return when it waits for another service; the document must name them.
_HONEST = (501, 502, 503, 504)
_REFUSED = 400
_SECONDS = 30
_MOST_SHOWN = 600


@dataclass(slots=True)
class Tally:
    """The results of one operation."""

    cases: int = 0
    server_errors: int = 0
    let_in: int = 0
    deviations: Counter[str] = field(default_factory=Counter)  # text -> how often it was found


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of a trial."""

    role: str
    cases: int  # for each operation
    seed: int
    thorough: bool = False  # also try the edge cases of every shape
    chains: bool = False  # also try calls that follow from one another
    only: str | None = None  # a pattern of paths


def run(
    bed: Bed, plan: Plan, document: Mapping[str, Any], say: Callable[[str], None] = lambda _: None
) -> dict[str, Tally]:
    """Run a trial and return its results by operation (`GET /api/jobs`); `say` receives the progress."""
    schema = schemathesis.openapi.from_dict(dict(document), config=_config(bed, plan))
    secured = {f"{method.upper()} {path}": _roles(item) for path, method, item in operations(document)}
    found = {label: Tally() for label in secured if label not in LEFT_OUT and _wanted(label, plan)}
    for event in from_schema(schema).execute():
        match event:
            case ScenarioFinished(recorder=recorder):
                _count(found, recorder, plan.role, secured)
            case PhaseFinished(phase=phase):
                say(f"{plan.role}: {phase.name.value}, {sum(tally.cases for tally in found.values())} cases so far")
            case NonFatalError(label=label, value=error):
                found.setdefault(label, Tally()).deviations[f"not tried: {error!r}"[:_MOST_SHOWN]] += 1
            case FatalError(exception=error):
                raise error
            case _:
                pass
    return found


def _wanted(label: str, plan: Plan) -> bool:
    return plan.only is None or re.search(plan.only, label.partition(" ")[2]) is not None


def operations(document: Mapping[str, Any]) -> Iterable[tuple[str, str, Mapping[str, Any]]]:
    return [(path, method, item) for path, group in document["paths"].items() for method, item in group.items()]


def _roles(operation: Mapping[str, Any]) -> frozenset[str] | None:
    """Return the roles that may call an operation; None: everyone."""
    return frozenset(operation["x-roles"]) if operation["security"] else None


def _config(bed: Bed, plan: Plan) -> schemathesis.Config:
    settings: dict[str, Any] = {
        "seed": plan.seed,
        "suppress-health-check": ["all"],
        "cache": {"enabled": False},
        "base-url": bed.url,
        "continue-on-failure": True,
        "request-timeout": _SECONDS,
        # With several threads, Hypothesis fails in Python 3.11's own `ast`.
        "workers": 1,
        "generation": {
            "max-examples": plan.cases,
            "deterministic": not plan.thorough,
            "no-shrink": True,
            "mode": "all",
        },
        "checks": {
            **{name: {"enabled": False} for name in UNFIT},
            "not_a_server_error": {"expected-statuses": ["2xx", "3xx", "4xx", *map(str, _HONEST)]},
            # Without a setting, 413 for a body that is too large would count as an accepted request.
            "negative_data_rejection": {"expected-statuses": ["4xx", "5xx"]},
        },
        "phases": {
            "examples": {"enabled": plan.thorough},
            "coverage": {"enabled": plan.thorough},
            "stateful": {"enabled": plan.chains},
        },
        "operations": [{"include-name": label, "enabled": False} for label in LEFT_OUT],
    }
    if plan.only is not None:
        settings["operations"].append({"exclude-path-regex": plan.only, "enabled": False})
    if plan.role == NOBODY:
        # Without a credential only the form of an answer is checked, for any request.
        settings["checks"] |= {"negative_data_rejection": {"enabled": False}, "unsupported_method": {"enabled": False}}
    else:
        key = bed.headers(plan.role)["Authorization"].removeprefix("Bearer ")
        settings["auth"] = {"openapi": {"key": {"bearer": key}}}
    return schemathesis.Config.from_dict(settings)


def _count(
    found: dict[str, Tally],
    recorder: ScenarioRecorder,
    role: str,
    secured: Mapping[str, frozenset[str] | None],
) -> None:
    for case_id, interaction in recorder.interactions.items():
        node, response = recorder.cases.get(case_id), interaction.response
        if node is None or response is None:
            continue
        label = node.value.operation.label
        tally, roles = found.setdefault(label, Tally()), secured.get(label)
        tally.cases += 1
        tally.server_errors += response.status_code >= _SERVER_ERROR and response.status_code not in _HONEST
        if roles is not None and response.status_code < _REFUSED:
            named = any(name.lower() == "authorization" for name in interaction.request.headers)
            tally.let_in += not named
            if named and role not in roles:
                tally.deviations[f"the role {role} got {response.status_code}"] += 1
    for case_id, checks in recorder.checks.items():
        for check in checks:
            if check.status is Status.FAILURE and check.failure_info is not None:
                label = recorder.cases[case_id].value.operation.label
                told = f"{check.name}: {check.failure_info.failure}\n    {check.failure_info.code_sample}"
                found.setdefault(label, Tally()).deviations[told[:_MOST_SHOWN]] += 1
