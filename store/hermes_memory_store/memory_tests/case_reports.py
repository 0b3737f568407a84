"""What became of tests, for other programs: JSON, and the XML that continuous integration reads as JUnit's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any
from xml.etree import ElementTree

from hermes_memory_store.memory_tests.case_run import CaseOutcome, CaseStatus
from hermes_memory_store.safe_text import to_printable

SUITE = "hermes-memory"


def format_junit(outcomes: Sequence[CaseOutcome], file: str) -> str:
    """Return the outcomes as an XML document. :param file: the file of the tests, as it is shown"""
    counts = Counter(outcome.status for outcome in outcomes)
    totals = {
        "tests": str(len(outcomes)),
        "failures": str(counts[CaseStatus.FAILED]),
        "errors": str(counts[CaseStatus.ERROR]),
        "time": f"{sum(outcome.seconds for outcome in outcomes):.4f}",
    }
    suite = ElementTree.Element("testsuite", {"name": SUITE, **totals})
    for outcome in outcomes:
        about = {
            "classname": to_xml_text(file),
            "name": to_xml_text(outcome.case.name),
            "file": to_xml_text(file),
            "line": str(outcome.case.line),
            "time": f"{outcome.seconds:.4f}",
        }
        case = ElementTree.SubElement(suite, "testcase", about)
        if outcome.failures:
            kind = "error" if outcome.status is CaseStatus.ERROR else "failure"
            failure = ElementTree.SubElement(case, kind, {"message": to_xml_text(outcome.failures[0])})
            failure.text = to_xml_text("\n".join(outcome.failures))
        if outcome.given is not None:
            output = ElementTree.SubElement(case, "system-out")
            output.text = to_xml_text("\n".join(item.line for item in outcome.given.items))
    whole = ElementTree.Element("testsuites", totals)
    whole.append(suite)
    ElementTree.indent(whole)
    return ElementTree.tostring(whole, encoding="unicode", xml_declaration=True) + "\n"


def format_checks_junit(checks: Iterable[tuple[str, str, str]]) -> str:
    """Return checked facts as an XML document. :param checks: notation, what is said of it, and its state"""
    suite = ElementTree.Element("testsuite", {"name": SUITE})
    for notation, text, state in checks:
        case = ElementTree.SubElement(suite, "testcase", {"classname": "verify", "name": to_xml_text(notation)})
        if state in ("changed", "missing"):
            ElementTree.SubElement(case, "failure", {"message": state}).text = to_xml_text(text)
        elif state == "unknown":
            ElementTree.SubElement(case, "skipped", {"message": to_xml_text(text)})
    counts = {"failures": "failure", "skipped": "skipped", "tests": "testcase"}
    suite.attrib |= {name: str(len(list(suite.iter(tag)))) for name, tag in counts.items()}
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def to_xml_text(text: str) -> str:
    """Return a text that XML can hold: printable lines."""
    return "\n".join(to_printable(line).encode("utf-8", "replace").decode() for line in text.split("\n"))


def outcome_json(outcome: CaseOutcome) -> dict[str, Any]:
    answer = outcome.given
    expectations = (*outcome.case.given, *outcome.case.never)
    return {
        "name": outcome.case.name,
        "line": outcome.case.line,
        "status": outcome.status.value,
        "failures": list(outcome.failures),
        "tokens": None if answer is None else answer.tokens,
        "budget": outcome.budget,
        "ranked_by": None if answer is None else answer.ranked_by,
        "ranks": {expectation.text: outcome.find_rank(expectation) for expectation in expectations},
        "given": [] if answer is None else [{"uid": item.uid, "line": item.line} for item in answer.items],
        "seconds": round(outcome.seconds, 6),
    }
