"""What lies around the application, made of the configuration: the outermost comes first."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from starlette.types import ASGIApp

from arvis.config.sections import Web
from arvis.ports.clock import Clock
from arvis.web.completions_front import CompletionsFront
from arvis.web.guards import AnswerHeaders, Guard, known_hosts, origin_of


def guards_of(
    config: Web, *, cookie: str, opens: Callable[[str], bool], clock: Clock, new_token: Callable[[], str]
) -> Sequence[Callable[[ASGIApp], ASGIApp]]:
    origins = frozenset(origin_of(each) for each in config.allowed_origins)
    return [
        functools.partial(AnswerHeaders, clock=clock),
        functools.partial(CompletionsFront, origins=origins, new_token=new_token),
        functools.partial(
            Guard,
            hosts=known_hosts(config.host, config.allowed_hosts, config.public_url),
            public_origin=None if config.public_url is None else origin_of(config.public_url),
            cookie=cookie,
            opens=opens,
            origins=origins,
        ),
    ]
