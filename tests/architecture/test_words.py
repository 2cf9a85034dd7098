"""The words of docs/explanation/style.md: docstrings, comments, messages, guides and the dashboard avoid idioms that
need a second reading.

ALLOWED holds the number of such places that a part still has. A part with fewer places fails, too, so that the number
is lowered.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.tree import ROOT, modules, parse, relative

#: Words that name no actor, vague verbs for states, and metaphors as terms.
AVOIDED = re.compile(
    r"\b(anew|came of|comes to rest|else's|errands?|foreign(?!\s+key)|nobody|somebody|mend(s|ed|ing)?|so many|stands|stood|"
    r"standing|strangers?|tells? of|told|whoever|the house|purse|keeper|web hooks?)\b",
    re.IGNORECASE,
)
WH = re.compile(r"\W*(What|Whatever|Whether|Who|Whoever|Whose|Which|That which)\b")
#: The number of places that each part still has.
ALLOWED: dict[str, int] = {
    "docs": 2,
    "memory": 2,
    "prompt": 1,
}


def part_of(file: Path) -> str:
    """Return the package of a module, or the folder of a document."""
    parts = file.relative_to(ROOT).parts
    if parts[:3] == ("arvis", "web", "ui"):
        return "dashboard"
    if file.suffix == ".md":
        return parts[0] if len(parts) > 1 else "front documents"
    return parts[1].removesuffix(".py") if parts[0] == "arvis" else parts[0]


def prose_of_module(file: Path) -> Iterator[tuple[str, bool]]:
    """Yield docstrings, comments and texts of several words, and whether each is a docstring."""
    docstrings = set()
    tree = parse(file)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                docstrings.add(first.value)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and (node in docstrings or len(node.value.split()) > 2)
        ):
            yield node.value, node in docstrings
    source = io.StringIO(file.read_text(encoding="utf-8"))
    yield from (
        (token.string, False) for token in tokenize.generate_tokens(source.readline) if token.type == tokenize.COMMENT
    )


def places(file: Path) -> Iterator[str]:
    """Name each place of a file that uses an avoided word or a docstring that begins with a relative clause."""
    if file.suffix == ".py":
        texts = list(prose_of_module(file))
    else:
        texts = [(line, False) for line in file.read_text(encoding="utf-8").splitlines()]
    for text, is_docstring in texts:
        if is_docstring and WH.match(text):
            yield f"{relative(file)}: {' '.join(text.split())[:90]}"
        yield from (f"{relative(file)}: {found.group()}" for found in AVOIDED.finditer(text))


def documents() -> list[Path]:
    front = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "AGENTS.md")]
    guides = [file for file in sorted((ROOT / "docs").rglob("*.md")) if file.name != "style.md"]
    return [*front, *guides]


def texts_of_the_dashboard() -> list[Path]:
    return sorted(file for file in (ROOT / "arvis/web/ui/src").rglob("*.ts*") if "test" not in file.name)


def test_prose_avoids_idioms_that_are_read_twice(figures: list[str]) -> None:
    found: dict[str, list[str]] = {}
    for file in [*modules(), *documents(), *texts_of_the_dashboard()]:
        found.setdefault(part_of(file), []).extend(places(file))
    counts = {part: len(where) for part, where in found.items() if where}
    figures.append(f"words to avoid: {sum(counts.values())} in {len(counts)} parts")
    more = {part: found[part] for part in counts if counts[part] > ALLOWED.get(part, 0)}
    assert more == {}, "new places: rewrite them as docs/explanation/style.md says"
    assert counts == ALLOWED, "fewer places than allowed: lower the numbers in ALLOWED"
