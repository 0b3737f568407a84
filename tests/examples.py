"""How often the tests with random input try, as `--all` and `$HYPOTHESIS_PROFILE` have it."""

from __future__ import annotations

from hypothesis import settings


def example_count(full: int) -> int:
    """The number of examples that a property tries: `full` with `--all`, otherwise at most those of the `dev` profile."""
    return min(full, settings.default.max_examples) if settings.get_current_profile_name() == "dev" else full
