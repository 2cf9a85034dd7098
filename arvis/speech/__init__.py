"""Live speech: chunks of a transcript become messages while a person still speaks (behaviour.md 2.8). Speech
recognition itself is not part of this package."""

from arvis.speech.buffer import (
    Added,
    BufferStatus,
    Chunk,
    Reason,
    StreamBuffer,
    Utterance,
    UtteranceDetector,
    UtteranceRules,
    utterance_detector,
)

__all__ = [
    "Added",
    "BufferStatus",
    "Chunk",
    "Reason",
    "StreamBuffer",
    "Utterance",
    "UtteranceDetector",
    "UtteranceRules",
    "utterance_detector",
]
