"""`arvis doctor --fix` and `--bundle`, and the doctor for an installation that cannot start."""

from __future__ import annotations

import base64
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from arvis.bots.registry import seal_all
from arvis.domain.accounts import StoredAccount, Variable
from arvis.domain.platforms import StoredBot
from arvis.ports.store import Transaction
from arvis.process.secrets import SealedBox, secrets_key_file
from tests.acceptance.clinic import Patient, now
from tests.acceptance.daemon import arvis, running_daemon


def doctor(patient: Patient, *arguments: str, code: int = 0) -> dict[str, Any]:
    options = ("--config", str(patient.config), "--json")
    done = arvis("doctor", *options, *arguments, cwd=patient.folder)
    assert done.returncode == code, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def findings(found: dict[str, Any]) -> dict[str, dict[str, str]]:
    return {check["id"]: check for check in found["checks"]}


# -- repairs -------------------------------------------------------------------------------------------------


def test_repairs_are_listed_and_made_and_then_there_is_nothing_to_repair(tmp_path: Path) -> None:
    secret = "a-password-in-the-file"
    patient = Patient(tmp_path, f"web: {{port: 0, password: {secret}}}\n").born()
    for name in ("address", "api-key.new", ".look-1"):
        (patient.data / name).write_text("left")
    (patient.data / "backups").mkdir(mode=0o700)
    (patient.data / "backups" / ".arvis-1.tar.gz.part").write_text("half")
    (patient.data / "api-key").write_text("key")
    for file in (patient.data, patient.data / "api-key", patient.config):
        file.chmod(0o755)
    (patient.data / "backups" / "link.gz").symlink_to(patient.config)
    found = doctor(patient, "--fix")
    ids = {each["id"] for each in found["repairs"]}
    wanted = {"data_folder_mode", "file_modes", "secrets_in_file", "missing_folders", "stale_address", "leftovers"}
    assert ids == wanted
    assert all(each["error"] == "" for each in found["repairs"])
    assert patient.data.stat().st_mode & 0o777 == 0o700
    assert (patient.data / "api-key").stat().st_mode & 0o777 == 0o600
    assert patient.config.stat().st_mode & 0o777 == 0o600
    assert {"logs", "backups", "blobs"} <= {file.name for file in patient.data.iterdir()}
    left = {file.name for file in patient.data.rglob("*")}
    assert not {"address", "api-key.new", ".look-1", ".arvis-1.tar.gz.part"} & left
    assert findings(found)["data_folder_mode"]["status"] == "ok"
    assert doctor(patient, "--fix")["repairs"] == []


def test_without_fix_nothing_changes_and_with_it_each_repair_is_announced(tmp_path: Path) -> None:
    patient = Patient(tmp_path).born()
    patient.data.chmod(0o755)
    doctor(patient)
    assert patient.data.stat().st_mode & 0o777 == 0o755
    done = arvis("doctor", "--config", str(patient.config), "--fix", cwd=tmp_path)
    assert f"Make {patient.data} private (mode 0700) …\n" in done.stderr
    assert f"repairs\n  done  Make {patient.data} private (mode 0700)\n" in done.stdout
    again = arvis("doctor", "--config", str(patient.config), "--fix", cwd=tmp_path)
    assert "There is nothing to repair.\n" in again.stdout


def test_files_that_a_process_may_use_stay(tmp_path: Path) -> None:
    patient = Patient(tmp_path).born()
    with patient.held():
        (patient.data / "address").write_text("http://127.0.0.1:1")
        (patient.data / "api-key.new").write_text("being written")
        found = doctor(patient, "--fix", code=1)
    assert {each["id"] for each in found["repairs"]} <= {"missing_folders", "file_modes"}
    assert (patient.data / "address").exists()


# -- an installation that cannot start ---------------------------------------------------------------------------


def test_an_unusable_configuration_is_the_first_failure_and_the_rest_is_checked(tmp_path: Path) -> None:
    patient = Patient(tmp_path, "queue: {workers: lots}\ndata_dir: elsewhere\nnonsense: 1\n")
    patient.data = tmp_path / "elsewhere"
    patient.born()
    found = doctor(patient, code=1)
    first, *_ = found["checks"]
    assert (first["id"], first["status"]) == ("configuration", "fail")
    assert "queue.workers" in first["why"]
    assert str(patient.data) in findings(found)["database"]["what"]
    assert {"python", "room", "file_modes", "daemon"} <= findings(found).keys()


@pytest.mark.parametrize("text", ["web: [", "- a\n- b\n", "\x00"])
def test_a_file_that_cannot_be_read_hides_no_other_finding(tmp_path: Path, text: str) -> None:
    patient = Patient(tmp_path).born()
    patient.config.write_text(text)
    found = findings(doctor(patient, "--data", str(patient.data), code=1))
    assert found["configuration"]["status"] == "fail"
    assert found["database"]["status"] == "ok"


def test_failures_come_first_and_warnings_second(tmp_path: Path) -> None:
    patient = Patient(tmp_path, "queue: {workers: lots}\n").born()
    statuses = [check["status"] for check in doctor(patient, code=1)["checks"]]
    assert statuses == sorted(statuses, key=["fail", "warn", "ok"].index)
    done = arvis("doctor", "--config", str(patient.config), cwd=tmp_path)
    assert done.stdout.startswith("failures\n  fail  configuration ")


# -- the support archive -----------------------------------------------------------------------------------------

CANARIES = {
    "web.password": "canary-web-password",
    "api key": "canary+api/key=with?signs",
    "account": "canary-account-key",
    "bot": "123456:canary-bot-token",
    "mcp": "canary-mcp-variable",
    "header": "canary-header-value",
    "mail": "canary-mail-password",
    "stored account": "canary-stored-account",
    "stored bot": "canary-stored-bot",
    "variable": "canary-variable-value",
    "environment": "canary-from-the-environment",
    "daemon key": "canary-daemon-key",
}
CONFIG = """\
web: {{port: 0, password: {web_password}, api_keys: ["{api_key}"]}}
accounts: [{{name: main, provider: openai, model: m, api_key: {account}, base_url: "http://127.0.0.1:1/v1"}}]
bots: {{telegram: [{{name: main, token: "{bot}"}}]}}
mcp: {{servers: [{{name: files, command: ["false"], env: {{TOKEN: {mcp}}}}}]}}
telemetry: {{headers: {{authorization: {header}}}}}
email: {{host: 127.0.0.1, user: u, password: {mail}, sender: a@example.org, to: [b@example.org]}}
"""


def planted(folder: Path, more: str = "") -> Patient:
    """Return an installation with a secret at each place that may have one."""
    values = {name.replace(" ", "_").replace(".", "_"): value for name, value in CANARIES.items()}
    patient = Patient(folder, CONFIG.format(**values) + more).born()
    (patient.data / "api-key").write_text(CANARIES["daemon key"])
    box = SealedBox(file=secrets_key_file(patient.data), given=None, tell=lambda _: None)

    def script(tx: Transaction) -> None:
        key = box.seal(CANARIES["stored account"])
        tx.accounts.add(StoredAccount(id="a", name="own", provider="openai", model="m", sealed_key=key), now())
        tx.variables.put(Variable("KEY", box.seal(CANARIES["variable"]), True, now()), now())
        secrets = seal_all(box, {"token": CANARIES["stored bot"]})
        tx.bots.add(StoredBot("b", "telegram", "own", "{}", secrets, True, now(), now()))

    patient.write(script)
    (patient.data / "logs").mkdir(mode=0o700)
    lines = [json.dumps({"event": "leak", "text": f"the value {canary} was used"}) for canary in CANARIES.values()]
    (patient.data / "logs" / "arvis-2026-01-01.log").write_text("\n".join(lines) + "\n")
    return patient


def forms_of(secret: str) -> Iterator[str]:
    yield from (secret, quote(secret, safe=""), json.dumps(secret)[1:-1], secret.encode().hex())
    yield base64.b64encode(secret.encode()).decode().rstrip("=")


def content_of(archive: Path) -> dict[str, str]:
    with zipfile.ZipFile(archive) as opened:
        return {name: opened.read(name).decode() for name in opened.namelist()}


@pytest.mark.parametrize(("more", "code"), [("", None), ("queue: {workers: lots}\n", 1), ("queue: [\n", 1)])
def test_the_archive_contains_no_secret(tmp_path: Path, more: str, code: int | None) -> None:
    """The configuration is usable, has a wrong value, or cannot be read at all."""
    patient = planted(tmp_path, more)
    file = tmp_path / "support.zip"
    options = ("doctor", "--config", str(patient.config), "--data", str(patient.data), "--bundle", str(file))
    done = arvis(*options, cwd=tmp_path, environ={"SOME_TOKEN": CANARIES["environment"]})
    assert code is None or done.returncode == code
    assert f"The support archive is {file}." in done.stdout, done.stderr
    assert file.stat().st_mode & 0o777 == 0o600
    parts = content_of(file)
    assert parts.keys() == {
        "README.txt", "about.json", "findings.json", "configuration.json", "database.json", "files.json", "log.jsonl",
    }  # fmt: skip
    for name, text in parts.items():
        for place, secret in CANARIES.items():
            assert not [form for form in forms_of(secret) if form in text], f"{place} in {name}"
    if more != "queue: [\n":
        shown = json.loads(parts["configuration.json"])
        assert shown["web"]["password"] == "[redacted]"
        assert shown["accounts"][0]["name"] == "main"
    assert json.loads(parts["about.json"])["arvis"]
    assert "leak" in parts["log.jsonl"]
    assert json.loads(parts["database.json"])["bots"] == [{"platform": "telegram", "name": "own", "enabled": True}]


def test_an_existing_file_is_not_overwritten_and_a_folder_gets_a_new_file(tmp_path: Path) -> None:
    patient = Patient(tmp_path).born()
    file = tmp_path / "support.zip"
    file.write_text("mine")
    done = arvis("doctor", "--config", str(patient.config), "--bundle", str(file), cwd=tmp_path)
    assert done.returncode == 1
    assert "cannot be written" in done.stderr
    assert file.read_text() == "mine"
    found = doctor(patient, "--bundle", str(tmp_path))
    assert Path(found["bundle"]).parent == tmp_path
    assert zipfile.is_zipfile(found["bundle"])


def test_beside_a_running_daemon(tmp_path: Path) -> None:
    with running_daemon(tmp_path) as daemon:
        done = daemon.arvis("doctor", "--fix", "--bundle", str(tmp_path / "x.zip"), "--json")
        assert done.returncode == 0, done.stdout
        about = json.loads(content_of(tmp_path / "x.zip")["about.json"])
        assert about["daemon"]["pid"] == daemon.pid
        assert daemon.arvis("chat", "hello").returncode == 0, "the repairs do not disturb the daemon"
