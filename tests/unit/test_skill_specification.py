"""The rules of `SKILL.md`. The verdicts on these front matters are those of the reference validator of Agent Skills, except
where a case says otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from arvis.domain.errors import Unprocessable
from arvis.skills.conversion import convert, standard_text
from arvis.skills.skill import Skill, Source, read_skill

MINIMAL = "name: pdf-processing\ndescription: Reads PDF files."


def standard(front: str, folder: str | None = "pdf-processing") -> Skill:
    return read_skill(f"---\n{front}\n---\n# Steps\n", stem=None, source=Source.FOLDER, folder=folder)


def test_the_fields_of_the_specification() -> None:
    read = standard(
        MINIMAL + "\nlicense: Apache-2.0\ncompatibility: Requires Python 3.11\nallowed-tools: Bash(git:*) Read\n"
        "metadata:\n  author: Ann\n  version: 1.10\n  title: PDF files\n  arvis-keywords: pdf, Form 3\n"
        "  arvis-patterns: |\n    \\bpdfs?, please\\b\n    scan\n  arvis-required-tools: run_shell"
    )
    assert (read.slug, read.name, read.description) == ("pdf-processing", "PDF files", "Reads PDF files.")
    assert (read.license, read.compatibility) == ("Apache-2.0", "Requires Python 3.11")
    assert read.allowed_tools == ("Bash(git:*)", "Read")
    assert (read.author, read.version, read.required_tools) == ("Ann", "1.10", ("run_shell",))
    assert (read.keywords, [each.text for each in read.patterns]) == (("pdf", "form 3"), [r"\bpdfs?, please\b", "scan"])
    assert (read.body, read.warnings, read.standard) == ("# Steps", (), True)
    assert standard(MINIMAL + "\nallowed-tools:\n  - Bash\n  - Read").allowed_tools == ("Bash", "Read")


@pytest.mark.parametrize("name", ["a", "9-lives", "a" * 64, "data-analysis"])
def test_valid_names(name: str) -> None:
    assert standard(f"name: {name}\ndescription: x", folder=name).slug == name


@pytest.mark.parametrize(
    ("front", "why"),
    [
        ("description: x", "`name` is missing"),
        ("name: ''\ndescription: x", "`name` is missing"),
        ("name: [a]\ndescription: x", "`name` is missing"),
        (f"name: {'a' * 65}\ndescription: x", "65 characters"),
        ("name: PDF-Processing\ndescription: x", "lower-case letters"),
        ("name: pdf_processing\ndescription: x", "lower-case letters"),
        ("name: pdf processing\ndescription: x", "lower-case letters"),
        ("name: -pdf\ndescription: x", "begin or end with a hyphen"),
        ("name: pdf-\ndescription: x", "begin or end with a hyphen"),
        ("name: pdf--processing\ndescription: x", "two hyphens"),
        ("name: other\ndescription: x", "directory is called 'pdf-processing'"),
        ("name: pdf-processing", "`description` must be"),
        ("name: pdf-processing\ndescription: '  '", "`description` must be"),
        (f"name: pdf-processing\ndescription: {'x' * 1025}", "1,025 characters"),
        (MINIMAL + f"\ncompatibility: {'x' * 501}", "501 characters"),
        (MINIMAL + "\ncompatibility: ''", "`compatibility` must be"),  # the specification; the validator permits it
        (MINIMAL + "\nallowed-tools: {a: b}", "`allowed-tools` must be"),
        ("name: pаyments\ndescription: x", "lower-case letters"),  # a Cyrillic letter; the validator permits it  # noqa: RUF001
    ],
)
def test_violations_of_the_specification(front: str, why: str) -> None:
    with pytest.raises(Unprocessable, match="cannot be used") as refused:
        standard(front)
    assert why in (refused.value.why or "")


def test_limits_are_inclusive() -> None:
    read = standard(f"name: pdf-processing\ndescription: {'x' * 1024}\ncompatibility: {'y' * 500}")
    assert (len(read.description), len(read.compatibility)) == (1024, 500)


def test_fields_of_other_programs_are_ignored_with_a_warning() -> None:
    """The reference validator refuses other fields; published skills have them."""
    read = standard(
        MINIMAL + "\nuser-invocable: true\nmetadata:\n  openclaw: {requires: [git]}\n  keywords: everything"
    )
    assert len(read.warnings) == 2
    assert all("ignored" in warning for warning in read.warnings)
    assert read.keywords == ()


def test_a_skill_of_the_earlier_form_becomes_a_directory(tmp_path: Path) -> None:
    text = (
        "---\nslug: knots\nname: Tying knots\nrequired_tools: [get_time]\ntriggers: {keywords: [rope], "
        "patterns: ['\\btie\\b']}\n---\nText: 1 < 2\n---\nmore\n"
    )
    files = {name: tmp_path / name for name in ("knots.md", "odd_name.md", "ignored.md", "broken.md")}
    files["knots.md"].write_text(text, "utf-8")
    files["odd_name.md"].write_text("---\n---\nText", "utf-8")
    files["ignored.md"].write_text("---\ntriggers: {patterns: ['(']}\n---\nText", "utf-8")
    files["broken.md"].write_text("no front matter", "utf-8")
    (tmp_path / ".knots.part").mkdir()  # a conversion that a crash interrupted
    convert(files.values())
    assert [name for name, file in files.items() if file.exists()] == ["odd_name.md", "ignored.md", "broken.md"]
    assert (tmp_path / "knots.md.earlier").read_text("utf-8") == text
    made = (tmp_path / "knots" / "SKILL.md").read_text("utf-8")
    read = read_skill(made, stem=None, source=Source.FOLDER, folder="knots")
    assert (read.name, read.required_tools, read.keywords) == ("Tying knots", ("get_time",), ("rope",))
    assert read.body == "Text: 1 < 2\n---\nmore"
    (tmp_path / "knots.md.earlier").rename(files["knots.md"])  # a crash between the two steps
    convert([files["knots.md"]])
    assert (tmp_path / "knots.md.earlier").exists()


def test_a_conversion_never_replaces_a_directory(tmp_path: Path) -> None:
    (tmp_path / "knots").mkdir()
    (tmp_path / "knots" / "SKILL.md").write_text("mine", "utf-8")
    file = tmp_path / "knots.md"
    file.write_text("---\nname: Knots\n---\nText", "utf-8")
    convert([file])
    assert (file.exists(), (tmp_path / "knots" / "SKILL.md").read_text("utf-8")) == (True, "mine")
    commas = read_skill("---\ntriggers: {keywords: ['a, b']}\n---\nText", stem="a", source=Source.FOLDER)
    assert standard_text(commas) is None
