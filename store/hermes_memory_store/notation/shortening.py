"""Shorten prose without losing meaning: known long words, filler phrases, articles.

Everything that could be more than prose stays as it is: code, commands, paths, hosts, names, quotations, reported
speech, and every word that forbids or binds. In doubt a word stays long: a corrupted command costs too much.
"""

from __future__ import annotations

import re

from hermes_memory_store.notation.abbreviations import TABLE

BINDING = frozenset({"never", "always", "mandatory"})
"""Words of the table that forbid or bind: they stay written out."""

MORE_SHORT_FORMS = {
    "application": "app", "applications": "apps", "directory": "dir", "directories": "dirs", "information": "info",
    "maximum": "max", "minimum": "min", "parameter": "param", "parameters": "params", "variable": "var",
    "variables": "vars", "specification": "spec", "specifications": "specs", "repositories": "repos",
    "messages": "msgs", "databases": "dbs", "credentials": "creds", "preferences": "prefs", "packages": "pkgs",
    "administrator": "admin", "configurations": "cfgs", "dependency": "dep", "approximately": "approx",
    "required": "req", "with": "w/", "because": "bc", "authentification": "auth", "environnement": "env",
}  # fmt: skip
"""Further words whose short form is read the same way by everyone. `authorization` is none: `auth` is taken."""

SHORT = {
    long: short for short, long in TABLE.items() if long not in BINDING and len(short) < len(long)
} | MORE_SHORT_FORMS

PHRASES = {
    r"(?:please )?note that ": "", r"it is (?:worth noting|important to note) that ": "", r"keep in mind that ": "",
    r"it should be noted that ": "", r"il est à noter que ": "", r"es ist zu beachten, dass ": "",
    r"in order to ": "to ", r"due to the fact that ": "because ", r"in the event that ": "if ",
    r"at this point in time": "now",
}  # fmt: skip
"""Phrases that say nothing, or say in many words what one word says."""

FENCED = re.compile(r"(```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z))", re.DOTALL)

TOOLS = (
    "apt|apt-get|aws|bash|brew|cargo|chmod|chown|cp|cron|crontab|curl|docker|gcloud|gh|git|grep|helm|hermes|journalctl|"
    "kubectl|ls|mkdir|mv|npm|npx|pip|pipx|pnpm|poetry|psql|pytest|python3?|rm|rsync|scp|sed|sh|ssh|sudo|systemctl|tar|"
    "terraform|tmux|uv|uvx|wget|yarn"
)
"""Programs by name: a line that names one may hold a command."""

COMMANDS = "cat|cd|echo|exec|export|find|go|make|node|set|source|type"
"""Programs whose names are words as well: only where a command would begin."""

NOT_PROSE = re.compile(
    rf"""(?ix)
      ^(?:\s{{4,}} | \t | \s*[$>#|]\s)                      # indented code, a prompt, a quotation, a heading, a table
    | (?<!\S)--?\w | && | \|\| | \S\s+[|<>]\s+\S | [{{}}=\\] | ;\s*$     # flags, pipes, assignments
    | (?<![\w-])(?:{TOOLS})(?![\w-])
    | (?:^|[:,(]\s*)(?:{COMMANDS})\s
    | \b(?:run|runs|execute|command|says?|said|quotes?|quoted|wrote|dit|sagt|dice)\b
    """
)
"""What makes a whole line more than prose: code, tools, and reported speech."""

QUOTED = re.compile(
    r"""(`[^`]*`|"[^"]*"|“[^”]*”|„[^“”]*[“”]|«[^»]*»"""
    r"""|(?<!\w)['‘][^'’]*['’](?!\w)|\[[^\]]*\]|\([^()]*\))"""
)
"""Kept as it stands inside a line: what is quoted, and what is in brackets."""

TOKEN = re.compile(r"\S+")
WORD = re.compile(r"([^\W\d_]+)([,.;!?]*)")
"""A token that is a plain word. One with a dot, a slash, a digit, a dash, a colon … in it is none."""

NAMING_WORDS = frozenset({
    "branch", "bucket", "called", "cluster", "column", "container", "database", "directory", "env", "environment",
    "field", "file", "flag", "folder", "group", "host", "index", "key", "keyword", "label", "module", "named",
    "namespace", "option", "package", "profile", "queue", "role", "schema", "service", "table", "tag", "topic", "user",
    "variable",
})  # fmt: skip

NAMING = NAMING_WORDS | {SHORT[word] for word in NAMING_WORDS if word in SHORT}
"""After these a word is often a name (`the branch production`), and a name has one spelling."""

NAMED = frozenset({"branch", "column", "table", "tbl"})
"""The same for the word before these."""

ARTICLE = re.compile(r"(?<=[a-zà-ÿ,] )the (?=[a-z])")
FINAL_STOP = re.compile(r"(?<=[a-zà-ÿ]{3})\.\Z")


def shorten_prose(text: str) -> str:
    """Shorten the long words of prose. Text that is not clearly prose is returned unchanged."""
    parts = FENCED.split(text)
    for place in range(0, len(parts), 2):
        parts[place] = "\n".join(map(shorten_line, parts[place].split("\n")))
    return FINAL_STOP.sub("", "".join(parts))


def shorten_line(line: str) -> str:
    if NOT_PROSE.search(line):
        return line
    parts = QUOTED.split(line)
    for place in range(0, len(parts), 2):
        parts[place] = shorten_words(drop_filler_phrases(parts[place]), starts=place == 0)
    return "".join(parts)


def drop_filler_phrases(prose: str) -> str:
    for phrase, instead in PHRASES.items():
        prose = re.sub(rf"(?i)\b{phrase}", instead, prose)
    return ARTICLE.sub("", prose)


def shorten_words(prose: str, *, starts: bool) -> str:
    """Shorten plain words. `starts`: the first of them begins a line, where a capital does not mark a name."""
    tokens = list(TOKEN.finditer(prose))
    bare = [token[0].rstrip(",.;!?").lower() for token in tokens]
    done, place = [], 0
    for number, token in enumerate(tokens):
        word = WORD.fullmatch(token[0])
        named = (number > 0 and bare[number - 1] in NAMING) or (number + 1 < len(bare) and bare[number + 1] in NAMED)
        lower = token[0].islower() or (starts and number == 0 and token[0].istitle())
        done.append(prose[place : token.start()])
        done.append(shorten_word(word[1]) + word[2] if word and lower and not named else token[0])
        place = token.end()
    return "".join(done) + prose[place:]


def shorten_word(word: str) -> str:
    instead = SHORT.get(word.lower())
    if instead is None:
        return word
    return instead.capitalize() if word[0].isupper() else instead
