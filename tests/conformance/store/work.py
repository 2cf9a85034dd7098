"""Cases for work without a message: times of schedules, projects, webhooks, and data between turns."""

from __future__ import annotations

from dataclasses import replace

from arvis.domain.messages import Role
from arvis.domain.projects import Project, ProjectStatus
from arvis.domain.schedules import Cause, MadeBy, Occurrence, OccurrenceStatus
from arvis.domain.webhooks import Preset, Webhook
from arvis.ports.store import Store, Transaction
from tests.conformance.store.schedules import BEAT, DAILY
from tests.conformance.store.scripts import AGENT, NOW, PLACE, add_agent, begin_execution, said
from tests.conformance.store.transactions import TransactionCases

FIRST = Occurrence("o1", DAILY.id, NOW, Cause.DUE, OccurrenceStatus.RUNNING, "e1", "", NOW)
SECOND = replace(FIRST, id="o2", due=NOW + 1, cause=Cause.MISSED, execution_id=None, created_at=NOW + 1)
PROJECT = Project("p1", "shop", AGENT.id, "The shop ü", "Sell tea", ProjectStatus.ACTIVE, "", "ann", NOW, NOW)
HOOK = Webhook(
    "w1", "/build", "Builds", AGENT.id, Preset.GITHUB, "{{payload}}", "web", "web", "room", "", "sealed", "cret",
    True, "ann", None, 0, NOW, NOW,
)  # fmt: skip


def add_times(tx: Transaction) -> list[bool]:
    return [tx.occurrences.add(each) for each in (FIRST, SECOND, replace(FIRST, id="o3"))]


def add_projects(tx: Transaction) -> None:
    add_agent(tx)
    tx.projects.add(PROJECT)
    tx.projects.add(replace(PROJECT, id="p2", slug="garden", agent_id=None, updated_at=NOW - 1))
    tx.projects.add(replace(PROJECT, id="p3", slug="attic", status=ProjectStatus.DONE))


def add_hook(tx: Transaction) -> None:
    add_agent(tx)
    tx.webhooks.add(HOOK)


class WorkCases(TransactionCases):
    async def test_a_time_of_a_schedule_is_dealt_with_once(self, store: Store) -> None:
        assert await store.write(add_times) == [True, True, False]
        assert await store.read(lambda tx: tx.occurrences.newest(DAILY.id, 10)) == [SECOND, FIRST]
        assert await store.read(lambda tx: tx.occurrences.of_execution("e1")) == FIRST
        assert await store.read(lambda tx: tx.occurrences.of_execution("e2")) is None

    async def test_a_time_ends_and_is_forgotten_in_time(self, store: Store) -> None:
        await store.write(add_times)
        ended = replace(FIRST, status=OccurrenceStatus.DONE, report="Sold tea.", ended_at=NOW + 5)
        await store.write(lambda tx: tx.occurrences.save(ended))
        assert await store.read(lambda tx: tx.occurrences.running(DAILY.id)) == [SECOND]
        assert await store.write(lambda tx: tx.occurrences.prune(NOW + 10, 10)) == 1
        assert await store.read(lambda tx: tx.occurrences.newest(DAILY.id, 10)) == [SECOND]

    async def test_what_is_due_comes_soonest_first(self, store: Store) -> None:
        def add_schedules(tx: Transaction) -> None:
            add_agent(tx)
            tx.schedules.add(DAILY)
            tx.schedules.add(
                replace(BEAT, enabled=True, next_run=NOW + 500, created_by=MadeBy.TOOL, principal_id="ann")
            )
            tx.schedules.add(replace(BEAT, id="s3", name="off"))

        await store.write(add_schedules)
        assert await store.read(lambda tx: tx.schedules.next_due(0)) == NOW + 500
        due = await store.read(lambda tx: tx.schedules.due(NOW + 1000, 10))
        assert [schedule.id for schedule in due] == ["s2", "s1"]
        assert await store.read(lambda tx: tx.schedules.due(NOW, 10)) == []
        assert [each.id for each in await store.read(lambda tx: tx.schedules.of_person("ann", 10))] == ["s2"]

    async def test_active_projects_the_longest_untouched_first(self, store: Store) -> None:
        await store.write(add_projects)
        found = await store.read(lambda tx: tx.projects.active(AGENT.id, 10))
        assert [project.slug for project in found] == ["garden", "shop"]
        assert [each.slug for each in await store.read(lambda tx: tx.projects.active("other", 10))] == ["garden"]
        changed = replace(PROJECT, title="Tea", status=ProjectStatus.PAUSED, updated_at=NOW + 1)
        await store.write(lambda tx: tx.projects.update(changed))
        assert await store.read(lambda tx: tx.projects.by_slug("shop")) == changed
        assert [await store.write(lambda tx: tx.projects.remove("p1")) for _ in range(2)] == [True, False]
        assert await store.read(lambda tx: tx.projects.get("p1")) is None

    async def test_a_call_of_a_hook_is_taken_once_and_counted(self, store: Store) -> None:
        await store.write(add_hook)
        taken = [await store.write(lambda tx: tx.webhooks.take("w1", "d1", "e1", NOW + 7)) for _ in range(2)]
        assert taken == [True, False]
        found = await store.read(lambda tx: tx.webhooks.by_path("/build"))
        assert found == replace(HOOK, last_triggered=NOW + 7, trigger_count=1)
        assert await store.write(lambda tx: tx.webhooks.prune_calls(NOW + 8, 10)) == 1
        assert await store.write(lambda tx: tx.webhooks.remove("w1"))
        assert await store.read(lambda tx: tx.webhooks.get("w1")) is None

    async def test_what_stands_between_turns_is_kept_by_name(self, store: Store) -> None:
        def put(tx: Transaction) -> str:
            add_agent(tx)
            conversation = tx.conversations.open(AGENT.id, PLACE, NOW).id
            asked = said("m1", conversation=conversation)
            tx.messages.add(asked)
            tx.handover_threads.put(conversation, "agent:bob", {"said": ["ü"]}, NOW)
            tx.handover_threads.put(conversation, "agent:bob", {"said": ["two"]}, NOW)
            tx.handover_threads.put(conversation, "plugin:time", {}, NOW)
            tx.plugin_additions.put(asked.id, conversation, {"content": ["x"]})
            return conversation

        conversation = await store.write(put)
        assert await store.read(lambda tx: tx.handover_threads.get(conversation, "agent:bob")) == {"said": ["two"]}
        assert await store.read(lambda tx: tx.handover_threads.names(conversation)) == ["agent:bob", "plugin:time"]
        assert [data for _, data in await store.read(lambda tx: tx.plugin_additions.of(conversation, 5))] == [
            {"content": ["x"]}
        ]
        await store.write(lambda tx: tx.handover_threads.drop_all(conversation))
        await store.write(lambda tx: tx.plugin_additions.drop_all(conversation))
        assert await store.read(lambda tx: tx.handover_threads.names(conversation)) == []
        assert await store.read(lambda tx: tx.plugin_additions.of(conversation, 5)) == []

    async def test_progress_takes_nothing_from_the_one_reply(self, store: Store) -> None:
        def say(tx: Transaction) -> list[str]:
            add_agent(tx)
            begin_execution(tx, "e1")
            conversation = tx.conversations.open(AGENT.id, PLACE, NOW).id
            asked = replace(said("m1", conversation=conversation), execution_id="e1")
            for number, role in enumerate((Role.USER, Role.PROGRESS, Role.PROGRESS, Role.ASSISTANT)):
                tx.messages.add(replace(asked, id=f"m{number}", role=role, content=f"{number}", position=number))
            return [each.content for each in tx.messages.progress("e1")]

        assert await store.write(say) == ["1", "2"]
