"""Which tools of ours a model may call without a question: where each host notes that, in which form, and its edit.

All of these hosts tell tools apart, so what destroys or overwrites goes on being asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
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

POLICY = """\
# Written by `hermes-memory-bridge connect`: what the memory's tools do without a question.
[[rule]]
mcpName = "{name}"
toolName = {tools}
decision = "allow"
priority = 100
"""


@dataclass(frozen=True, slots=True)
class HostPermissions:
    """Where a host notes that a tool runs without a question, and how a tool stands there."""

    file: Callable[[HostEnvironment], Path]
    path: tuple[str, ...]
    """In a JSON file, the list that names tools, or the object with a member for each; "" is the folder it is for."""
    names: Callable[[str], tuple[Any, ...]]
    """How a tool may stand there: as we write it, then in the forms that mean more than one tool."""
    value: Any = None
    """What the member of a tool says; None where a list names them."""
    tools: Collection[str] = UNASKED_TOOLS
    """What is written."""
    free: Collection[str] = ()
    """What the host asks nothing for while no rule says otherwise."""
    replaces: str | None = None
    """The rule against which alone ours is written; without one there is nothing to permit."""
    project: str | None = None
    """A file inside a project that belongs to one person and is never shared."""
    parse: Callable[[str], Any] = lambda text: find_jsonc_tree(text).value

    def to_path(self, folder: str) -> tuple[str, ...]:
        """Return the path of the rules for a folder."""
        return tuple(key or folder for key in self.path)

    def find_rules(self, text: str, folder: str, kind: str = "") -> Any:
        """Return the rules of a text: a list, an object, or nothing.

        :param kind: the list beside that of what is allowed, such as `deny`
        :raises ValueError: it cannot be parsed
        """
        rules = self.parse(without_marks(text)[0])
        for key in (*self.path[:-1], kind) if kind else self.to_path(folder):
            rules = rules.get(key) if isinstance(rules, dict) else None
        return rules

    def find_rule(self, rules: Any, tool: str) -> Any:
        """Return what the rules say of a tool; None where they say nothing."""
        if isinstance(rules, dict):
            return next((rules[name] for name in self.names(tool) if name in rules), None)
        return next((name for name in self.names(tool) if name in rules), None) if isinstance(rules, list) else rules

    def names_tool(self, rules: Any, tool: str) -> bool:
        """Check whether the rules name this very tool."""
        return isinstance(rules, list | dict) and self.names(tool)[0] in rules

    def can_permit(self, rules: Any, tool: str) -> bool:
        """Check whether a rule of ours for a tool is missing and would mean something."""
        is_meant = self.replaces is None or (isinstance(rules, dict) and self.find_rule(rules, tool) == self.replaces)
        return is_meant and not self.names_tool(rules, tool)

    def is_unasked(self, text: str, folder: str, tool: str) -> bool:
        """Check whether a tool runs without a question. :raises ValueError: the text cannot be parsed"""
        rule = self.find_rule(self.find_rules(text, folder), tool)
        return tool in self.free if rule is None else self.value in (None, rule)

    def is_opposed(self, text: str, tool: str) -> bool:
        """Check whether a rule that counts for more wants a question, or forbids the tool."""
        kinds = ("ask", "deny") if self.path[-1:] == ("allow",) else ()
        return any(self.find_rule(self.find_rules(text, "", kind), tool) for kind in kinds)


def to_rule_names(tool: str) -> tuple[str, ...]:
    """Return a tool's names in the rules of Claude Code and Qwen Code."""
    return f"mcp__{NAME}__{tool}", f"mcp__{NAME}__*", f"mcp__{NAME}"


def to_approvals(tool: str) -> tuple[dict[str, str | None], ...]:
    """Return a tool's approvals in Copilot CLI."""
    return tuple({"kind": "mcp", "serverName": NAME, "toolName": name} for name in (tool, None))


def to_table(value: Any) -> dict[str, Any]:
    """Return a value that is a table; of any other an empty one."""
    return value if isinstance(value, dict) else {}


def parse_codex_modes(text: str) -> dict[str, Any]:
    """Return how Codex approves each tool of ours, and as `*` all others."""
    entry = HOSTS["codex"].find_entry(text) or {}
    tools = {name: tool.get("approval_mode") for name, tool in to_table(entry.get("tools")).items() if to_table(tool)}
    modes = {"*": entry.get("default_tools_approval_mode"), **tools}
    return {name: mode for name, mode in modes.items() if mode is not None}


def parse_gemini_policy(text: str) -> list[str]:
    """Return the tools of ours that a policy of Gemini CLI allows."""
    rules = map(to_table, parse_toml(text).get("rule") or [])
    names = [rule.get("toolName") for rule in rules if (rule.get("mcpName"), rule.get("decision")) == (NAME, "allow")]
    return [str(tool) for name in names for tool in (name if isinstance(name, list) else [name])]


PERMISSIONS = {
    "claude-code": HostPermissions(
        HOOKS["claude-code"].file, ("permissions", "allow"), to_rule_names, project=HOOKS["claude-code"].project
    ),
    "codex": HostPermissions(
        HOSTS["codex"].file, (), lambda tool: (tool, "*"), "approve", free=UNASKED_TOOLS, parse=parse_codex_modes
    ),
    "gemini": HostPermissions(
        lambda p: HOSTS["gemini"].file(p).parent / "policies" / f"{NAME}.toml",
        (),
        lambda tool: (tool, "*"),
        parse=parse_gemini_policy,
    ),
    "copilot": HostPermissions(
        lambda p: HOSTS["copilot"].file(p).parent / "permissions-config.json",
        ("locations", "", "tool_approvals"),
        to_approvals,
        tools=WRITING_TOOLS,
        free=READING_TOOLS,
    ),
    "qwen": HostPermissions(HOSTS["qwen"].file, ("permissions", "allow"), to_rule_names),
    "opencode": HostPermissions(
        HOSTS["opencode"].file,
        ("permission",),
        lambda tool: (f"{NAME}_{tool}", f"{NAME}_*", "*"),
        "allow",
        free=UNASKED_TOOLS,
        replaces="ask",
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
    """The tools that we permitted and that stand there, but for those that are to go."""
    added: list[str]
    withdrawn: list[str]
    offer: dict[str, bool] | None = None
    """Each tool that was offered, and whether the permission is ours; None forgets them."""
    original: str = ""
    bare: str = ""
    """The text without our permissions."""

    @property
    def notes(self) -> list[str]:
        """What its person must know."""
        where = f" in {self.folder}" if self.folder else ""
        said = f"agents may write, search and tick without asking each time{where}; purge, edit and optimize stay asked"
        return [f"{said}. `--no-allow` takes that back"] * bool(self.added)

    def lift(self, files: TextFiles) -> None:
        """Take our permissions out: what was written before them changes as if they had never been there."""
        self.original = files.read(self.file)
        self.bare = edit_rules(self, self.original, [*self.own, *self.withdrawn], is_removal=True)
        files.write(self.file, self.bare)

    def put_back(self, files: TextFiles, former: Path, store: Path) -> None:
        """Write the permissions that are to stand, and note them beside the store.

        :param former: the store that the host served until now
        """
        text, own = files.read(self.file), self.own
        if text == self.bare and not self.withdrawn:
            text, own = self.original, []
        text = edit_rules(self, text, [*own, *self.added])
        if text != files.read(self.file):
            files.write(self.file, text)
        elif self.bare != self.original and not text.strip() and was_made_by_us(self.file):
            files.write(self.file, None)
        place = self.folder or str(self.file)
        if former != store:
            note_offer(files, former, self.host, place, None)
        note_offer(files, store, self.host, place, self.offer)

    def to_entry(self, entry: Entry) -> Entry:
        """Return an entry of Codex with the permissions that are to stand in it."""
        tools = {name: tool for name, tool in to_table(entry.get("tools")).items() if name not in self.withdrawn}
        tools |= {name: {**tools.get(name, {}), "approval_mode": "approve"} for name in self.added}
        return {**entry, "tools": tools} if tools or "tools" in entry else entry


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
    if form is None or (project is not None and form.project is None):
        return []
    usual = form.file(place) if project is None else project / str(form.project)
    offers = find_offers(files, store, host)
    is_by_folder = "" in form.path
    places = [(usual, find_permitted_folder() if is_by_folder else "")]
    if removes:
        noted = [name for name in reversed(offers) if name != SAID]
        places = [(usual, name) if is_by_folder else (Path(name), "") for name in noted]
        places = [place for place in places if everywhere or place[0] == usual]
    for file, folder in places:
        offer = offers.get(folder or str(file), {})
        try:
            rules = form.find_rules(files.read(file), folder)
        except ValueError as error:
            raise HostFileError(f"{file} was left alone: {error}", file) from error
        own = [tool for tool, is_ours in offer.items() if is_ours and form.names_tool(rules, tool)]
        missing = [tool for tool in form.tools if form.can_permit(rules, tool)]
        added = [tool for tool in missing if answer or tool not in offer]
        if answer is False or removes:
            edit = PermissionEdit(host, file, folder, [], [], own)
        else:
            edit = PermissionEdit(host, file, folder, own, added, [])
        if not removes and (form.replaces is None or offer or missing):
            edit.offer = {**offer, **{tool: tool in (*edit.own, *edit.added) for tool in form.tools}}
        edits.append(edit)
    return edits


def describe_permissions(host: str, place: HostEnvironment, entry: Entry) -> str:
    """Say whether reading and writing work without a question in the working folder; nothing of hosts without such a switch."""
    form = PERMISSIONS.get(host)
    if form is None:
        return ""
    folder = find_permitted_folder() if "" in form.path else ""
    others = PROJECT_SETTINGS.get(host, ()) if form.path else ()
    try:
        texts = [read_host_config(file) for file in (form.file(place), *(Path.cwd() / name for name in others))]
        is_free = [
            entry.get("trust") is True
            or (
                any(form.is_unasked(text, folder, tool) for text in texts)
                and not any(form.is_opposed(text, tool) for text in texts)
            )
            for tool in ("memory_search", "memory_write")
        ]
    except (ValueError, HostFileError) as error:
        return f"nobody can tell whether it asks before reading and writing: {error}"
    where = f" in {folder}" if folder else ""
    if all(is_free):
        return f"reads and writes without a question{where}"
    said = (
        "reads without a question, asks before each writing" if is_free[0] else "asks before each reading and writing"
    )
    return f"{said}{where}; `hermes-memory-bridge connect {host} --allow` lets agents write"


def edit_rules(edit: PermissionEdit, text: str, tools: Sequence[str], *, is_removal: bool = False) -> str:
    """Return a text with, or without, rules of ours for some tools; that of Codex, which has them in its entry, as it is.

    :raises HostFileError: it cannot be changed safely
    """
    if not tools or edit.host == "codex":
        return text
    form = PERMISSIONS[edit.host]
    path = form.to_path(edit.folder)
    if edit.host == "gemini":
        present = parse_gemini_policy(text)
        names = [tool for tool in present if tool not in tools] if is_removal else [*present, *tools]
        return POLICY.format(name=NAME, tools=json.dumps(names)) if names else ""
    bare, marks = without_marks(text)
    try:
        for tool in reversed(tools) if is_removal else tools:
            name = form.names(tool)[0]
            if form.value is not None:
                member = (*path, name)
                bare = remove_jsonc_member(bare, member) if is_removal else set_jsonc_member(bare, member, form.value)
            elif is_removal:
                bare = remove_listed_element(bare, path, form.find_rules(bare, edit.folder).index(name))
            else:
                bare = append_jsonc_element(bare, path, name)
        rules = form.find_rules(bare, edit.folder)
        if any(form.names_tool(rules, tool) is is_removal for tool in tools):
            raise ValueError("the change would not read back as it was meant; two members may have one name")
    except ValueError as error:
        raise HostFileError(f"{edit.file} was left alone: {error}", edit.file) from error
    return marks.put_back(bare)


def find_permitted_folder() -> str:
    """Return the folder of the work at hand: that of the repository, else the working folder."""
    folder = str(Path.cwd().resolve())
    repository = find_repository(folder)
    return folder if repository is None else repository.root
