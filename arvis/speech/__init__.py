"""What people say while they still speak: chunks of a transcript become messages (behaviour.md 2.8). Recognition itself is a
wing."""

from arvis.speech.buffer import Added, BufferStatus, Chunk, Reason, Rules, StreamBuffer, Utterance
from arvis.speech.thoughts import UtteranceDetector, known_thoughts

__all__ = [
    "Added",
    "BufferStatus",
    "Chunk",
    "Reason",
    "Rules",
    "StreamBuffer",
    "Utterance",
    "UtteranceDetector",
    "known_thoughts",
]
