"""Checks of `arvis doctor` for stored accounts, for sealed values, and for the key that opens them."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from arvis.domain.accounts import AccountStatus, StoredAccount, Variable
from arvis.domain.agents import Agent
from arvis.domain.webhooks import Preset, Webhook
from arvis.ports.store import Transaction
from arvis.process.secrets import SealedBox, secrets_key_file
from arvis.services.webhooks import add_webhook
from tests.acceptance.clinic import Patient, now

TWIN = "accounts: [{name: twin, provider: demo}]\n"


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    return Patient(tmp_path, f"web: {{port: 0}}\n{TWIN}").born()


def box(patient: Patient) -> SealedBox:
    return SealedBox(file=secrets_key_file(patient.data), given=None, tell=lambda _: None)


def store(patient: Patient, *accounts: StoredAccount, variable: Variable | None = None) -> None:
    def script(tx: Transaction) -> None:
        for account in accounts:
            tx.accounts.add(account, now())
        if variable is not None:
            tx.variables.put(variable, now())

    patient.write(script)


def account(name: str, provider: str = "demo", **more: str) -> StoredAccount:
    return StoredAccount(id=name, name=name, provider=provider, model="m", **more)  # type: ignore[arg-type]


def test_nothing_stored_is_nothing_to_look_at(patient: Patient) -> None:
    assert not {"stored_accounts", "stored_secrets"} & patient.examined().keys()


def test_accounts_that_were_added_count(patient: Patient) -> None:
    store(patient, account("paid"), account("off", status=AccountStatus.DISABLED))
    found = patient.examined()
    assert found["stored_accounts"].what == "Accounts stored in the database: paid"
    assert found["accounts"].what.endswith("demo/demo (twin), demo/m (paid)")


def test_an_account_that_would_never_answer(patient: Patient) -> None:
    store(patient, account("strange", "abacus"))
    assert patient.status("stored_accounts") == "warn"
    store(patient, account("twin"))
    assert patient.examined()["stored_accounts"].what == "Accounts that are not used: twin"


def test_what_is_sealed_opens_or_is_named(patient: Patient) -> None:
    sealed = box(patient).seal("secret")
    store(patient, account("paid", sealed_key=sealed), variable=Variable("token", sealed, secret=True))
    assert patient.examined()["stored_secrets"].what == "Secrets that can be decrypted: 2"
    secrets_key_file(patient.data).write_text(base64.b64encode(bytes(32)).decode())
    found = patient.examined()["stored_secrets"]
    assert (found.status, found.what) == (
        "fail",
        "Secrets that cannot be decrypted: the account paid, the variable token",
    )
    secrets_key_file(patient.data).unlink()
    assert "no key here" in patient.examined()["stored_secrets"].why
    assert not secrets_key_file(patient.data).exists(), "looking makes none"


def test_the_secret_of_a_web_hook_counts_as_well(patient: Patient) -> None:
    def make(tx: Transaction) -> None:
        tx.agents.add(Agent(id="a1", slug="helper", name="Helper"), now())
        wanted = Webhook(
            id="", path="/ci", name="", agent_id="a1", preset=Preset.PLAIN, template="x", platform="web",
            connector="", channel="hall", thread="", secret="v1.00000000.AAAA", secret_end="AAAA", enabled=True,
            principal_id=None, last_triggered=None, trigger_count=0, created_at=0, updated_at=0,
        )  # fmt: skip
        add_webhook(tx, wanted, now())

    patient.write(make)
    found = patient.examined()["stored_secrets"]
    assert (found.status, found.what) == ("fail", "Secrets that cannot be decrypted: the secret of the webhook /ci")


def test_a_key_that_others_may_read(patient: Patient) -> None:
    box(patient).seal("secret")
    assert patient.status("file_modes") == "ok"
    secrets_key_file(patient.data).chmod(0o644)
    found = patient.examined()["file_modes"]
    assert (found.status, "secrets.key" in found.why) == ("warn", True)


def test_a_key_of_another_environment_is_not_judged(tmp_path: Path) -> None:
    patient = Patient(tmp_path, f"web: {{port: 0}}\n{TWIN}encryption_key: env:SEALING\n").born()
    store(patient, variable=Variable("token", "v1.00000000.AAAA", secret=True))
    found = patient.examined()
    assert (found["variables"].status, "stored_secrets" in found) == ("fail", False)
    given = patient.examined({"SEALING": "no key"})["stored_secrets"]
    assert (given.status, "encryption_key" in given.what) == ("fail", True)
