"""Checks of `arvis doctor` for bots: added bots, their states, and problems that their platforms report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arvis.bots.registry import seal_all
from arvis.domain.platforms import BotState, StoredBot
from arvis.ports.store import Transaction
from arvis.process.secrets import SealedBox, secrets_key_file
from tests.acceptance.clinic import Patient, now

CONNECTOR = """
from arvis.ports.connector import BadSetting, Capabilities, SetupFinding

class Bot:
    capabilities = Capabilities()
    def __init__(self, name, values):
        self.platform, self.name, self.values = "clinic", name, values
    async def run(self, inbox, up): ...
    def plan(self, delivery): ...
    async def send(self, part): ...
    async def close(self): ...
    async def check(self):
        return [SetupFinding(self.values.get("level", "ok"), "The token is " + self.values["token"], "Mend it.")]

def create(settings, services):
    if "token" not in settings.values:
        raise BadSetting("token", "is missing", fix="Add it.")
    return Bot(settings.name, settings.values)
"""


@pytest.fixture
def patient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Patient:
    folder = tmp_path / "site"
    about = folder / "clinic_bots-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: clinic-bots\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[arvis.connectors]\nclinic = clinic_bots:create\n")
    (folder / "clinic_bots.py").write_text(CONNECTOR)
    monkeypatch.syspath_prepend(folder)
    return Patient(tmp_path).born()


def add(patient: Patient, name: str = "main", platform: str = "clinic", **settings: object) -> None:
    box = SealedBox(file=secrets_key_file(patient.data), given=None, tell=lambda _: None)
    bot = StoredBot(name, platform, name, json.dumps(settings), seal_all(box, {"token": "good"}), True, now(), now())

    def script(tx: Transaction) -> None:
        tx.bots.add(bot)

    patient.write(script)


def test_without_bots_there_is_nothing_to_check(patient: Patient) -> None:
    assert not {"stored_bots", "bot_states", "bot_setup"} & patient.examined().keys()


def test_bots_that_were_added_are_asked_for(patient: Patient) -> None:
    add(patient)
    found = patient.examined()
    assert found["stored_bots"].what == "Bots stored in the database: clinic/main"
    assert found["bot_setup"].what == "Bots that are set up correctly: clinic/main"
    assert found["stored_secrets"].what == "Secrets that can be decrypted: 1"


@pytest.mark.parametrize(("level", "status"), [("warning", "warn"), ("error", "fail")])
def test_what_a_platform_finds_wrong_is_told(patient: Patient, level: str, status: str) -> None:
    add(patient)
    add(patient, "second", level=level)
    found = patient.examined()["bot_setup"]
    assert (found.status, found.what) == (status, "Bots that are not set up correctly: clinic/second")
    assert (found.why, found.fix) == ("clinic/second: The token is good", "Mend it.")


def test_a_configured_bot_is_asked_for_and_a_gap_told(patient: Patient) -> None:
    patient.config.write_text("web: {port: 0}\nbots: {clinic: [{agent: helper}]}\n")
    found = patient.examined()["bot_setup"]
    assert (found.status, found.why) == ("fail", "clinic/main: The setting `token` is missing. Add it.")
    patient.config.write_text("web: {port: 0}\nbots: {clinic: [{token: env:BOT_TOKEN}]}\n")
    assert "bot_setup" not in patient.examined(), "what is not set here says nothing"
    assert patient.status("bot_setup", {"BOT_TOKEN": "x"}) == "ok"


def test_bots_that_would_be_left_out(patient: Patient) -> None:
    add(patient, platform="nowhere")
    assert patient.examined()["stored_bots"].what == "No connector for nowhere/main"
    patient.config.write_text("web: {port: 0}\nbots: {clinic: [{token: x}]}\n")
    add(patient, "main2")
    assert "bot_states" not in patient.examined()


def test_bots_that_are_down_while_the_daemon_runs(patient: Patient) -> None:
    add(patient)
    patient.write(lambda tx: tx.bots.put_status("clinic", "main", BotState.ERROR, error="The token is old.", now=now()))
    with patient.held():
        found = patient.examined()["bot_states"]
    assert (found.status, found.what) == ("warn", "Bots that are down: 1 of 1")
    assert found.why == "clinic/main: The token is old."
    assert patient.examined()["platforms"].what == "Bots in the configuration file: none", (
        "no word of those that were added"
    )
