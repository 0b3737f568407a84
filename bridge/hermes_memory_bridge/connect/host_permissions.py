"""Which tools of ours a model may call without a question: where each host notes that, in which form, and its edit.

All of these hosts tell tools apart, so what destroys or overwrites goes on being asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_memory_bridge.connect.file_change import TextFiles
from hermes_memory_bridge.connect.hooks.hook_check import PROJECT_SETTINGS
from hermes_memory_bridge.connect.hooks.hook_edit import remove_listed_element
from hermes_memory_bridge.connect.hooks.installation_record import SAID, find_offers, note_offer
from hermes_memory_bridge.connect.host_config_files import HostFileError, read_host_config, was_made_by_us
from hermes_memory_bridge.connect.host_hooks import HOOKS
from hermes_memory_bridge.connect.hosts import HOSTS, NAME, Entry, HostEnvironment, without_marks
from hermes_memory_bridge.connect.jsonc_edit import (
    append_jsonc_element,
    find_jsonc_chain,
    find_jsonc_tree,
    remove_jsonc_member,
    set_jsonc_member,
)
from hermes_memory_bridge.connect.toml_yaml_edit import parse_toml
from hermes_memory_store.places.git_files import find_repository

READING_TOOLS = (
    *("memory_search", "memory_status", "memory_reflect", "memory_export", "memory_context", "memory_history"),
    *("recall_memory", "recall_conversation"),
)
WRITING_TOOLS = ("memory_write", "memory_tick", "memory_turn", "session_open", "session_heartbeat", "session_close")
UNASKED_TOOLS = (*WRITING_TOOLS, *READING_TOOLS)
"""All that neither destroys, nor hides what stood before, nor reveals a secret."""

SERVER = f"mcp__{NAME}"
"""All tools of ours in the rules of Claude Code and Qwen Code."""

POLICY = """\
# Written by `hermes-memory-bridge connect`: what the memory's tools do without a question.
[[rule]]
mcpName = "{name}"
toolName = {tools}
decision = "allow"
priority = 100
"""


FREE = ("allow", "approve", "auto")
"""What rules say of a tool that runs without a question; `auto` is Codex's word for going by what a tool says of itself: it
needs no rule of ours."""


def to_table(value: Any) -> dict[str, Any]:
    """Return a value that is a table; of any other an empty one."""
    return value if isinstance(value, dict) else {}


def parse_rule_lists(document: Any, _: str) -> dict[str, str]:
    """Read the rules of Claude Code and Qwen Code, of which the strictest counts."""
    rules: dict[str, str] = {}
    for kind in ("allow", "ask", "deny"):
        for rule in to_table(to_table(document).get("permissions")).get(kind) or []:
            if isinstance(rule, str) and rule.startswith(SERVER):
                rules[rule.removeprefix(SERVER).removeprefix("__") or "*"] = kind
    return rules if rules.get("*", "allow") == "allow" else {"*": rules["*"]}


def parse_approvals(document: Any, folder: str) -> dict[str, str]:
    """Read the approvals of Copilot CLI, which asks for no tool that only reads."""
    approvals = to_table(to_table(to_table(document).get("locations")).get(folder)).get("tool_approvals") or []
    names = [one.get("toolName") or "*" for one in map(to_table, approvals) if one.get("serverName") == NAME]
    return dict.fromkeys((*READING_TOOLS, *names), "allow")


def parse_codex_modes(document: Any, _: str) -> dict[str, str]:
    """Read how Codex approves each tool."""
    entry = to_table(to_table(to_table(document).get("mcp_servers")).get(NAME))
    tools = {"*": {"approval_mode": entry.get("default_tools_approval_mode")}, **to_table(entry.get("tools"))}
    modes = {name: to_table(tool).get("approval_mode") for name, tool in tools.items()}
    return {name: mode for name, mode in modes.items() if mode is not None}


def parse_gemini_policy(document: Any, _: str) -> dict[str, str]:
    """Read a policy of Gemini CLI."""
    rules = [rule for rule in map(to_table, document.get("rule") or []) if rule.get("mcpName") == NAME]
    names = [(rule.get("toolName"), str(rule.get("decision"))) for rule in rules]
    return {str(tool): said for name, said in names for tool in (name if isinstance(name, list) else [name])}


def parse_opencode_rules(document: Any, _: str) -> dict[str, str]:
    """Read the permissions of opencode; one word for all of them leaves no room for a rule of ours."""
    rules = to_table(document).get("permission") or {}
    if not isinstance(rules, dict):
        return {"*": "allow" if rules == "allow" else "deny"}
    general = {"*": rules["*"]} if "*" in rules else {}
    own = {name.removeprefix(f"{NAME}_"): said for name, said in rules.items() if name.startswith(f"{NAME}_")}
    return {name: str(said) for name, said in (general | own).items()}


@dataclass(frozen=True, slots=True)
class HostPermissions:
    """Where a host notes that a tool runs without a question, and how a tool stands there."""

    file: Callable[[HostEnvironment], Path]
    parse: Callable[[Any, str], dict[str, str]] = parse_rule_lists
    """What a document says of each tool of ours, and as `*` of all others, for a folder."""
    path: tuple[str, ...] = ("permissions", "allow")
    """In a JSON file, the list that names tools, or the object with a member for each; "" is the folder it is for. Empty in
    a TOML file."""
    name: Callable[[str], Any] = lambda tool: f"{SERVER}__{tool}"
    """How a tool stands there."""
    is_listed: bool = True
    unset: str = "ask"
    """What holds of a tool without any rule."""

    def find_rules(self, text: str, folder: str) -> dict[str, str]:
        """Return what a text says of our tools. :raises ValueError: it cannot be parsed"""
        bare, _ = without_marks(text)
        return self.parse(find_jsonc_tree(bare).value if self.path else parse_toml(bare), folder)


PERMISSIONS = {
    "claude-code": HostPermissions(HOOKS["claude-code"].file),
    "codex": HostPermissions(HOSTS["codex"].file, parse_codex_modes, (), unset="auto"),
    "gemini": HostPermissions(
        lambda p: HOSTS["gemini"].file(p).parent / "policies" / f"{NAME}.toml", parse_gemini_policy, ()
    ),
    "copilot": HostPermissions(
        lambda p: HOSTS["copilot"].file(p).parent / "permissions-config.json",
        parse_approvals,
        ("locations", "", "tool_approvals"),
        lambda tool: {"kind": "mcp", "serverName": NAME, "toolName": tool},
    ),
    "qwen": HostPermissions(HOSTS["qwen"].file),
    "opencode": HostPermissions(
        HOSTS["opencode"].file, parse_opencode_rules, ("permission",), lambda tool: f"{NAME}_{tool}", False, "allow"
    ),
}
"""The hosts that have such a switch, by their names in `connect/hosts.py`."""


@dataclass(slots=True)
class PermissionEdit:
    """What changes in one place where a host notes permissions."""

    host: str
    file: Path
    folder: str
    """The folder the permissions are for; empty where the host does not go by folder."""
    own: list[str]
    """The tools that we permitted and that stand there."""
    added: list[str]
    is_withdrawal: bool
    offer: dict[str, bool] | None
    """Each tool that was offered, and whether the permission is ours; None forgets them."""
    original: str = ""
    bare: str = ""
    """The text without our permissions."""

    def lift(self, files: TextFiles) -> None:
        """Take our permissions out: what was written before them changes as if they had never been there."""
        self.original = files.read(self.file)
        self.bare = edit_rules(self, self.original, self.own, is_removal=True)
        if self.bare != self.original:  # a file that is to go stays gone
            files.write(self.file, self.bare)

    def put_back(self, files: TextFiles, former: Path, store: Path) -> None:
        """Write the permissions that are to stand, and note them beside the store.

        :param former: the store that the host served until now
        """
        before, own = files.read(self.file), [] if self.is_withdrawal else self.own
        text = self.original if own and before == self.bare else edit_rules(self, before, own)
        text = edit_rules(self, text, self.added)
        if text != before:
            files.write(self.file, text)
        elif self.bare != self.original and not text.strip() and was_made_by_us(self.file):
            files.write(self.file, None)
        place = self.folder or str(self.file)
        if former != store:
            note_offer(files, former, self.host, place, None)
        note_offer(files, store, self.host, place, self.offer)


def plan_permissions(
    files: TextFiles,
    store: Path,
    host: str,
    place: HostEnvironment,
    *,
    answer: bool | None,
    project: Path | None = None,
    removes: bool = False,
    everywhere: bool = False,
) -> list[PermissionEdit]:
    """Return what is to change where a host notes permissions; nothing where it has no such switch.

    :param answer: None permits what was never offered, and leaves out what its person took out since
    :param removes: whether all of ours goes, whatever folder it is for
    :param everywhere: whether it also goes from every other file that the record knows of
    :raises HostFileError: a file cannot be changed safely
    """
    form, edits = PERMISSIONS.get(host), []
    personal = HOOKS[host].project if host in HOOKS else None  # a file of the project that is never shared
    if form is None or (project is not None and personal is None):
        return []
    usual = form.file(place) if project is None else project / str(personal)
    offers = find_offers(files, store, host)
    places = [(usual, find_permitted_folder(form))]
    if removes:
        noted = [name for name in reversed(offers) if name != SAID]
        places += [(usual, name) if "" in form.path else (Path(name), "") for name in noted]
        places = [place for place in dict.fromkeys(places) if everywhere or place[0] == usual]
    for file, folder in places:
        offer = offers.get(folder or str(file), {})
        try:
            rules = form.find_rules(files.read(file), folder)
        except ValueError as error:
            raise HostFileError(f"{file} was left alone: {error}", file) from error
        is_asking = rules.get("*", form.unset) == "ask"
        missing = [tool for tool in UNASKED_TOOLS if is_asking and tool not in rules]
        if not offer and rules.keys() >= {*UNASKED_TOOLS}:  # the record is gone: nobody else writes them all
            offer = dict.fromkeys((tool for tool in UNASKED_TOOLS if tool not in form.parse({}, folder)), True)
        own = [tool for tool, is_ours in offer.items() if is_ours and rules.get(tool) == "allow"]
        is_withdrawal = answer is False or removes
        added = [] if is_withdrawal else [tool for tool in missing if answer or tool not in offer]
        standing = added if is_withdrawal else [*own, *added]
        after = {tool: tool in standing for tool in dict.fromkeys((*offer, *own, *missing))}
        edits.append(PermissionEdit(host, file, folder, own, added, is_withdrawal, None if removes else after))
    return edits


def describe_permissions(host: str, place: HostEnvironment, entry: Entry) -> str:
    """Say whether reading and writing work without a question in the working folder; nothing of hosts without such a switch."""
    form = PERMISSIONS.get(host)
    if form is None:
        return ""
    folder = find_permitted_folder(form)
    others = [Path.cwd() / name for name in PROJECT_SETTINGS.get(host, ()) if form.path]
    try:
        rules = [form.find_rules(read_host_config(file), folder) for file in (form.file(place), *others)]
    except (ValueError, HostFileError) as error:
        return f"nobody can tell whether it asks before reading and writing: {error}"
    said = [[one.get(tool, one.get("*")) for one in rules] for tool in ("memory_search", "memory_write")]
    decisions = [{decision or form.unset for decision in one if decision or not any(one)} for one in said]
    reads, writes = (entry.get("trust") is True or decision <= {*FREE} for decision in decisions)
    where = f" in {folder}" if folder else ""
    if reads and writes:
        return f"reads and writes without a question{where}"
    how = "reads without a question, asks before each writing" if reads else "asks before each reading and writing"
    if host == "codex":
        return f"{how}, as its approval modes say"
    return f"{how}{where}; `hermes-memory-bridge connect {host} --allow` lets agents write"


def edit_rules(edit: PermissionEdit, text: str, tools: Sequence[str], *, is_removal: bool = False) -> str:
    """Return a text with, or without, rules of ours for some tools.

    :raises HostFileError: it cannot be changed safely
    """
    if not tools:
        return text
    form = PERMISSIONS[edit.host]
    bare, marks = without_marks(text)
    path = tuple(key or edit.folder for key in form.path)
    try:
        if edit.host == "gemini":
            decisions = {**form.find_rules(bare, ""), **dict.fromkeys(tools, "deny" if is_removal else "allow")}
            names = [name for name, said in decisions.items() if said == "allow"]
            return POLICY.format(name=NAME, tools=json.dumps(names)) if names else ""
        for tool in reversed(tools) if is_removal else tools:
            name = form.name(tool)
            if not form.is_listed:
                member = (*path, name)
                bare = remove_jsonc_member(bare, member) if is_removal else set_jsonc_member(bare, member, "allow")
            elif not is_removal:
                bare = append_jsonc_element(bare, path, name)
            elif name in (elements := find_jsonc_chain(find_jsonc_tree(bare), path)[-1][1].node.value):
                bare = remove_listed_element(bare, path, elements.index(name))
        rules = form.find_rules(bare, edit.folder)
        if any((rules.get(tool) == "allow") is is_removal for tool in tools):
            raise ValueError("the change would not read back as it was meant; two members may have one name")
    except ValueError as error:
        raise HostFileError(f"{edit.file} was left alone: {error}", edit.file) from error
    return marks.put_back(bare)


def find_permitted_folder(form: HostPermissions) -> str:
    """Return the folder that a host's permissions are for: the repository at hand, else the working folder; "" for any."""
    folder = str(Path.cwd().resolve()) if "" in form.path else ""
    repository = find_repository(folder) if folder else None
    return folder if repository is None else repository.root
