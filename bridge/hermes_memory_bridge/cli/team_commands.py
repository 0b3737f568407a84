"""`team migrate|open|restrict|invite|members|revoke|index|collect|repair|connect|disconnect|status|verify|dev`, and
`sync now|status|pause|resume|verify|rename|conflicts|resolve`.

A DSN holds a password, and what stands on a command line can be read by every user of the machine: `-` asks for it, or reads
it from standard input.
"""

from __future__ import annotations

import functools
import getpass
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hermes_memory_bridge.cli.bridge_options import (
    BridgeGroup,
    answer_options,
    json_option,
    print_answer,
    unused_store_option,
)
from hermes_memory_bridge.daemon.control import ask_bridge, format_no_bridge
from hermes_memory_bridge.team import dsn as dsns
from hermes_memory_bridge.team.database.team_states import (
    COMPLETE_STATES,
    INVITATION,
    NO_DRIVER,
    NOT_NAMED,
    TeamError,
    to_team_state,
)
from hermes_memory_bridge.team.folder.folder_state import FolderSettings
from hermes_memory_bridge.team.sync_comparison import merge_comparisons
from hermes_memory_bridge.team.sync_control import merge_sync_status, write_paused
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.errors import AmbiguousUid, ArgumentError
from hermes_memory_store.model import Uid
from hermes_memory_store.safe_text import pluralise, to_printable
from hermes_memory_store.store import Store, refuse_missing_store
from hermes_memory_store.uids import has_uid_part, parse_uid_digits

if TYPE_CHECKING:
    from hermes_memory_bridge.team.database.team_members import Member
    from hermes_memory_bridge.team.sync_loop import SyncLoop

F = TypeVar("F", bound=Callable[..., Any])
AskDsn = Callable[[], str]
OwnerAnswer = tuple[dict[str, Any], str, int]
"""A document, its text, and an exit code."""

LONG_S = 3_600.0
"""The first sync of a large memory takes minutes."""

LOOK_S = 0.2

TOMBSTONE_DAYS = 180
"""How long deleted rows are kept unless an administrator says otherwise: a store that is away for longer lists everything."""

DIFFERENCES = {
    "differ": "differs",
    "only_here": "only here",
    "only_there": "only there",
    "refused": "refused by the team database",
    "held_back": "held back, since its clock is ahead",
}
"""What `sync verify` says of the rows that it names."""


@click.group("team", cls=BridgeGroup)
def team_group() -> None:
    """Manage the team database."""


@click.group("sync", cls=BridgeGroup)
def sync_group() -> None:
    """Manage the sync with the team database."""


def owner_option(command: F) -> F:
    """Add `--admin-dsn`."""
    return click.option(
        "--admin-dsn",
        metavar="DSN",
        default="-",
        help="DSN of the database owner; - prompts for it, or reads standard input.",
    )(command)


def rights_options(command: F) -> F:
    """Add `--read`, `--curate` and `--until`."""
    command = click.option("--until", metavar="DATE", type=click.DateTime(), help="When the rights end (local time).")(
        command
    )
    return level_options(command)


def level_options(command: F) -> F:
    """Add `--read` and `--curate`."""
    command = click.option(
        "--curate",
        "curates",
        metavar="THEME",
        multiple=True,
        help="A theme in which it may also make facts hot and pinned for everybody.",
    )(command)
    return click.option("--read", "reads", metavar="THEME", multiple=True, help="A theme that it may only read.")(
        command
    )


def format_rights(
    themes: Sequence[str], reads: Sequence[str] = (), curates: Sequence[str] = (), until: object = None
) -> str:
    from hermes_memory_bridge.team.database.team_rights import EVERY_THEME

    def to_words(named: Sequence[str]) -> str:
        return "every theme" if EVERY_THEME in named else ", ".join(named)

    writes = [theme for theme in themes if theme not in curates]
    parts = [to_words(writes)] if writes else []
    parts += [f"{to_words(curates)} (as a curator)"] if curates else []
    parts += [f"{to_words(reads)} (only reading)"] if reads else []
    return ("; ".join(parts) or "no theme") + (f", until {until}" if until else "")


def dimension_option(command: F) -> F:
    return click.option(
        "--dimension", metavar="N", type=int, help="Dimension of the vectors; omit it to sync text only."
    )(command)


def owner_command(name: str) -> Callable[[Callable[..., OwnerAnswer]], click.Command]:
    """Declare a command of `team` that the owner of the database runs.

    Its function is given what asks for the owner's DSN, and returns a document, its text, and an exit code.
    """

    def declare(run: Callable[..., OwnerAnswer]) -> click.Command:
        @team_group.command(name)
        @unused_store_option
        @json_option
        @owner_option
        @functools.wraps(run)
        def command(as_json: bool, admin_dsn: str, **arguments: Any) -> int:
            import_team_driver()
            ask_dsn = functools.partial(prompt_for_dsn, admin_dsn, "the owner's DSN: ")
            document, text, code = run_with_driver_errors(lambda: run(ask_dsn, **arguments))
            print_answer(as_json, document, text)
            return int(code)

        return command

    return declare


@owner_command("migrate")
@dimension_option
@click.option("--model", metavar="NAME", help="Model of the vectors, as `sync status` shows it.")
@click.option("--replace-vectors", is_flag=True, help="Drop vectors of another dimension; they are recomputed.")
@click.option("--partitions", metavar="N", type=int, help="Divide the tables of an empty database by theme.")
@click.option("--runtime-role", metavar="ROLE", help="Role that stores connect as; it must exist.")
def team_migrate_command(ask_dsn: AskDsn, **settings: Any) -> OwnerAnswer:
    """Create or update the tables, as the owner."""
    from hermes_memory_bridge.team.database import team_members

    dsn = ask_dsn()
    schema = import_team_driver().migrate_team_schema(dsn, **settings)
    members = team_members.list_members(dsn)
    return (
        {
            "version": schema.version,
            "dimension": schema.dimension,
            "model": schema.model,
            "members": [member.as_dict() for member in members],
        },
        f"the team database is at version {schema.version}, "
        + (f"vectors of {schema.dimension} dimensions" if schema.dimension else "text only")
        + f"\n{format_members(members)}\na new theme is open to nobody until you open it: team open ROLE THEME…",
        0,
    )


@owner_command("restrict")
@rights_options
@click.argument("role")
@click.argument("themes", metavar="[THEME]...", nargs=-1)
def team_restrict_command(ask_dsn: AskDsn, role: str, themes: tuple[str, ...], **rights: Any) -> OwnerAnswer:
    """Set the themes that are open to a role, as the owner.

    Without THEME, --read and --curate: every theme, new ones too.
    """
    from hermes_memory_bridge.team.database import team_rights

    opened = team_rights.restrict_role_to_themes(ask_dsn(), role, themes, **rights)
    return {"role": role, "themes": opened}, f"{role} sees {format_rights(opened, **rights)}", 0


@owner_command("open")
@level_options
@click.argument("role")
@click.argument("themes", metavar="[THEME]...", nargs=-1)
def team_open_command(ask_dsn: AskDsn, role: str, themes: tuple[str, ...], **levels: tuple[str, ...]) -> OwnerAnswer:
    """Open more themes to a role, as the owner; a new theme is open to nobody."""
    if not (themes or any(levels.values())):
        raise ArgumentError(f"name the themes that are opened; `team restrict {role}` alone opens every theme", role)
    from hermes_memory_bridge.team.database import team_rights

    team_rights.open_themes(ask_dsn(), role, themes, **levels)
    document = {"role": role, "themes": list(themes), **{name: list(named) for name, named in levels.items()}}
    return document, f"{role} sees {format_rights(themes, **levels)} from now on", 0


@owner_command("invite")
@rights_options
@click.option("--reach", metavar="DSN", help="Where members reach the database, when not where the owner does.")
@click.argument("role", metavar="NAME")
@click.argument("themes", metavar="[THEME]...", nargs=-1)
def team_invite_command(ask_dsn: AskDsn, role: str, themes: tuple[str, ...], **settings: Any) -> OwnerAnswer:
    """Make a role for a person, as the owner, and print the code for `team connect`, which works once.

    Without THEME, --read and --curate it may read and write every theme.
    """
    from hermes_memory_bridge.team.database import team_members

    end = settings["until"]
    if end is not None and end.timestamp() <= time.time():
        raise ArgumentError(f"--until {end:%Y-%m-%d} is past: the code would let nobody in", end)
    code = team_members.invite_member(ask_dsn(), role, themes=themes, **settings)
    return {"role": role, "code": code}, code, 0


@owner_command("members")
def team_members_command(ask_dsn: AskDsn) -> OwnerAnswer:
    """List the roles that exchange rows, and their rights, as the owner."""
    from hermes_memory_bridge.team.database import team_members

    members = team_members.list_members(ask_dsn())
    return {"members": [member.as_dict() for member in members]}, format_members(members), 0


def format_members(members: Sequence[Member]) -> str:
    """Return a line for each role that exchanges rows."""
    lines = [
        f"{member.role}{'' if member.logs_in else ' (a group)'}: "
        + format_rights(member.themes, member.reads, member.curates, member.until)
        for member in members
    ]
    return "\n".join(lines) or "nobody was let in"


@owner_command("revoke")
@click.argument("role", metavar="NAME")
def team_revoke_command(ask_dsn: AskDsn, role: str) -> OwnerAnswer:
    """End what a role may, as the owner; what it brought stays.

    Exit code 1 when it still may something as a member of a group.
    """
    from hermes_memory_bridge.team.database import team_members

    groups = team_members.revoke_member(ask_dsn(), role)
    state = f"still has rights as a member of {', '.join(groups)}" if groups else "has no rights any more"
    return {"role": role, "groups": groups}, f"{role} {state}", int(bool(groups))


@owner_command("index")
def team_index_command(ask_dsn: AskDsn) -> OwnerAnswer:
    """Index the vectors of large themes, as the owner."""
    themes = import_team_driver().index_large_themes(ask_dsn())
    return {"indexed": themes}, f"indexed: {', '.join(themes) or 'no theme is large enough to need it'}", 0


@owner_command("collect")
@click.option(
    "--days", metavar="N", type=int, default=TOMBSTONE_DAYS, help=f"Minimum age of a deletion ({TOMBSTONE_DAYS})."
)
def team_collect_command(ask_dsn: AskDsn, days: int) -> OwnerAnswer:
    """Remove rows deleted long ago, and rewrite what held purged words, as the owner.

    Exit code 1 when purged words may be left in the database's files.
    """
    from hermes_memory_bridge.team.database import purge_rewrite, tombstone_collection

    dsn = ask_dsn()
    collected = tombstone_collection.collect_tombstones(dsn, days=days)
    lines = [f"{removed.theme}: {removed.rows} deleted rows and {removed.marks} marks removed" for removed in collected]
    document = [{"theme": removed.theme, "rows": removed.rows, "marks": removed.marks} for removed in collected]
    done = purge_rewrite.rewrite_purged(dsn)
    message = f"rewritten: {', '.join(done.rewritten)}" if done.rewritten else "nothing was purged since the last time"
    lines = [*(lines or ["nothing was deleted that long ago"]), *(done.left or [message])]
    return (
        {"collected": document, "rewritten": done.rewritten, "left": done.left},
        "\n".join(lines),
        int(bool(done.left)),
    )


@owner_command("repair")
def team_repair_command(ask_dsn: AskDsn) -> OwnerAnswer:
    """Mend what programs of before left in the tables, as the owner."""
    from hermes_memory_bridge.team.database import team_repair

    repaired = team_repair.repair_team_database(ask_dsn())
    lines = [f"{theme}: its counter is behind its rows again" for theme in repaired.counters]
    lines += [f"{uid}: stamped with the present; run `sync verify` on each machine" for uid in repaired.stamped]
    lines += [f"{repaired.emptied} purged rows emptied"] if repaired.emptied else []
    lines += [f"{role}: there is no such role, its restriction is lifted" for role in repaired.roles]
    lines += [f"{uid}: larger than any machine takes; left as it is" for uid in repaired.too_large]
    return repaired.as_dict(), "\n".join(lines) or "nothing to repair", 0


@team_group.command("connect")
@answer_options
@click.argument("dsn", default="-")
def team_connect_command(db: str | None, as_json: bool, dsn: str) -> None:
    """Connect to a team database, and store its DSN in the keyring.

    Without DSN, or with -: asks for it, or reads standard input.
    """
    paths = BridgePaths.of(db)
    dsn = prompt_for_dsn(dsn, "DSN of the team database, or code of an invitation: ")
    if dsn.startswith(INVITATION):
        dsn = redeem_code(dsn, paths)
    with run_with_driver_errors(lambda: connect_team_server(dsn)) as server:
        schema, warning = server.schema, server.warning
    dsns.store_team_dsn(paths, dsn)
    running = ask_bridge(paths, "sync", action="connect")
    note = "" if running is not None else "; a bridge exchanges with it as soon as one runs"
    if os.environ.get(dsns.VARIABLE):
        note += f"; ${dsns.VARIABLE} is set and counts instead"
    print_answer(
        as_json,
        {"connected": True, "version": schema.version, "warning": warning},
        f"connected to {dsns.mask_dsn_password(dsn)}{note}" + (f"\n{warning}" if warning else ""),
    )


def redeem_code(code: str, paths: BridgePaths) -> str:
    """Redeem the code of an invitation; return the DSN for this machine, which is stored already."""
    import_team_driver()
    from hermes_memory_bridge.team.database import team_members

    try:
        return str(
            run_with_driver_errors(
                lambda: team_members.redeem_invitation(code, lambda dsn: dsns.store_team_dsn(paths, dsn))
            )
        )
    except TeamError as error:
        if error.state.name != "refused":
            raise
        raise ArgumentError(
            "this code was used already, or withdrawn: the owner of the team database gives another by `team invite`",
            None,
        ) from None


@team_group.command("disconnect")
@answer_options
def team_disconnect_command(db: str | None, as_json: bool) -> None:
    """Disconnect from the team database; no data is deleted on either side."""
    paths = BridgePaths.of(db)
    dsns.forget_team_dsn(paths)
    ask_bridge(paths, "sync", action="connect")
    print_answer(
        as_json, {"connected": False}, "the team database is forgotten; what was exchanged stays on both sides"
    )


@team_group.command("status")
@answer_options
def team_status_command(db: str | None, as_json: bool) -> None:
    """Check whether the database can be used, and show what it is.

    Exit code 1 when it cannot.
    """
    dsn = dsns.find_team_dsn(BridgePaths.of(db))
    if not dsn:
        raise TeamError(NOT_NAMED)
    with run_with_driver_errors(lambda: connect_team_server(dsn)) as server:
        version, dimension = server.schema.version, server.schema.dimension
        engine = server.engine()
        unindexed = run_with_driver_errors(lambda: import_team_driver().find_unindexed_themes(server.conn))
    document = {
        "version": version,
        "dimension": dimension,
        "unindexed": unindexed,
        "server": engine,
        "dsn": dsns.mask_dsn_password(dsn),
    }
    vectors = f"vectors of {dimension} dimensions" if dimension else "text only"
    if unindexed:
        vectors += f"; large and without an index: {', '.join(unindexed)} (`team index` makes one)"
    print_answer(
        as_json,
        document,
        f"{dsns.mask_dsn_password(dsn)}: PostgreSQL {engine}, version {version} of the tables, {vectors}",
    )


@team_group.command("dev")
@answer_options
@click.option("--dir", "folder", metavar="DIR", help="Folder of its files (beside the store).")
@dimension_option
def team_dev_command(db: str | None, as_json: bool, folder: str | None, dimension: int | None) -> None:
    """Run a private PostgreSQL server for trying things out.

    It runs until interrupted; its DSN is the first line of the output.
    """
    from hermes_memory_bridge.team.database.dev_server import DevServer

    paths = BridgePaths.of(db)
    if not folder:
        paths.make_folder()
    running = DevServer(Path(folder or Path(paths.folder) / "postgres").absolute())
    try:
        run_with_driver_errors(lambda: import_team_driver().migrate_team_schema(running.dsn, dimension=dimension))
        print(json.dumps({"dsn": running.dsn}) if as_json else running.dsn, flush=True)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
    except KeyboardInterrupt:
        pass
    finally:
        running.stop()


@sync_group.command("now")
@answer_options
def sync_now_command(db: str | None, as_json: bool) -> int:
    """Sync now, and wait until it is done.

    Exit code 1 when it could not be done.
    """
    paths = BridgePaths.of(db)
    reply = ask_bridge(paths, "sync", action="now")
    if reply is not None:
        status = wait_for_sync(
            as_json,
            lambda: check_bridge_answer(ask_bridge(paths, "sync", action="status")),
            check_bridge_answer(reply)["number"],
        )
    else:
        syncers = open_own_syncers(paths)
        for syncer in syncers:
            syncer.start()
        try:
            status = merge_sync_status([wait_for_sync(as_json, syncer.status, 1) for syncer in syncers])
        finally:
            for syncer in syncers:
                syncer.stop()
    print_answer(as_json, status, format_sync_status(status))
    return 0 if status["state"] in COMPLETE_STATES else 1


def wait_for_sync(as_json: bool, status: Callable[[], dict[str, Any]], number: int) -> dict[str, Any]:
    deadline = time.monotonic() + LONG_S
    shown = ""
    while time.monotonic() < deadline:
        now = status()
        if now["exchanges"] >= number:
            break
        moving = "; ".join(
            format_sync_progress(theme)
            for theme in now["themes"]
            if theme["waiting"] or theme["behind"] or theme.get("turns")
        )
        if moving and moving != shown and not as_json:
            sys.stderr.write(f"{moving}\n")
            shown = moving
        time.sleep(LOOK_S)
    if shown and not as_json:
        sys.stderr.write("\n")
    return now


def format_sync_progress(theme: dict[str, Any]) -> str:
    turns = f", {pluralise(theme['turns'], 'turn')} to send" if theme.get("turns") else ""
    return f"{theme['theme']}: {theme['waiting']} to send{turns}, {theme['behind']} to fetch"


@sync_group.command("status")
@answer_options
def sync_status_command(db: str | None, as_json: bool) -> int:
    """Show the state of the sync: pending rows, errors.

    Exit code 1 when no bridge runs, or something is wrong.
    """
    paths = BridgePaths.of(db)
    reply = ask_bridge(paths, "sync", action="status")
    if reply is None:
        named = is_sync_named(paths)
        words = f"{format_no_bridge(paths)}, so nothing is exchanged now; a connecting agent starts one"
        document = {"configured": named, "state": "no bridge", "words": words, "themes": []}
        print_answer(as_json, document, words)
        return 1
    status = check_bridge_answer(reply)
    print_answer(as_json, status, format_sync_status(status))
    return 0 if status["state"] in (*COMPLETE_STATES, "exchanging", "starting", "paused") else 1


@sync_group.command("pause")
@answer_options
def sync_pause_command(db: str | None, as_json: bool) -> None:
    """Pause the sync; writes stay pending."""
    steer_sync(db, as_json, "pause")


@sync_group.command("resume")
@answer_options
def sync_resume_command(db: str | None, as_json: bool) -> None:
    """Resume the sync."""
    steer_sync(db, as_json, "resume")


def steer_sync(db: str | None, as_json: bool, action: str) -> None:
    paths = BridgePaths.of(db)
    reply = ask_bridge(paths, "sync", action=action)
    if reply is not None:
        status = check_bridge_answer(reply)
        print_answer(as_json, status, format_sync_status(status))
        return
    check_sync_named(paths)
    write_paused(paths, action == "pause")
    print_answer(as_json, {"paused": action == "pause"}, f"the exchange is {action}d from the next bridge on")


@sync_group.command("verify")
@answer_options
@click.option("--canary", is_flag=True, help="Prove instead, as the owner, that purged words leave its files.")
@owner_option
def sync_verify_command(db: str | None, as_json: bool, canary: bool, admin_dsn: str) -> int:
    """Compare every row of both sides, and list those that differ.

    The database keeps the head of this machine's journal, too, and tells when its newest changes were cut off or rewritten.
    Exit code 1 when it does, when rows differ, or when not everything is exchanged. With --canary words that were made for it are
    purged, the database's tables are rewritten, and its files are searched for them.
    """
    if canary:
        return verify_erasure(as_json, prompt_for_dsn(admin_dsn, "the owner's DSN: "))
    paths = BridgePaths.of(db)
    reply = ask_bridge(paths, "sync", timeout_s=LONG_S, action="verify")
    if reply is not None:
        comparison = check_bridge_answer(reply)
    else:
        syncers = open_own_syncers(paths)
        refuse_missing_store(Path(paths.store))
        comparisons = []
        for syncer in syncers:
            compared = syncer.verify()
            syncer.start()
            try:
                comparisons.append(compared.result(LONG_S))
            finally:
                syncer.stop()
        comparison = merge_comparisons(comparisons).as_dict()
    lines = []
    for theme in comparison["themes"]:
        lines.append(f"{theme['theme']}: {format_verification(theme)}, {pluralise(theme['rows'], 'row')}")
        for name, words in DIFFERENCES.items():
            lines += [f"  {uid} {words}" for uid in theme[name]]
        if theme["waiting"]:
            lines.append(f"  {theme['waiting']} not sent")
    if not lines:
        lines.append("no theme is shared: set `sync = true` for one in memory-themes.toml")
    journal = comparison["journal"]
    if journal is not None:
        lines.append(f"journal: {'' if journal['held'] else 'CUT OFF OR REWRITTEN: '}{journal['words']}")
    print_answer(as_json, comparison, "\n".join(lines))
    return 0 if comparison["same"] and (journal is None or journal["held"]) else 1


team_group.add_command(sync_verify_command)


def verify_erasure(as_json: bool, dsn: str) -> int:
    """Release a canary, and print where it was found."""
    import_team_driver()
    from hermes_memory_bridge.team.database import purge_rewrite

    result = run_with_driver_errors(lambda: purge_rewrite.release_canary(dsn))
    before = f"{result.words} purged words: {result.before} stood in the database's files before they were rewritten, "
    message = before + (f"and some still do: {', '.join(result.found)}" if result.found else "and none does now")
    document = {"words": result.words, "before": result.before, "found": result.found, "left": result.left}
    print_answer(as_json, {"canary": document}, "\n".join([message, *result.left]))
    return 1 if result.found or result.left else 0


def format_verification(theme: dict[str, Any]) -> str:
    if theme["same"]:
        return "the same"
    return "DIFFERS" if any(theme[name] for name in ("differ", "only_here", "only_there")) else "NOT ALL EXCHANGED"


@sync_group.command("rename")
@answer_options
@click.argument("theme")
@click.argument("name")
def sync_rename_command(db: str | None, as_json: bool, theme: str, name: str) -> None:
    """Exchange THEME as NAME in the team; here it keeps its name.

    For a theme that was not exchanged yet, such as one under whose name the team has another project. Other machines with the
    same project find it under NAME by themselves.
    \f

    :raises ArgumentError: it was exchanged already, or another theme has that name
    """
    with Store.open(BridgePaths.of(db).store, create=False) as store:
        called = store.sync.rename_in_team(theme, name)
    print_answer(as_json, {"theme": theme, "team_name": called}, f"theme {theme} is exchanged as {called} from now on")


@sync_group.command("conflicts")
@answer_options
def sync_conflicts_command(db: str | None, as_json: bool) -> None:
    """List unresolved conflicts between machines, newest first."""
    with Store.open(BridgePaths.of(db).store, create=False) as store:
        conflicts = store.sync.standing.conflicts()
    document = [
        {
            "uid": conflict.uid,
            "theme": conflict.theme,
            "at": format_iso_time(conflict.at),
            "why": conflict.why,
            "mine": conflict.mine.content,
            "theirs": conflict.theirs.content,
        }
        for conflict in conflicts
    ]
    lines = [
        f"{conflict['uid']} {conflict['theme']} ({conflict['why']})\n"
        f"  stands: {format_remote_content(conflict['mine'])}\n"
        f"  lost:   {format_remote_content(conflict['theirs'])}"
        for conflict in document
    ]
    print_answer(as_json, {"conflicts": document}, "\n".join(lines) or "no conflict waits for you")


def format_remote_content(content: str | None) -> str:
    """Format content for display: what came from another machine may hold anything."""
    if content is None:
        return "(deleted)"
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in content)


@sync_group.command("resolve")
@answer_options
@click.argument("uid")
@click.argument("keep", type=click.Choice(["mine", "theirs", "both"]))
def sync_resolve_command(db: str | None, as_json: bool, uid: str, keep: Any) -> None:
    """Resolve a conflict.

    What stands is mine, what lost is theirs. UID is as `sync conflicts` names it; its beginning or end is enough.
    \f

    :raises UnknownFact: there is none of that name
    """
    with Store.open(BridgePaths.of(db).store, create=False) as store:
        digits = parse_uid_digits(uid)
        uids = {conflict.uid for conflict in store.sync.standing.conflicts()}
        named = sorted(full for full in uids if digits and has_uid_part(full, digits))
        if len(named) > 1:
            raise AmbiguousUid(f"several begin or end with {uid}: {', '.join(named[:5])}", uid)
        changed = store.sync.standing.resolve(named[0] if named else Uid(uid), keep)
    print_answer(as_json, {"changed": list(changed.uids), "changes": list(changed.seqs)}, f"decided: {keep}")


def format_sync_status(status: dict[str, Any]) -> str:
    lines = [status["words"]]
    if status.get("warning"):
        lines.append(status["warning"])
    if status.get("last_exchange"):
        lines.append(f"last exchange {format_iso_time(status['last_exchange'])}")
    if status.get("last_exchange") and "collected" in status and not status.get("listening", True):
        reason = (
            "and no connection is held meanwhile, so that the database can sleep"
            if status["asleep"]
            else 'since `idle = "sleep"` is set'
            if status["idle"] == "sleep"
            else "since a pooler stands in between, or announcements did not arrive"
        )
        lines.append(f"changes of others are asked for every {status['poll_s']:.0f} s, {reason}")
    if status.get("collected"):
        lines.append(f"purged words were erased from the database's files {format_iso_time(status['collected'])}")
    elif status.get("last_exchange") and "collected" in status:
        lines.append("the owner of the database has not run `team collect` yet: purged words may be left in its files")
    if status.get("folder"):
        lines.append(f"shared folder {to_printable(status['folder'])}")
        lines += [status["folder_warning"]] if status.get("folder_warning") else []
        lines += [f"  {to_printable(item['file'])}: {item['why']}" for item in status["problems"]]
    for theme in status["themes"]:
        turns = f", {pluralise(theme['turns'], 'turn')} to send" if theme.get("turns") else ""
        called = f" ({to_printable(theme['team_name'])} in the team)" if theme.get("team_name") else ""
        lines.append(
            f"{theme['theme']}{called}: {theme['waiting']} to send{turns}, {theme['behind']} to fetch, at {theme['cursor']}"
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
    if status.get("uncurated"):
        lines.append(
            f"{status['uncurated']} are hot in the team and kept cold here, since no curator made them hot; see"
            " `hermes-memory-tui facts cooled:uncurated`, and pin or restore what you agree to"
        )
    if status.get("vectors") and status["themes"]:
        lines.append(status["vectors"]["words"])
    lines += [f"kept aside: {item['uid']} of {item['theme']}: {item['why']}" for item in status.get("aside", [])]
    lines += [f"refused: {item['uid']} of {item['theme']}: {item['why']}" for item in status.get("refused", [])]
    return "\n".join(lines)


def check_bridge_answer(answer: dict[str, Any] | None) -> dict[str, Any]:
    """Return the bridge's answer. :raises ArgumentError: it refused, or is gone"""
    if answer is None:
        raise ArgumentError("the bridge has stopped")
    if "error" in answer:
        raise ArgumentError(answer["error"]["message"], answer["error"]["value"])
    return answer


def prompt_for_dsn(option: str, prompt: str) -> str:
    """Return a DSN: as given, or prompted for without echo. :raises ArgumentError: there is none"""
    dsn = option
    if option == "-":
        dsn = getpass.getpass(prompt) if sys.stdin.isatty() else sys.stdin.readline()
    elif "password=" in option or ":" in option.partition("://")[2].rpartition("@")[0]:
        sys.stderr.write("a password on a command line can be read by others while it runs; give - to be asked\n")
    if not dsn.strip():
        raise ArgumentError("a DSN is needed: postgresql://USER:PASSWORD@HOST/DATABASE")
    return dsn.strip()


def open_own_syncers(paths: BridgePaths) -> list[SyncLoop[Any]]:
    """Return syncers for a single run without a bridge; they create the store of a machine that joins a team.

    :raises StoreMissing: there is neither a store nor the name of a team database or a folder
    :raises TeamError: no team database and no folder is named
    """
    check_sync_named(paths)
    from hermes_memory_bridge.trust import open_store_vault

    settings: dict[str, Any] = {"holder": f"command {os.getpid()}", "vault": open_store_vault(paths.store)}
    syncers: list[SyncLoop[Any]] = []
    if dsns.is_team_named(paths):
        try:
            from hermes_memory_bridge.team.syncer import Syncer
        except ImportError:
            raise TeamError(NO_DRIVER) from None
        syncers.append(Syncer(paths.store, lambda: dsns.find_team_dsn(paths), **settings))
    if FolderSettings.load(paths) is not None:
        from hermes_memory_bridge.team.folder.folder_syncer import FolderSyncer

        syncers.append(FolderSyncer(paths, **settings))
    return syncers


def is_sync_named(paths: BridgePaths) -> bool:
    return dsns.is_team_named(paths) or FolderSettings.load(paths) is not None


def check_sync_named(paths: BridgePaths) -> None:
    """Check that there is something to sync with.

    :raises StoreMissing: there is neither a store nor the name of a team database or a folder
    :raises TeamError: no team database and no folder is named
    """
    if not is_sync_named(paths):
        refuse_missing_store(Path(paths.store))
        raise TeamError(NOT_NAMED)


def import_team_driver() -> Any:
    """Import and return the schema module. :raises TeamError: the driver is missing"""
    try:
        from hermes_memory_bridge.team.database import team_schema
    except ImportError:
        raise TeamError(NO_DRIVER) from None
    return team_schema


def connect_team_server(dsn: str) -> Any:
    """Connect to the team database. :raises TeamError: the database cannot be used now"""
    try:
        from hermes_memory_bridge.team.database.team_server import TeamServer
    except ImportError:
        raise TeamError(NO_DRIVER) from None
    return TeamServer(dsn)


def run_with_driver_errors(work: Callable[[], Any]) -> Any:
    """Run something against the database; rephrase its driver's errors, which name hosts and users."""
    try:
        return work()
    except (ArgumentError, TeamError):
        raise
    except Exception as error:
        if type(error).__module__.partition(".")[0] == "psycopg":
            raise TeamError(to_team_state(error)) from None
        raise
