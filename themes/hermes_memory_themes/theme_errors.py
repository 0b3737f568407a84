"""Errors in a theme's name or its policy."""

from __future__ import annotations

from typing import Any


class ThemeError(ValueError):
    """An error with a sentence for a person, a stable code and the offending value, like the store's own errors."""

    code = "theme.invalid"

    def __init__(self, message: str, value: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.value = value if value is None or isinstance(value, bool | int | float) else str(value)[:120]

    def as_dict(self) -> dict[str, Any]:
        """Return the error as the command line's `--json` prints it."""
        return {"code": self.code, "message": self.message, "value": self.value}


class PolicyError(ThemeError):
    """memory-themes.toml is invalid; the message names the line."""

    code = "policy.invalid"
