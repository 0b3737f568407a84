"""The words by which English, French, German and Spanish messages claim that work is done, and take it back."""

from __future__ import annotations

import re

END = r"(?:$|\s+(?:now|already|today|yesterday|thanks?|thank you|everyone|team|guys|finally|and\b.*|with\b.*|to\b.*|in\b.*|on\b.*|as\b.*|by\b.*|into\b.*|this\b.*|at\b.*|for\b.*|successfully|everywhere|again|too|here|v?\d.*))"
"""What may follow a participle that stands alone."""

ENGLISH = (
    r"\b(?:is|are|'s|'re|was|been|got|gets|be|looks|seems)\s+(?:now\s+|all\s+|finally\s+|fully\s+|already\s+|just\s+|officially\s+|completely\s+|successfully\s+)*"
    r"(?:done|finished|complete|completed|merged|deployed|shipped|released|fixed|resolved|solved|closed|live|landed|delivered|implemented|published|wrapped up|sorted|good to go|in production|up and running|out the door)\b",
    r"^(?:all\s+|it's\s+|and\s+|now\s+|finally\s+|just\s+|successfully\s+|everything\s+)*(?:done|finished|fixed|merged|deployed|shipped|released|resolved|solved|completed|landed|published|delivered)"
    + END,
    r"\b(?:have|has|'ve|we|i|just|pr|mr|branch|patch|fix|feature|change|changes|release|migration|it|that|this|team|\w+)\s+(?:just\s+|now\s+|finally\s+|already\s+|all\s+|successfully\s+)*(?:landed|merged|shipped|deployed|finished|completed|released|went live|wrapped up)\b",
    r"\b(?:i|we|they|he|she|'ve|have|has)\s+(?:just\s+|now\s+|finally\s+|already\s+)*(?:fixed|resolved|solved|closed|published|delivered|implemented)\s+(?:it|this|that|the|all|everything)\b",
    r"\b(?:it|this|that|everything|all)(?:\s+all)?\s+(?:now\s+|finally\s+)?works?\b",
    r"\bworks?\s+(?:now|perfectly|great|fine|like a charm|as expected|again|flawlessly)\b",
    r"\b(?:is|are|'s|it's)\s+(?:now\s+|finally\s+)?working\s*(?:now|perfectly|again|as expected|$)|^working now\b",
    r"\blgtm\b|\bship it\b|^merge it\b|\bgood to go\b|\bthat's a wrap\b|\bthat is a wrap\b|\bjob done\b|\bmission accomplished\b",
    r"^closing\s+(?:this|it|the)\b|^close\s+(?:this|it|the\s+(?:ticket|issue|scope|task))\b|\bi'm closing\s+(?:this|it)\b|\bi'?m done\b|\bwe'?re done\b|\bcalling it done\b",
    r"\bwent live\b|\ball tests (?:pass|are green)\b|\ball green\b|\bsigned off\b",
)

FRENCH = (
    r"\b(?:est|sont|a été|ont été|c'est|s'est)\s+(?:enfin\s+|maintenant\s+|bien\s+|tout\s+|déjà\s+|désormais\s+|complètement\s+)*"
    r"(?:finie?s?|terminée?s?|faite?s?|déployée?s?|mergée?s?|fusionnée?s?|livrée?s?|résolue?s?|corrigée?s?|réglée?s?|publiée?s?|bouclée?s?|close?s?|fermée?s?|prête?s?|en prod(?:uction)?|en ligne|bon(?:ne)?|validée?s?|mise? en prod(?:uction)?)\b",
    r"^(?:c'est\s+|tout\s+|bon\s+|voilà\s+|ça y est\s*|enfin\s+)*(?:fini|terminé|déployé|mergé|fusionné|livré|résolu|corrigé|réglé|publié|bouclé)\b",
    r"\b(?:ça|cela|tout|elle|il)\s+(?:marche|fonctionne|tourne)\b|\b(?:marche|fonctionne)\s+(?:maintenant|enfin|bien|parfaitement|à nouveau)\b",
    r"\b(?:j'ai|on a|nous avons|a|ont)\s+(?:enfin\s+|tout\s+|bien\s+)*(?:fini|terminé|déployé|mergé|livré|résolu|corrigé|réglé|publié|bouclé)\b",
    r"\bça y est\b|\bon peut (?:clore|fermer)\b|\bje (?:ferme|clos)\b",
)

GERMAN = (
    r"\b(?:ist|sind|wurde|wurden|alles|bin|sind wir|wäre)\s+(?:\w+\s+){0,3}?(?:fertig|erledigt|abgeschlossen|gemergt|gemerged|deployt|deployed|ausgerollt|ausgeliefert|veröffentlicht|behoben|gelöst|geschlossen|live|fertiggestellt|umgesetzt|produktiv|durch|in produktion)\b",
    r"^(?:alles\s+|so\s+|endlich\s+|bereits\s+|jetzt\s+)*(?:fertig|erledigt|abgeschlossen|gemergt|gemerged|deployt|ausgeliefert|veröffentlicht|behoben|gelöst|fertiggestellt|geschafft)\b",
    r"\b(?:es|alles|das|jetzt|nun|endlich|login|\w+)\s+(?:funktioniert|läuft|klappt)(?:\s+(?:jetzt|nun|endlich|wieder|alles|einwandfrei|perfekt|wie erwartet))?\s*$",
    r"\b(?:funktioniert|läuft|klappt)\s+(?:jetzt|nun|endlich|wieder|einwandfrei|perfekt|wie erwartet)\b|^(?:jetzt|nun|endlich)\s+(?:funktioniert|läuft|klappt)\b",
    r"\b(?:habe|haben|hab)\s+(?:\w+\s+){0,4}?(?:fertiggestellt|abgeschlossen|gemergt|deployt|behoben|gelöst|veröffentlicht|erledigt|ausgeliefert)\b",
    r"\bhat geklappt\b|\bwir sind durch\b|\bkann zu\b|\bschließe (?:das|es|den|die)\b",
)

SPANISH = (
    r"\b(?:está|están|quedó|queda|ha sido|fue|han sido|ya)\s+(?:ya\s+|todo\s+|por fin\s+|finalmente\s+|ahora\s+)*"
    r"(?:terminad[oa]s?|list[oa]s?|hech[oa]s?|acabad[oa]s?|desplegad[oa]s?|fusionad[oa]s?|mergead[oa]s?|resuelt[oa]s?|arreglad[oa]s?|corregid[oa]s?|solucionad[oa]s?|publicad[oa]s?|lanzad[oa]s?|entregad[oa]s?|cerrad[oa]s?|completad[oa]s?|en producción)\b",
    r"^(?:todo\s+|ya\s+|por fin\s+|bien\s+)*(?:terminado|listo|hecho|acabado|desplegado|mergeado|resuelto|arreglado|corregido|solucionado|publicado|lanzado|entregado)\b",
    r"\b(?:ya|ahora|todo|por fin|esto|eso)\s+(?:\w+\s+)?funciona\b|^funciona\b|\bfunciona\s+(?:ya|ahora|perfectamente|bien|de nuevo)\b",
    r"\b(?:he|hemos|han|ha)\s+(?:ya\s+)?(?:terminado|acabado|desplegado|mergeado|fusionado|resuelto|arreglado|corregido|solucionado|publicado|lanzado|entregado|cerrado)\b",
    r"^ya está$|\bya está$|^cierro\b|\blo cierro\b|\bterminamos\b|\bacabamos\b",
)

CLAIMS = re.compile("|".join(f"(?:{pattern})" for pattern in ENGLISH + FRENCH + GERMAN + SPANISH))
"""A clause that says something is done."""

BLOCKERS = re.compile(
    r"\b(?:not|never|no|nothing|none|nobody|neither|nor|without|hardly|barely|almost|nearly|half|partly|partially|cannot|unless|until|till"
    r"|will|won't|shall|should|must|would|could|might|may|can|want|wants|wanted|need|needs|needed|going to|gonna|plan|plans|planning|let's|lets|try|trying|hope|hopefully|wish|expect|ought|supposed|have to|has to|had to|to be"
    r"|if|once|when|whenever|after|before|while|as soon as|by the time|whether|why|how|which|what|where|who|unclear|wonder|ask|tell|maybe|perhaps|probably|think|guess|doubt|mark|pretend|soon|tomorrow|next week|tonight|later|eventually|ready to|used to|yet|still|un)\b"
    r"|n't\b|\b(?:isn|aren|wasn|don|doesn|didn|hasn|haven|hadn|won|can|couldn|wouldn|shouldn)'t\b|'ll\b"
    r"|\b(?:ne|n'\w+|pas|jamais|rien|aucune?|personne|sans|presque|quasi|bientôt|demain|quand|si|dès|lorsque?|lorsqu'\w+|après|avant|jusqu'\w+|sera|seront|va|vont|vais|allons|doit|doivent|devrait|faut|faudrait|peut|peux|pourrait|veux|voudrais|j'aimerais|espère|peutêtre|pense|crois|une fois|est-ce|pourquoi|comment|encore|tant que|à moins)\b"
    r"|\b(?:nicht|kein|keine|keinen|nie|niemals|nichts|ohne|fast|beinahe|halb|teilweise|noch|bald|morgen|später|wenn|sobald|falls|nachdem|bis|bevor|ob|wird|werden|wirst|soll|sollte|sollten|muss|müssen|müsste|kann|können|könnte|würde|will|wollen|möchte|hoffentlich|vielleicht|vermutlich|glaube|denke|warum|wann|wie|damit|dass)\b"
    r"|\b(?:no|nunca|jamás|nada|nadie|ningun[oa]?|sin|tampoco|casi|pronto|mañana|luego|cuando|si|en cuanto|una vez|después|antes|hasta|será|serán|va a|van a|vamos a|voy a|debe|deben|debería|hay que|tiene que|tenemos que|puede|podría|quiero|quisiera|espero|ojalá|quizás?|tal vez|creo|por qué|cómo|aún|todavía|para que)\b"
)
"""What takes a claim back, or puts it in the future, in doubt, or in somebody's wishes."""

FRAMES = re.compile(
    r"^(?:please\b(?!.*\b(?:close|merge it|ship it)\b)|is\b|are\b|was\b|were\b|has\b|have (?:you|we|they)\b|did\b|does\b|do (?:we|you|they)\b|when\b|why\b|how\b|what\b|who\b|which\b|where\b"
    r"|est-ce\b|pourquoi\b|quand\b|comment\b|ist (?:es|das|der|die)\b.*\bschon\b|wann\b|warum\b|wie\b|cuándo\b|por qué\b|cómo\b)"
)
"""Beginnings of questions whose mark was forgotten, and of requests."""

CONTRAST = re.compile(
    r"\b(?:but|except|however|although|though|yet)\b.*\b(?:not|n't|still|fail\w*|broken|missing|except|crash\w*|only|later|wrong|left|remain\w*)|\bexcept\b"
    r"|\b(?:only|just) (?:on|in|locally|for)\b.*\b(?:machine|locally|staging|dev)\b|\bon my machine\b"
    r"|\b(?:mais|sauf)\b.*\b(?:pas|encore|échoue\w*|casse\w*|manque\w*|seulement|reste)|\bsauf\b|\bsur ma machine\b"
    r"|\b(?:aber|außer|jedoch|nur)\b.*\b(?:nicht|noch|fehlt\w*|schlägt|kaputt|lokal|fehler)|\bnur lokal\b|\bauf meinem rechner\b"
    r"|\b(?:pero|salvo|excepto)\b.*\b(?:no|falla\w*|falta\w*|todavía|aún|sólo|solo)|\ben mi máquina\b"
)
"""Sentences that praise and then take back."""

ADJECTIVES = re.compile(
    r"\b(?:a|an|the|any|some|each|every|of|all|use|uses|using|our|your|my|un|une|le|la|les|des|ein|eine|einen|der|die|das|el|los|las|una)\s+(?:\w+\s+)?(?:fixed|closed|completed|finished|merged|deployed|released|resolved|solved|shipped|published|abgeschlossene\w*|fertige\w*|gelöste\w*|terminad[oa]s?|cerrad[oa]s?|resuelt[oa]s?)\s+(?=\w)"
    r"|\b(?:closed|fixed|released|published|resolved|completed)\s+(?:source|width|point|rate|price|size|loop|form|captions?|position|list|items?|path|version|issues|tickets|tasks|date|interval)\b"
    r"|\b(?:how|as|the way|so)\s+(?:it|this|that|everything)\s+works?\b"
)
"""Completion words that describe a thing instead of claiming anything."""

LEAD_INS = re.compile(
    r"^(?:ok|okay|great|nice|perfect|yes|yep|yeah|alright|well|cool|super|parfait|oui|bien|gut|ja|prima|sí|vale|perfecto|genial|and|so|et|und|y|then|danke|merci|gracias|thanks)\s+"
)
"""Words before a claim that say nothing."""
