"""Create, change, remove and restore workflows, within limits. A changed document becomes a new version, and the stored
triggers belong to the newest version that may run.

The caller checks a document beforehand (`check_document`), outside of any transaction, because it may be large.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from itertools import count
from typing import Any

from arvis.domain.agents import LONGEST_DESCRIPTION, LONGEST_NAME, RESERVED_SLUGS, SLUG
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import Conflict, NotFound, Unprocessable
from arvis.domain.regex import regex
from arvis.domain.schedules import ScheduleKind
from arvis.domain.text import storable
from arvis.domain.triggers import Trigger
from arvis.domain.versions import Versioned
from arvis.domain.workflows import Workflow, WorkflowVersion
from arvis.ports.store import Transaction
from arvis.services.workflow_runs import find
from arvis.tasks.access import has_more_rights
from arvis.workflows.document.model import normalise
from arvis.workflows.validation.check import KnownNames, check
from arvis.workflows.validation.fields import SEARCH
from arvis.workflows.validation.rules import Problem, Severity

MOST_WORKFLOWS = 1_000
LONGEST_NOTE = 500

#: Names that must not be slugs, because paths of the API contain them in the position of a slug.
_RESERVED = RESERVED_SLUGS | {"check", "examples", "import", "kinds", "schema"}
#: For each kind of schedule: the kind of the trigger that it starts, if the two kinds have different names.
_TRIGGERED = {str(ScheduleKind.CRON): "schedule"}
_NOT_IN_SLUGS = regex(r"[^a-z0-9]+")
_LONGEST_SLUG = 48
#: The audited fields. They include the number of the version, because the versions remain stored after the workflow is
#: removed.
_AUDITED = ("slug", "name", "description", "enabled", "version", "runnable")


@dataclass(frozen=True, slots=True)
class CheckedDocument:
    """A document in the canonical form, with its problems."""

    document: Mapping[str, Any]
    problems: Sequence[Problem] = ()

    @property
    def errors(self) -> int:
        return sum(problem.severity is Severity.ERROR for problem in self.problems)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The changes to write; None leaves a field unchanged."""

    name: str | None = None
    slug: str | None = None
    description: str | None = None
    enabled: bool | None = None
    checked: CheckedDocument | None = None
    note: str = ""
    #: The version that was edited (None: any).
    expected: int | None = None


def check_document(raw: Mapping[str, Any], known: KnownNames | None = None) -> CheckedDocument:
    """Convert a document of any form to the canonical form, and check it. `known`: the names that the document may
    use."""
    document = normalise(raw)
    return CheckedDocument(document, check(document, known))


@dataclass(frozen=True, slots=True)
class AvailableNames:
    """The names of tools, servers and models, which a workflow may use but which the database does not contain.
    `known_in` adds the names from the database."""

    tools: Collection[str] | None = None
    servers: Collection[str] = ()
    models: Collection[str] | None = None


def known_in(tx: Transaction, available: AvailableNames, workflow: str | None = None) -> KnownNames:
    """Return the names that the document of a workflow may use. `workflow`: the id or slug of the workflow; None if it
    is not saved yet. In that case, no schedule or webhook can refer to it."""
    agents = tx.agents.all()
    saved = None if workflow is None else find(tx, workflow)
    return KnownNames(
        agents={name for agent in agents for name in (agent.id, agent.slug)},
        searching={name for agent in agents if SEARCH in agent.tools for name in (agent.id, agent.slug)},
        tools=available.tools,
        servers=available.servers,
        models=available.models,
        workflows={name for each in tx.workflows.all() for name in (each.id, each.slug)},
        begun=set() if saved is None else {_TRIGGERED.get(each, each) for each in tx.workflows.begun_by(saved)},
    )


def create(tx: Transaction, wanted: Wanted, now: int, *, by: str | None) -> Workflow:
    """Create a workflow with its first version. If no slug is given, it is made from the name."""
    if tx.workflows.count() >= MOST_WORKFLOWS:
        raise Unprocessable(
            f"There are {MOST_WORKFLOWS} workflows already.",
            fix="Remove one that is not used.",
            code="too_many_workflows",
        )
    checked = wanted.checked or check_document({})
    name = (wanted.name or "").strip()
    made = _validated(
        tx,
        Workflow(
            id=tx.new_id(),
            slug=wanted.slug or _free_slug(tx, name),
            name=name,
            description=wanted.description or "",
            enabled=wanted.enabled is not False,
            version=1,
            runnable=None if checked.errors else 1,
            principal_id=by,
            created_at=now,
            updated_at=now,
        ),
    )
    tx.workflows.add(made)
    _keep_version(tx, made, checked, wanted.note, now, by=by)
    _set_triggers(tx, made)
    _keep_audit_record(tx, None, made, now, by)
    return made


def update(tx: Transaction, name: str, wanted: Wanted, now: int, *, by: str | None) -> Workflow:
    """Write the changes. Raise `Conflict` if a newer version than `wanted.expected` was saved meanwhile."""
    known = _lock(tx, name)
    if wanted.expected is not None and wanted.expected != known.version:
        raise Conflict(
            f"Another person has saved the workflow {known.slug} in the meantime.",
            why=f"The stored version is {known.version}, and your change is based on version {wanted.expected}.",
            fix="Load the workflow again and repeat your change. To replace the other change, save without `version`.",
            code="saved_meanwhile",
        )
    changed = replace(
        known,
        name=known.name if wanted.name is None else wanted.name.strip(),
        slug=known.slug if wanted.slug is None else wanted.slug,
        description=known.description if wanted.description is None else wanted.description,
        enabled=known.enabled if wanted.enabled is None else wanted.enabled,
    )
    return _write(tx, known, changed, wanted, now, by=by)


def restore(
    tx: Transaction, name: str, version: int, known: KnownNames | None, now: int, *, by: str | None
) -> Workflow:
    """Create a new version with the document of `version`. The document is checked again, because names in it may no
    longer exist."""
    workflow = _lock(tx, name)
    old = version_of(tx, workflow, version)
    checked = check_document(old.document, known)
    wanted = Wanted(checked=checked, note=f"Version {version} again")
    # Restoring a text does not change its author.
    return _write(tx, workflow, workflow, wanted, now, by=by, author=old.author_id or old.principal_id)


def remove(tx: Transaction, name: str, now: int, *, by: str | None) -> Workflow:
    """Remove a workflow. It can no longer be found or started, but its current runs continue to their end."""
    known = _lock(tx, name)
    gone = replace(known, removed_at=now, updated_at=now)
    tx.workflows.update(gone)
    tx.workflows.set_triggers(known.id, ())
    _keep_audit_record(tx, known, None, now, by)
    return gone


def version_of(tx: Transaction, workflow: Workflow, version: int) -> WorkflowVersion:
    found = tx.workflows.version(workflow.id, version)
    if found is None:
        raise NotFound(
            f"The workflow {workflow.slug} has no version {version}.", fix=f"Its versions are 1 to {workflow.version}."
        )
    return found


def triggers_of(workflow: Workflow, document: Mapping[str, Any]) -> list[Trigger]:
    """Return the triggers in a document of this workflow."""
    return [
        Trigger(
            workflow_id=workflow.id,
            node_id=str(node["id"]),
            kind=str(node["data"].get("kind") or ""),
            platform=str(node["data"].get("platform") or ""),
            channel=str(node["data"].get("channel") or ""),
            words=str(node["data"].get("words") or ""),
            description=str(node["data"].get("description") or "") or workflow.description or workflow.name,
        )
        for node in document["nodes"]
        if node["type"] == "trigger"
    ]


# -- writing -----------------------------------------------------------------------------------------------


def _write(
    tx: Transaction,
    known: Workflow,
    wanted_row: Workflow,
    wanted: Wanted,
    now: int,
    *,
    by: str | None,
    author: str | None = None,
) -> Workflow:
    """Update the row of the workflow. Add a new version if the document has changed or gets an author with more rights.
    `author`: the author of the document (None: `by`)."""
    changed, checked = _validated(tx, wanted_row), wanted.checked
    newest = version_of(tx, known, known.version)
    other = checked is not None and dict(checked.document) != dict(newest.document)
    if checked is not None and (other or (author is None and has_more_rights(tx, by, newest.authors))):
        number = known.version + 1
        changed = replace(changed, version=number, runnable=known.runnable if checked.errors else number)
        _keep_version(tx, changed, checked, wanted.note, now, by=by, author=author)
    if changed == known:
        return known
    changed = replace(changed, updated_at=now)
    tx.workflows.update(changed)
    _set_triggers(tx, changed)
    _keep_audit_record(tx, known, changed, now, by)
    return changed


def _keep_version(
    tx: Transaction,
    workflow: Workflow,
    checked: CheckedDocument,
    note: str,
    now: int,
    *,
    by: str | None,
    author: str | None = None,
) -> None:
    text = " ".join(storable(note).split())[:LONGEST_NOTE]
    version = WorkflowVersion(workflow.id, workflow.version, checked.document, checked.errors, text, by, now, author)
    tx.workflows.keep_version(version)


def _set_triggers(tx: Transaction, workflow: Workflow) -> None:
    """Store the triggers of the runnable version, or none while the workflow is disabled."""
    found: list[Trigger] = []
    if workflow.enabled and workflow.runnable is not None:
        found = triggers_of(workflow, version_of(tx, workflow, workflow.runnable).document)
    tx.workflows.set_triggers(workflow.id, found)


def _keep_audit_record(
    tx: Transaction, before: Workflow | None, after: Workflow | None, now: int, by: str | None
) -> None:
    """Record who changed which fields. The document is not recorded, because its versions are stored."""
    row = before or after
    if row is not None:
        audited = [
            None if each is None else {name: asdict(each)[name] for name in _AUDITED} for each in (before, after)
        ]
        tx.versions.keep(Versioned.WORKFLOW, row.id, audited[1], by, now, before=audited[0])


def _lock(tx: Transaction, name: str) -> Workflow:
    """Lock the workflow until this commit. If the workflow was removed during the wait for the lock, look up the name
    again, because another workflow may have the slug now."""
    while True:
        locked = tx.workflows.hold(find(tx, name).id)
        if locked is not None and locked.removed_at is None:
            return locked


# -- rules -------------------------------------------------------------------------------------------------


def _free_slug(tx: Transaction, name: str) -> str:
    """Return a slug made from the letters of the name, with a number if the slug is taken."""
    stem = _NOT_IN_SLUGS.sub("-", name.lower()).strip("-")[:_LONGEST_SLUG].rstrip("-") or "workflow"
    names = (stem if number == 1 else f"{stem}-{number}" for number in count(1))
    return next(each for each in names if each not in _RESERVED and tx.workflows.by_slug(each) is None)


def _validated(tx: Transaction, wanted: Workflow) -> Workflow:
    if not SLUG.fullmatch(wanted.slug):
        text = "`slug` must be 1 to 64 lower-case letters, digits, - and _, and begin with a letter or digit."
        raise Unprocessable(text, fix="Write for example `daily-digest`.")
    if wanted.slug in _RESERVED:
        raise Unprocessable(
            f"`slug` must not be {wanted.slug}, because Arvis uses this word itself.", fix="Choose another slug."
        )
    other = tx.workflows.by_slug(wanted.slug)
    if other is not None and other.id != wanted.id:
        raise Conflict(f"There is a workflow {wanted.slug} already.", fix="Choose another slug.", code="slug_taken")
    if not (0 < len(wanted.name.strip()) <= LONGEST_NAME and wanted.name.isprintable()):
        text = f"`name` must be 1 to {LONGEST_NAME} printable characters."
        raise Unprocessable(text, fix="Describe the purpose of the workflow in one line.")
    if len(wanted.description) > LONGEST_DESCRIPTION or storable(wanted.description) != wanted.description:
        text = f"`description` must be a text of at most {LONGEST_DESCRIPTION} characters."
        raise Unprocessable(text, fix="Shorten it.")
    return wanted
