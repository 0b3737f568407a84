"""Questions in scripts without spaces: drop question words, split the rest into overlapping character pairs.

The index holds such text as pairs (see `tokenizer.py`). A question shares some pairs with the fact that answers it
and never all, so each pair is a word of its own. Korean has spaces, but its particles are attached to the nouns;
it is treated alike.
"""

from __future__ import annotations

import re
from functools import cache

from hermes_memory_store.language.tokenizer import MAX_WORD, character_pairs, is_unspaced

MAX_PAIRS = 32
"""Pairs of one query that are looked up; as many words as a line may have."""

_QUESTION_WORDS = r"""
    请问|請問|什么|什麼|甚麼|为何|為何|为啥|怎么样|怎麼樣|怎么|怎麼|如何|哪(?:一?[个個里裡裏些儿兒种種台家位天年月款条條])?
    |谁|誰|多少|多久|多长时间|多長時間|何时|何時|是不是|有没有|有沒有|能不能|可不可以|几(?=[个個点點次天号號台位种種分小年月岁])|[吗嗎呢]
    |我们|我們|你们|你們|咱们|他们|他們|告诉我|告訴我

    |どこ|どれくらい|どのくらい|どの|どれ|どちら|どう(?:やって|すれば|して)?|どんな|なぜ|なに|いつ|だれ|いくつ|いくら|何(?=[のをがでにかも]|です)
    |教えて(?:ください|くれ)?|(?:してい|ってい|ってあり|してあり|されてい|れてい|あり|い|し|き|せ|り)?ま(?:すか|したか|せんか)|でしょうか|でしたか|ですか

    |(?<![가-힣])(?:어디|언제|누구|누가|무엇|무슨|어떤|어떻게|어느|얼마|뭐|뭘|뭔|왜(?![가-힣])|몇|우리|알려)[가-힣]*
    |(?:합니까|습니까|입니까|인가요|하나요|되나요|있나요|있죠|했죠|나요|까요|이죠|였지|예요|에요|는지|하죠|해요)(?![가-힣])

    |อะไร|ที่ไหน|เมื่อไหร่|เมื่อไร|ใคร|ทำไม|อย่างไร|ยังไง|เท่าไหร่|เท่าไร|ไหม|กี่
"""
"""Words that ask, in Chinese, Japanese, Korean and Thai, and endings of verbs that make a question. What stands for the answer
is never among them, so none is looked for; taken out, they leave no pairs across their borders."""

_PARTICLES = ("은는이가을를에의도로와과만", "はがをにのともでへやか")
"""Korean and Japanese particles of one character. After a noun, one stands for any other of its group."""

_KOREAN_PARTICLES = """
    에서는 에서도 으로는 까지는 부터는 이라는 한테서 에게서 에서 에는 에도 에게 으로 로는 까지 부터 처럼 보다 이나 라는 라고 한테
    들은 들이 들을 들의 은 는 이 가 을 를 에 의 도 로 와 과 만
"""
_ENDINGS = sorted(_KOREAN_PARTICLES.split(), key=len, reverse=True)

_STOP_RUNS = """
    는 은 이 가 을 를 에 의 도 로 와 과 만 에서 에는 으로 로는 까지 부터 처럼 보다 하고 이나 라는 라고 입니다 지금 현재
    は が を に の と も で へ や か ね よ です ます には では から まで とは する した して いる ある さん
    的 了 吧 在 是 和 与 有 我 你 它 把 被 给 要
"""
STOP_RUNS = frozenset(_STOP_RUNS.split())
"""Runs that say nothing by themselves, as they stand beside words of other scripts: `DB를`, `APIの`, `用 Redis 的`."""

_WORD_SIZE = r"[\u30a1-\u30ff]+|[\uac00-\ud7ff]{1,5}|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]{1,6}|..?"
"""About one word: all of a name in Katakana, a Korean run, some signs of the scripts of South-East Asia, else two characters."""


@cache
def question_word_pattern() -> re.Pattern[str]:
    """Return `_QUESTION_WORDS`, compiled on first use."""
    return re.compile(_QUESTION_WORDS, re.VERBOSE)


@cache
def word_size_pattern() -> re.Pattern[str]:
    """Return `_WORD_SIZE`, compiled on first use."""
    return re.compile(_WORD_SIZE)


def without_question_words(line: str) -> str:
    """Replace every question word of a folded line by a space."""
    return line if line.isascii() else question_word_pattern().sub(" ", line)


def estimate_word_count(run: str) -> int:
    """Estimate the number of words in a run of `tokenizer.split_runs`."""
    return len(word_size_pattern().findall(run)) if is_unspaced(run) else 1


def without_particle(run: str) -> str:
    """Strip the particle from a Korean noun, where two characters are left; return other runs unchanged."""
    if is_hangul(run):
        for ending in _ENDINGS:
            if run.endswith(ending) and len(run) - len(ending) >= 2:
                return run[: -len(ending)]
    return run


def run_terms(run: str) -> list[str]:
    """Return the index terms by which a run of a script without spaces is looked up."""
    return character_pairs(run[:MAX_WORD]) or [run]


def particle_variants(pair: str) -> list[str]:
    """Return the forms of a noun of one character with other particles: `키는` gives `키`, `키가` and `키를`."""
    group = next((group for group in _PARTICLES if len(pair) == 2 and pair[1] in group), "")
    return [pair[0], *(pair[0] + other for other in group if other != pair[1])] if group else []


def join_query_words(here: str, there: str) -> str:
    """Join two query words as they stand side by side in a text."""
    if not is_unspaced(here) or not is_unspaced(there):
        return f"{here} {there}"
    return here + there[1:] if here[-1] == there[0] else here + there


def is_hangul(run: str) -> bool:
    """Check whether a run is Korean."""
    return "\uac00" <= run[:1] <= "\ud7ff"


def is_ideograph(character: str) -> bool:
    """Check whether a character is one that means something by itself, as in Chinese, and no syllable."""
    return "\u3400" <= character <= "\u9fff"
