"""The bridge's log: one JSON document a line in rotated files, and readable lines on a terminal.

Contents of facts, and all secrets, stay out of it.
"""

from __future__ import annotations

import json
import logging
import logging.handlers
import sys
import time
from collections.abc import Iterator
from pathlib import Path

MOST_BYTES = 2_000_000
KEPT = 3
"""Older files that are kept."""

LOOK_S = 0.2


class JsonLogFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """Format `at` (UTC), `level`, `logger`, `message`, and `error` with its traceback when there is one."""
        document = {
            "at": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            document["error"] = self.formatException(record.exc_info)
        return json.dumps(document, ensure_ascii=False)


def configure_bridge_log(path: Path, level: str) -> None:
    root = logging.getLogger()
    root.setLevel(level.upper())
    file = logging.handlers.RotatingFileHandler(
        path, maxBytes=MOST_BYTES, backupCount=KEPT, encoding="utf-8", errors="backslashreplace", delay=True
    )
    file.setFormatter(JsonLogFormatter())
    root.addHandler(file)
    if sys.stderr.isatty():
        terminal = logging.StreamHandler()
        terminal.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        root.addHandler(terminal)
    for chatty in ("mcp", "uvicorn", "httpx"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, root.level))
    logging.getLogger("uvicorn.error").setLevel(
        logging.ERROR
    )  # it warns of every request that is none, as often as one likes


def tail_bridge_log(path: Path, lines: int, *, follow: bool) -> Iterator[str]:
    """Yield the last lines of the log, then new ones. A rotated file is followed by name."""
    content = path.read_bytes() if path.exists() else b""
    place = len(content)
    shown = content.decode(errors="replace").splitlines()
    yield from map(format_log_line, shown[-lines:] if lines else [])
    if not follow:
        return
    rest = b""
    while True:
        size = path.stat().st_size if path.exists() else 0
        if size < place:
            place, rest = 0, b""
        if size > place:
            with path.open("rb") as file:
                file.seek(place)
                rest += file.read()
                place = file.tell()
            *whole, rest = rest.split(b"\n")
            yield from (format_log_line(line.decode(errors="replace")) for line in whole)
        time.sleep(LOOK_S)  # a file tells nobody that it grew


def format_log_line(line: str) -> str:
    """Format a line of the log for a person; one that is not JSON is returned as it is."""
    try:
        document = json.loads(line)
        said = f"{document['at']} {document['level']:<7} {document['message']}"
        return said + (f"\n{document['error']}" if "error" in document else "")
    except (ValueError, KeyError, TypeError):
        return line
