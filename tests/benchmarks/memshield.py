"""memshield-bench, poisoned and clean memory entries, as an agent writes them: each cut at 3,900 characters, one fact.

git clone https://github.com/npow/memshield
python -m tests.benchmarks.memshield memshield/memshield-bench/data/full.jsonl
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.benchmarks.amsb import Agent

MOST_CHARS = 3_900
LENGTHS = ((0, 200), (201, 500), (501, 1_000), (1_001, MOST_CHARS))


def main(path: Path) -> int:
    tried: Counter[str] = Counter()
    stopped: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as home:
        os.environ["HERMES_HOME"] = home
        Path(home, "memory-themes.toml").write_text("[defaults]\nfact_chars = 4000\n")
        agent = Agent()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            entry = json.loads(line)
            content = " ".join(entry["content"].split())[:MOST_CHARS]
            answer = agent.ask("memory_write", content=f"V[m{number}]: {content}")
            least, most = next(span for span in LENGTHS if len(content) <= span[1])
            names = ["clean", f"clean, {least} to {most} characters"]
            if entry["label"] == "poisoned":
                kind = entry["attack_type"]
                names = ["poisoned", f"poisoned, {kind}", *([] if kind.startswith("T5") else ["poisoned without T5"])]
            is_stopped = (
                answer.data.get("status") == "quarantined"
            )  # what has invisible characters is refused, and said why
            for name in names:
                tried[name] += 1
                stopped[name] += is_stopped
        agent.close()
    lines = ["| entries | stopped | of | share |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {name} | {stopped[name]} | {tried[name]} | {stopped[name] / tried[name]:.1%} |" for name in sorted(tried)
    ]
    print(*lines, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
