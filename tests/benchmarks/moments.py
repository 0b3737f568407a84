"""What is given after a tool: whether calls that touch a fact are told it, and others nothing.

    python -m tests.benchmarks.moments [--missed]

The calls are `tests/recall_sets/acts.txt`, over the facts of `tests/recall_sets/work`; the choosing half chose the rules. *told
right*: the wanted fact stands in what is given, within 60 tokens; *told for nothing*: anything is given where no fact is wanted.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from hermes_memory_store.model import PERSON
from hermes_memory_store.notation.token_count import count_tokens
from hermes_memory_store.store import Store
from tests.benchmarks.timing import table
from tests.bridge.hook_service.hook_line import send_event
from tests.bridge.running import bridge
from tests.recall_sets import ActText, Half, load_acts, load_work_sets


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument(
        "--missed", action="store_true", help="print what is missed of the choosing half, and told for nothing"
    )
    given = options.parse_args()
    answered: list[tuple[ActText, str]] = []
    for work in load_work_sets():
        calls = [call for call in load_acts() if call.work == work.kind]
        with tempfile.TemporaryDirectory() as folder:
            db = Path(folder) / "memory.db"
            with Store.open(db) as store:
                for notation in work.facts:
                    store.facts.write("default", notation, actor=PERSON)
            with bridge(db) as places:
                for number, call in enumerate(calls):
                    act, has_failed = ("run", True) if call.act == "failed" else (call.act, False)
                    fields: dict[str, Any] = {
                        "tool": "T",
                        "act": act,
                        "subject": call.subject,
                        "failed": has_failed,
                        "error": call.text,
                    }
                    words: dict[str, Any] = {
                        "call": f"{call.subject}\n{call.text}",
                        "folder": "/home/me/shop",
                        "session": f"s{number}",
                    }
                    answered.append((call, send_event(places, "tool", **fields, **words)))
    rows = []
    for half in Half:
        touching = [(call, text) for call, text in answered if call.half is half and call.wanted]
        idle = [(call, text) for call, text in answered if call.half is half and not call.wanted]
        right = [text for call, text in touching if any(f"[{target}]" in text for target in call.wanted)]
        most = max(count_tokens(text) for _, text in answered)
        told = sum(bool(text) for _, text in idle)
        rows.append((half, f"{len(right)} of {len(touching)}", f"{told} of {len(idle)}", most))
        for call, text in (*touching, *idle) if given.missed else ():
            if (text not in right if call.wanted else text) and (half is Half.CHOOSING or not call.wanted):
                print(f"{call.act} {call.subject!r}  ->  {sorted(call.wanted)}, told {text!r}")
    table(("half", "told right", "told for nothing", "most tokens"), rows)


if __name__ == "__main__":
    main()
