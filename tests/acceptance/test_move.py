"""`arvis move` as its user runs it. The whole form is `python -m tests.acceptance.moving`."""

from __future__ import annotations

from pathlib import Path

from tests.acceptance import moving
from tests.acceptance.daemon import arvis, running_daemon

MESSAGES = 600


async def test_a_conversation_moves_to_a_server_and_back(tmp_path: Path, postgres_url: str) -> None:
    report = await moving.main(tmp_path, postgres_url, MESSAGES)
    assert report.differences == []
    assert report.answered == ["sqlite", "postgresql", "sqlite again"]
    assert report.rows > 2 * MESSAGES


def test_the_summary_names_the_next_step(tmp_path: Path, postgres_url: str) -> None:
    with running_daemon(tmp_path) as daemon:
        in_use = daemon.arvis("move", "--to", "env:DATABASE_URL", DATABASE_URL=postgres_url)
        assert in_use.returncode == 3
        assert "in use" in in_use.stderr
        daemon.stop()
        done = daemon.arvis("move", "--to", "env:DATABASE_URL", DATABASE_URL=postgres_url)
        assert (done.returncode, done.stderr.splitlines()[0]) == (0, "Comparing the tables ...")
        assert "Arvis compared every table and found no difference." in done.stdout
        assert "Next: write `database: env:DATABASE_URL` in config.yaml" in done.stdout
        again = daemon.arvis("run")
        assert again.returncode == 1
        assert "The data of this database was moved to postgresql://arvis@" in again.stderr
        shown = daemon.arvis("move", "--to", postgres_url)
        assert shown.returncode == 1
        assert "was moved to" in shown.stderr


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    for target in ("mysql://x", "env:MISSING", "elsewhere.db"):
        refused = arvis("move", "--to", target, "--data", "data", cwd=tmp_path)
        assert refused.returncode == 2, refused.stderr
    nothing = arvis("move", "--to", "postgresql://127.0.0.1:1/none", "--data", "data", cwd=tmp_path)
    assert nothing.returncode == 1
    assert "There is no database" in nothing.stderr
