"""Live speech: chunks of a transcript become messages while a person still speaks. This package contains no speech
recognition."""

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
