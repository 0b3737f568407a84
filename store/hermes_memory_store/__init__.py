"""Agent memory in one SQLite file: typed facts, scopes, tiers, sessions and the journal.

`from hermes_memory_store import Store, FactFilter, Tier, StoreError` is the public library: `Store` and the parts it gives
access to, the values they take and return, every error, and functions for import, export, backup and time travel.
`docs/reference/library.md` describes them; other modules may change. Each name is imported on first use.

No network and no user interface: this package imports `hermes_memory_themes`, sqlite-utils and the standard library
only. The bridge, the inspector and the command line call it; it calls none of them. Read `store.py` first.
"""

_MODULES = {
    "access.credentials": "Credential Credentials",
    "access.idempotency_keys": "IdempotencyKeys",
    "clock": "Clock format_iso_time parse_duration parse_moment system_clock",
    "intake.intake": "Intake Writer",
    "context.context_block": "ContextBlocks",
    "context.context_records": "ContextRecord ContextRecords",
    "conversations.turns": "Turns",
    "diagnostics.doctor": "examine_store",
    "errors": """
        AmbiguousSession AmbiguousUid ArgumentError BackfillUnconfirmed Conflict ContentTooLong DiskFull FactConflict FileError
        ImportFileError IndexDamaged InputError JournalBroken MemoryFull NameRefused NetworkFileSystem NotFound NotationError
        NothingToUndo PolicyInvalid QueryError ScopeExists SecretRefused SecretUnconfirmed SourceRefused
        StoreError StoreLocked StoreMissing StoreNeedsUpgrade StoreOlder StoreReadOnly
        StoreReplaced StoreTooNew StoreUnfinished StoreUnreadable ThemeInvalid UndoConflict UnknownChange
        UnknownFact UnknownScope UnknownSession UnknownTheme UnknownToken UnknownTurn UnsafeText
    """,
    "journal.time_travel": "PastStore open_store_at",
    "journal.transaction_log": "ReplayReport replay_log transaction_log_lines",
    "memory.bulk_writer": "BulkResult",
    "memory.facts": "Facts",
    "memory.pressure": "Pressure",
    "memory.scopes": "Scopes",
    "memory.sessions": "Sessions",
    "memory.sources": "Sources",
    "memory.tiers": "Tiers",
    "memory.undo": "Undo",
    "model": """
        IMPORT LIVE_TIERS PERSON STANDING_TIERS Actor Change ChangeResult Check ContextBlock Fact FactFilter
        FactPage FactSearchResult FactType Gauge Millis Notation Origin OrphanPolicy PageCursor PressureLevel Project
        ProjectSummary PurgePlan QuarantinedFact Query Relief Rights Scope ScopeStatus Session SessionStatus Sort SourceRule
        ThemeSummary Tick Tier Turn TurnHit Uid UndoResult Way WriteResult
    """,
    "notation.memory_spec": "parse_notation split_notation",
    "relief.file_relief": "OptimizeReport relieve_files",
    "items.journal": "Journal",
    "find.query_syntax": "parse_query",
    "find.search": "Search",
    "store": "Store",
    "files.export_import": "ImportReport export_jsonl export_spec import_file",
    "files.importers.import_run": "ForeignImportReport import_foreign_memory",
    "files.upgrade_hermes_030": "UpgradeReport needs_upgrade upgrade_hermes_030",
    "uids": "Uids short_uid",
    "upkeep.backup": "BackupReport RestoreReport create_backup find_backups restore_backup verify_backup",
    "upkeep.purge": "Purge",
}
"""The public names by the module that defines them. `__init__.pyi` says the same to type checkers."""

_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    """Import a public name on first use (PEP 562)."""
    from hermes_memory_themes.lazy_import import import_public_name

    return import_public_name(__name__, _HOMES, name)
