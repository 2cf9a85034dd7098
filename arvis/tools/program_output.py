"""The output of a program and its end, as text for a model."""

from __future__ import annotations

from arvis.ports.sandbox import Finished


def output_of(finished: Finished, longest: int) -> str:
    """Return standard output, then standard error, in at most about `longest` visible characters each."""
    out, err = (data.decode("utf-8", "replace") for data in (finished.stdout, finished.stderr))
    text = "\n".join(part for part in (out.rstrip("\n"), err.rstrip("\n")) if part)
    return _shortened("".join(char if char.isprintable() or char in "\n\t" else "�" for char in text), longest)


def end_of(finished: Finished, timeout: float) -> str:
    """`timeout` in seconds."""
    cut = "; some output was dropped" if finished.truncated else ""
    if finished.timed_out:
        return f"stopped at its time limit of {timeout * 1000:.0f} ms{cut}"
    if finished.exit_code < 0:
        return f"ended by signal {-finished.exit_code}{cut}"
    return f"exit code {finished.exit_code}{cut}"


def _shortened(text: str, longest: int) -> str:
    """Keep the beginning and the end: errors are at the end, their context at the beginning."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters omitted …]\n{text[-half:]}"
