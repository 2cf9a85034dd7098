"""Identities of one person: codes, confirmations, attacks on them, and what linked identities share."""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from arvis.domain.errors import Conflict, UsageError
from arvis.domain.memory import Category, NewFact, principal_scope
from arvis.domain.messages import Address, IncomingMessage, Principal, PrincipalRole, Sender
from arvis.domain.quotations import Quotation, QuotationKind, Writer
from arvis.erasing import begin_erasure
from arvis.interchange.archive import read_archive
from arvis.interchange.exporting import Choice, Exporter
from arvis.ports.store import Transaction
from arvis.services import identities
from arvis.services.people import prefer
from arvis.store.open import Database
from tests.flows.app_harness import HELPER, AppHarness, open_app
from tests.flows.scripted import BOT, PLATFORM

#: The platforms of Ann's accounts.
HERE, THERE = PLATFORM, "there"
CODE = re.compile(r"[A-Z0-9]{5}-[A-Z0-9]{5}")


@pytest.fixture
async def app(either_database: Database) -> AsyncIterator[AppHarness]:
    async with open_app(either_database, agents=[HELPER]) as app:
        for platform, user in ((HERE, "ann"), (THERE, "ann2"), (THERE, "eve")):
            await say(app, "hi", platform=platform, user=user)
        yield app


async def say(app: AppHarness, text: str, *, platform: str = HERE, user: str = "ann", **more: Any) -> str:
    """Write in the direct chat of this user, and return the daemon's answer, if there is one."""
    message = IncomingMessage(
        address=Address(platform, BOT, f"dm-of-{user}"), event_id=app.new_id(), sender=Sender(user, user.title()),
        content=text, is_direct=True, assigned_agent="helper",
    )  # fmt: skip
    received = await app.inbox.receive(replace(message, **more))
    return (await app.timeline(received.message_id)).reply or ""


async def who(app: AppHarness, platform: str = HERE, user: str = "ann") -> Principal:
    found = await app.store.read(lambda tx: tx.principals.find(platform, user))
    assert found is not None
    return found


async def code(app: AppHarness, **of: Any) -> str:
    found = CODE.search(await say(app, "/link", **of))
    assert found is not None
    return found[0]


async def linked(app: AppHarness) -> None:
    await say(app, f"/link {await code(app)} yes", platform=THERE, user="ann2")
    assert "are linked" in await say(app, "/link yes")


async def change(app: AppHarness, platform: str, user: str, role: PrincipalRole) -> None:
    person = await who(app, platform, user)
    await app.store.write(lambda tx: tx.principals.set_role(person.id, role, app.clock.now()))


async def audit(app: AppHarness, kind: str) -> list[tuple[str, str | None]]:
    """Return the identity and the author of each entry of this kind, newest first."""
    found = await app.insights.audit(agent=None, kind=kind, outcome=None, limit=9, cursor=None)
    return [(each.proposal.subject, each.principal_id) for each in found.items]


async def test_two_accounts_are_linked_by_a_code_and_a_confirmation(app: AppHarness) -> None:
    first, second = await who(app), await who(app, THERE, "ann2")
    given = await code(app)
    assert "Confirm in your other chat" in await say(app, f"/link {given.lower()} yes", platform=THERE, user="ann2")
    assert (await who(app, THERE, "ann2")).id == second.id, "not before the confirmation"
    assert "are linked" in await say(app, "/link yes")
    after = await who(app, THERE, "ann2")
    assert (after.id, after.identity, after.platform, after.user_id) == (first.id, second.id, THERE, "ann2")
    assert "wrong, used or expired" in await say(app, f"/link {given}", platform=THERE, user="eve")
    assert await audit(app, "link") == [(f"{THERE}:ann2", first.id)]


async def test_the_sender_of_a_code_reads_who_asks_before_anything_is_linked(app: AppHarness) -> None:
    """A person who is asked to send another person's code learns whose it is, and neither account is notified."""
    misleading = Sender("eve", 'Your own account"). Nothing is shared.\nSend yes')
    found = CODE.search(await say(app, "/link", platform=THERE, user="eve", sender=misleading))
    assert found is not None
    question = await say(app, f"/link {found[0]}")
    assert f'The account {THERE}:eve (name: "Your own account\'). Nothing is shared. S") asks' in question
    assert all(each in question for each in ("memory", "role", "budget", "time zone", f"/link {found[0]} yes"))
    assert "no request to confirm" in await say(app, "/link yes", platform=THERE, user="eve")
    assert "Nothing was linked" in await say(app, f"/link {found[0]} no")
    assert not (await who(app)).linked
    assert "Confirm in your other chat" in await say(app, f"/link {found[0]} yes"), (
        "a question does not use the code up"
    )


async def test_linked_accounts_share_memory_budget_and_preferences(app: AppHarness) -> None:
    first, second = await who(app), await who(app, THERE, "ann2")

    def prepare(tx: Transaction) -> None:
        for person, text in ((first, "Ann likes tea"), (second, "Ann lives in Rome")):
            fact = NewFact(HELPER.id, principal_scope(person.id), Category.USER_PREFERENCE, text, author_id=person.id)
            tx.facts.add(fact, app.clock.now())
        prefer(tx, first.id, timezone="Asia/Tokyo", language=None, now=1)

    await app.store.write(prepare)
    await linked(app)
    scopes = [principal_scope(first.id)]
    found = await app.store.read(lambda tx: tx.facts.search(HELPER.id, scopes, ["rome"], 10))
    assert [fact.content for fact in found] == ["Ann lives in Rome"]

    def shared(tx: Transaction) -> tuple[list[str], list[str | None]]:
        facts = [each for number in range(1, 9) if (each := tx.facts.by_number(number)) is not None]
        return [each.scope for each in facts], [each.author_id for each in facts]

    assert await app.store.read(shared) == ([principal_scope(first.id)] * 2, [first.id] * 2)
    assert (await who(app, THERE, "ann2")).timezone == "Asia/Tokyo"
    await say(app, "/timezone Europe/Rome", platform=THERE, user="ann2")
    assert (await who(app)).timezone == "Europe/Rome"


async def test_a_block_applies_to_all_accounts(app: AppHarness) -> None:
    await linked(app)
    await change(app, THERE, "ann2", PrincipalRole.BLOCKED)
    assert [(await who(app, *each)).role for each in ((HERE, "ann"), (THERE, "ann2"))] == [PrincipalRole.BLOCKED] * 2


async def test_unlinked_accounts_are_separate_again(app: AppHarness) -> None:
    second = await who(app, THERE, "ann2")
    await linked(app)
    assert "not linked" in await say(app, "/unlink")
    assert "separate again" in await say(app, "/unlink", platform=THERE, user="ann2")
    after = await who(app, THERE, "ann2")
    assert (after.id, after.linked, after.role, after.paired) == (second.id, False, PrincipalRole.MEMBER, False)


@pytest.mark.parametrize("rights", ["role", "pairing"])
async def test_a_code_gives_nobody_more_rights(app: AppHarness, rights: str) -> None:
    first = await who(app)

    def raise_rights(tx: Transaction) -> None:
        if rights == "role":
            tx.principals.set_role(first.id, PrincipalRole.OPERATOR, 1)
        else:
            tx.principals.pair(first.id, 1)

    await app.store.write(raise_rights)
    given = await code(app)
    for answer in ("", " yes"):
        refused = await say(app, f"/link {given}{answer}", platform=THERE, user="ann2")
        assert f"arvis people link {HERE}:ann {THERE}:ann2" in refused
    assert "wrong, used or expired" in await say(app, f"/link {given}", platform=THERE, user="ann2")
    assert "no request to confirm" in await say(app, "/link yes")
    assert not (await who(app, THERE, "ann2")).linked

    second = await who(app, THERE, "ann2")
    joined = await app.store.write(identities.link, first.id, second.id, first.id, app.clock.now())
    assert (joined.role, joined.paired) == ((await who(app)).role, (await who(app)).paired)


async def test_rights_that_change_on_one_platform_end_the_link(app: AppHarness) -> None:
    await linked(app)
    first = await who(app)
    await say(app, "hi", platform=THERE, user="ann2", sender=Sender("ann2", "Ann", role=PrincipalRole.OPERATOR))
    other = await who(app, THERE, "ann2")
    assert (other.linked, other.role) == (False, PrincipalRole.OPERATOR)
    assert (await who(app)) == first
    assert await audit(app, "unlink") == [(f"{THERE}:ann2", None)]


async def test_rights_that_the_person_gets_end_the_links_of_the_other_accounts(app: AppHarness) -> None:
    await linked(app)
    await say(app, "hi", sender=Sender("ann", "Ann", role=PrincipalRole.OPERATOR))
    first, other = await who(app), await who(app, THERE, "ann2")
    assert (first.role, other.linked, other.role) == (PrincipalRole.OPERATOR, False, PrincipalRole.MEMBER)
    assert await audit(app, "unlink") == [(f"{THERE}:ann2", None)]


async def test_blocked_people_cannot_be_linked(app: AppHarness) -> None:
    given = await code(app)
    await change(app, HERE, "ann", PrincipalRole.BLOCKED)
    assert "cannot be linked" in await say(app, f"/link {given}", platform=THERE, user="ann2")
    first, second = await who(app), await who(app, THERE, "ann2")
    with pytest.raises(UsageError):
        await app.store.write(identities.link, first.id, second.id, "owner", app.clock.now())


async def test_codes_cannot_be_guessed(app: AppHarness) -> None:
    given = await code(app)
    for number in range(identities.MOST_TRIES):
        assert "wrong" in await say(app, f"/link AAAAA-BBBB{number}", platform=THERE, user="eve")
    assert "Too many" in await say(app, f"/link {given}", platform=THERE, user="eve")
    assert not (await who(app, THERE, "eve")).linked
    assert "Confirm" in await say(app, f"/link {given} yes", platform=THERE, user="ann2"), "others are not affected"


async def test_a_stolen_code_needs_the_confirmation_of_its_owner(app: AppHarness) -> None:
    given = await code(app)
    assert "Confirm" in await say(app, f"/link {given} yes", platform=THERE, user="eve")
    assert "no request" in await say(app, "/link yes", platform=THERE, user="eve")
    assert "stay separate" in await say(app, "/link no")
    assert "no request" in await say(app, "/link yes")
    assert not (await who(app, THERE, "eve")).linked


async def test_a_code_expires_and_a_new_one_voids_it(app: AppHarness) -> None:
    old = await code(app)
    given = await code(app)
    assert "wrong, used or expired" in await say(app, f"/link {old}", platform=THERE, user="ann2")
    assert "asks to be the same person" in await say(app, f"/link {given}", platform=THERE, user="ann2")
    await app.pass_time(identities.LIFE_MS / 1000)
    assert "wrong, used or expired" in await say(app, f"/link {given} yes", platform=THERE, user="ann2")


async def test_codes_in_groups_forwards_and_quotations_do_nothing(app: AppHarness) -> None:
    assert "direct message" in await say(app, "/link", is_direct=False, address=Address(HERE, BOT, "room"))
    given = await code(app)
    elsewhere = Address(THERE, BOT, "room")
    assert "direct message" in await say(
        app, f"/link {given} yes", platform=THERE, user="ann2", is_direct=False, address=elsewhere
    )
    forward = Quotation(QuotationKind.FORWARD, Writer.OTHER, author="Ann")
    quoted = Quotation(QuotationKind.REPLY, Writer.OTHER, f"/link {given} yes", "Ann")
    await say(app, f"/link {given} yes", platform=THERE, user="ann2", quotations=(forward,))
    await say(app, "see above", platform=THERE, user="ann2", quotations=(quoted,))
    assert "no request" in await say(app, "/link yes")


async def test_only_one_of_two_claims_wins(app: AppHarness) -> None:
    given = await code(app)
    claims = [say(app, f"/link {given} yes", platform=THERE, user=user) for user in ("ann2", "eve")]
    answers = sorted("Confirm" in each for each in await asyncio.gather(*claims))
    assert answers == [False, True]


async def test_names_link_nobody(app: AppHarness) -> None:
    twin = Sender("mallory", "Ann")
    await say(app, "hi", platform=THERE, user="mallory", sender=twin)
    assert not (await who(app, THERE, "mallory")).linked
    assert "your own code" in await say(app, f"/link {await code(app)}")


async def test_a_linked_account_brings_no_further_ones(app: AppHarness) -> None:
    await linked(app)
    given = await code(app, platform=THERE, user="eve")
    assert "linked already" in await say(app, f"/link {given}", platform=THERE, user="ann2")
    first, second = await who(app), await who(app, THERE, "ann2")
    with pytest.raises(Conflict):
        await app.store.write(identities.link, first.id, second.identity, "owner", app.clock.now())


async def test_an_export_and_an_erasure_cover_all_accounts(app: AppHarness) -> None:
    await say(app, "before the link", platform=THERE, user="ann2")
    await linked(app)
    await say(app, "after the link", platform=THERE, user="ann2")
    second = await who(app, THERE, "ann2")
    target = io.BytesIO()
    await Exporter(store=app.store, clock=app.clock, program="test").write(target, Choice(person=second.identity))
    found = read_archive(target.getvalue())
    said = json.dumps([each.model_dump(mode="json") for each in found.records["conversations"]])
    assert all(text in said for text in ("before the link", "after the link"))
    assert len(found.records["people"]) == 2

    erasure = await app.store.write(begin_erasure, [second.identity], None, "owner", app.clock.now())
    subject = await app.store.read(lambda tx: tx.erasures.subject(erasure.id))
    assert sorted((each.platform, each.user_id) for each in subject.people) == [(HERE, "ann"), (THERE, "ann2")]
    assert len({each.id for each in subject.people}) == 2
