"""The conversations of `python -m bench.recall`: the reader for LoCoMo's format, and our own set."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from bench.recall.talks import own_talks, read_locomo

SAMPLE = {
    "conversation": {
        "speaker_a": "Ann",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "I sold the kayak."},
            {"speaker": "Bob", "dia_id": "D1:2", "text": "Nice!", "img_url": ["x"], "blip_caption": "a photo"},
        ],
        "session_2_date_time": "12:05 am on 1 June, 2023",
        "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "I bought a tent."}],
    },
    "qa": [
        {"question": "What did Ann buy and sell?", "answer": "kayak", "evidence": ["D1:1; D2:1"], "category": 1},
        {"question": "Nothing?", "evidence": [], "category": 5},
        {"question": "Elsewhere?", "evidence": ["D9:9"], "category": 4},
    ],
}


def test_the_reader_returns_turns_in_their_order_and_questions_with_evidence(tmp_path: Path) -> None:
    file = tmp_path / "locomo.json"
    file.write_text(json.dumps([SAMPLE, SAMPLE]), "utf-8")
    one, other = read_locomo(file)
    assert [(each.speaker, each.text) for each in one.messages] == [
        ("Ann", "I sold the kayak."), ("Bob", "Nice!"), ("Ann", "I bought a tent."),
    ]  # fmt: skip
    ids = [each.id for each in one.messages]
    assert ids == sorted(ids)
    assert not {*ids} & {each.id for each in other.messages}
    assert [(asked.text, asked.kind, asked.evidence) for asked in one.questions] == [
        ("What did Ann buy and sell?", "several turns", frozenset({ids[0], ids[2]}))
    ]


@pytest.mark.parametrize("text", ["", "[1]", '{"a": 1}', '[{"conversation": {}}]'])
def test_a_file_in_another_format_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(text, "utf-8")
    with pytest.raises(SystemExit, match=r"other\.json is not in LoCoMo's format"):
        read_locomo(file)
    with pytest.raises(SystemExit, match="cannot be read"):
        read_locomo(tmp_path / "none.json")


def test_our_own_set_has_500_different_questions_with_one_answer_each() -> None:
    talks = own_talks()
    assert [talk.name for talk in talks] == ["own-en", "own-de", "own-es", "own-zh"]
    questions = [asked for talk in talks for asked in talk.questions]
    assert len({asked.text for asked in questions}) == len(questions) == 500
    assert {*Counter(asked.kind for asked in questions).values()} == {25}
    ids = {message.id for talk in talks for message in talk.messages}
    assert len(ids) == 2_000
    assert all(len(asked.evidence) == 1 and asked.evidence <= ids for asked in questions)
    assert own_talks() == talks
