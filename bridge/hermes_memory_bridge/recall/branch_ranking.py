"""Facts of unmerged branches in a ranking: behind others that fit nearly as well, or held back, as their theme says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hermes_memory_bridge.recall.fusion import score_by_rank
from hermes_memory_store.model import Fact, FactSearchResult
from hermes_memory_store.projects.branch_labels import LOWERED_SCORE, MarkedFact, MarkedFacts
from hermes_memory_store.store import Store


@dataclass(frozen=True, slots=True)
class BranchRanking:
    """Facts in the order in which they are given."""

    ranked: list[tuple[MarkedFact, float]]
    held: Sequence[MarkedFact] = ()

    @property
    def marked(self) -> MarkedFacts:
        """The facts without their scores."""
        return MarkedFacts([one for one, _ in self.ranked], self.held)


def rank_by_branch(
    store: Store, scored: Sequence[tuple[Fact, float]], limit: int, *, line: str | None = None
) -> BranchRanking:
    """Return the best facts with their marks; one of an unmerged branch counts half.

    :param line: the search line; what it asks for by the name of a branch is not held back
    """
    shown = frozenset() if line is None or "branch:" not in line.lower() else store.search.find_branch_filter(line)
    marked = store.branch_labels.mark([fact for fact, _ in scored], shown_branches=shown)
    scores = {fact.uid: score for fact, score in scored}
    ranked = [(one, scores[one.fact.uid] * (LOWERED_SCORE if one.is_lowered else 1.0)) for one in marked.given]
    if any(one.is_lowered for one, _ in ranked):
        ranked.sort(key=lambda one: -one[1])
    return BranchRanking(ranked[:limit], marked.held)


def rank_search_by_branch(store: Store, found: FactSearchResult, limit: int, line: str) -> BranchRanking:
    """Return the results of a search with their marks; those with every word stay before all others."""
    first = rank_by_branch(store, score_by_rank(found.facts[: found.exact]), limit, line=line)
    rest = rank_by_branch(store, score_by_rank(found.facts[found.exact :]), limit, line=line)
    return BranchRanking([*first.ranked, *rest.ranked][:limit], [*first.held, *rest.held])
