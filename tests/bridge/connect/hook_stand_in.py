"""A stand-in for the hook program: notes what it was asked, and answers from a file.

    python hook_stand_in.py ANSWERS LOG HOST EVENT < payload

ANSWERS is JSON: by event, or by event and source (`start resume`), the text to give.
"""

import json
import sys
from pathlib import Path


def write_stand_in(home: Path, answers: dict[str, str]) -> list[str]:
    """Write the answers and a program that gives them; return its command. It notes events in `hook.log`."""
    (home / "answers.json").write_text(json.dumps(answers))
    words = [sys.executable, "-I", str(Path(__file__)), str(home / "answers.json"), str(home / "hook.log")]
    script = home / "hook.sh"
    script.write_text(f'#!/bin/sh\nexec {" ".join(words)} "$@"\n')
    script.chmod(0o755)
    return [str(script)]


def main() -> None:
    """Note one event and answer it."""
    answers, log, host, event = sys.argv[1:5]
    said = json.loads(sys.stdin.read())
    with open(log, "a") as file:
        file.write(json.dumps({"host": host, "event": event, **said}) + "\n")
    with open(answers) as file:
        texts = json.load(file)
    print(json.dumps({"text": texts.get(f"{event} {said.get('source', '')}", texts.get(event, ""))}))


if __name__ == "__main__":
    main()
