"""What can be wrong with a theme's name or its policy."""

from __future__ import annotations

from typing import Any


class ThemeError(ValueError):
    """A sentence a person can act on, a stable code, and the offending value: the shape of the store's own errors."""

    code = "theme.invalid"

    def __init__(self, message: str, value: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.value = value if value is None or isinstance(value, bool | int | float) else str(value)[:120]

    def as_dict(self) -> dict[str, Any]:
        """The error as the command line's `--json` prints it."""
        return {"code": self.code, "message": self.message, "value": self.value}


class PolicyError(ThemeError):
    """memory-themes.toml says something that cannot be; the message names the line."""

    code = "policy.invalid"
