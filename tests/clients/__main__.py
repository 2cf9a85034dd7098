"""`python -m tests.clients`: try the client libraries of other makers with `/v1` of a daemon, and print a table.

`--python` names an interpreter that has `openai`, `langchain-openai` and `litellm`, and `--node` a folder in which
`npm install openai` has run. The demo model answers. The command fails if a feature fails; a refusal is no failure.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.acceptance.daemon import ROOT, running_daemon

_SECONDS = 600
_AGENT = {"slug": "helper", "name": "Helper", "model": "demo"}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.clients", description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="an interpreter with the clients for Python")
    parser.add_argument("--node", type=Path, help="a folder with node_modules/openai")
    parser.add_argument("--only", help="run only this client, such as litellm_client")
    options = parser.parse_args()
    here = Path(__file__).parent
    commands = {
        "openai (Python)": ([options.python, "-m", "tests.clients.openai_client"], ROOT),
        "LangChain": ([options.python, "-m", "tests.clients.langchain_client"], ROOT),
        "LiteLLM": ([options.python, "-m", "tests.clients.litellm_client"], ROOT),
    }
    if options.node is not None:
        commands["openai (Node)"] = (["node", str(here / "openai_client.mjs")], options.node)
    chosen = {name: each for name, each in commands.items() if options.only is None or options.only in each[0][-1]}
    with tempfile.TemporaryDirectory() as folder:
        settings = {"ARVIS__AGENTS": json.dumps([_AGENT])}
        with running_daemon(Path(folder), settings=settings) as daemon:
            place = {"CLIENT_URL": f"{daemon.url}/v1", "CLIENT_KEY": daemon.api_key}
            tried = {name: _try(*each, place) for name, each in chosen.items()}
    print(_table(tried))
    failed = [f"{name}, {feature}: {result}" for name, each in tried.items() for feature, result in each.items()
              if result.startswith("failed")]  # fmt: skip
    print("\n".join(failed), file=sys.stderr)
    return 1 if failed else 0


def _try(command: Sequence[str], folder: Path, place: Mapping[str, str]) -> dict[str, str]:
    """Run the script of a client, and return the result of each feature."""
    environ = {**os.environ, **place, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    lines = [line for line in ended.stdout.splitlines() if line.startswith("[")]
    if not lines:
        return {"chat": f"failed: {ended.stderr.strip()[-300:]}"}
    return dict(json.loads(line) for line in lines)


def _table(tried: Mapping[str, Mapping[str, str]]) -> str:
    features = list(dict.fromkeys(feature for each in tried.values() for feature in each))
    rows = [["feature", *tried], ["---"] * (len(tried) + 1)]
    rows += [[feature, *(each.get(feature, "–").partition(":")[0] for each in tried.values())] for feature in features]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    raise SystemExit(main())
