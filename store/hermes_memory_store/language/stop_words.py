"""Stop words: words of questions rather than of answers, in four languages."""

from __future__ import annotations

from hermes_memory_store.language.stemmer import stem_word
from hermes_memory_store.language.tokenizer import fold_accents

STOP_WORDS = """
    a about am an and any are as at be been being but by can could did do does doing don for from had has have
    having he her hers him his how i if in into is it its me might my of on or our shall she should so some than
    that the their them then there these they this those to too was we were what when where which who whom whose
    why will with would you your

    à au aux avec ce ces cette dans de des du elle en est et eu il ils je la le les leur leurs lui ma mais même
    mes moi mon ne nos notre nous on ont ou où par pas pour quand que quel quelle quelles quels qui quoi sa se
    ses sont sur ta toi ton tu un une vos votre vous comment pourquoi était

    aber als an auch auf aus bei bis da das dass dem der doch ein eine einem einen einer er es für hatte ich ihr
    im ist ja kann mein nach noch nur ob oder sein sich sie sind über um und uns von vor wann warum was wer wie
    wir wird wo wurde zu zum zur welche welcher welches

    al con del donde dónde el ella ellos entre esta está este esto fue hasta las lo los más mi muy para pero por
    porque qué quien quién ser si sobre su sus tiene uno ya cómo cuál cuándo
"""
"""Words of questions rather than of answers, in English, French, German and Spanish. They are not looked for when a
query has others; words that are also names of things (`bin`, `hat`, `son`, `die`) are not among them."""

STOP_FORMS = frozenset(fold_accents(STOP_WORDS).split())

STOP_TERMS = frozenset(map(stem_word, STOP_FORMS))
"""The same as index terms."""
