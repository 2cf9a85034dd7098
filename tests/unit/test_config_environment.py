"""Environment variables set keys of the configuration, nested as in the file."""

from __future__ import annotations

from typing import Any

import pytest

from arvis.config.environment import values_in
from arvis.config.schema import ConfigFile

CASES: list[tuple[dict[str, str], dict[str, Any]]] = [
    ({}, {}),
    ({"ARVIS__WEB__PORT": "6000"}, {"web": {"port": "6000"}}),
    ({"arvis__web__port": "6000", "Arvis__Web__HOST": "::1"}, {"web": {"port": "6000", "host": "::1"}}),
    ({"ARVIS__ROLES": '["web"]'}, {"roles": ["web"]}),
    ({"ARVIS__ROLES": "web,workers"}, {"roles": "web,workers"}),
    ({"ARVIS__WEB": '{"port": 1, "host": "h"}', "ARVIS__WEB__PORT": "2"}, {"web": {"port": "2", "host": "h"}}),
    ({"ARVIS__WEB__PORT": "2", "ARVIS__WEB": '{"port": 1}'}, {"web": {"port": "2"}}),
    ({"ARVIS__WEB": "no section", "ARVIS__WEB__PORT": "2"}, {"web": "no section"}),
    ({"ARVIS__WEB": "null"}, {}),
    ({"ARVIS__DATABASE": '{"a": 1}'}, {"database": '{"a": 1}'}),
    ({"ARVIS__BUDGETS__DAILY_USD": "null"}, {"budgets": {"daily_usd": "null"}}),
    ({"ARVIS__MODEL_PRICES__GPT__INPUT": "2.5"}, {"model_prices": {"gpt": {"input": "2.5"}}}),
    ({"ARVIS__MODEL_PRICES__GPT": '{"input": 2.5}'}, {"model_prices": {"gpt": {"input": 2.5}}}),
    ({"ARVIS__TELEMETRY__HEADERS__X": "5"}, {"telemetry": {"headers": {"x": "5"}}}),
    ({"ARVIS__OWNERS__DISCORD": '["1"]'}, {"owners": {"discord": ["1"]}}),
    ({"ARVIS__SPEECH__TTS__ENGINE": "none"}, {"speech": {"tts": {"engine": "none"}}}),
    ({"ARVIS__WEB__UNKNOWN": "[1]", "ARVIS__NOTHING": "x", "PATH": "/bin"}, {"web": {"unknown": "[1]"}}),
]


@pytest.mark.parametrize(("environ", "values"), CASES)
def test_variables_are_nested_values(environ: dict[str, str], values: dict[str, Any]) -> None:
    assert values_in(environ, ConfigFile) == values
