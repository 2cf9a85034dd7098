"""A separate program that extracts the text of one document or web page: `python child.py KIND LIBRARIES…`. KIND is
`pdf`, `docx` or `html`, or `pages` (a PDF, with form feeds between its pages) or `markdown` (a DOCX, with its headings
and tables).

LIBRARIES are the folders that contain the libraries named below. The program uses only these libraries and the standard
library, and imports no module of Arvis. For a web page, it loads the file `page.py` from its own folder. The first line
of the input is then the page's address, and the first line of the output is the page's title.

The program reads the document from standard input and writes each piece of text to standard output immediately, so that
the text before an error is kept. The operating system limits the memory and time of this process, so a document that
expands enormously can end only this process and not the daemon.
"""

from __future__ import annotations

import io
import logging
import os
import resource
import sys
from collections.abc import Iterator, Sequence

#: The libraries that read documents, and their dependencies.
LIBRARIES = ("pypdf", "mammoth", "cobble", "justhtml")

#: The maximum bytes of memory and seconds of CPU time, for documents and for web pages.
MEMORY = 134_217_728
SECONDS = 5
PAGE_MEMORY = 268_435_456
PAGE_SECONDS = 8
#: The limits for `pages` and `markdown`. No message waits for these documents, so reading them may take longer. The
#: process has a lower priority than other programs.
SLOW_MEMORY = 402_653_184
SLOW_SECONDS = 60
_SLOW = frozenset({"pages", "markdown"})
_NICE = 10

#: The file with the function that reads a web page.
PAGE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "page.py")  # noqa: PTH118, PTH120 (pathlib loads slowly)

#: The limits for an archive: the number of entries and the total number of unpacked bytes that it may declare.
_MOST_ENTRIES = 2_000
_MOST_UNPACKED = 67_108_864

#: The exit statuses for a damaged document (1, which Python itself uses after an exception), a locked document, and a
#: document that expands too much.
DAMAGED, LOCKED, BOMB = 1, 4, 5


def main(kind: str, libraries: Sequence[str]) -> int:
    sys.path += libraries
    seconds, memory = (PAGE_SECONDS, PAGE_MEMORY) if kind == "html" else (SECONDS, MEMORY)
    if kind in _SLOW:
        seconds, memory = SLOW_SECONDS, SLOW_MEMORY
        os.nice(_NICE)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    logging.disable()
    try:
        for piece in pieces(kind, sys.stdin.buffer.read()):
            os.write(1, piece.encode("utf-8", "replace"))
    except MemoryError:
        return BOMB
    return 0


def pieces(kind: str, data: bytes) -> Iterator[str]:
    match kind:
        case "pdf":
            return _pages(data)
        case "pages":
            return _pages(data, "\f")
        case "html":
            return _parts_of_page(data)
        case "markdown":
            return _structure(data)
        case _:
            return _paragraphs(data)


def _pages(data: bytes, between: str = "\n\n") -> Iterator[str]:
    import pypdf  # noqa: PLC0415 (only the library for this type is loaded)

    reader = pypdf.PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise SystemExit(LOCKED)
    for page in reader.pages:
        yield f"{page.extract_text().strip()}{between}"


def _paragraphs(data: bytes) -> Iterator[str]:
    import mammoth  # type: ignore[import-untyped]  # noqa: PLC0415 (as above; it ships no types)

    _check_archive(data)
    yield mammoth.extract_raw_text(io.BytesIO(data)).value


def _structure(data: bytes) -> Iterator[str]:
    import mammoth  # noqa: PLC0415 (as above)

    _check_archive(data)
    without = mammoth.images.img_element(lambda _image: {})
    html = mammoth.convert_to_html(io.BytesIO(data), convert_image=without).value
    return _parts_of_page(f"\n<main>{html}</main>".encode())


def _check_archive(data: bytes) -> None:
    import zipfile  # noqa: PLC0415 (as above)

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
    if len(entries) > _MOST_ENTRIES or sum(entry.file_size for entry in entries) > _MOST_UNPACKED:
        raise SystemExit(BOMB)


def _parts_of_page(data: bytes) -> Iterator[str]:
    from importlib.util import module_from_spec, spec_from_file_location  # noqa: PLC0415 (as above)

    spec = spec_from_file_location("page", PAGE)
    if spec is None or spec.loader is None:
        raise SystemExit(DAMAGED)
    page = module_from_spec(spec)
    spec.loader.exec_module(page)
    url, _, html = data.decode("utf-8", "replace").partition("\n")
    parts: Iterator[str] = page.read_page(html, url)
    return parts


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
