"""A second look: what today's rules find in facts, turns and the journal that came in before. Nothing is changed by it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from hermes_memory_store.database.db import Db
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.intake.detector import Passage, TextKind, find_masked_spans, find_suspicion
from hermes_memory_store.intake.intake import (
    TURN_TARGET,
    find_name_faults,
    format_secret_shape,
    is_held_by,
)
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.model import Tier, Uid
from hermes_memory_store.uids import format_uid
from hermes_memory_themes import Policies

SECRET_RULE = "secret"  # noqa: S105 - the name of a rule
"""The rule under which a secret in clear is listed."""

PAGE = 1_000

FACTS = """
    SELECT f.id, f.uid, f.theme_id, f.target, f.content, f.tier, f.verdict, s.label
    FROM facts f JOIN scopes s ON s.id = f.scope_id
    WHERE f.id > ?1 AND f.tier NOT IN ('withdrawn', 'quarantined') AND (?2 IS NULL OR f.theme_id = ?2)
    ORDER BY f.id LIMIT ?3
"""

TURNS = """
    SELECT id, uid, theme_id, content, verdict FROM turns
    WHERE id > ?1 AND (?2 IS NULL OR theme_id = ?2) ORDER BY id LIMIT ?3
"""

JOURNAL = """
    SELECT seq, uid, theme_id, before, after FROM journal
    WHERE seq > ?1 AND entity = 'fact' AND (before LIKE '%"content"%' OR after LIKE '%"content"%')
      AND (?2 IS NULL OR theme_id = ?2)
    ORDER BY seq LIMIT ?3
"""

LIFTED = """
    SELECT t.name, f.verdict, count(*)
    FROM facts f JOIN themes t ON t.id = f.theme_id
    JOIN journal j ON j.seq = (SELECT min(seq) FROM journal WHERE uid = f.uid)
    WHERE (?1 IS NULL OR f.theme_id = ?1) AND f.verdict LIKE 'approved:%' AND j.after LIKE '%"quarantine:%'
    GROUP BY t.name, f.verdict
"""
"""What began by waiting, and stands: a person who writes what a rule would hold lifts no alarm."""

IS_PRESENT = "SELECT 1 FROM facts WHERE uid = ? AND content = ?"


@dataclass(frozen=True, slots=True)
class PastFinding:
    """Something that would not come in today as it stands."""

    kind: str
    uid: Uid
    theme: str
    rule: str
    text: str
    """What it says, without its secrets."""
    seq: int | None = None


class SecondLook:
    """Look through a store with the rules of this version."""

    def __init__(self, db: Db, names: Names, policies: Policies) -> None:
        self._db = db
        self._names = names
        self._policies = policies

    def find(self, theme: str | None = None) -> Iterator[PastFinding]:
        """Yield what today's rules find: facts, then captured turns, then former texts that the journal alone has.

        What a person let in by the same rule is left out. Reads page by page.

        :raises UnknownTheme: there is no such theme
        """
        theme_id = None if theme is None else self._names.theme(theme)
        for _, uid, owner_id, target, content, tier, verdict, label in self._pages(FACTS, theme_id):
            passage = Passage(TextKind.FACT, content, target)
            rule = self._find_rule(owner_id, passage, (target, label), verdict)
            if rule is not None and (rule == SECRET_RULE or tier != Tier.SUPERSEDED):
                yield self._finding("fact", uid, owner_id, rule, target, content)
        for _, uid, owner_id, content, verdict in self._pages(TURNS, theme_id):
            rule = self._find_rule(owner_id, Passage(TextKind.TURN, content, TURN_TARGET), (), verdict)
            if rule is not None and (rule == SECRET_RULE or verdict is None):
                yield self._finding("turn", uid, owner_id, rule, "", content)
        seen: set[tuple[bytes, str]] = set()
        for seq, uid, owner_id, *images in self._pages(JOURNAL, theme_id):
            for image in (json.loads(image) for image in images if image is not None):
                target, content = image.get("target", ""), image.get("content")
                if not isinstance(content, str) or (uid, content) in seen or self._db.value(IS_PRESENT, (uid, content)):
                    continue
                seen.add((uid, content))
                passage = Passage(TextKind.FACT, content, target)
                rule = self._find_rule(owner_id, passage, (target,), image.get("verdict"))
                if rule is not None:
                    yield self._finding("journal", uid, owner_id, rule, target, content, seq)

    def _pages(self, sql: str, theme_id: int | None) -> Iterator[tuple[Any, ...]]:
        last = 0
        while rows := self._db.rows(sql, (last, theme_id, PAGE)):
            yield from rows
            last = rows[-1][0]

    def _find_rule(self, theme_id: int, passage: Passage, names: Sequence[str], verdict: str | None) -> str | None:
        """Return the rule by which a text or one of its names would be kept out; None where a person let it in by that rule."""
        policy, faults = self._policies.for_theme(self._names.theme_name(theme_id)), [*map(find_name_faults, names)]
        if policy.secrets != "allow" and (find_masked_spans(passage) or any(secret for secret, _ in faults)):
            return SECRET_RULE
        if not policy.quarantine:
            return None
        suspicion = find_suspicion(passage) or next((fault for _, fault in faults if fault is not None), None)
        return None if suspicion is None or not is_held_by(verdict, suspicion.rule) else suspicion.rule

    def _finding(
        self, kind: str, uid: bytes, theme_id: int, rule: str, target: str, content: str, seq: int | None = None
    ) -> PastFinding:
        text = f"[{target}]: {content}" if target else content
        for start, end in reversed(find_masked_spans(Passage(TextKind.FACT, text, target))):
            text = f"{text[:start]}({format_secret_shape(text[start:end])}){text[end:]}"
        return PastFinding(kind, format_uid(uid), self._names.theme_name(theme_id), rule, text, seq)
