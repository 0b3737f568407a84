"""What of a request came from us, and what it costs, by the project's own estimate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from hermes_memory_store.context.fence import HEAD, MARK
from hermes_memory_store.notation.token_estimate import estimate_tokens
from tests.hosts.protocols.conversation import ModelRequest


def given_lines(request: ModelRequest) -> Iterator[str]:
    """Yield the heads and the marked lines of our texts in a request, in whatever a host wraps them."""
    for line in request.whole_text.splitlines():
        if HEAD in line:
            yield HEAD
        elif line.lstrip().startswith(MARK):
            yield line.strip()


def count_given_tokens(requests: Iterable[ModelRequest]) -> list[int]:
    """Return the tokens that each request has more of ours than the one before it."""
    costs = []
    before: Counter[str] = Counter()
    for request in requests:
        lines = Counter(given_lines(request))
        costs.append(sum(estimate_tokens(line) * count for line, count in (lines - before).items()))
        before = lines
    return costs
