"""A speech engine of the kind `command`: `recogniser.py PATH` prints the words that PocketSphinx recognises in a sound
file."""

from __future__ import annotations

import subprocess
import sys

import pocketsphinx

RATE = 16_000


def main(path: str) -> None:
    convert = ["ffmpeg", "-v", "error", "-i", path, "-ac", "1", "-ar", str(RATE), "-f", "s16le", "-"]
    samples = subprocess.run(convert, check=True, capture_output=True).stdout
    silence = bytes(RATE // 5 * 2)
    decoder = pocketsphinx.Decoder(samprate=RATE, loglevel="FATAL")
    decoder.start_utt()
    decoder.process_raw(silence + samples + silence, full_utt=True)
    decoder.end_utt()
    heard = decoder.hyp()
    print(heard.hypstr if heard else "")


if __name__ == "__main__":
    main(sys.argv[1])
