"""An answer after which something is to be done, which depends on whether the asker got it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class FollowedAnswer(dict[str, Any]):
    """The answer to a control command, and what follows once it was sent, or could not be."""

    def __init__(self, answer: dict[str, Any], follow: Callable[[bool], None]) -> None:
        """:param follow: is called once; with whether the answer reached the asker's socket"""
        super().__init__(answer)
        self.follow = follow
