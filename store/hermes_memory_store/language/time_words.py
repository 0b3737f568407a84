"""Time words: questions about a time, and texts that name one, in English, French, German and Spanish."""

from __future__ import annotations

import re

from hermes_memory_store.language.month_names import MONTHS
from hermes_memory_store.language.tokenizer import fold_accents, split_runs

_ASKS = re.compile(
    r"\b(?:when|wann|quand|cuando)\b"
    r"|\b(?:what|which|quel|quelle|que|welche[mnrs]?)\s+(?:day|date|week|month|year|jour|semaine|mois|annee|tag|tages|datum"
    r"|woche|monat|jahr|dia|fecha|semana|mes|ano)s?\b"
)

_TIMES = """
    yesterday today tonight tomorrow ago last next recently soon since day days week weeks weekend month months year years
    monday tuesday wednesday thursday friday saturday sunday

    hier demain dernier dernière prochain prochaine récemment bientôt depuis jour jours semaine semaines mois an ans année
    années lundi mardi mercredi jeudi vendredi samedi dimanche

    gestern heute vorgestern letzte letzten letzter letztes nächste nächsten nächster nächstes kürzlich bald seit tag tage tagen
    woche wochen wochenende monat monate monaten jahr jahre jahren montag dienstag mittwoch donnerstag freitag samstag sonntag

    ayer hoy mañana pasado pasada próximo próxima recientemente pronto desde hace día días semana semanas mes meses año años
    lunes martes miércoles jueves viernes sábado domingo
"""

TIMES = frozenset(fold_accents(_TIMES).split()) | (MONTHS.keys() - {"may"})


def is_time_question(text: str) -> bool:
    """Check whether a question is about a time."""
    return _ASKS.search(fold_accents(text)) is not None


def has_time_expression(text: str) -> bool:
    """Check whether a text says when something was, is or will be: `yesterday`, `last week`, `in June`, `2023`."""
    return any(
        word in TIMES or (len(word) == 4 and word.isdecimal() and "1900" <= word <= "2100") for word in split_runs(text)
    )
