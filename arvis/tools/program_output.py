"""What a program wrote, and how it ended, as a model is told of it."""

from __future__ import annotations

from arvis.ports.sandbox import Finished


def output_of(finished: Finished, longest: int) -> str:
    """Standard output, then standard error, in at most about `longest` characters of which each can be seen."""
    out, err = (data.decode("utf-8", "replace") for data in (finished.stdout, finished.stderr))
    text = "\n".join(part for part in (out.rstrip("\n"), err.rstrip("\n")) if part)
    return _shortened("".join(char if char.isprintable() or char in "\n\t" else "�" for char in text), longest)


def end_of(finished: Finished, timeout: float) -> str:
    """`timeout` in seconds."""
    cut = "; more was written than could be kept" if finished.truncated else ""
    if finished.timed_out:
        return f"ended at its time limit of {timeout * 1000:.0f} ms{cut}"
    if finished.exit_code < 0:
        return f"ended by signal {-finished.exit_code}{cut}"
    return f"exit code {finished.exit_code}{cut}"


def _shortened(text: str, longest: int) -> str:
    """Beginning and end: errors stand at the end, what they are about at the beginning."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"
