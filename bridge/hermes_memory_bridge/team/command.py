"""`team migrate|restrict|index|collect|connect|disconnect|status|verify|dev`, and
`sync now|status|pause|resume|verify|conflicts|resolve`.

A DSN holds a password, and what stands on a command line can be read by every user of the machine: `-` asks for it, or reads
it from standard input.
"""

from __future__ import annotations

import argparse
import getpass
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_memory_bridge.control import ask, describe_unserved
from hermes_memory_bridge.places import Places
from hermes_memory_bridge.team import dsn as dsns
from hermes_memory_bridge.team.states import NO_DRIVER, NOT_NAMED, TeamError, state_of
from hermes_memory_store.clock import iso
from hermes_memory_store.errors import AmbiguousUid, ArgumentError
from hermes_memory_store.model import Uid
from hermes_memory_store.store import Store, refuse_missing
from hermes_memory_store.uids import begins_or_ends, parse_digits

if TYPE_CHECKING:
    from hermes_memory_bridge.team.syncer import Syncer

LONG_S = 3_600.0
"""A first exchange of a large memory takes minutes."""

LOOK_S = 0.2

KEPT_DAYS = 180
"""How long deleted rows are kept unless an administrator says otherwise: a store that is away for longer lists everything."""

DIFFERENCES = {
    "differ": "differs",
    "only_here": "only here",
    "only_there": "only there",
    "refused": "refused by the team database",
    "held_back": "held back, since its clock is ahead",
}
"""What `sync verify` says of the rows that it names."""

FINE = ("idle", "clock")
"""States in which an exchange has done all it could."""


def add_parsers(commands: Any) -> None:
    """The commands, for the bridge's own parser."""
    team = commands.add_parser("team", help="the team's database", description="The team's database.")
    actions = team.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, run, meaning in (
        ("migrate", migrate, "make or update the tables, as their owner"),
        ("restrict", restrict, "let a role see some themes only, as the owner"),
        ("index", index, "index the vectors of large themes, as the owner"),
        ("collect", collect, "remove what was deleted long ago, as the owner"),
        ("connect", connect, "name the team database, and keep that in the keyring"),
        ("disconnect", disconnect, "forget the team database; nothing here or there is deleted"),
        ("status", team_status, "whether the database can be used, and what it is"),
        ("verify", sync_verify, "compare every row of both sides"),
        ("dev", dev, "a PostgreSQL of its own, for trying things out"),
    ):
        action = added(actions, name, run, meaning)
        if name in ("migrate", "restrict", "index", "collect"):
            action.add_argument(
                "--admin-dsn", metavar="DSN", default="-", help="the owner's; - asks for it, or reads standard input"
            )
        if name == "migrate":
            action.add_argument("--dimension", metavar="N", type=int, help="of the vectors; text only without")
            action.add_argument("--model", metavar="NAME", help="whose vectors these are, as `sync status` names it")
            action.add_argument(
                "--replace-vectors", action="store_true", help="drop vectors of another dimension; they are made again"
            )
            action.add_argument("--runtime-role", metavar="ROLE", help="the role stores connect as; it must exist")
        if name == "restrict":
            action.add_argument("role", metavar="ROLE")
            action.add_argument("themes", metavar="THEME", nargs="*", help="none: all of them again")
        if name == "collect":
            meaning = f"deleted for at least so long ({KEPT_DAYS})"
            action.add_argument("--days", metavar="N", type=int, default=KEPT_DAYS, help=meaning)
        if name == "connect":
            action.add_argument("dsn", metavar="DSN", nargs="?", default="-", help="- asks, or reads standard input")
        if name == "dev":
            action.add_argument("--dir", metavar="DIR", help="where its files lie (beside the store)")
            action.add_argument("--dimension", metavar="N", type=int, help="of the vectors")
    sync = commands.add_parser("sync", help="the exchange with the team", description="The exchange with the team.")
    actions = sync.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, run, meaning in (
        ("now", sync_now, "exchange at once, and wait until it is done"),
        ("status", sync_status, "how the exchange does: what waits, what is wrong"),
        ("pause", sync_steer, "stop exchanging; what is written waits"),
        ("resume", sync_steer, "go on exchanging"),
        ("verify", sync_verify, "compare every row of both sides, and name those that differ"),
        ("conflicts", conflicts, "what two machines said at once, and nobody decided yet"),
        ("resolve", resolve, "decide a conflict"),
    ):
        action = added(actions, name, run, meaning)
        if name == "resolve":
            action.add_argument(
                "uid", metavar="UID", help="as `sync conflicts` names it; its beginning or end is enough"
            )
            action.add_argument("keep", choices=["mine", "theirs", "both"], help="what stands, what lost, or both")


def added(actions: Any, name: str, run: Callable[[argparse.Namespace], int], meaning: str) -> argparse.ArgumentParser:
    """One command, with what all of them take."""
    action: argparse.ArgumentParser = actions.add_parser(name, help=meaning, description=meaning.capitalize() + ".")
    action.set_defaults(run=run)
    action.add_argument("--db", metavar="FILE", help="the store")
    action.add_argument("--json", action="store_true", help="one JSON document")
    return action


def migrate(options: argparse.Namespace) -> int:
    """Bring the tables up to date."""
    dsn = secret(options.admin_dsn, "the owner's DSN: ")
    schema = guarded(
        lambda: driver().migrate(
            dsn,
            dimension=options.dimension,
            runtime_role=options.runtime_role,
            model=options.model,
            replace_vectors=options.replace_vectors,
        )
    )
    told(
        options,
        {"version": schema.version, "dimension": schema.dimension, "model": schema.model},
        f"the team database is at version {schema.version}, "
        + (f"vectors of {schema.dimension} dimensions" if schema.dimension else "text only"),
    )
    return 0


def restrict(options: argparse.Namespace) -> int:
    """Let a role see some themes only."""
    dsn = secret(options.admin_dsn, "the owner's DSN: ")
    guarded(lambda: driver().restrict(dsn, options.role, options.themes))
    sees = ", ".join(options.themes) or "every theme"
    told(options, {"role": options.role, "themes": options.themes}, f"{options.role} sees {sees}")
    return 0


def index(options: argparse.Namespace) -> int:
    """Give large themes an index of their own."""
    dsn = secret(options.admin_dsn, "the owner's DSN: ")
    themes = guarded(lambda: driver().index(dsn))
    told(options, {"indexed": themes}, f"indexed: {', '.join(themes) or 'no theme is large enough to need it'}")
    return 0


def collect(options: argparse.Namespace) -> int:
    """Remove deleted rows and old marks."""
    driver()
    from hermes_memory_bridge.team import collecting

    dsn = secret(options.admin_dsn, "the owner's DSN: ")
    found = guarded(lambda: collecting.collect(dsn, days=options.days))
    lines = [f"{one.theme}: {one.rows} deleted rows and {one.marks} marks removed" for one in found]
    document = [{"theme": one.theme, "rows": one.rows, "marks": one.marks} for one in found]
    told(options, {"collected": document}, "\n".join(lines) or "nothing was deleted that long ago")
    return 0


def connect(options: argparse.Namespace) -> int:
    """Name the team database, once it was reached."""
    places = Places.of(options.db)
    dsn = secret(options.dsn, "DSN of the team database: ")
    with guarded(lambda: server(dsn)) as found:
        schema = found.schema
    dsns.keep(places, dsn)
    running = ask(places, "sync", action="connect")
    note = "" if running is not None else "; a bridge exchanges with it as soon as one runs"
    if os.environ.get(dsns.VARIABLE):
        note += f"; ${dsns.VARIABLE} is set and counts instead"
    told(options, {"connected": True, "version": schema.version}, f"connected to {dsns.shown(dsn)}{note}")
    return 0


def disconnect(options: argparse.Namespace) -> int:
    """Forget the team database."""
    places = Places.of(options.db)
    dsns.forget(places)
    ask(places, "sync", action="connect")
    told(options, {"connected": False}, "the team database is forgotten; what was exchanged stays on both sides")
    return 0


def team_status(options: argparse.Namespace) -> int:
    """Whether the database can be used. Exit code 1 when it cannot."""
    dsn = dsns.find(Places.of(options.db))
    if not dsn:
        raise TeamError(NOT_NAMED)
    with guarded(lambda: server(dsn)) as found:
        version, dimension = found.schema.version, found.schema.dimension
        engine = found.engine()
        unindexed = guarded(lambda: driver().unindexed(found.conn))
    document = {
        "version": version,
        "dimension": dimension,
        "unindexed": unindexed,
        "server": engine,
        "dsn": dsns.shown(dsn),
    }
    vectors = f"vectors of {dimension} dimensions" if dimension else "text only"
    if unindexed:
        vectors += f"; large and without an index: {', '.join(unindexed)} (`team index` makes one)"
    told(options, document, f"{dsns.shown(dsn)}: PostgreSQL {engine}, version {version} of the tables, {vectors}")
    return 0


def dev(options: argparse.Namespace) -> int:
    """Run a server until interrupted; its DSN is the first line."""
    from hermes_memory_bridge.team.embedded import Embedded

    places = Places.of(options.db)
    if not options.dir:
        places.make_folder()
    folder = Path(options.dir or Path(places.folder) / "postgres").absolute()
    running = Embedded(folder)
    try:
        guarded(lambda: driver().migrate(running.dsn, dimension=options.dimension))
        print(json.dumps({"dsn": running.dsn}) if options.json else running.dsn, flush=True)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
    except KeyboardInterrupt:
        pass
    finally:
        running.stop()
    return 0


def sync_now(options: argparse.Namespace) -> int:
    """Exchange, and show what waits meanwhile. Exit code 1 when it could not be done."""
    places = Places.of(options.db)
    asked = ask(places, "sync", action="now")
    if asked is not None:
        status = wait(options, lambda: answered(ask(places, "sync", action="status")), answered(asked)["number"])
    else:
        syncer = own_syncer(places)
        syncer.start()
        try:
            status = wait(options, syncer.status, 1)
        finally:
            syncer.stop()
    told(options, status, in_words(status))
    return 0 if status["state"] in FINE else 1


def wait(options: argparse.Namespace, status: Callable[[], dict[str, Any]], number: int) -> dict[str, Any]:
    """Look until that exchange has ended."""
    deadline = time.monotonic() + LONG_S
    shown = ""
    while time.monotonic() < deadline:
        now = status()
        if now["exchanges"] >= number:
            break
        moving = "; ".join(
            progress(one) for one in now["themes"] if one["waiting"] or one["behind"] or one.get("turns")
        )
        if moving and moving != shown and not options.json:
            sys.stderr.write(f"{moving}\n")
            shown = moving
        time.sleep(LOOK_S)
    if shown and not options.json:
        sys.stderr.write("\n")
    return now


def progress(theme: dict[str, Any]) -> str:
    """How far a theme is, on the way."""
    turns = f", {theme['turns']} turns to send" if theme.get("turns") else ""
    return f"{theme['theme']}: {theme['waiting']} to send{turns}, {theme['behind']} to fetch"


def sync_status(options: argparse.Namespace) -> int:
    """How the exchange does. Exit code 1 when no bridge runs, or when something is wrong."""
    places = Places.of(options.db)
    asked = ask(places, "sync", action="status")
    if asked is None:
        named = dsns.is_named(places)
        words = f"{describe_unserved(places)}, so nothing is exchanged now; a connecting agent starts one"
        document = {"configured": named, "state": "no bridge", "words": words, "themes": []}
        told(options, document, words)
        return 1
    status = answered(asked)
    told(options, status, in_words(status))
    return 0 if status["state"] in (*FINE, "exchanging", "starting", "paused") else 1


def sync_steer(options: argparse.Namespace) -> int:
    """Pause the exchange, or go on."""
    places = Places.of(options.db)
    asked = ask(places, "sync", action=options.action)
    if asked is not None:
        status = answered(asked)
        told(options, status, in_words(status))
        return 0
    refuse_unnamed(places)
    dsns.note(places, paused=options.action == "pause")
    told(options, {"paused": options.action == "pause"}, f"the exchange is {options.action}d from the next bridge on")
    return 0


def sync_verify(options: argparse.Namespace) -> int:
    """Compare both sides. Exit code 1 when they differ, or when not everything is exchanged."""
    places = Places.of(options.db)
    asked = ask(places, "sync", timeout_s=LONG_S, action="verify")
    if asked is not None:
        found = answered(asked)
    else:
        syncer = own_syncer(places)
        refuse_missing(Path(places.store))
        compared = syncer.verify()
        syncer.start()
        try:
            themes = compared.result(LONG_S)
        finally:
            syncer.stop()
        found = {"same": all(one.same for one in themes), "themes": [one.as_dict() for one in themes]}
    lines = []
    for theme in found["themes"]:
        lines.append(f"{theme['theme']}: {verdict(theme)}, {theme['rows']} rows")
        for name, words in DIFFERENCES.items():
            lines += [f"  {uid} {words}" for uid in theme[name]]
        if theme["waiting"]:
            lines.append(f"  {theme['waiting']} not sent")
    told(options, found, "\n".join(lines) or "no theme is shared: set `sync = true` for one in memory-themes.toml")
    return 0 if found["same"] else 1


def verdict(theme: dict[str, Any]) -> str:
    """What came of comparing one theme."""
    if theme["same"]:
        return "the same"
    return "DIFFERS" if any(theme[name] for name in ("differ", "only_here", "only_there")) else "NOT ALL EXCHANGED"


def conflicts(options: argparse.Namespace) -> int:
    """List what nobody decided yet, newest first."""
    with Store.open(Places.of(options.db).store, create=False) as store:
        found = store.sync.conflicts()
    document = [
        {
            "uid": one.uid,
            "theme": one.theme,
            "at": iso(one.at),
            "why": one.why,
            "mine": one.mine.content,
            "theirs": one.theirs.content,
        }
        for one in found
    ]
    lines = [
        f"{one['uid']} {one['theme']} ({one['why']})\n  stands: {said(one['mine'])}\n  lost:   {said(one['theirs'])}"
        for one in document
    ]
    told(options, {"conflicts": document}, "\n".join(lines) or "no conflict waits for you")
    return 0


def said(content: str | None) -> str:
    """A content that may be shown: what came from another machine may hold anything."""
    if content is None:
        return "(deleted)"
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in content)


def resolve(options: argparse.Namespace) -> int:
    """Decide a conflict, as a person. :raises UnknownFact: there is none of that name"""
    with Store.open(Places.of(options.db).store, create=False) as store:
        digits = parse_digits(options.uid)
        named = sorted({one.uid for one in store.sync.conflicts() if digits and begins_or_ends(one.uid, digits)})
        if len(named) > 1:
            raise AmbiguousUid(f"several begin or end with {options.uid}: {', '.join(named[:5])}", options.uid)
        changed = store.sync.resolve(named[0] if named else Uid(options.uid), options.keep)
    told(options, {"changed": list(changed.uids), "changes": list(changed.seqs)}, f"decided: {options.keep}")
    return 0


def in_words(status: dict[str, Any]) -> str:
    """A status for a person."""
    lines = [status["words"]]
    if status.get("last_exchange"):
        lines.append(f"last exchange {iso(status['last_exchange'])}")
    for theme in status["themes"]:
        turns = f", {theme['turns']} turns to send" if theme.get("turns") else ""
        lines.append(
            f"{theme['theme']}: {theme['waiting']} to send{turns}, {theme['behind']} to fetch, at {theme['cursor']}"
        )
        if theme["state"] != "idle":
            lines.append(f"  {theme['words']}")
        lines += [f"  a purge could not reach the backup {path}" for path in theme["unreached"]]
    if status.get("configured") and not status["themes"]:
        lines.append("no theme is shared: set `sync = true` for one in memory-themes.toml")
    if status.get("conflicts"):
        lines.append(f"{status['conflicts']} said differently on two machines at once; see `sync conflicts`")
    if status.get("review"):
        lines.append(f"{status['review']} from the team wait for you; see `hermes-memory-tui review`")
    if status.get("vectors") and status["themes"]:
        lines.append(status["vectors"]["words"])
    lines += [f"kept aside: {one['uid']} of {one['theme']}: {one['why']}" for one in status.get("aside", [])]
    lines += [f"refused: {one['uid']} of {one['theme']}: {one['why']}" for one in status.get("refused", [])]
    return "\n".join(lines)


def told(options: argparse.Namespace, document: dict[str, Any], words: str) -> None:
    """Print the answer, for a program or for a person."""
    print(json.dumps(document) if options.json else words)


def answered(answer: dict[str, Any] | None) -> dict[str, Any]:
    """What the bridge said. :raises ArgumentError: it refused, or is gone"""
    if answer is None:
        raise ArgumentError("the bridge has stopped")
    if "error" in answer:
        raise ArgumentError(answer["error"]["message"], answer["error"]["value"])
    return answer


def secret(given: str, prompt: str) -> str:
    """A DSN: as given, or asked for without showing it. :raises ArgumentError: there is none"""
    dsn = given
    if given == "-":
        dsn = getpass.getpass(prompt) if sys.stdin.isatty() else sys.stdin.readline()
    elif "password=" in given or ":" in given.partition("://")[2].rpartition("@")[0]:
        sys.stderr.write("a password on a command line can be read by others while it runs; give - to be asked\n")
    if not dsn.strip():
        raise ArgumentError("a DSN is needed: postgresql://USER:PASSWORD@HOST/DATABASE")
    return dsn.strip()


def own_syncer(places: Places) -> Syncer:
    """For a single exchange without a bridge, which creates the store of a machine that joins a team.

    :raises StoreMissing: there is neither a store nor the name of a team database
    :raises TeamError: no team database is named
    """
    refuse_unnamed(places)
    try:
        from hermes_memory_bridge.team.screens import screens
        from hermes_memory_bridge.team.syncer import Syncer
    except ImportError:
        raise TeamError(NO_DRIVER) from None
    return Syncer(places.store, lambda: dsns.find(places), holder=f"command {os.getpid()}", screens=screens(places))


def refuse_unnamed(places: Places) -> None:
    """:raises StoreMissing: there is neither a store nor the name of a team database
    :raises TeamError: no team database is named
    """
    if not dsns.is_named(places):
        refuse_missing(Path(places.store))
        raise TeamError(NOT_NAMED)


def driver() -> Any:
    """The module that knows the tables. :raises TeamError: the driver is missing"""
    try:
        from hermes_memory_bridge.team import schema
    except ImportError:
        raise TeamError(NO_DRIVER) from None
    return schema


def server(dsn: str) -> Any:
    """The team database. :raises TeamError:"""
    try:
        from hermes_memory_bridge.team.server import Server
    except ImportError:
        raise TeamError(NO_DRIVER) from None
    return Server(dsn)


def guarded(work: Callable[[], Any]) -> Any:
    """Do something with the database; what its driver says, which names hosts and users, is put in words of ours."""
    try:
        return work()
    except (ArgumentError, TeamError):
        raise
    except Exception as error:
        if type(error).__module__.partition(".")[0] == "psycopg":
            raise TeamError(state_of(error)) from None
        raise
