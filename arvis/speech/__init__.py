"""What people say while they still speak: chunks of a transcript become messages (behaviour.md 2.8). Recognition itself is a
wing."""

from arvis.speech.buffer import Added, BufferStatus, Chunk, Reason, StreamBuffer, Utterance, UtteranceRules
from arvis.speech.utterances import UtteranceDetector, utterance_detector

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
