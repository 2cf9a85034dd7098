"""Writes an untrained Whisper checkpoint: `speech_model.py PATH`.

It has the smallest dimensions that the real loading code accepts.
"""

from __future__ import annotations

import sys

import torch
import whisper

DIMENSIONS = {
    "n_mels": 80,
    "n_audio_ctx": 1500,
    "n_audio_state": 64,
    "n_audio_head": 2,
    "n_audio_layer": 2,
    "n_vocab": 51865,
    "n_text_ctx": 448,
    "n_text_state": 64,
    "n_text_head": 2,
    "n_text_layer": 2,
}
#: The token that ends a text.
END = 50257


def main(path: str) -> None:
    torch.manual_seed(1)
    model = whisper.model.Whisper(whisper.model.ModelDimensions(**DIMENSIONS))
    weights = {name: torch.randn(value.shape) * 0.05 for name, value in model.state_dict().items()}
    # The end of the text is the most likely token for every input, so a transcription ends soon.
    weights["decoder.ln.weight"].zero_()
    weights["decoder.ln.bias"].fill_(0.1)
    weights["decoder.token_embedding.weight"][END].fill_(5.0)
    torch.save({"dims": DIMENSIONS, "model_state_dict": weights}, path)


if __name__ == "__main__":
    main(sys.argv[1])
