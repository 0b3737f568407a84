"""A program that lists hooks as `codex app-server` does, by the files of its home: keys, hashes and what is trusted."""

from __future__ import annotations

import sys
from pathlib import Path

SCRIPT = """#!{python}
import hashlib, json, os, re, sys, tomllib
from pathlib import Path
if sys.argv[1:] != ["app-server"]:
    sys.exit("error: unrecognized subcommand")
home = Path(os.environ.get("CODEX_HOME") or Path(os.environ["HOME"]) / ".codex")
file = (home.resolve() if os.environ.get("CODEX_HOME") else home) / "hooks.json"

def listed():
    config = home / "config.toml"
    state = tomllib.loads(config.read_text()).get("hooks", {{}}).get("state", {{}}) if config.exists() else {{}}
    events = json.loads(file.read_text())["hooks"] if file.exists() else {{}}
    for event, groups in sorted(events.items()):
        snake = re.sub("(?<!^)(?=[A-Z])", "_", event).lower()
        for number, group in enumerate(groups):
            for index, handler in enumerate(group["hooks"]):
                key = f"{{file}}:{{snake}}:{{number}}:{{index}}"
                said = "sha256:" + hashlib.sha256(json.dumps([snake, handler], sort_keys=True).encode()).hexdigest()
                held = state.get(key, {{}}).get("trusted_hash")
                yield {{
                    "key": key, "sourcePath": str(file), "command": handler.get("command"), "currentHash": said,
                    "trustStatus": "untrusted" if held is None else "trusted" if held == said else "modified",
                    "enabled": state.get(key, {{}}).get("enabled", True),
                }}

for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "initialize":
        answer = {{"result": {{"codexHome": str(home)}}}}
    elif asked["method"] == "hooks/list":
        print(json.dumps({{"jsonrpc": "2.0", "method": "remoteControl/status/changed", "params": {{}}}}))
        answer = {answer}
    else:
        continue
    print(json.dumps({{"id": asked["id"], **answer}}), flush=True)
"""

LISTS = '{"result": {"data": [{"cwd": asked["params"]["cwds"][0], "hooks": list(listed())}]}}'
REFUSES = '{"error": {"code": -32600, "message": "Invalid request: unknown variant `hooks/list`"}}'
LISTS_NONE = '{"result": {"data": []}}'


def write_codex(folder: Path, answer: str = LISTS) -> Path:
    """Write the program into a folder; return its path."""
    program = folder / "codex"
    program.write_text(SCRIPT.format(python=sys.executable, answer=answer))
    program.chmod(0o755)
    return program
