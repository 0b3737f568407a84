"""Which tools of ours a model may call without a question: where each host notes that, in which form, and its edit.

All of these hosts tell tools apart, so what destroys or overwrites goes on being asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_memory_bridge.connect.hooks.hook_edit import remove_listed_element
from hermes_memory_bridge.connect.hooks.installation_record import find_offers, note_offer
from hermes_memory_bridge.connect.host_config_files import FileEdits, HostFileError, read_host_config, was_made_by_us
from hermes_memory_bridge.connect.host_entries import ConnectRequest
from hermes_memory_bridge.connect.host_hooks import HOOKS
from hermes_memory_bridge.connect.hosts import HOSTS, NAME, Entry, HostEnvironment, without_marks
from hermes_memory_bridge.connect.jsonc_edit import (
    append_jsonc_element,
    find_jsonc_tree,
    remove_jsonc_member,
    set_jsonc_member,
)
from hermes_memory_bridge.connect.toml_yaml_edit import parse_toml
from hermes_memory_bridge.tools import TOOLS
from hermes_memory_store.hosts.host_data import find_hosts_with
from hermes_memory_store.places.git_files import find_repository

READING_TOOLS = tuple(name for name, spec in TOOLS.items() if spec.runs_unasked and spec.reads_only)
WRITING_TOOLS = tuple(name for name, spec in TOOLS.items() if spec.runs_unasked and not spec.reads_only)
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

FREE = {"allow", "approve", "auto"}
"""What rules say of a tool that runs without a question; `auto` is Codex's word for going by what a tool says of itself."""


def read_at(document: Any, kind: type, *path: str) -> Any:
    """Return what stands at a path; an empty value where nothing of that kind does."""
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    return document if isinstance(document, kind) else kind()


def parse_rule_lists(document: Any, _: str) -> dict[str, str]:
    """Read the rules of Claude Code and Qwen Code, of which the strictest counts."""
    rules: dict[str, str] = {}
    for kind in ("allow", "ask", "deny"):
        for rule in read_at(document, list, "permissions", kind):
            if isinstance(rule, str) and rule.startswith(SERVER):
                rules[rule.removeprefix(SERVER).removeprefix("__") or "*"] = kind
    return rules if rules.get("*", "allow") == "allow" else dict.fromkeys(("*", *UNASKED_TOOLS), rules["*"])


def parse_approvals(document: Any, folder: str) -> dict[str, str]:
    """Read the approvals of Copilot CLI, which asks for no tool that only reads."""
    approvals = read_at(document, list, "locations", folder, "tool_approvals")
    names = [
        str(approval.get("toolName") or "*") for approval in approvals if read_at(approval, str, "serverName") == NAME
    ]
    return dict.fromkeys((*READING_TOOLS, *names), "allow")


def parse_codex_modes(document: Any, _: str) -> dict[str, str]:
    """Read how Codex approves each tool; it needs no rule of ours."""
    entry = read_at(document, dict, "mcp_servers", NAME)
    mode, tools = read_at(entry, str, "default_tools_approval_mode") or "auto", read_at(entry, dict, "tools")
    return {"*": mode, **{name: read_at(tools, str, name, "approval_mode") or mode for name in tools}}


def parse_gemini_policy(document: Any, _: str) -> dict[str, str]:
    rules = [rule for rule in read_at(document, list, "rule") if read_at(rule, str, "mcpName") == NAME]
    names = [(read_at(rule, list, "toolName") or [rule.get("toolName", "*")], rule.get("decision")) for rule in rules]
    return {str(tool): str(decision) for tools, decision in names for tool in tools}


def parse_opencode_rules(document: Any, _: str) -> dict[str, str]:
    """Read the permissions of opencode; one word for all of them leaves no room for a rule of ours."""
    if word := read_at(document, str, "permission"):
        return {"*": "allow" if word == "allow" else "deny"}
    rules, ours = read_at(document, dict, "permission"), f"{NAME}_"
    own = {name.removeprefix(ours): str(rule) for name, rule in rules.items() if name.startswith(ours)}
    return {"*": str(rules.get("*", "allow")), **own}


PARSERS: dict[str, Callable[[Any, str], dict[str, str]]] = {
    "rules": parse_rule_lists,
    "copilot": parse_approvals,
    "codex": parse_codex_modes,
    "gemini": parse_gemini_policy,
    "opencode": parse_opencode_rules,
}
"""What a document says of each tool of ours, and as `*` of all others, for a folder; without a word it asks."""


@dataclass(frozen=True, slots=True)
class HostPermissions:
    """Where a host notes that a tool runs without a question, and how a tool stands there."""

    host: str
    file_path: str = ""
    """A path as in `hosts.py`; empty where it is the file of the host's servers."""
    form: str = "rules"
    """One of `PARSERS`."""
    path: Sequence[str] = ("permissions", "allow")
    """In a JSON file, the list that names tools, or the object with a member for each; "" is the folder it is for. Empty in
    a TOML file."""
    tool_form: Any = f"{SERVER}__TOOL"
    """How a tool stands there; TOOL stands for its name."""
    is_listed: bool = True

    def file(self, place: HostEnvironment) -> Path:
        return place.find_path(self.file_path) if self.file_path else HOSTS[self.host].file(place)

    def name(self, tool: str) -> Any:
        if isinstance(self.tool_form, dict):
            return {key: value.replace("TOOL", tool) for key, value in self.tool_form.items()}
        return self.tool_form.replace("TOOL", tool)

    def read(self, text: str) -> Any:
        """Return what a text holds. :raises ValueError: it cannot be parsed"""
        bare, _ = without_marks(text)
        return find_jsonc_tree(bare).value if self.path else parse_toml(bare)

    def find_rules(self, text: str, folder: str) -> dict[str, str]:
        """Return what a text says of our tools. :raises ValueError: it cannot be parsed"""
        return self.parse(self.read(text), folder)

    def parse(self, document: Any, folder: str) -> dict[str, str]:
        return PARSERS[self.form](document, folder)

    def list_permitted(self, text: str, folder: str) -> list[str]:
        """Return the tools that stand where we write them, whatever counts for more. :raises ValueError: as `find_rules`"""
        if not self.path:
            return [tool for tool, decision in self.find_rules(text, folder).items() if decision == "allow"]
        path = [key or folder for key in self.path]
        rules = read_at(self.read(text), dict, *path)
        names = read_at(self.read(text), list, *path) or [name for name, rule in rules.items() if rule == "allow"]
        return [tool for tool in UNASKED_TOOLS if self.name(tool) in names]


PERMISSIONS = {name: HostPermissions(name, **table) for name, table in find_hosts_with("permissions").items()}
"""The hosts that have such a switch, by name."""


@dataclass(slots=True)
class PermissionEdit:
    host: str
    file: Path
    folder: str
    """The folder the permissions are for; empty where the host does not go by folder."""
    own: list[str]
    """The tools that we permitted and that stand there."""
    offer: list[str] | None
    """The tools that we permit, those of `own` first; None where none was ever offered, or that is to be forgotten."""
    original: str
    bare: str = ""
    """The text without our permissions."""

    def put_back(self, files: FileEdits, former: Path, store: Path) -> None:
        """Write the permissions that are to stand, and note them beside the store.

        :param former: the store that the host served until now
        """
        before, tools = files.read(self.file), self.offer or []
        if tools and before == self.bare:
            text = edit_rules(self, self.original, tools[len(self.own) :])
        else:
            text = edit_rules(self, before, tools)
        if text != before:
            files.write(self.file, text)
        elif self.own and not text.strip() and was_made_by_us(self.file):
            files.write(self.file, None)
        place = self.folder or str(self.file)
        if former != store:
            note_offer(files, former, self.host, place, None)
        note_offer(files, store, self.host, place, self.offer)


def lift_permissions(
    files: FileEdits, store: Path, host: str, place: HostEnvironment, request: ConnectRequest, answer: bool | None
) -> list[PermissionEdit]:
    """Take our permissions out, so that other edits find the text before them; return how they are put back, last one first.

    :param answer: None permits what was never offered, and leaves out what its person took out since
    :raises HostFileError: a file cannot be changed safely
    """
    form = PERMISSIONS.get(host)
    personal = HOOKS[host].project if host in HOOKS else None  # a file of the project that is never shared
    if form is None or (request.project and personal is None):
        return []
    usual = Path.cwd() / str(personal) if request.project else form.file(place)
    offers = find_offers(files, store, host)
    places = [(usual, find_permitted_folder(form))]
    if request.remove:  # whatever folder it is for
        noted = [(usual, name) if "" in form.path else (Path(name), "") for name in reversed(offers)]
        places += [place for place in noted if place not in places and (request.every or place[0] == usual)]
    edits: list[PermissionEdit] = []
    for file, folder in places:
        offer, text = offers.get(folder or str(file)), files.read(file)
        try:
            missing, permitted = list_missing(form.find_rules(text, folder)), form.list_permitted(text, folder)
        except ValueError as error:
            raise HostFileError(f"{file} was left alone: {error}", file) from error
        if offer is None and {*permitted} >= {*UNASKED_TOOLS} - form.parse({}, folder).keys():
            offer = permitted  # the record is gone: nobody else writes them all
        own = [tool for tool in offer or [] if tool in permitted]
        after = [] if answer is False else [*own, *(missing if answer or offer is None else [])]
        is_forgotten = request.remove or (offer is None and not missing)
        edit = PermissionEdit(host, file, folder, own, None if is_forgotten else after, text)
        edit.bare = edit_rules(edit, text, own, is_removal=True)
        if own:  # a file that is to go stays gone
            files.write(file, edit.bare)
        edits.insert(0, edit)
    return edits


def list_missing(rules: dict[str, str]) -> list[str]:
    """Return the tools that are asked for because nobody said anything of them."""
    return [tool for tool in UNASKED_TOOLS if tool not in rules and rules.get("*", "ask") == "ask"]


def find_permitted_uses(host: str, place: HostEnvironment, entry: Entry) -> tuple[bool, bool] | None:
    """Return whether reading and writing work without a question in the working folder; None where the host has no such switch.

    :raises ValueError: a file cannot be parsed
    :raises HostFileError: or not read
    """
    form = PERMISSIONS.get(host)
    if form is None:
        return None
    folder = find_permitted_folder(form)
    project_files = [Path.cwd() / name for name in HOSTS[host].switches if form.path]
    rules = [form.find_rules(read_host_config(file), folder) for file in (form.file(place), *project_files)]
    reads, writes = (
        entry.get("trust") is True or ({rule.get(tool, rule.get("*")) for rule in rules} - {None} or {"ask"}) <= FREE
        for tool in ("memory_search", "memory_write")
    )
    return reads, writes


def describe_permissions(host: str, place: HostEnvironment, entry: Entry) -> str:
    """Say whether reading and writing work without a question in the working folder; nothing of hosts without such a switch."""
    form = PERMISSIONS.get(host)
    if form is None:
        return ""
    folder = find_permitted_folder(form)
    try:
        reads, writes = find_permitted_uses(host, place, entry) or (False, False)
        own_rules = form.find_rules(read_host_config(form.file(place)), folder)
    except (ValueError, HostFileError) as error:
        return f"nobody can tell whether it asks before reading and writing: {error}"
    where = f" in {folder}" if folder else ""
    if reads and writes:
        return f"reads and writes without a question{where}"
    how = "reads without a question, asks before each writing" if reads else "asks before each reading and writing"
    if form.form == "codex":
        return f"{how}, as its approval modes say"
    way = f"; `hermes-memory-bridge connect {host} --allow` lets agents write" if list_missing(own_rules) else ""
    return f"{how}{where}{way}"


def edit_rules(edit: PermissionEdit, text: str, tools: list[str], *, is_removal: bool = False) -> str:
    """Return a text with, or without, rules of ours for some tools.

    :raises HostFileError: it cannot be changed safely
    """
    if not tools:
        return text
    form = PERMISSIONS[edit.host]
    bare, put_back = without_marks(text)
    path = [key or edit.folder for key in form.path]
    try:
        if form.form == "gemini":
            permitted = dict.fromkeys([*form.list_permitted(bare, ""), *tools])
            names = [tool for tool in permitted if not (is_removal and tool in tools)]
            return POLICY.format(name=NAME, tools=json.dumps(names)) if names else ""
        for tool in reversed(tools) if is_removal else tools:
            name = form.name(tool)
            if is_removal and form.is_listed:
                bare = remove_listed_element(bare, path, read_at(form.read(bare), list, *path).index(name))
            elif is_removal:
                bare = remove_jsonc_member(bare, [*path, name])
            elif form.is_listed:
                bare = append_jsonc_element(bare, path, name)
            else:
                bare = set_jsonc_member(bare, [*path, name], "allow")
        permitted_after = form.list_permitted(bare, edit.folder)
        if any((tool in permitted_after) is is_removal for tool in tools):
            raise ValueError("the change would not read back as it was meant; two members may have one name")
    except ValueError as error:
        raise HostFileError(f"{edit.file} was left alone: {error}", edit.file) from error
    return put_back(bare)


def find_permitted_folder(form: HostPermissions) -> str:
    """Return the folder that a host's permissions are for: the repository at hand, else the working folder; "" for any."""
    folder = str(Path.cwd().resolve()) if "" in form.path else ""
    repository = find_repository(folder) if folder else None
    return folder if repository is None else repository.root
