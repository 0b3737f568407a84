"""Messages not worth capturing: those that only acknowledge, in any language, and those below a minimum length.

hermes-memory-pgvector 0.3.0 drops what is shorter than 40 characters and fifteen English words said alone. So it
loses "Use port 5433, never 5432" and keeps "ok thanks, that is great". Here a message is an acknowledgement when
every word of it is one, or only accompanies one; a number, a path or any other word makes it worth capturing. The
theme's policy sets the minimum length.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from hermes_memory_themes import ThemePolicy

LONGEST = 80
"""Characters above which a message is never only an acknowledgement."""

ACKNOWLEDGEMENTS = """
    ok okay okey okidoki k kk alright right sure yes yeah yep yup no nope nah thanks thank thx ty tx cheers np please pls
    done cool nice great good perfect awesome excellent wonderful fine continue proceed exit cancel stop quit gotcha understood
    agreed exactly absolutely indeed correct noted roger wow lol haha hmm hm mhm uh huh welcome
    ja nein jo jup doch danke dankeschön bitte gut super prima toll klasse passt genau stimmt verstanden weiter klar fertig
    einverstanden perfekt
    oui non ouais merci parfait bien bon génial entendu compris exactement continue continuez
    sí vale gracias perfecto bien bueno genial claro entendido exacto listo sigue continúa
    sim não obrigado obrigada perfeito ótimo beleza certo entendi claro valeu
    sì grazie perfetto bene va certo capito esatto ottimo prego
    nee bedankt dank dankjewel prima goed perfect begrepen akkoord
    tak nie dzięki dziękuję dobrze super jasne świetnie rozumiem
    ano ne děkuji díky dobře jasně super
    igen nem köszönöm köszi rendben szuper
    tack nej bra toppen nej takk bra fint takk fedt kiitos joo ei hyvä selvä
    evet hayır teşekkürler teşekkür sağol tamam güzel harika peki
    да нет спасибо хорошо ладно понял поняла ясно отлично супер ок окей продолжай так ні дякую добре гаразд зрозуміло
    ναι όχι ευχαριστώ εντάξει ωραία
    نعم لا شكرا حسنا تمام جيد ممتاز
    כן לא תודה בסדר מעולה
    हाँ हां नहीं धन्यवाद शुक्रिया ठीक अच्छा
    ya tidak terima kasih oke baik sip vâng dạ không cảm ơn được tốt
    ครับ ค่ะ ขอบคุณ
    好 好的 好吧 好啊 行 可以 嗯 嗯嗯 对 对的 是 是的 不 不是 不用 谢谢 谢谢你 多谢 感谢
    明白 明白了 知道了 收到 没问题 继续 谢了 太好了 很好
    好的谢谢 謝謝 多謝 對 是的 沒問題 繼續
    はい いいえ うん ううん ありがとう ありがとうございます どうも 了解 了解です
    了解しました 承知しました わかりました 分かりました オーケー
    お願いします 続けて いいね いいですね
    네 예 아니요 아니오 응 감사합니다 고마워 고마워요 고맙습니다 알겠습니다 알겠어요 좋아 좋아요 계속 오케이
"""
"""Words that only acknowledge."""

FILLER_WORDS = """
    a all and are as be for go got i is it its just lot me much my now of on really so that thats that's the then this to too
    very we you your u am i'm it's
    das dir ist sehr so und vielen viel alles ich mach mal dann schön wohl
    beaucoup ça c'est est d'accord et je le très tout va vous à accord
    de acuerdo es está eso muchas mucho muy que te todo y
    muito isso está e tá é tudo bem
    molto così è tutto mille va d'accordo
    erg het is hartelijk bardzo moc szépen så meget mange tusen çok ederim большое очень всё все это дуже جدا तो है बहुत
"""
"""Words that say nothing beside those."""

PHRASES = re.compile(
    r"\b(?:got it|will do|(?:sounds?|looks?|all) good|go (?:ahead|on)|makes sense|no (?:problem|worries)|i see|alles klar|"
    r"geht klar|mach weiter|d'accord|ça marche|pas de souci|de acuerdo|está bien|de nada|tudo bem|va bene|d'accordo)\b"
)
"""Words that acknowledge only together."""

WORD = re.compile(r"[\w\u0300-\u036f\u0900-\u097f\u0e00-\u0e7f]+(?:['’][\w]+)*")

CONTENT_SIGNS = re.compile(r"[\d/\\@#=<>{}\[\]_`$%*+|]")
"""Signs of something said: numbers, paths, names of things, code."""


def explain_skipped_message(content: str, policy: ThemePolicy) -> str | None:
    """Explain to an agent why the theme's policy does not keep a message; None when it does."""
    if policy.turns == "none":
        return "this theme keeps no conversations"
    if policy.turns == "all":
        return None
    if is_acknowledgement(content):
        return "an acknowledgement"
    length = len(content.strip())
    if length < policy.turn_min_chars:
        return f"{length} characters, and this theme keeps messages from {policy.turn_min_chars}"
    return None


def is_acknowledgement(content: str) -> bool:
    """Check whether a message only acknowledges, agrees or approves."""
    said = content.strip()
    if not said or len(said) > LONGEST or CONTENT_SIGNS.search(said):
        return False
    words = WORD.findall(PHRASES.sub("ok", casefold_text(said).replace("’", "'")))
    if not words:
        # Nothing but signs: a thumb, a smile, dots. A script whose letters are none to us is left alone.
        return not any(character.isalpha() for character in said)
    return all(word in load_acknowledgement_words() for word in words) and any(
        word in load_acknowledgements() for word in words
    )


def casefold_text(said: str) -> str:
    """Normalise a text for comparison: composed, and without regard to case."""
    return unicodedata.normalize("NFKC", said).casefold()


@cache
def load_acknowledgements() -> frozenset[str]:
    """Return `ACKNOWLEDGEMENTS` normalised for comparison."""
    return frozenset(map(casefold_text, ACKNOWLEDGEMENTS.split()))


@cache
def load_acknowledgement_words() -> frozenset[str]:
    """Return every word that may occur in an acknowledgement."""
    return load_acknowledgements() | frozenset(map(casefold_text, FILLER_WORDS.split()))
