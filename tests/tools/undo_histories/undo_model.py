"""A plain model of undo: dictionaries of what stood before and after each change, and no line of the store's own code.

After an undo each thing that the change touched is as before it, or it is left out with the reason; nothing else moves, but
that a scope goes with the last fact in it where nothing that still holds opened it, and comes back with a fact.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Thing = dict[str, Any]
Picture = dict[str, Thing]
"""Facts and scopes by uid. A thing that was never there has no entry."""

FACTS = """
    SELECT lower(hex(f.uid)), 'fact', lower(hex(s.uid)), f.type, lower(f.target), f.content, f.tier, f.pinned,
      lower(hex(f.superseded_by)), f.cooled_by, f.verdict
    FROM facts f JOIN scopes s ON s.id = f.scope_id
"""

FACT_COLUMNS = (
    "entity",
    "scope",
    "type",
    "target",
    "content",
    "tier",
    "pinned",
    "superseded_by",
    "cooled_by",
    "verdict",
)

SCOPES = "SELECT lower(hex(uid)), 'scope', label, status, closed_by FROM scopes"

SCOPE_COLUMNS = ("entity", "label", "status", "closed_by")

ROWS = """
    SELECT j.change, lower(hex(j.uid)), j.op, j.undoes, a.kind, a.name, j.after
    FROM journal j JOIN actors a ON a.id = j.actor_id
    WHERE j.seq > ? AND j.entity IN ('fact', 'scope') ORDER BY j.seq
"""

STANDING = ("hot", "cold", "archived")

DELIBERATE = {"archive", "edit", "move", "pin", "restore", "touch", "unpin"}
"""What somebody does to one fact that he means; what a scope, a replacement or relief does to it is not meant for it."""


@dataclass
class Deed:
    """A change: what stood before and after it, and who did what to which thing."""

    number: int
    undoes: int | None
    kind: str
    name: str
    before: Picture
    after: Picture
    acts: dict[str, set[str]] = field(default_factory=dict)
    """Operations by thing."""
    sets: dict[str, set[str]] = field(default_factory=dict)
    """Columns by thing that it set, be it to what they were."""
    by_relief: set[str] = field(default_factory=set)
    """Things that only relief moved."""
    from_team: set[str] = field(default_factory=set)
    """Things of which a teammate changed the content or the scope."""
    exact: bool = True
    """Whether `before` and `after` are of this change alone: several machines' changes may come at once."""

    @property
    def touched(self) -> Iterator[str]:
        """Things that it changed."""
        return (uid for uid, thing in self.after.items() if self.before.get(uid) != thing)

    def columns(self, uid: str) -> list[str]:
        """Columns of a thing that it changed."""
        before = self.before.get(uid, {})
        return [name for name, value in self.after[uid].items() if before.get(name) != value]


def take_picture(conn: sqlite3.Connection) -> Picture:
    """What stands in a store now."""
    facts = {row[0]: dict(zip(FACT_COLUMNS, row[1:], strict=True)) for row in conn.execute(FACTS)}
    return facts | {row[0]: dict(zip(SCOPE_COLUMNS, row[1:], strict=True)) for row in conn.execute(SCOPES)}


class UndoModel:
    """What was done to one store, and what taking it back must come to."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn
        self.deeds: dict[int, Deed] = {}
        self._seq = conn.execute("SELECT coalesce(max(seq), 0) FROM journal").fetchone()[0]
        self.now = take_picture(conn)

    def observe(self) -> list[Deed]:
        """Note what was done since the last call."""
        rows = self._conn.execute(ROWS, (self._seq,)).fetchall()
        before, self.now = self.now, take_picture(self._conn)
        self._seq = self._conn.execute("SELECT coalesce(max(seq), 0) FROM journal").fetchone()[0]
        made: dict[int, Deed] = {}
        relief: dict[tuple[int, str], bool] = {}
        for change, uid, op, undoes, kind, name, after in rows:
            if op == "purge":
                continue
            deed = made.setdefault(change, Deed(change, undoes, kind, name, before, self.now))
            deed.acts.setdefault(uid, set()).add(op)
            deed.sets.setdefault(uid, set()).update(json.loads(after or "{}"))
            relief[change, uid] = relief.get((change, uid), True) and kind == "relief"
            if kind == "sync" and (
                '"content":' in (after or "") or '"scope":' in (after or "") or '"updated_at":' in (after or "")
            ):
                deed.from_team.add(uid)
        for (change, uid), moved in relief.items():
            if moved:
                made[change].by_relief.add(uid)
        for deed in made.values():
            deed.exact = len(made) == 1
        self.deeds |= made
        return list(made.values())

    def is_undone(self, number: int) -> bool:
        """Whether a change was taken back, and the taking back not in turn."""
        return any(deed.undoes == number and not self.is_undone(deed.number) for deed in self.deeds.values())

    def standing_deeds(self) -> list[int]:
        """Changes that hold, undos left aside."""
        return [number for number, deed in self.deeds.items() if deed.undoes is None and not self.is_undone(number)]

    def leftovers(self) -> list[Thing]:
        """Scopes that are shown although they are empty and nothing that holds opened them."""
        used = {thing["scope"] for thing in self.now.values() if is_fact(thing) and thing["tier"] != "withdrawn"}
        return [
            thing
            for uid, thing in self.now.items()
            if not is_fact(thing) and thing["label"] and thing["status"] != "withdrawn" and uid not in used
            if not self.is_opened(uid)
        ]

    def is_opened(self, uid: str) -> bool:
        """Whether a change that opened a scope holds."""
        return any(self._opens(deed, uid) and not self.is_undone(deed.number) for deed in self.deeds.values())

    def check_undo(self, number: int, before: Picture, left: tuple[str, ...]) -> None:
        """An undo was done: it did what it must, and nothing else. :param before: the picture before it"""
        deed = self.deeds[number]
        for uid in set(before) | set(self.now):
            then, now = before.get(uid), self.now[uid]
            assert now is not None, f"{then} is gone"
            if is_fact(now):
                wanted = self._fact_undone(deed, uid, before, left)
                if wanted["tier"] == now["tier"] == "withdrawn":
                    continue  # hidden: what else it says does not matter
                assert now == wanted, f"undo of {number}: {now} should be {wanted}; left: {left}"
            else:
                self._check_scope(deed, uid, before, left)

    def _fact_undone(self, deed: Deed, uid: str, before: Picture, left: tuple[str, ...]) -> Thing:
        """What a fact must be after the undo of a change."""
        then = before[uid]
        if uid not in deed.after or deed.before.get(uid) == deed.after[uid] or is_named(uid, then, left):
            return then
        if uid not in deed.before:
            return then | {"tier": "withdrawn"}
        wanted = then | {name: deed.before[uid][name] for name in deed.columns(uid)}
        replacement = wanted["superseded_by"] if "superseded_by" in deed.columns(uid) else ""
        if replacement and replacement not in self.now:
            wanted["superseded_by"] = ""  # it was purged since
        elif replacement and not withdraws(deed, replacement) and self._was_uncreated(replacement, before):
            wanted |= {"superseded_by": "", "tier": self._tier_before(uid, replacement)}
        return wanted

    def _tier_before(self, uid: str, replacement: str) -> str:
        """The tier of a fact before another one replaced it."""
        deeds = [deed for deed in self.deeds.values() if uid in deed.after and uid in deed.before and deed.exact]
        deeds = [deed for deed in deeds if deed.after[uid]["superseded_by"] == replacement]
        return str(next(d.before[uid]["tier"] for d in reversed(deeds) if not d.before[uid]["superseded_by"]))

    def _check_scope(self, deed: Deed, uid: str, before: Picture, left: tuple[str, ...]) -> None:
        now, then = self.now[uid], before[uid]
        if not now["label"]:
            return
        used = any(is_fact(one) and one["scope"] == uid and one["tier"] != "withdrawn" for one in self.now.values())
        assert not used or now["status"] != "withdrawn", f"undo of {deed.number}: facts stand in {now}, which is gone"
        if now["status"] == "withdrawn" or (then["status"] == "withdrawn" and used):
            return  # `leftovers` says whether it may be shown, the line above whether it may be gone
        touched = uid in deed.after and deed.before.get(uid) != deed.after[uid]
        if not touched or is_named(uid, then, left):
            assert now == then, f"undo of {deed.number}: {now} was {then}; left: {left}"
            return
        former = deed.before.get(uid, {"status": "withdrawn"})
        wanted = then | {name: former[name] for name in deed.columns(uid) if name in former}
        assert now == wanted, f"undo of {deed.number}: {now} should be {wanted}; left: {left}"

    def blockers(self, number: int, *, sparing: bool = False) -> list[str]:
        """Why a change cannot be taken back as things stand; nothing when it must be possible.

        :param sparing: of a whole session: what others touched is spared in every column
        """
        deed = self.deeds[number]
        if self.is_undone(number):
            return ["undone already"]
        found, restored = [], dict(self.now)
        purged: list[str] = []
        for uid in deed.touched:
            thing = self.now.get(uid)
            if thing is None:
                purged.append(uid)
            elif uid in deed.by_relief:
                continue  # left out, never in the way
            elif is_fact(thing):
                found += self._blockers_of_fact(deed, uid, sparing)
                if uid in deed.before and (withdraws(deed, uid) or not self.is_uncreated(uid)):
                    restored[uid] = thing | {name: deed.before[uid][name] for name in deed.columns(uid)}
                elif uid not in deed.before:
                    restored[uid] = thing | {"tier": "withdrawn"}
            else:
                found += self._blockers_of_scope(deed, uid)
        facts = [uid for uid in deed.touched if is_fact(deed.after[uid])]
        if purged and (len(purged) < len(facts) or len(facts) == len(list(deed.touched))):
            found.append(f"{purged} were purged")  # a scope that the change opened may go all the same
        places: dict[tuple[str, ...], str] = {}
        for uid, thing in restored.items():
            if is_fact(thing) and thing["tier"] in STANDING:
                place = (thing["scope"], thing["type"], thing["target"])
                if place in places:
                    found.append(f"{uid} and {places[place]} would stand in one place")
                places[place] = uid
        return found

    def _blockers_of_fact(self, deed: Deed, uid: str, sparing: bool) -> list[str]:
        thing, after, made = self.now[uid], deed.after[uid], uid not in deed.before
        if not made and self.is_uncreated(uid):
            return []  # left out
        names = ("tier", "content", "scope", "pinned") if made else deed.columns(uid)
        gone = after["superseded_by"] if "superseded_by" in names and not thing["superseded_by"] else ""
        if gone in self.now and not withdraws(deed, gone) and self.is_uncreated(gone):
            after = after | {
                "superseded_by": "",
                "tier": self._tier_before(uid, gone),
            }  # an undo left it without replacement
        found = [
            f"{uid} has another {name}"
            for name in names
            if thing[name] != after[name] and not (name == "superseded_by" and after[name] not in self.now)
        ]
        if not made:
            found += self._set_again(deed, uid)
        if not made and not sparing:
            return found
        return found + [f"{uid} was touched by {later}" for later in self._touches(deed, uid)]

    def _set_again(self, deed: Deed, uid: str) -> list[str]:
        """Later changes that hold and set a column again that a change set, or the other half of a fact's place."""
        columns = set(deed.columns(uid))
        moves, crosses = "scope" in columns, has_crossed(deed, uid)
        return [
            f"{uid} was set again by {one.number}"
            for one in self._later_deeds(deed)
            if is_fact(self.now[uid]) or self._is_still_so(one, uid)
            if one.sets.get(uid, set()) & columns
            or (moves and has_crossed(one, uid))
            or (crosses and "scope" in one.sets.get(uid, set()))
        ]

    def _later_deeds(self, deed: Deed) -> list[Deed]:
        """Later changes that hold, without undos of what came after the change."""
        return [
            one
            for one in self.deeds.values()
            if one.number > deed.number and not self.is_undone(one.number)
            if one.undoes is None or (deed.undoes is not None and one.undoes < deed.number)
        ]

    def related_later(self, number: int) -> list[int]:
        """Later changes that hold and may wait for one that is undone beneath them: of the same things and places, and so on."""
        found, names = {number}, set[tuple[str, ...]]()
        more = [self.deeds[number]]
        while more:
            for deed in more:
                names |= {self._name(uid) for uid in deed.acts if uid in self.now and uid not in deed.by_relief}
            holds = [self.deeds[one] for one in self.standing_deeds() if one not in found]
            more = [one for one in holds if any(uid in self.now and self._name(uid) in names for uid in one.acts)]
            found |= {one.number for one in more}
        first = self.deeds[number].undoes or number
        return sorted(one for one in found if one > first and one != number)

    def _name(self, uid: str) -> tuple[str, ...]:
        thing = self.now[uid]
        return (thing["type"], thing["target"]) if is_fact(thing) else (uid,)

    def touched_since(self, number: int) -> set[str]:
        """Facts of a change that somebody else meant to change since, and that are so still."""
        deed = self.deeds[number]
        return {
            uid for uid in deed.touched if is_fact(deed.after[uid]) and uid in self.now and self._touches(deed, uid)
        }

    def _touches(self, deed: Deed, uid: str) -> list[int]:
        later = (one for one in self.deeds.values() if one.number > deed.number and one.undoes is None)
        others = (one for one in later if (one.kind, one.name) != (deed.kind, deed.name))
        return [
            one.number
            for one in others
            if not self.is_undone(one.number)
            if uid in one.from_team or (one.kind in ("person", "session") and one.acts.get(uid, set()) & DELIBERATE)
        ]

    def _blockers_of_scope(self, deed: Deed, uid: str) -> list[str]:
        if deed.before.get(uid, {"status": "withdrawn"})["status"] == "withdrawn":
            # It opened the scope, which goes, or is left out as long as facts are in it; not beneath what closed it since.
            opened_again = uid in deed.before and self.now[uid]["status"] != "withdrawn"
            return self._set_again(deed, uid) if opened_again and not self._is_used_without(deed, uid) else []
        former, after, thing = deed.before[uid], deed.after[uid], self.now[uid]
        if all(thing[name] == former[name] for name in deed.columns(uid)):
            return [] if thing["status"] == "withdrawn" else self._set_again(deed, uid)  # it is as before already
        if thing["status"] == "withdrawn" and not self.is_opened(uid):
            return []  # left out
        found = [f"scope {uid} has another {name}" for name in deed.columns(uid) if thing[name] != after[name]]
        found += self._set_again(deed, uid)
        if "label" in deed.columns(uid):
            found += [
                f"{former['label']} is taken"
                for other, one in self.now.items()
                if other != uid and not is_fact(one) and one["label"] == former["label"]
            ]
        return found

    def _is_still_so(self, deed: Deed, uid: str) -> bool:
        """Whether of what a change did to a scope anything is left to undo."""
        then = deed.before.get(uid, {"status": "withdrawn"})
        return uid in deed.after and any(self.now[uid][name] != then.get(name) for name in deed.columns(uid))

    def _is_used_without(self, deed: Deed, uid: str) -> bool:
        """Whether facts are in a scope that the undo of a change leaves there."""
        facts = [one for one, thing in self.now.items() if is_fact(thing) and thing["scope"] == uid]
        return any(
            self.now[one]["tier"] != "withdrawn"
            and (one not in deed.touched or ("scope" not in deed.columns(one) and one in deed.before))
            for one in facts
        )

    def _was_uncreated(self, uid: str, before: Picture) -> bool:
        """`is_uncreated`, before an undo."""
        return before[uid]["tier"] == "withdrawn" and self.is_uncreated(uid)

    def is_uncreated(self, uid: str) -> bool:
        """Whether a fact is gone because its creation is undone."""
        made = [deed.number for deed in self.deeds.values() if uid in deed.after and uid not in deed.before]
        return self.now[uid]["tier"] == "withdrawn" and all(map(self.is_undone, made))

    def _opens(self, deed: Deed, uid: str) -> bool:
        if deed.undoes is not None:
            return False
        if not deed.exact:
            return uid in deed.acts
        former = deed.before.get(uid, {"status": "withdrawn"})
        return former["status"] == "withdrawn" and deed.after.get(uid, former)["status"] != "withdrawn"


def has_crossed(deed: Deed, uid: str) -> bool:
    """Whether a change took a fact out of its place or brought it to one, without regard to the scope."""
    sets = deed.sets.get(uid, set())
    if not sets or not is_fact(deed.after[uid]):
        return False
    then, now = deed.before.get(uid), deed.after[uid]
    return (
        then is None
        or "superseded_by" in sets
        or ("tier" in sets and (then["tier"] in STANDING) != (now["tier"] in STANDING))
    )


def withdraws(deed: Deed, uid: str) -> bool:
    """Whether a change took a fact away, so that its undo brings it back."""
    return uid in deed.touched and deed.after[uid]["tier"] == "withdrawn"


def is_fact(thing: Thing) -> bool:
    """Whether a thing is a fact, and no scope."""
    return bool(thing["entity"] == "fact")


def is_named(uid: str, thing: Thing, left: tuple[str, ...]) -> bool:
    """Whether what was left out says so of this thing."""
    name = f"scope {thing['label']!r}" if not is_fact(thing) else uid
    return any(name in why or name in why.replace("-", "") for why in left)
