"""The tool `memory_write`."""

from __future__ import annotations

import json
import os
from dataclasses import replace

from hermes_memory_bridge.toolkit.arguments import flag, text, texts
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ToolResult, to_fact_data, to_gauge_data, to_refusal_result
from hermes_memory_bridge.toolkit.tool_spec import GAUGE, TEXT, TEXTS, tool
from hermes_memory_store.errors import ArgumentError, InputError, MemoryFull, NotationError, SourceRefused, StoreError
from hermes_memory_store.intake.intake import to_given_name
from hermes_memory_store.intake.spans import NOT_KEPT, to_secret_placeholder
from hermes_memory_store.items.action_rows import list_actions
from hermes_memory_store.model import Actor, ChangeResult, Fact, Origin, Relief, Session, Suspicion, WriteResult
from hermes_memory_store.notation.memory_spec import find_target
from hermes_memory_store.places.citations import MOST_CITED, cite_named
from hermes_memory_store.places.cited_values import FactWords
from hermes_memory_store.uids import short_uid

MOST_ACTIONS = 8
"""Newest actions of a session of which files may say what it writes."""

WARN_PCT = 80
"""From here on an answer warns, as hermes-memory 0.3.0 does."""


def to_write_refusal(error: StoreError) -> ToolResult:
    """Return why a fact was not stored, in hermes-memory's words."""
    if isinstance(error, NotationError):
        reason = (
            f"Invalid notation: Invalid fact notation: {error.value!r}\n"
            "Expected format: TYPE[target]: content  (e.g. C[db.id]: UUID mndtry)"
        )
    elif isinstance(error, SourceRefused):
        reason = f"Refused: {error.message}"
    elif isinstance(error, InputError):
        reason = f"Invalid notation: {error.message}"
    else:
        reason = f"Unexpected error: {error.message}\nThe fact was NOT stored. Retry or inform the user."
    return to_refusal_result(error, f"[MEMORY WRITE FAILED] {reason}")


@tool(
    title="Remember a fact",
    description=(
        "Write a fact to persistent memory using MEMORY_SPEC notation: TYPE[target]: content.\n"
        "Types: C constraint, D decision, V value, ? unknown, ✓ done (closes the scope), ~ obsolete.\n"
        "Call it when a constraint, decision or value is established. A new fact supersedes the old one of its type, target "
        "and scope."
    ),
    brief=(
        "Keep a fact as TYPE[target]: content. TYPE: C constraint, D decision, V value, ? unknown, ✓ done (closes the scope), "
        "~ obsolete.\nCall it whenever one is established. It supersedes the old one of its type, target, scope."
    ),
    unshown=("split",),
    gives={
        "uid": TEXT,
        "status": {"type": "string", "enum": ["created", "deduplicated", "quarantined"]},
        "superseded": TEXTS,
        "gauge": GAUGE,
    },
    place=1,
    refuses=to_write_refusal,
)
def memory_write(
    connection: Connection,
    content: str = text("One fact, e.g. 'C[db.id]: UUID mndtry' (at most 400 characters).", required=True),
    scope: str | None = text("Unit of work, e.g. 'auth-refactor'; default: the present."),
    split: bool = flag("Store long content in parts.", default=False),
    turns: tuple[str, ...] = texts("Its messages' uids"),
    cites: tuple[str, ...] = texts("'src/db.py:12-20'"),
) -> ToolResult:
    """Store one fact."""
    session = connection.session()
    theme = connection.choose_theme(find_target(content))
    origin = find_named_origin(connection, session, turns) if theme == connection.theme else None
    try:
        result = connection.store.facts.write(
            theme,
            content,
            scope=scope,
            actor=Actor("session", session.name),
            session=session if theme == connection.theme else None,  # a session and its scopes are of one theme
            split=split,
            source=connection.source,
            origin=origin,
        )
    except MemoryFull as error:
        pct = connection.store.tiers.gauge(theme).pct
        return to_refusal_result(
            error,
            f"[MEMORY WRITE FAILED] Memory store is full ({pct:.0f}%). {error.message}\ngauge: {pct:.0f}%\n"
            "action: inform the user that pinned facts fill the memory.",
        )
    if result.suspicion is not None:
        answer = to_quarantine_result(result.fact, result.suspicion)
        return replace(answer, text="\n".join([answer.text, *format_masked(connection, result)]))
    connection.store.fact_uses.note_written(session, result.fact)
    lines = [format_write_result(result), *format_masked(connection, result)]
    if origin is not None and not (result.created or set(origin.turns) <= {*result.fact.origin.turns}):
        lines.append("turns: none added; the fact was there already and keeps the messages that it names")
    lines += cite_written(connection, result.fact, cites, Actor("session", session.name))
    if result.created and not cites:
        lines += propose_line(connection, session, result.fact)
    return ToolResult(
        "\n".join(lines),
        {
            "uid": result.fact.uid,
            "status": result.status,
            "superseded": list(result.superseded),
            "closed": list(result.closed),
            "gauge": to_gauge_data(result.gauge),
            "fact": to_fact_data(result.fact),
            "parts": [part.uid for part in result.parts],
            "masked": list(result.masked),
            "unkept": result.unkept,
            "near": [{"uid": other.uid, "notation": other.notation} for other in result.near],
        },
    )


def cite_written(connection: Connection, fact: Fact, names: tuple[str, ...], actor: Actor) -> list[str]:
    """Let a fact that was written cite what its agent names, and say of each what became of it: the fact stands in any case."""
    store, here, lines, cited = connection.store, connection.store.names.origins.current(), [], []
    for name in names[:MOST_CITED]:
        try:
            if here.root is None:
                raise ArgumentError("the folder that you work in is not known", name)
            folder, words = os.path.join(here.root, here.folder or "."), FactWords(fact.target, fact.content)
            cited.append(cite_named(folder, name, store.clock(), words))
        except ArgumentError as error:
            lines.append(f"cites: not {name}; {error.message}")
    if cited:
        store.citations.add(fact.uid, cited, theme=fact.theme, actor=actor)
        lines.append(f"cites: {', '.join(citation.label for citation in cited)}")
    return lines


def propose_line(connection: Connection, session: Session, fact: Fact) -> list[str]:
    """Propose the line of a file that says a fact, of those that its session read or edited last, where that is kept."""
    store, root = connection.store, connection.store.names.origins.current().root
    paths = [action.what for action in list_actions(store.db, session, MOST_ACTIONS) if action.kind != "run"]
    if root is None or not paths:
        return []
    from hermes_memory_store.relief.tidying import find_line_seen  # here: few stores keep actions

    place = find_line_seen(fact, root, dict.fromkeys(paths))
    words = f"a line seen says so; if it rests on that, write it again with cites: {json.dumps([place])}"
    return [words] if place and to_given_name(place) == place else []


def format_masked(connection: Connection, result: WriteResult | ChangeResult) -> list[str]:
    """Format which secrets were masked; of those that nothing keeps, why, and how to allow a file."""
    names = [*result.masked, NOT_KEPT] if result.unkept else result.masked
    lines = [f"masked: {to_secret_placeholder(name)}" for name in names]
    if result.unkept:
        vault = connection.store.intake.vault
        reason = vault.unkept_reason if vault is not None else None
        lines.append(
            f"NOT kept: {result.unkept} masked secret(s): the value is gone, lost unless the user keeps it elsewhere"
            + (f"; {reason}" if reason else "")
        )
    return lines


def find_named_origin(connection: Connection, session: Session, names: tuple[str, ...]) -> Origin | None:
    """Return the origin of a fact whose captured turns the agent names; None: those just before the write.

    :raises ArgumentError: they are not turns of the call's own session, nor those of its theme, where it may read them
    """
    if not names:
        return None
    may_read = connection.rights.read and connection.rights.grants_any_tool(("recall_conversation",))
    turns = connection.store.turns.find_named(session, names, in_theme=may_read)
    return replace(connection.store.names.origins.current(), turns=turns)


def to_quarantine_result(fact: Fact, suspicion: Suspicion) -> ToolResult:
    """Return the result for a fact in quarantine."""
    reason = f"it {suspicion.what}, so it waits for a person and is told to nobody until then"
    return ToolResult(
        f"quarantined: {short_uid(fact.uid)}\n{reason}. Tell the user; `hermes-memory-tui review approve {fact.uid}` lets it in.",
        {"uid": fact.uid, "status": "quarantined", "rule": suspicion.rule, "superseded": []},
    )


def format_write_result(result: WriteResult) -> str:
    """Format the result in hermes-memory's words."""
    pct = result.gauge.pct
    lines = [f"stored: {short_uid(result.fact.uid)}", f"gauge:  {pct:.0f}%"]
    if result.parts:
        lines.append(f"split: stored as {len(result.parts)} facts")
    lines += [f"superseded: {short_uid(uid)}" for uid in result.superseded]
    lines += [
        f"close to {other.type.value}[{other.target}] {short_uid(other.uid)}; supersede it?" for other in result.near
    ]
    moved = format_relief(result.relief)
    if moved:
        lines.append(f"pressure: {moved}")
    if pct >= WARN_PCT:
        lines.append(
            f"[MEMORY WARNING] Store at {pct:.0f}% capacity. Older facts go cold by themselves; memory_search finds them."
        )
    return "\n".join(lines)


def format_relief(relief: Relief) -> str:
    """Format what relief did, in hermes-memory's words."""
    phrases = (
        (relief.merged, "merged {} duplicate(s)"),
        (relief.archived, "archived {} cold-scope fact(s)"),
        (relief.cooled, "pushed {} oldest fact(s) to cold (no LLM)"),
    )
    return ", ".join(words.format(count) for count, words in phrases if count)
