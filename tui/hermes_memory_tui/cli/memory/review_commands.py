"""`review`: quarantined facts, and rules on their sources."""

from __future__ import annotations

import difflib
from dataclasses import asdict
from typing import Any

import click

from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.compact_json import to_members
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.intake.intake import RULE_SOURCE
from hermes_memory_store.items.tier_columns import PROPOSED
from hermes_memory_store.memory.quarantine import MOST_ALIKE, fold_waiting
from hermes_memory_store.memory.second_look import PastFinding
from hermes_memory_store.memory.sources import session_source
from hermes_memory_store.model import FactFilter, QuarantinedFact, Rule, Tier
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_store.uids import short_uid
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, complete_from_store, pass_settings
from hermes_memory_tui.cli.json_documents import FACT_FIELDS, fact_json, print_document, quarantined_json, rule_json
from hermes_memory_tui.cli.memory.write_commands import print_tier_change, uid_arguments
from hermes_memory_tui.cli.table_output import Listing, add_list_options, print_rows, print_table
from hermes_memory_tui.cli.terminal_output import distinct_uid_length, format_quantity, print_hanging
from hermes_memory_tui.text.fold_phrases import explain_waiting
from hermes_memory_tui.text.origin_text import format_voice, format_way

MOST_SHOWN = 400
"""Characters of a finding that are printed; `--json` has all."""

LIFTED_OFTEN = 5
"""Alarms of a rule that a person lifted in a theme before its silence is proposed: a habit, and no exception."""

QUARANTINED = Listing(
    fields=(*FACT_FIELDS, "why", "what", "source", "at", "cleared", "overdue", "said"),
    shown=("uid", "at", "theme", "source", "what", "type", "target", "content"),
)

FINDINGS = Listing(
    fields=("kind", "uid", "theme", "rule", "why", "text", "change"), shown=("uid", "kind", "theme", "why", "text")
)

REVIEWED = Listing(fields=tuple(dict.fromkeys((*QUARANTINED.fields, *FINDINGS.fields))), shown=())
"""What stands before a verb: either list."""

SAID = {
    "always": "suspicious facts from {} are accepted automatically",
    "never": "suspicious facts from {} are rejected automatically",
    None: "suspicious facts from {} are quarantined",
}


@add_examples(
    ("review", "what is quarantined, and the rules on sources"),
    ("review approve 9f8e7d6c", "let it into the memory"),
    ("review approve --alike 9f8e7d6c", "and all that wait from the same source for the same reason"),
    ("review --again -o csv --fields uid,theme,why", "what today's rules find in what came in before"),
)
@click.group("review", invoke_without_command=True, short_help="Review quarantined facts.")
@click.option("--again", is_flag=True, help="List what today's rules find in facts, turns and the journal.")
@add_list_options(REVIEWED)
@add_common_options
@click.pass_context
def review_command(ctx: click.Context, again: bool) -> None:
    """Review suspicious facts that agents wrote, and proposed ones: list, approve or reject them.

    Without a subcommand the quarantined facts are listed. --again looks through everything that came in before, and
    changes nothing: edit, archive or purge what should not stand.
    """
    if again:
        look_again(ctx.ensure_object(CommandSettings))
    elif ctx.invoked_subcommand is None:
        ctx.invoke(list_quarantined)


@review_command.command("list", short_help="List quarantined facts and source rules.")
@click.option("--unfold", "unfolded", is_flag=True, help="List each of many facts that wait for the same reason.")
@add_list_options(QUARANTINED)
@add_common_options
@pass_settings
def list_quarantined(settings: CommandSettings, unfolded: bool) -> None:
    """List quarantined facts, newest first, with reason and source, and the source rules.

    Many from one source for one reason are folded into a line. All themes unless --theme names one.
    """
    with settings.store() as store:
        theme = settings.confining_theme(store)
        quarantined, rules = store.facts.quarantine_queue(theme), store.sources.list(theme)
        total = store.facts.count(FactFilter(theme=theme, tiers=frozenset({Tier.QUARANTINED})))
        lifted = store.sources.lifted(theme)
    if settings.as_json:
        document = {"waiting": [quarantined_json(row) for row in quarantined], "total": total}
        document |= {"rules": [rule_json(row) for row in rules], "lifted": [asdict(row) for row in lifted]}
        print_document(document)
        return
    if settings.is_tabular:
        rules = []  # a list of one kind of row
        print_rows(settings, QUARANTINED, map(quarantined_row, quarantined))
    else:
        print_quarantined(quarantined, unfolded=unfolded)
    if total > len(quarantined):
        click.echo(f"and {format_quantity(total - len(quarantined), 'older fact')}", err=True)
    if not quarantined:
        click.echo("quarantine is empty", err=True)
    if rules:
        click.echo()
        print_table(
            ("source", "theme", "rule", "since"),
            [(rule.source, rule.theme, rule.rule, format_iso_time(rule.at)[:16].replace("T", " ")) for rule in rules],
        )
    for row in lifted:
        if row.count >= LIFTED_OFTEN and not row.is_silenced and not settings.is_tabular:
            reason = to_printable(explain_finding(row.rule))
            click.echo(
                f"{row.count} facts were approved although each {reason}; to let such facts into theme {row.theme} at once: "
                f"hermes-memory-tui review silence {row.rule} --theme {row.theme}",
                err=True,
            )


def look_again(settings: CommandSettings) -> None:
    """List what today's rules find; nothing is changed by it."""
    with settings.store() as store:
        findings = list(store.second_look.find(settings.confining_theme(store)))
    if settings.as_json:
        print_document({"found": [finding_json(finding) for finding in findings], "total": len(findings)})
        return
    if settings.is_tabular:
        print_rows(settings, FINDINGS, map(finding_json, findings))
    else:
        print_findings(findings)
    click.echo(f"{format_quantity(len(findings), 'finding')}; nothing was changed", err=True)


def print_findings(findings: list[PastFinding]) -> None:
    """Print findings: what and where, and below that the text."""
    for finding in findings:
        place = finding.kind if finding.seq is None else f"{finding.kind} {finding.seq}"
        print_hanging(
            f"{short_uid(finding.uid)}  ", f"{place}  {finding.theme}  {to_printable(explain_finding(finding.rule))}"
        )
        print_hanging("    ", to_printable(" ".join(finding.text[:MOST_SHOWN].split())))


def explain_finding(rule: str) -> str:
    from hermes_memory_store.intake.detector import explain_rule
    from hermes_memory_store.intake.detectors.hidden import HIDDEN_RULE
    from hermes_memory_store.memory.second_look import SECRET_RULE

    phrases = {SECRET_RULE: "holds a secret in clear", HIDDEN_RULE: "holds hidden characters"}
    return phrases.get(rule) or explain_rule(rule)


def finding_json(finding: PastFinding) -> dict[str, Any]:
    return {
        **to_members(finding, "kind uid theme rule"),
        "why": explain_finding(finding.rule),
        "text": finding.text,
        "change": finding.seq,
    }


def quarantined_row(quarantined: QuarantinedFact) -> dict[str, Any]:
    """Return a quarantined fact as a row of a list: the fact's keys, and beside them why it waits."""
    document = quarantined_json(quarantined)
    del document["fact"]
    return fact_json(quarantined.fact) | document


def print_quarantined(quarantined: list[QuarantinedFact], *, unfolded: bool) -> None:
    """Print quarantined facts: author, source and reason, and below that the fact; of many alike the newest."""
    length = distinct_uid_length([row.fact.uid for row in quarantined])
    for alike in fold_waiting(quarantined):
        is_short = len(alike) <= MOST_ALIKE or alike[0].why == PROPOSED
        shown = alike if unfolded or is_short else alike[:1]
        for row in shown:
            when, source = format_iso_time(row.at)[:16].replace("T", " "), row.source or format_way(row.fact.origin)
            print_hanging(
                f"{short_uid(row.fact.uid, length)}  ",
                f"{when}  {row.fact.theme}  {to_printable(source)}  {to_printable(explain_waiting(row))}",
            )
            scope = f"  ({to_printable(row.fact.scope)})" if row.fact.scope else ""
            print_hanging("    ", to_printable(row.fact.notation) + scope)
            if row.said:
                print_hanging("    ", to_printable(f"{row.said} ({row.fact.origin.title})"))
            elif row.fact.origin.voice is not None:
                print_hanging("    ", f"words {to_printable(format_voice(row.fact.origin) or '')}")
        if len(shown) < len(alike):
            uid = short_uid(alike[0].fact.uid, length)
            print_hanging(
                "    ", f"and {len(alike) - 1} more alike (all: review approve --alike {uid}; each: --unfold)"
            )


def list_alike(store: Store, uids: tuple[str, ...], theme: str | None) -> tuple[str, ...]:
    """Return the uids of these quarantined facts and of all that wait from their sources for their reasons."""
    named = [fact.uid for fact in store.facts.get(uids, theme=theme)]
    queue = store.facts.quarantine_queue(theme)
    kinds = {row.kind for row in queue if row.fact.uid in named}
    return tuple(dict.fromkeys([*named, *(row.fact.uid for row in queue if row.kind in kinds)]))


alike_option = click.option(
    "--alike", is_flag=True, help="And all that wait from the same source for the same reason, in one change."
)


@review_command.command("approve", short_help="Approve quarantined facts.")
@alike_option
@uid_arguments
def approve_command(settings: CommandSettings, uids: tuple[str, ...], alike: bool) -> None:
    """Approve facts: they become live under the rules of a write."""
    with settings.store(writing=True) as store:
        theme = settings.confining_theme(store)
        changed = store.facts.approve(list_alike(store, uids, theme) if alike else uids, theme=theme)
    print_tier_change(settings, "approved", changed)


@review_command.command("refuse", short_help="Reject quarantined facts; undo restores them.")
@alike_option
@uid_arguments
def refuse_command(settings: CommandSettings, uids: tuple[str, ...], alike: bool) -> None:
    """Reject facts: hidden everywhere, purged after the retention of the theme (7 days), restorable with undo until then."""
    with settings.store(writing=True) as store:
        theme = settings.confining_theme(store)
        changed = store.facts.refuse(list_alike(store, uids, theme) if alike else uids, theme=theme)
    print_tier_change(settings, "rejected", changed)


def source_names(store: Store, theme: str | None = None) -> list[str]:
    return sorted({*store.sources.waiting(theme), *map(session_source, store.sessions.list(theme))})


def source_arguments(command: Any) -> Any:
    """Add the argument `SOURCE` and the common options."""
    return click.argument("source", shell_complete=lambda ctx, _, text: complete_from_store(ctx, text, source_names))(
        add_common_options(pass_settings(command))
    )


@review_command.command("always", short_help="Always accept what SOURCE writes.")
@source_arguments
def always_command(settings: CommandSettings, source: str) -> None:
    """Accept everything that SOURCE writes into the theme, even if suspicious."""
    set_source_rule(settings, source, "always")


@review_command.command("never", short_help="Reject suspicious facts of SOURCE.")
@source_arguments
def never_command(settings: CommandSettings, source: str) -> None:
    """Reject suspicious facts that SOURCE writes into the theme."""
    set_source_rule(settings, source, "never")


@review_command.command("ask", short_help="Remove the rule on SOURCE.")
@source_arguments
def ask_command(settings: CommandSettings, source: str) -> None:
    """Remove the rule on SOURCE: suspicious facts are quarantined again."""
    set_source_rule(settings, source, None)


@review_command.command("silence", short_help="Let in what a rule of the checks would hold.")
@click.argument("rule")
@add_common_options
@pass_settings
def silence_command(settings: CommandSettings, rule: str) -> None:
    """Let what RULE of the checks would hold into the theme at once, whoever writes it; `ask rule:RULE` ends that.

    RULE is one that `review -o json` names, such as score or order:send.
    """
    from hermes_memory_store.intake.detector import is_known_rule

    name = rule.removeprefix(RULE_SOURCE)
    if not is_known_rule(name):
        raise ArgumentError(f"there is no rule {name!r}; `review -o json` names the rules of what waits as `why`", name)
    set_source_rule(settings, RULE_SOURCE + name, "always")


def set_source_rule(settings: CommandSettings, source: str, rule: Rule | None) -> None:
    with settings.store(creating=True) as store:
        theme = settings.resolved_theme(store)
        seqs = store.sources.set_rule(theme, source, rule)
        names = source_names(store) if rule is not None and not settings.as_json else [source.strip()]
    if settings.as_json:
        print_document({"theme": theme, "source": source.strip(), "rule": rule, "changes": list(seqs)})
        return
    if source.strip() not in names:
        near = difflib.get_close_matches(source, names, n=2)
        meant = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        click.echo(f"no program of that name has written to this theme yet{to_printable(meant)}", err=True)
    click.echo(f"theme {theme}: {SAID[rule].format(to_printable(source.strip()))}")
