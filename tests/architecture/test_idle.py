"""The import of the program does little work, so that the daemon starts fast."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

EXPRESSIONS = """
import gc, importlib, pkgutil, re, sys

compiled, compile_ = [], re._compiler.compile
# `regex` itself, expressions of a generic class, and a file that a child program loads without modules of Arvis.
EXCEPTIONS = ("arvis.domain.regex", "arvis.engine.graph", "arvis.media.page")

def noting(pattern, flags=0):
    frame = sys._getframe(1)
    while frame.f_globals["__name__"] in ("re", "re._compiler"):
        frame = frame.f_back
    name = frame.f_globals["__name__"]
    # An expression that is used during the import is compiled by `arvis.domain.regex`.
    if name.split(".")[0] in ("arvis", "connectors") and name not in EXCEPTIONS:
        compiled.append(f"{name}: {pattern}")
    return compile_(pattern, flags)

re._compiler.compile = noting

import arvis, connectors
from arvis.domain.regex import _Expression

for package in (arvis, connectors):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
print(*compiled, sep="\\n")
expressions = [each for each in gc.get_objects() if isinstance(each, _Expression)]
assert len(expressions) > 200
for each in expressions:
    each.flags
"""


def test_constant_expressions_are_valid_and_are_compiled_at_their_first_use() -> None:
    done = subprocess.run([sys.executable, "-c", EXPRESSIONS], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr
