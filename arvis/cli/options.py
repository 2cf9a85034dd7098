"""The options that many commands take, spelled once, and groups that list their commands in reading order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from arvis.domain.workflows import PREFIX

_Function = TypeVar("_Function", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


def place_options(command: _Function) -> _Function:
    """`--config` and `--data`, which every command takes."""
    path = click.Path(path_type=Path)
    config = click.option(
        "--config", type=path, metavar="FILE", help="The configuration (default: ./config.yaml if there)."
    )
    data = click.option(
        "--data", type=path, metavar="DIR", help="The data folder (default: ARVIS_DATA_DIR, then data_dir)."
    )
    return config(data(command))


def page_options(command: _Function) -> _Function:
    """`--limit` and `--cursor`, for lists."""
    most = click.IntRange(1, 200)
    limit = click.option("--limit", type=most, default=50, show_default=True, help="The largest number of rows.")
    cursor = click.option("--cursor", help="Continue after the page before.")
    return limit(cursor(command))


def channel_of(text: str) -> dict[str, str]:
    """The PLATFORM:CHANNEL behind `--to`, as the API takes it."""
    platform, colon, channel = text.partition(":")
    if not (platform and colon and channel):
        raise click.BadParameter("must be such as telegram:-1001234", param_hint="--to")
    return {"platform": platform, "channelId": channel}


def workflow_option(words: str) -> Callable[[_Function], _Function]:
    """`--workflow`, which `as_graph` reads; a command may also take `--graph`."""
    return click.option("--workflow", metavar="NAME", help=words)


def as_graph(given: Mapping[str, Any]) -> dict[str, Any]:
    """With the workflow that was given as the `graph`, as the API takes it; empty takes it away."""
    rest = {name: value for name, value in given.items() if name != "workflow"}
    if "workflow" not in given:
        return rest
    if "graph" in rest:
        raise click.UsageError("Give either --graph or --workflow.")
    named = given["workflow"].removeprefix(PREFIX)
    return {**rest, "graph": PREFIX + named if named else None}


class Commands(click.Group):
    """A group whose help lists the commands as the module does; click sorts them by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - its signature
        return list(self.commands)
