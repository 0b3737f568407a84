"""`hermes hermes-memory …` and the setup: the provider's commands on the host's own command line."""

from __future__ import annotations

import os
import re
import sys

from hermes_memory_bridge.wire.paths import BridgePaths

from . import provider_settings
from .bridge_line import explain_unavailable
from .outbox import PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def register_cli(subparser: argparse.ArgumentParser) -> None:
    """Register the active provider's commands; a hook of the host."""
    commands = subparser.add_subparsers(dest="hermes_memory_command")
    commands.add_parser("status", help="the store, the bridge, and what waits for it")
    commands.add_parser("setup", help="ask for the settings again")
    subparser.set_defaults(func=run_provider_command)


def run_provider_command(options: argparse.Namespace) -> None:
    home = provider_settings.find_hermes_home()
    if getattr(options, "hermes_memory_command", None) == "setup":
        set_up_provider(home)
    else:
        show_provider_status(home)


def show_provider_status(home: str) -> None:
    chosen = provider_settings.load_provider_settings(home)
    why_not = explain_unavailable(chosen.db, chosen.command)
    pending = count_outbox_bytes(provider_settings.find_provider_folder(home))
    print(f"store    {chosen.db}")
    print(
        f"bridge   {'listens' if os.path.exists(BridgePaths(chosen.db).line) else why_not or 'is started when it is needed'}"
    )
    print(f"theme    {chosen.theme or 'the session key, else the profile'}")
    print(f"waiting  {pending} bytes" if pending else "waiting  nothing")
    print(f"more     {' '.join(chosen.command) or 'hermes-memory-bridge'} status --db {chosen.db}")


def count_outbox_bytes(folder: str) -> int:
    """Return how many bytes wait for the bridge, in the outboxes of all processes."""
    total = 0
    try:
        names = os.listdir(folder)
    except OSError:
        return 0
    for name in names:
        if name.startswith(PREFIX):
            try:
                with open(os.path.join(folder, name), "rb") as file:
                    delivered = int(file.readline() or 0)
                    total += max(0, os.fstat(file.fileno()).st_size - delivered)
            except (OSError, ValueError):
                continue
    return total


def set_up_provider(home: str) -> None:
    """Ask for the settings if somebody can answer, save them, and make this the profile's provider."""
    values: dict[str, str] = {}
    now = provider_settings.load_json_object(
        os.path.join(provider_settings.find_provider_folder(home), provider_settings.CHOSEN_FILE)
    )
    if sys.stdin is not None and sys.stdin.isatty():
        for question in provider_settings.SCHEMA:
            present = now.get(str(question["key"]), question["default"])
            answer = input(f"  {question['description']} [{present}]: ").strip()
            if answer:
                values[str(question["key"])] = answer
    path = provider_settings.save_provider_settings(home, values)
    print(f"\n  Settings: {path}")
    config = os.path.join(home, "config.yaml")
    if activate_provider(config):
        print(f"  Memory provider: {provider_settings.NAME}\n")
    else:
        print(f"  {config} was left alone: set memory.provider to {provider_settings.NAME} in it\n")


def activate_provider(config: str) -> bool:
    """Set `memory.provider` in the host's file, and nothing else; return False when it is not written as a block."""
    try:
        with open(config, encoding="utf-8", newline="") as file:
            text = file.read()
    except FileNotFoundError:
        text = ""
    after = add_provider_line(text, provider_settings.NAME)
    if after is None:
        return False
    if after != text:
        mode = os.stat(config).st_mode & 0o777 if os.path.exists(config) else 0o600
        provider_settings.write_private_file(os.path.realpath(config), after, mode)
    return True


EMPTY = re.compile(r"([ \t]+)(\{\}|null|~)(?=\s|$)")
"""What `memory:` may say where nothing stands under it; it is made a comment, so that taking out finds it again."""


def add_provider_line(text: str, name: str) -> str | None:
    """Set `memory.provider` in a YAML text, all else byte for byte; None when it cannot be done safely.

    Uses the file's own line ends; a text that ends without a line end still does.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    at = next((n for n, line in enumerate(lines) if re.match(r"\ufeff?memory\s*:", line)), None)
    if at is None:
        if re.search(r"^[\"']memory[\"']\s*:|^\s*[{\[]", text, re.MULTILINE):
            return None
        said = f"memory:{newline}  provider: {name}"
        return f"{text}{said}{newline}" if text in ("", "\ufeff") or text.endswith("\n") else f"{text}{newline}{said}"
    value = lines[at].split(":", 1)[1].split("#")[0].strip()
    if value not in ("", "{}", "null", "~"):
        return None
    indent = None
    for n in range(at + 1, len(lines)):
        match = re.match(r"(\s*)([^\s#][^:]*)?", lines[n])
        if match is None or match[2] is None:
            continue
        if not match[1]:
            break
        indent = match[1] if indent is None else indent
        provider = re.match(rf"({indent}provider\s*:\s*)([^#\n]*?)(\s*#.*)?(\r?\n?)$", lines[n])
        if provider:
            lines[n] = f"{provider[1].rstrip()} {name}{provider[3] or ''}{provider[4]}"
            return "".join(lines)
    head = EMPTY.sub(r"\1#\2", lines[at], count=1) if value else lines[at]
    said = f"{indent or '    '}provider: {name}"
    lines[at] = f"{head}{said}{newline}" if head.endswith("\n") else f"{head}{newline}{said}"
    return "".join(lines)


def remove_provider_line(text: str, name: str) -> str:
    """Remove `memory.provider` from a YAML text if it names this provider.

    Restores the earlier text if nobody has changed it since. Otherwise a block that holds nothing else is removed too,
    unless it said before that it is empty.
    """
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    at = next(
        (n for n, line in enumerate(lines) if re.match(r"\ufeff?memory\s*:\s*(#.*)?$", line.rstrip("\r\n"))), None
    )
    if at is None:
        return text
    end = at + 1
    while end < len(lines) and not re.match(r"[^\s#]", lines[end]):
        end += 1
    rest = [
        line for line in lines[at + 1 : end] if not re.match(rf"\s+provider\s*:\s*[\"']?{name}[\"']?\s*(#.*)?$", line)
    ]
    if len(rest) == end - at - 1:
        return text
    mark = "\ufeff" if lines[at].startswith("\ufeff") else ""
    emptied = re.sub(r"([ \t])#(\{\}|null|~)(?=\s|$)", r"\1\2", lines[at], count=1)
    heads = {
        "uncommented": "".join([*lines[:at], emptied, *rest, *lines[end:]]),
        "plain": "".join([*lines[:at], lines[at], *rest, *lines[end:]]),
        "none": "".join([*lines[:at], mark, *rest, *lines[end:]]),
    }
    for body in heads.values():
        for original in (body, body.removesuffix("\n").removesuffix("\r")):
            if add_provider_line(original, name) == text:
                return original
    if any(re.match(r"\s+[^\s#]", line) for line in rest):
        return heads["plain"]
    return heads["uncommented" if emptied != lines[at] else "none"]
