"""What is erased here leaves the events that still wait for a bridge as well: they would bring it back."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from hermes_memory_store.hosts.waiting_records import erase_matching, list_texts
from hermes_memory_store.intake.spans import FILLER, MARK, replace_text_spans, to_secret_placeholder
from hermes_memory_store.upkeep.erased_words import ErasedWords, PhraseSet, fold_phrase
from hermes_memory_themes.theme_identity import find_normal_form


def erase_words_from_waiting(store_path: str | os.PathLike[str], words: ErasedWords) -> int:
    """Erase the events that hold the words of erased facts, also under the mark of a secret; return how many there were."""
    if not words.phrases.phrases:
        return 0
    masked = PhraseSet(
        unnamed
        for phrase in words.phrases.phrases
        if FILLER in phrase and any(map(str.isalnum, re.sub(MARK, "", phrase)))
        for unnamed in [fold_phrase(re.sub(MARK, to_secret_placeholder(), phrase))]
    )

    def mask_unnamed(text: str) -> str:
        """Return a text with each secret, and each mark of one, as a mark without a name."""
        from hermes_memory_store.intake.detectors.secrets import find_secrets

        mark = to_secret_placeholder()
        return re.sub(MARK, mark, replace_text_spans(text, [(span, mark) for span in find_secrets("", text)]))

    def holds(record: dict[str, Any]) -> bool:
        texts = list_texts(record)
        return any(map(words.phrases.is_in, texts)) or (
            bool(masked.phrases) and any(masked.is_in(mask_unnamed(text)) for text in texts)
        )

    return erase_matching(store_path, holds)


def erase_messages_from_waiting(
    store_path: str | os.PathLike[str], theme: str, before: int, theme_of_folder: Callable[[str], str | None]
) -> int:
    """Erase the messages of a theme: events that name it, or name none and are from a place of it; return how many.

    :param before: only what was said until then, UTC milliseconds
    :param theme_of_folder: returns the theme of a folder as it is now; None for one that is still to be made
    """

    def find_theme(record: dict[str, Any]) -> str | None:
        named, folder = str(record.get("theme") or ""), record.get("folder")
        return find_normal_form(named) if named else theme_of_folder(folder if isinstance(folder, str) else "")

    def is_erased(record: dict[str, Any]) -> bool:
        at = record.get("at")
        is_old = not isinstance(at, int) or at <= before
        return is_old and bool(record.get("text") or record.get("subject")) and find_theme(record) == theme

    return erase_matching(store_path, is_erased)
