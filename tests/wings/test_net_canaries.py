"""The guard in a network where every address answers: it sends no packet to an address that is not public."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.parts import refused, require
from tests.wings.address_list import PUBLIC
from tests.wings.canaries import CONTROLS, REFUSED

ROOT = Path(__file__).parents[2]


def test_no_packet_reaches_a_canary() -> None:
    unshare = require("unshare", "install util-linux (Debian: apt-get install util-linux)")
    require("ip", "install iproute2 (Debian: apt-get install iproute2)")
    alone = [str(unshare), "--map-root-user", "--net"]
    tried = subprocess.run([*alone, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        refused(f"this machine does not allow a network namespace: {tried.stderr.strip()}")
    run = [*alone, sys.executable, "-m", "tests.wings.canaries"]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode == REFUSED:
        refused(f"this machine does not let a network be made: {done.stderr}")
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert set(seen["controls"]) == set(CONTROLS)
    assert set(seen["list"]) == {PUBLIC}
    assert seen["wrong"] == []
