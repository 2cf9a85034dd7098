"""`arvis evals`: record turns as cases, evaluate an agent with them, and compare evaluations."""

from __future__ import annotations

import difflib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import Api, ApiCommands
from arvis.cli.options import all_options, effort_option, existing_file, given, names, page_options, read_text
from arvis.cli.output import Output, Row, Table, at, fields, one_line, tell
from arvis.domain.agents import LONGEST_PROMPT
from arvis.domain.errors import ArvisError, DaemonUnreachable, NotFound, UsageError

#: The interval of the checks of a running evaluation, in seconds.
_PAUSE = 0.5
#: The maximum number of characters that are read from a file.
_LARGEST = 4_000_001


def _outcome(evaluation: Row) -> str:
    totals = evaluation["totals"]
    count = f"{totals['passed']} of {evaluation['count']} passed"
    return count if evaluation["status"] == "done" else f"{evaluation['status']}, {count}"


def _all_passed(evaluation: Row) -> bool:
    """Return True if every evaluated case has passed."""
    return bool(evaluation["status"] == "done" and evaluation["totals"]["passed"] == evaluation["count"])


def _mark(result: Row | None) -> str | None:
    return None if result is None else "passed" if result["passed"] else "FAILED"


def _reason(result: Row) -> str | None:
    """Return the first reason why a case fails."""
    failed = [check for check in result.get("checks", ()) if not check["passed"]]
    return result.get("problem") or (f"{failed[0]['expectation']}: {failed[0]['reason']}" if failed else None)


def _change(pair: Row) -> str | None:
    before, after = pair["before"], pair["after"]
    if before is None or after is None or before["passed"] == after["passed"]:
        return None
    return "worse" if pair["worse"] else "better"


def _both(pair: Row, of: Any) -> str:
    return " → ".join("-" if pair[side] is None else of(pair[side]) for side in ("before", "after"))


def _usd(amount: float) -> str:
    return f"${amount:.4f}"


_SUITES = Table(
    "name",
    "agent",
    "cases",
    ("gate", lambda suite: "on" if suite["gate"] else "off"),
    ("last", lambda suite: _outcome(suite["last"]) if suite["last"] else None),
    ("at", lambda suite: suite["last"] and at("createdAt")(suite["last"])),
    nothing="No suites. Create one with `arvis evals create NAME --agent AGENT`.",
)
_CASES = Table(
    "name",
    "kind",
    "calls",
    ("expectations", lambda case: ", ".join(case["expectations"])),
    "question",
    nothing="No cases. Record one with `arvis evals record SUITE MESSAGE`.",
)
_EVALUATIONS = Table(
    "id",
    "suite",
    ("at", at("createdAt")),
    ("outcome", _outcome),
    ("changes", lambda each: ", ".join(each["changes"]) or None),
    ("cost", lambda each: _usd(each["totals"]["costUsd"])),
    nothing="No evaluations.",
)
_RESULTS = Table(
    "case",
    ("result", _mark),
    ("reason", _reason),
    ("cost", lambda result: _usd(result["costUsd"])),
    ("tokens", lambda result: result["inputTokens"] + result["outputTokens"]),
    ("seconds", lambda result: f"{result['durationMs'] / 1000:.1f}"),
    "reply",
    nothing="No results.",
)
_COMPARED = Table(
    "case",
    ("before", lambda pair: _mark(pair["before"])),
    ("after", lambda pair: _mark(pair["after"])),
    ("change", _change),
    ("reason", lambda pair: _reason(pair["after"] or {})),
    ("cost", lambda pair: _both(pair, lambda result: _usd(result["costUsd"]))),
    ("tokens", lambda pair: _both(pair, lambda result: str(result["inputTokens"] + result["outputTokens"]))),
    ("seconds", lambda pair: _both(pair, lambda result: f"{result['durationMs'] / 1000:.1f}")),
    nothing="No results.",
)


@click.group(cls=ApiCommands)
def evals() -> None:
    """Record turns as cases, evaluate agents with them, and compare evaluations."""


# -- suites and cases --------------------------------------------------------------------------------------------------


@evals.command("list")
@click.option("--runs", is_flag=True, help="List evaluations instead of suites.")
@click.option("--suite", help="With --runs: only evaluations of this suite.")
@page_options
def list_evals(*, api: Api, runs: bool, suite: str | None, **query: Any) -> Output:
    """List suites with their newest evaluation; with --runs, list evaluations."""
    if runs:
        query["limit"] = min(query["limit"], 50)
        return _EVALUATIONS.page(api.get("evaluations", query={**query, "suite": suite}))
    return _SUITES.page(api.get("suites"))


@evals.command()
@click.argument("name", metavar="SUITE|EVALUATION")
@click.argument("case", required=False)
def show(*, api: Api, name: str, case: str | None) -> Output:
    """Show a suite with its cases, one CASE as a document, or an evaluation with its results."""
    if case is not None:
        found = api.get("suites", name, "cases", case)
        return Output(found["document"], json.dumps(found["document"], ensure_ascii=False, indent=2))
    try:
        suite = api.get("suites", name)
    except NotFound:
        return _shown(api.get("evaluations", name))
    described = fields(suite, "createdAt", last=suite["last"] and _outcome(suite["last"]), items=None)
    return Output(suite, described, _CASES.text(suite["items"]))


@evals.command()
@click.argument("name")
@click.option("--agent", required=True, help="The agent that all cases of the suite evaluate.")
def create(*, api: Api, **body: Any) -> Output:
    """Create a suite of cases for an agent."""
    made = api.post("suites", body=body)
    return Output(made, f"The suite {made['name']} is created for the agent {made['agent']}.")


_expectations = all_options(
    click.option("--contains", multiple=True, metavar="TEXT", help="The reply must contain this text."),
    click.option("--lacks", multiple=True, metavar="TEXT", help="The reply must not contain this text."),
    click.option("--tool", multiple=True, metavar="NAME", help="The agent must call this tool."),
    click.option("--no-tool", "noTool", multiple=True, metavar="NAME", help="The agent must not call this tool."),
    click.option("--judge", multiple=True, metavar="QUESTION", help="A model must answer this question with yes."),
    click.option(
        "--schema", type=existing_file, metavar="FILE", help="The reply must be JSON that matches this schema."
    ),
    click.option("--max-cost", "maxCostUsd", type=float, metavar="USD", help="The model calls may cost at most this."),
    click.option("--max-characters", "maxCharacters", type=int, metavar="N", help="The maximum length of the reply."),
    click.option(
        "--max-seconds", "maxSeconds", type=float, metavar="N", help="The maximum duration of the model calls."
    ),
)


@evals.command()
@click.argument("suite")
@click.argument("message", required=False)
@click.option("--name", help="The name of the case (default: the id of the message).")
@_expectations
@click.option("--replace", is_flag=True, help="Replace a case with the same name.")
def record(
    *, api: Api, suite: str, message: str | None, name: str | None, replace: bool, schema: Path | None, **expected: Any
) -> Output:
    """Record an answered turn as a case: its messages, its history, the facts, and the outputs of its tool calls.

    MESSAGE is the id of a message or of its answer (default: the newest message)."""
    expect = list(_expected(expected))
    if schema is not None:
        expect.append({"schema": _json_of(schema)})
    body = {"message": message or _newest(api), "name": name, "expect": expect, "replace": replace}
    made = api.post("suites", suite, "record", body=given(body))
    notes = [] if made["expectations"] else ["The case has no expectations yet, so every reply passes."]
    calls = f"{made['calls']} tool call{'s' * (made['calls'] != 1)}"
    return Output(made, f"The case {made['name']} is recorded with {calls}.", notes=notes)


@evals.command("import")
@click.argument("suite")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--replace", is_flag=True, help="Replace cases with the same names.")
def import_cases(*, api: Api, suite: str, files: Sequence[Path], replace: bool) -> Output:
    """Add cases from JSON files, or from all JSON files of a folder."""
    added = []
    for file in [each for path in files for each in (sorted(path.glob("*.json")) if path.is_dir() else [path])]:
        body = {"document": _json_of(file), "replace": replace}
        try:
            added.append(api.post("suites", suite, "cases", body=body)["name"])
        except DaemonUnreachable:
            raise
        except ArvisError as error:
            what = f"{file} was not added. {error.what}"
            raise UsageError(what, why=error.why, fix=error.fix, code=error.code) from None
    return Output({"cases": added}, f"{_cases(len(added))} added to {suite}.")


@evals.command()
@click.argument("suite")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def export(*, api: Api, suite: str, folder: Path) -> Output:
    """Write each case of a suite to a JSON file in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    found = api.get("suites", suite)["items"]
    for case in found:
        document = api.get("suites", suite, "cases", case["name"])["document"]
        text = json.dumps(document, ensure_ascii=False, indent=2)
        (folder / f"{case['name']}.json").write_text(f"{text}\n", encoding="utf-8")
    return Output({"cases": [case["name"] for case in found]}, f"{_cases(len(found))} written to {folder}.")


@evals.command()
@click.argument("suite")
@click.argument("case", required=False)
def delete(*, api: Api, suite: str, case: str | None) -> Output:
    """Delete a suite with its cases and results, or one CASE."""
    if case is not None:
        return Output(api.delete("suites", suite, "cases", case), f"The case {case} is deleted.")
    return Output(api.delete("suites", suite), f"The suite {suite} is deleted.")


@evals.command()
@click.argument("suite")
@click.option("--on/--off", "gate", required=True, help="Require the suite, or stop requiring it.")
def gate(*, api: Api, suite: str, **body: Any) -> Output:
    """Require that a changed prompt of the agent passes the suite before Arvis stores the prompt."""
    changed = api.patch("suites", suite, body=body)
    if changed["gate"]:
        return Output(changed, f"A changed prompt of {changed['agent']} must pass {suite} first.")
    return Output(changed, f"Prompts of {changed['agent']} no longer need to pass {suite}.")


# -- evaluations -------------------------------------------------------------------------------------------------------


_changes = all_options(
    click.option("--prompt-file", type=existing_file, metavar="FILE", help="Evaluate the agent with this prompt."),
    click.option("--model", help="Evaluate the agent with this model, as provider/model."),
    effort_option("the effort of the agent"),
    click.option("--tools", type=names, metavar="NAMES", help="Evaluate the agent with these tools."),
    click.option("--max-cost", type=float, metavar="USD", help="Start no further case after this cost."),
    click.option("--judge", metavar="MODEL", help="The model that judges (default: the agent's)."),
    click.option("--case", "cases", multiple=True, metavar="NAME", help="Evaluate only this case; may be repeated."),
)


@evals.command()
@click.argument("suite")
@_changes
@click.option("--min-recall", type=click.FloatRange(0, 1), help="Fail if the mean recall@10 is lower.")
@click.option("--no-wait", is_flag=True, help="Do not wait for the results.")
def run(*, api: Api, suite: str, min_recall: float | None, no_wait: bool, **options: Any) -> Output:
    """Evaluate the agent of a suite, unchanged or with changes. The command fails if a case fails."""
    begun = api.post("evaluations", body=_started(suite, **options))
    if no_wait:
        return Output(
            begun, f"The evaluation {begun['id']} has begun. `arvis evals show {begun['id']}` shows its results."
        )
    return _shown(_finished(api, begun["id"]), min_recall)


@evals.command()
@click.argument("before", metavar="SUITE|EVALUATION")
@click.argument("after", metavar="EVALUATION", required=False)
@click.option("--baseline", metavar="EVALUATION", help="Compare with this evaluation instead of a new one.")
@_changes
def compare(*, api: Api, before: str, after: str | None, baseline: str | None, **options: Any) -> Output:
    """Compare two evaluations, or evaluate the agent of a SUITE unchanged and with changes, and compare the results.

    The command fails if a case that passed before fails now, or if an evaluation did not finish all cases."""
    if after is None:
        changed = {name: options[name] for name in ("prompt_file", "model", "effort", "tools")}
        if not given(changed):
            raise click.UsageError("Name two evaluations, or give a change such as --prompt-file.")
        if baseline is None:
            unchanged: dict[str, Any] = {**options, **dict.fromkeys(changed)}
            first = api.post("evaluations", body=_started(before, **unchanged))
            baseline = _finished(api, first["id"])["id"]
        second = api.post("evaluations", body=_started(before, **options))
        before, after = baseline or "", _finished(api, second["id"])["id"]
    return _compared(api.get("evaluations", before, "compare", after))


def _started(
    suite: str,
    *,
    prompt_file: Path | None,
    max_cost: float | None,
    judge: str | None,
    cases: Sequence[str],
    **changes: Any,
) -> dict[str, Any]:
    """Return the request that starts an evaluation."""
    if prompt_file is not None:
        changes["prompt"] = read_text(prompt_file, "--prompt-file", LONGEST_PROMPT + 1)
    body = {"suite": suite, "maxCostUsd": max_cost, "judge": judge, "cases": list(cases) or None}
    return {**given(body), "changes": given(changes)}


def _finished(api: Api, evaluation_id: str) -> Any:
    """Wait for the end of an evaluation and return it with its results."""
    shown: set[str] = set()
    while True:
        found = api.get("evaluations", evaluation_id)
        for result in found["results"]:
            if result["case"] not in shown:
                tell(f"{_mark(result)}  {result['case']}")
        shown = {result["case"] for result in found["results"]}
        if found["status"] != "running":
            return found
        time.sleep(_PAUSE)


def _newest(api: Api) -> str:
    newest = api.get("jobs", query={"kind": "message", "limit": 1})["items"]
    if not newest:
        raise NotFound("There is no message yet.", fix='Send one with `arvis chat "hello"`.')
    message: str = newest[0]["messageId"]
    return message


def _expected(options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name, value in options.items():
        if isinstance(value, tuple):
            yield from ({name: each} for each in value)
        elif value is not None:
            yield {name: value}


def _json_of(file: Path) -> Any:
    text = read_text(file, "FILE", _LARGEST)
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError(f"{file} is not valid JSON", why=str(error), fix="Correct it, or name another file.") from None


# -- texts -------------------------------------------------------------------------------------------------------------


def _shown(evaluation: Row, min_recall: float | None = None) -> Output:
    totals = evaluation["totals"]
    lines = [f"{evaluation['suite']}: {_outcome(evaluation)}, {_usd(totals['costUsd'])}"]
    lines[0] += f", {totals['inputTokens'] + totals['outputTokens']} tokens, {totals['durationMs'] / 1000:.1f} s"
    if totals["recall"] is not None:
        lines.append("recall@5 {:.2f}, recall@10 {:.2f}".format(*totals["recall"]))
    lines.append(f"evaluation {evaluation['id']}")
    notes = [evaluation["problem"]] if evaluation["problem"] else []
    notes += [
        f"{each['case']}: the case contains no recorded output for the call {one_line(call)}"
        for each in evaluation["results"]
        for call in each["unrecorded"]
    ]
    failed = evaluation["status"] != "running" and not _all_passed(evaluation)
    if min_recall is not None and (totals["recall"] or (0.0, 0.0))[-1] < min_recall:
        notes.append(f"recall@10 is lower than the required {min_recall:.2f}.")
        failed = True
    return Output(evaluation, _RESULTS.text(evaluation["results"]), "\n".join(lines), notes=notes, failed=failed)


def _compared(found: Row) -> Output:
    before, after = found["before"], found["after"]
    lines = [
        f"before: {before['id']}, {_outcome(before)}, {_usd(before['totals']['costUsd'])}",
        f"after:  {after['id']}, {_outcome(after)}, {_usd(after['totals']['costUsd'])}",
    ]
    replies = ("\n".join(_differences(pair)) for pair in found["cases"])
    if found["worse"]:
        words = (
            "1 case passed before and fails"
            if found["worse"] == 1
            else f"{found['worse']} cases passed before and fail"
        )
        lines.append(f"{words} now.")
    notes = [f"{each['id']}: {each['problem']}" for each in (before, after) if each["problem"]]
    failed = found["worse"] > 0 or any(each["status"] != "done" for each in (before, after))
    table = _COMPARED.text(found["cases"])
    return Output(found, table, *filter(None, replies), "\n".join(lines), notes=notes, failed=failed)


def _cases(count: int) -> str:
    return "1 case is" if count == 1 else f"{count} cases are"


def _differences(pair: Row) -> Iterator[str]:
    """Yield the lines of the two replies that differ."""
    before, after = ((pair[side] or {}).get("reply", "").splitlines() for side in ("before", "after"))
    lines = [line for line in difflib.ndiff(before, after) if not line.startswith(("?", " "))]
    if lines:
        yield f"{pair['case']}:"
        yield from lines
