"""Importers of what agents keep in Markdown: Claude Code's auto memory, and Codex's memories.

Claude Code 2.1.332 stamps the frontmatter of a file for each memory; files without a name in it hold items, and MEMORY.md lists
files. The MEMORY.md of Codex has blocks `# Task Group`, its `memory_summary.md`, all that 0.171.0 writes, a first line `v1`.
"""

from __future__ import annotations

import re
from pathlib import Path

from hermes_memory_store import errors
from hermes_memory_store.files.importers import import_batch
from hermes_memory_store.files.importers.basic_memory import find_note_files, parse_frontmatter, read_note_text

INDEX, SUMMARY = "MEMORY.md", "memory_summary.md"

BLOCK = re.compile(
    r"(?s:^```.*?^```)|^(#+)\s+(.+)|^(?:[-*+]|\d+[.)])\s+(\S.*(?:\n[ \t]+\S.*)*)|^(\S.*(?:\n(?![-*+#]\s|\d+[.)]\s)\S.*)*)",
    re.MULTILINE,
)
"""Code, a heading, an item with what is nested in it, or a paragraph."""

ROUTES = frozenset({"rollout_summary_files", "extension_resource_files", "keywords", "What's in Memory"})
"""Sections of Codex that say where to look, and nothing by themselves."""

APPLIES = re.compile(r"scope:.*?\bapplies_to:.*?\bcwd=([^;]+).*")
LINK = re.compile(r"\[[^\]]*\]\(([^)]+\.md)\)")
TASKS = re.compile(r"(?:\s*\[Task \d+\])+$")


def find_folder_kind(path: Path) -> str | None:
    """Find whose memory a folder is; None where neither program has written there."""
    if (path / SUMMARY).is_file():
        return "codex"
    folders = (path, *path.glob("memory"), *path.glob("*/memory"))
    return "claude-code" if any(folder.name == "memory" and (folder / INDEX).is_file() for folder in folders) else None


def read_markdown(path: Path, taken: import_batch.ImportBatch) -> None:
    """Read Codex's two files, what both say once, or all memories of Claude Code. :raises ImportFileError: there is none"""
    folders = sorted([*path.glob("memory"), *path.glob("*/memory")]) or [path]
    files = [file for folder in folders for file in find_note_files(folder)]
    if taken.kind == "codex":
        files = [file for file in (path / INDEX, path / SUMMARY) if file.is_file()]
    if not files:
        raise errors.ImportFileError(f"{path} holds no memory of {taken.kind}: no {INDEX}, nor another .md", path)
    home = re.sub("[^A-Za-z0-9]", "-", str(Path.home()))
    texts = set[tuple[str, str]]()
    for file in files:
        name = file.relative_to(path).as_posix() if path.is_dir() else ""
        lines = (read_note_text(file, name, taken) or "").splitlines()
        settings, first = parse_frontmatter([line.strip() for line in lines])
        title, body, headings = settings.get("name"), "\n".join(lines[first - 1 :]), dict[int, str]()
        project = next((folder.parent.name for folder in file.parents if folder.name == "memory"), "")
        scope = project.removeprefix(home).strip("-")
        written_at = import_batch.parse_source_time(settings.get("modified")) or min(
            round(file.stat().st_mtime * 1000), taken.now
        )
        for match in BLOCK.finditer(" ".join(body.split()).lstrip("# ") if title else body):
            if match[2]:
                headings = {level: above for level, above in headings.items() if level < len(match[1])}
                headings[len(match[1])] = match[2]
            text = " ".join((match[3] or match[4] or "").replace("**", "").split())
            if applies := APPLIES.fullmatch(text):
                scope = Path(applies[1].strip()).name
            text, link = TASKS.sub("", text), LINK.match(text)
            is_route = applies or ROUTES & {*headings.values()} or (link and (file.parent / link[1]).is_file())
            if is_route or text in ("", "v1") or (project, text) in texts:
                continue
            texts.add((project, text))
            subject = next(iter(headings.values()), file.stem).removeprefix("Task Group:")
            what = f"memory [{settings.get('type')}]" if title else f"line of {[file.name, *headings.values()][-1]}"
            target = title or import_batch.join_target_parts(subject, import_batch.text_mark(text))
            place = import_batch.SourcePlace(first + body.count("\n", 0, match.start()), name)
            taken.add_fact(place, what, None, target, text, scope=scope, created_at=written_at)
