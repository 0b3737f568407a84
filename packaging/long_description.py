"""The README as a package index shows it, where a relative picture or link leads nowhere."""

from __future__ import annotations

import re

PICTURE = re.compile(r"!\[[^\]]*\]\((?!https?://)[^)]+\)")
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?://)([^)#]*)(#[^)]*)?\)")
EMPTY_ROW = re.compile(r"\|[\s|]*\|")


def to_long_description(readme: str) -> str:
    """Leave out relative pictures, and the table rows that held nothing else; keep of relative links what they say."""
    lines: list[str] = []
    for line in readme.splitlines():
        shown = LINK.sub(lambda found: found[1], PICTURE.sub("", line))
        bare = shown != line and (not shown.strip() or EMPTY_ROW.fullmatch(shown.strip()))
        if not bare:
            lines.append(shown.rstrip())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"
