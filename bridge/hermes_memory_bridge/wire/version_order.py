"""Which of two versions of this program is the older one. Standard library only: the shim imports it."""

from __future__ import annotations


def is_older(version: object, than: str) -> bool:
    """Check whether a version comes before another; one that cannot be read never does."""
    release, other = parse_release(version), parse_release(than)
    return release is not None and other is not None and release < other


def parse_release(version: object) -> tuple[tuple[int, ...], bool] | None:
    """Return the numbers of a version, and whether it is final: `0.2.0rc1` comes before `0.2.0`."""
    if not isinstance(version, str):
        return None
    numbers: list[int] = []
    final = True
    for part in version.partition("+")[0].split("."):
        digits = len(part) - len(part.lstrip("0123456789"))
        if digits:
            numbers.append(int(part[:digits]))
        if digits < len(part):
            final = part.startswith("post")
            break
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return (tuple(numbers), final) if numbers or version.startswith("0") else None
