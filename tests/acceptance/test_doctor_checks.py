"""The failing side of each check that needs no daemon, with real files, modes, ports and locks."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from arvis.cli.doctor import GROUPS
from arvis.cli.doctor.machine import room
from arvis.config.servers import STORED_SERVERS
from arvis.process.data_folder import lock_data_folder
from arvis.process.disk import DiskSpace
from arvis.store.health import sqlite_lacks
from tests.acceptance.clinic import Patient, now
from tests.acceptance.daemon import environment

MEGABYTE = 1_000_000
NOBODY = 65_534


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    return Patient(tmp_path).born()


# -- a healthy folder --------------------------------------------------------------------------------------


def test_a_healthy_folder_without_a_daemon(patient: Patient) -> None:
    found = patient.examined()
    assert len(found) >= 20
    assert {check for check, finding in found.items() if finding.status == "fail"} == set()
    # The folder of the test may be in memory or in a container.
    unwell = {check for check, finding in found.items() if finding.status == "warn"} - {"file_system"}
    assert unwell == {"daemon", "accounts"}


def test_the_guide_names_every_check() -> None:
    text = (Path(__file__).parents[2] / "docs" / "reference" / "command-line.md").read_text()
    for group in GROUPS:
        assert f"| {group.name} | {' '.join(f'`{check.id}`' for check in group.checks)} |\n" in text


def test_a_first_look_before_the_first_start(tmp_path: Path) -> None:
    found = Patient(tmp_path).examined()
    assert found["data_folder"].status == "warn"
    assert found["database"].what == "There is no database yet. The first start of the daemon creates it"
    assert not (tmp_path / "data").exists()


# -- configuration -----------------------------------------------------------------------------------------


def test_a_configuration_that_cannot_be_loaded_is_the_first_failure(tmp_path: Path) -> None:
    found = Patient(tmp_path, "web: {prot: 1}\n").examined()
    assert next(iter(found)) == "configuration"
    assert not {"accounts", "providers", "web_port"} & found.keys(), "they depend on the rest"
    assert found["configuration"].status == "fail"
    assert "web.prot" in found["configuration"].what


ACCOUNT = "accounts: [{name: main, provider: openai, api_key: env:MY_KEY, base_url: 'http://127.0.0.1:9'}]\n"


def test_a_variable_that_is_not_set(tmp_path: Path) -> None:
    patient = Patient(tmp_path, f"web: {{port: 0}}\n{ACCOUNT}").born()
    found = patient.examined()["variables"]
    assert (found.status, found.what) == ("fail", "Not set in this environment: MY_KEY")
    assert patient.status("variables", {"MY_KEY": "x"}) == "ok"
    with patient.held():
        assert patient.status("variables") == "warn", "the daemon has an environment of its own"


def test_a_variable_that_is_not_set_hides_no_other_mistake(tmp_path: Path) -> None:
    found = Patient(tmp_path, f"web: {{prot: 0}}\n{ACCOUNT}").examined()
    assert found["configuration"].status == "fail"
    assert "MY_KEY" in found["configuration"].why


def test_platforms_that_are_not_there(tmp_path: Path) -> None:
    found = Patient(tmp_path, "bots: {irc: [{name: main}]}\n").examined()["platforms"]
    assert (found.status, found.what) == ("fail", "`bots.irc[0]` cannot be used")


# -- the machine -------------------------------------------------------------------------------------------


def test_an_old_python(patient: Patient) -> None:
    assert patient.status("python", python=(3, 10, 14)) == "fail"


def test_parts_that_sqlite_lacks() -> None:
    assert sqlite_lacks() == []
    assert sqlite_lacks({"NONE": "CREATE VIRTUAL TABLE words USING nothing (text)"}) == ["NONE"]


def test_an_output_without_every_letter(patient: Patient) -> None:
    assert patient.status("encoding", encoding="iso8859-1") == "warn"


def test_a_poor_environment(patient: Patient) -> None:
    """Run the doctor in its own process, without time zones, with few open files, and with an installation whose entry
    points are not registered."""
    stale = patient.folder / "site" / "arvis-0.dist-info"
    stale.mkdir(parents=True)
    (stale / "METADATA").write_text("Metadata-Version: 2.1\nName: arvis\nVersion: 0\n")
    # An empty package hides time zones that another package of the environment may have installed.
    (stale.parent / "tzdata").mkdir()
    (stale.parent / "tzdata" / "__init__.py").touch()
    patient.config.write_text("accounts: [{name: main, provider: demo}]\n")
    poor = environment(
        PYTHONTZPATH="", PYTHONIOENCODING="ascii", PYTHONPATH=f"{stale.parent}{os.pathsep}{environment()['PYTHONPATH']}"
    )
    command = f"ulimit -n 256; exec {sys.executable} -m arvis doctor --config {patient.config}"
    done = subprocess.run(
        ["/bin/sh", "-c", command], env=poor, cwd=patient.folder, capture_output=True, text=True, check=False
    )
    lines = [line.split()[:2] for line in done.stdout.splitlines()]
    assert done.returncode == 1, done.stderr
    assert [check for check in lines if check[0] in {"warn", "fail"}][:4] == [
        ["fail", "providers"], ["warn", "encoding"], ["warn", "time_zones"], ["warn", "open_files"]
    ]  # fmt: skip


@pytest.mark.parametrize(("behind", "status"), [(0, "ok"), (120_000, "warn"), (3_600_000, "fail")])
def test_a_clock_that_went_back(tmp_path: Path, behind: int, status: str) -> None:
    assert Patient(tmp_path).born(at=now() + behind).status("clock") == status


def test_little_memory(patient: Patient, tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 4000000 kB\nMemAvailable: 50000 kB\n")
    assert patient.status("memory", proc=tmp_path) == "warn"


def test_a_container_that_is_almost_full(patient: Patient, tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text(f"{256 * MEGABYTE}\n")
    (tmp_path / "memory.current").write_text(f"{240 * MEGABYTE}\n")
    (tmp_path / "memory.stat").write_text(f"anon 1\ninactive_file {2 * MEGABYTE}\n")
    assert patient.status("memory", control_group=tmp_path) == "warn"
    (tmp_path / "memory.stat").write_text(f"anon 1\ninactive_file {200 * MEGABYTE}\n")
    assert patient.status("memory", control_group=tmp_path) == "ok", "copies of files give way"
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.stat").write_text("")
    assert patient.status("memory", control_group=tmp_path) == "ok"


# -- the data folder ---------------------------------------------------------------------------------------


def test_something_else_in_the_place_of_the_folder(tmp_path: Path) -> None:
    patient = Patient(tmp_path)
    patient.data.write_text("a file")
    assert patient.status("data_folder") == "fail"


@contextmanager
def as_somebody_else(folder: Path) -> Iterator[None]:
    """Lose access to the folder: root changes its real user id, other users remove the folder's permissions."""
    if os.getuid() == 0:
        os.setresuid(NOBODY, -1, -1)
    else:
        folder.chmod(0)
    try:
        yield
    finally:
        if os.geteuid() == 0:
            os.setresuid(0, -1, -1)
        else:
            folder.chmod(0o700)


def test_a_folder_that_belongs_to_somebody_else(patient: Patient) -> None:
    with as_somebody_else(patient.data):
        found = patient.examined()
    assert found["data_folder"].status == "fail"
    assert "queue" not in {finding.group for finding in found.values()}, "the cause is told, and nothing that follows"


def test_a_folder_that_nobody_can_hold(patient: Patient) -> None:
    (patient.data / "lock").unlink()
    (patient.data / "lock").symlink_to(patient.config)
    assert patient.status("lock") == "fail"


def test_files_of_another_user(tmp_path: Path) -> None:
    """Root gives a file to another user; other users examine a folder of root in which they may write."""
    if os.getuid() == 0:
        patient = Patient(tmp_path).born()
        os.chown(patient.database.file, NOBODY, -1)
        assert patient.status("owners") == "fail"
    else:
        with tempfile.NamedTemporaryFile():
            assert Patient(tmp_path, f"data_dir: {tempfile.gettempdir()}\n").status("owners") == "fail"


def test_a_file_system_in_memory() -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir():
        return
    folder = Path(tempfile.mkdtemp(dir=memory))
    try:
        assert Patient(folder).status("file_system") == "warn"
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("kind", "status"), [("nfs4", "fail"), ("cifs", "fail"), ("overlay", "warn"), ("ext4", "ok"), ("btrfs", "ok")]
)
def test_file_systems(patient: Patient, tmp_path: Path, kind: str, status: str) -> None:
    (tmp_path / "self").mkdir()
    place = str(tmp_path.resolve()).replace(" ", "\\040")
    (tmp_path / "self" / "mounts").write_text(
        f"/dev/a / ext4 rw 0 0\nserver:/x {place} {kind} rw 0 0\n/dev/b /b ext4 rw 0 0\n"
    )
    assert patient.status("file_system", proc=tmp_path) == status


@pytest.mark.parametrize(
    ("free", "total", "database", "status"),
    [(10_000, 100_000, 100, "ok"), (150, 100_000, 1, "fail"), (1_900, 100_000, 1, "ok"), (800, 100_000, 400, "warn")],
)
def test_room(tmp_path: Path, free: int, total: int, database: int, status: str) -> None:
    space = DiskSpace(free=free * MEGABYTE, total=total * MEGABYTE)
    assert room(tmp_path, space, database * MEGABYTE).status == status


def test_large_logs(patient: Patient) -> None:
    (patient.data / "logs").mkdir()
    with (patient.data / "logs" / "arvis-2026-01-01.log").open("wb") as log:
        log.truncate(1_200 * MEGABYTE)
    assert patient.status("logs") == "warn"


def test_a_database_that_was_set_aside(patient: Patient) -> None:
    assert "aside" not in patient.examined()
    (patient.data / "aside").mkdir(mode=0o700)
    (patient.data / "aside" / "arvis-1.db").write_bytes(b"")
    found = patient.examined()["aside"]
    assert (found.status, "arvis-1.db" in found.why) == ("warn", True)


# -- the web -----------------------------------------------------------------------------------------------


def test_a_port_that_another_program_has(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        patient = Patient(tmp_path, f"web: {{port: {taken.getsockname()[1]}}}\n")
        found = patient.examined()["web_port"]
    assert (found.status, found.why) == ("fail", "Address already in use.")
    assert patient.status("web_port") == "ok"


def test_an_address_of_another_machine(tmp_path: Path) -> None:
    config = "web: {port: 4711, host: 192.0.2.1, api_keys: [long-and-different-0123456789]}\n"
    assert Patient(tmp_path, config).status("web_port") == "fail"


OPEN = "host: 0.0.0.0, api_keys: [long-and-different-0123456789]"


def test_a_web_that_knows_none_of_its_names(tmp_path: Path) -> None:
    assert Patient(tmp_path, f"web: {{{OPEN}}}\n").status("web_names") == "warn"
    assert Patient(tmp_path, f"web: {{{OPEN}, allowed_hosts: [box]}}\n").status("web_names") == "ok"


# -- tools -------------------------------------------------------------------------------------------------

AGENT = "agents: [{{slug: helper, name: Helper, tools: [{}]}}]\nweb: {{port: 0}}\n"


def test_a_tool_that_nobody_offers(tmp_path: Path) -> None:
    patient = Patient(tmp_path, AGENT.format("get_time, srv.dig"))
    found = patient.examined()["tool_names"]
    assert (found.status, "srv.dig" in found.why) == ("warn", True)
    patient.config.write_text(AGENT.format("get_time") + "mcp: {servers: [{name: srv, command: [dig]}]}\n")
    assert patient.status("tool_names") == "ok"


def test_a_server_that_was_added_at_run_time(tmp_path: Path) -> None:
    checks = ("tool_names", "tool_policy")
    patient = Patient(tmp_path, f"{AGENT.format('srv.dig')}approvals: {{policy: {{srv.*: ask}}}}\n").born()
    assert {patient.status(check) for check in checks} == {"warn"}
    patient.write(lambda tx: tx.kv.put(STORED_SERVERS, '{"srv": {}}', now()))
    assert {patient.status(check) for check in checks} == {"ok"}
    with patient.held():
        assert {patient.status(check) for check in checks} == {"ok"}


def test_a_plugin_that_nobody_brings(tmp_path: Path) -> None:
    agents = "agents: [{{slug: helper, name: Helper, plugins: [{}]}}]\n"
    found = Patient(tmp_path, agents.format("time, tiem")).examined()["plugin_names"]
    assert (found.status, "is configured with tiem" in found.why) == ("warn", True)
    assert Patient(tmp_path, agents.format("time")).status("plugin_names") == "ok"
    assert "plugin_names" not in Patient(tmp_path).examined()


def test_a_search_provider_without_a_key(tmp_path: Path) -> None:
    assert "search" not in Patient(tmp_path).examined()
    agents = AGENT.format("web_search")
    alone = Patient(tmp_path, agents).examined()["search"]
    assert (alone.status, "BRAVE_API_KEY" in alone.fix) == ("warn", True)
    found = Patient(tmp_path, f"{agents}search: {{providers: [brave, mediawiki]}}\n").examined()["search"]
    assert (found.status, found.what) == ("warn", "The search provider brave has no api key")
    assert "arvis variables create BRAVE_API_KEY --secret" in found.fix
    found = Patient(tmp_path, "search: {providers: [searxng]}\n").examined()["search"]
    assert (found.status, found.what) == ("warn", "The search provider searxng has no address")
    assert (
        Patient(tmp_path, "search: {providers: [brvae]}\n").examined()["search"].what
        == "A search provider is not known"
    )
    ready = Patient(tmp_path, "search: {exa: {api_key: some-key}}\n").examined()["search"]
    assert (ready.status, ready.what) == ("ok", "Web searches ask exa, mediawiki, in this order")


def test_a_rule_about_a_tool_that_is_not_there(tmp_path: Path) -> None:
    assert "tool_policy" not in Patient(tmp_path).examined()
    rules = "mcp: {servers: [{name: srv, command: [dig]}]}\napprovals: {policy: {write: ask, run_shell: never, srv.*: ask}}\n"
    assert Patient(tmp_path, rules).status("tool_policy") == "ok"
    assert Patient(tmp_path, "approvals: {policy: {srv__dig: never}}\n").status("tool_policy") == "warn"


def test_agents_that_run_programs_where_there_is_no_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "sandbox" not in Patient(tmp_path, AGENT.format("get_time")).examined()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Patient(tmp_path, AGENT.format("run_shell")).status("sandbox") == "warn"


def test_agents_with_a_browser_where_there_is_no_chromium(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "browser" not in Patient(tmp_path, AGENT.format("get_time")).examined()
    monkeypatch.setenv("PATH", str(tmp_path))
    found = Patient(tmp_path, AGENT.format("browser_open")).examined()["browser"]
    assert (found.status, found.why) == ("warn", "No Chromium is installed.")
    named = Patient(tmp_path, f"browser: {{executable: {sys.executable}}}\n").examined()["browser"]
    assert (named.status, named.what) == ("ok", f"Agents use web pages with {sys.executable}")


# -- security ----------------------------------------------------------------------------------------------


def test_an_open_folder_and_open_files(patient: Patient) -> None:
    assert {patient.status(check) for check in ("data_folder_mode", "file_modes")} == {"ok"}
    (patient.data / "api-key").write_text("secret")
    (patient.data / "api-key").chmod(0o644)
    assert (patient.status("data_folder_mode"), patient.status("file_modes")) == ("ok", "warn")
    patient.data.chmod(0o755)
    assert (patient.status("data_folder_mode"), patient.status("file_modes")) == ("warn", "fail")


def test_a_secret_in_the_configuration(tmp_path: Path) -> None:
    patient = Patient(tmp_path, "accounts: [{name: main, provider: openai, api_key: sk-1234567890}]\n")
    assert patient.status("secrets_in_file") == "warn"
    patient.config.chmod(0o644)
    assert patient.status("secrets_in_file") == "fail"
    patient.config.write_text("accounts: [{name: main, provider: openai, api_key: env:KEY}]\n")
    assert patient.status("secrets_in_file", {"KEY": "sk-1234567890"}) == "ok"


def test_the_address_of_a_database_is_no_secret_but_its_password_is(tmp_path: Path) -> None:
    plain, secret = (f"database: 'postgresql://{user}@127.0.0.1:9/none'\n" for user in ("user", "user:word"))
    assert Patient(tmp_path, plain).status("secrets_in_file") == "ok"
    assert Patient(tmp_path, secret).status("secrets_in_file") == "warn"


@pytest.mark.parametrize(
    ("web", "status"),
    [
        ("api_keys: [env:KEY]", "ok"),
        ("api_keys: [short]", "warn"),
        ("api_keys: [aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]", "warn"),
        ("api_keys: [short], public_url: 'https://box'", "fail"),
        ("api_keys: [long-and-different-0123456789, long-and-different-0123456789]", "warn"),
    ],
)
def test_api_keys(tmp_path: Path, web: str, status: str) -> None:
    patient = Patient(tmp_path, f"web: {{{web}}}\n")
    assert patient.status("api_keys", {"KEY": "uGh8aeTheiWo3ahngu0ahghoh8"}) == status


@pytest.mark.parametrize(
    ("web", "status"),
    [
        ("port: 0", "ok"),
        (OPEN, "warn"),
        (f"{OPEN}, public_url: 'https://box'", "ok"),
        ("public_url: 'http://box'", "warn"),
    ],
)
def test_encryption(tmp_path: Path, web: str, status: str) -> None:
    assert Patient(tmp_path, f"web: {{{web}}}\n").status("encryption") == status


# -- the lock of the folder --------------------------------------------------------------------------------


def test_a_command_at_work(patient: Patient) -> None:
    with lock_data_folder(patient.data):
        found = patient.examined()
    assert (found["daemon"].status, found["daemon"].what) == ("warn", "No daemon can run now")
    assert found["database"].what == "An Arvis command is using the database"


def test_a_look_keeps_no_daemon_out(patient: Patient) -> None:
    """The doctor leaves nothing in the folder, not even in the lock."""
    before = {file.name: file.read_bytes() for file in patient.data.iterdir()}
    patient.examined()
    assert {file.name: file.read_bytes() for file in patient.data.iterdir()} == before
