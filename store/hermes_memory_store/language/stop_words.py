"""Stop words: words of questions rather than of answers, in four languages."""

from __future__ import annotations

from functools import cache

from hermes_memory_store.language.stemmer import stem_word
from hermes_memory_store.language.tokenizer import fold_accents

STOP_WORDS = """
    a about am an and any are as at be been being but by can could did do does doing don for from had has have
    having he her hers him his how i if in into is it its me might my of on or our shall she should so some than
    that the their them then there these they this those to too use used using was we were what when where which who whom
    whose why will with would you your

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

_MORE = {
    "fr": """
        ai aie ait alors après as assez aujourd avant avez avons avoir bien cela celle celles celui certaine certains
        ceux chez ci combien contre déjà depuis derrière dès devons devez doit doivent dois donc dont elles encore entre
        est étaient étant été être faire fais fait faite faites faits faut font hui ici ils jusqu jusque là lequel
        laquelle lesquels lors lorsque lui notamment or ont parmi pendant peu peut peuvent peux plutôt possible pouvons
        pouvez presque puis puisque quoi sauf sera serait seront si sinon soit sommes son sont sous souvent suis sur tel
        telle tels toujours tous tout toute toutes très trop va vers veut voici voilà vont y c d j l m s t qu est-ce
    """,
    "de": """
        ab aller alle allem allen alles also andere anderen anderer anderes auch außer außerdem bald bereits beim
        besonders bin bist bisher damit danach dann daran darauf darf dürfen daraus darin darüber davon dazu den denen
        denn deren des dessen deshalb dich die dies diese diesem diesen dieser dieses dir dort du durch eben eigentlich
        einige einmal etwa etwas euch euer falls fast ganz gar geben gegen genau gerade gern gibt ging hab habe haben
        habt hast hat hatten hier hin hinter immer in ins irgend jemand jene jetzt können könnte könnten könnt lassen
        lässt machen macht man manche mich mir mit möchte muss müssen musste neben nun passiert schon sehr seit selbst
        soll sollen sollte sollten somit sondern sonst soweit sowie trotz tun tut um unser unsere unserem unseren
        unserer unseres unter viel viele vielen vom vorher während wäre war waren warst weil weiter welchem welchen
        weniger wenn werde werden wessen wieder wieviel wieso will wollen wollte worden wurden würde würden zwar
        zwischen womit wofür woher wohin woran worauf wodurch wen wem
    """,
    "es": """
        a acá ahí ahora algo algún alguna algunas alguno algunos alguien allí ante antes aquel aquella aquí así aún
        aunque bajo bien casi como cual cuales cualquier cuál cuáles cuando cuanta cuánta cuántas cuanto cuánto cuántos
        de debe deben debo desde después dice dicho donde durante ellas ellos en era eran eres es esa esas ese eso esos
        estaba estado estamos están estar estas estos estoy fue fueron fuera ha había hace hacemos hacen hacer hacia
        hago han hay haya he hemos hicimos hizo incluso ir lado le les luego mas me menos mientras mis misma mismo mucho
        mucha muchos muy nos nosotros nuestra nuestras nuestro nuestros o os otra otras otro otros pero poca poco pocos
        pone ponen pueda puede pueden puedo pues quienes quién sabe sea sean según será sido siempre somos son soy su sí
        también tampoco tan tanto te tenemos tener tengo ti tienen toda todas todo todos tras tu tus un una unas unos
        usa usamos usan va vamos van veces ver vez y yo
    """,
    "ru": """
        а более бы был была были было быть в вам вас весь во вот все всего всех вы где да для до его ее ей ему если есть
        еще же за и из или им их к как какая какие какое какой какую кем ко когда кого кому которая которые который
        которой кто куда ли мне может можно мой мы на над надо нам нами нас наш наша наше нашего нашей нашем наши наших
        него нее них но нужно о об он она они оно от откуда очень по под после почему при про с сколько со так также
        такой там то того тоже той только том тот тут ты у уже чего чем через что чтобы чье чей эта эти это этого этой
        этом этот я
    """,
    "ar": """
        في من إلى على عن مع هل ما ماذا متى أين كيف كم لماذا هو هي هم نحن أنا أنت هذا هذه ذلك تلك التي الذي الذين كان
        كانت يكون تكون قد أو و ثم بين عند عندما كل بعد قبل أي يتم تم لدينا لنا بنا
    """,
}
"""Further such words of one language, left out of a question that is asked in it: some name things in another. Words that
say no are not among them: who asks for what is forbidden uses the words that forbid."""


@cache
def more_stop_forms(language: str) -> frozenset[str]:
    """Return further words of questions in one language, folded; none for most."""
    return frozenset(fold_accents(_MORE.get(language, "")).split())
