"""Make the table of the field's synonyms that search uses, from `field_synonyms.txt`.

    python -m tests.tools.synonym_table

Each member becomes the index terms under which texts hold it, so that loading the table stems nothing.
"""

from __future__ import annotations

from pathlib import Path

from hermes_memory_store.find.query_terms import phrase_terms
from hermes_memory_store.language.tokenizer import is_unspaced

SOURCE = Path(__file__).parents[2] / "packaging" / "field_synonyms.txt"
TABLE = Path(__file__).parents[2] / "store" / "hermes_memory_store" / "language" / "synonyms.txt"

HEAD = """\
# Synonyms of the field as index terms. Made by `python -m tests.tools.synonym_table` from `packaging/field_synonyms.txt`.
# One group a row; members are separated by `|`, the terms of a member by spaces.
"""

COMMENTS = {
    "same": "Two ways to write one thing: short and long forms, spellings, translations.",
    "near": "Words that people use for one another.",
}


def make_table(source: str) -> str:
    """Return the data file for a source. :raises SystemExit: for a group that is one word to the index"""
    groups: dict[str, list[str]] = {}
    section = ""
    for number, line in enumerate(source.splitlines(), 1):
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            members = [member for text in line.split(",") if (member := " ".join(phrase_terms(text)))]
            # One character of Chinese or Korean stands in too many words.
            group = dict.fromkeys(member for member in members if len(member) > 1 or not is_unspaced(member))
            if len(group) < 2:
                raise SystemExit(f"{SOURCE.name}:{number}: {line!r} is one word to the index")
            groups.setdefault(section, []).append("|".join(group))
    parts = [HEAD]
    for name, comment in COMMENTS.items():
        parts.append("\n".join(["", f"# {comment}", f"[{name}]", *groups[name], ""]))
    return "".join(parts)


def main() -> None:
    TABLE.write_text(make_table(SOURCE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"wrote {TABLE.name}")


if __name__ == "__main__":
    main()
