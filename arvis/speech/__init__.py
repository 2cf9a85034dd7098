"""Live speech: the transcript of a person's speech arrives in chunks, and becomes messages while the person still
speaks. This package contains no speech recognition."""

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
