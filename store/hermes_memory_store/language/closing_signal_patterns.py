"""Patterns for claims that work is done, and their retraction, in English, French, German and Spanish."""

from __future__ import annotations

import re

DONE_EN = (
    r"(?:done|finished|completed?|merged|deployed|shipped|released|fixed|resolved|solved|closed|landed|delivered|implemented"
    r"|published|restored|repaired|squashed|launched|handled|rolled out|wrapped up|sorted(?: out)?)"
)
STATE_EN = r"(?:live|online|over|in place|good to go|in production|up and running|out the door|back up|all set|out(?=$| now| today))"
END_EN = (
    r"(?:$|\s+(?:now|already|today|yesterday|thanks?|thank you|everyone|team|guys|finally|and|with|to|in|on|as|by|into|this|at"
    r"|for|successfully|everywhere|again|too|here|v?\d)\b)"
)
"""What may follow a participle that stands alone."""

ENGLISH = (
    r"\b(?:is|are|'s|'re|was|been|got|gets|be|looks|seems)\s+(?:(?:now|all|finally|fully|already|just|officially|completely|successfully)\s+){0,3}"
    rf"(?:{DONE_EN}|{STATE_EN})\b",
    rf"^(?:(?:all|it's|and|now|finally|just|successfully|everything)\s+){{0,3}}{DONE_EN}{END_EN}",
    rf"^(?:(?:i|we|i've|we've|and|just|now|finally)\s+){{0,3}}{DONE_EN}\s+(?:the|your|my|our|it|this|that|all|everything|both)\b",
    rf"^\w+\s+(?:\w+\s+)?{DONE_EN}(?:$|\s+(?:to|in|on|by|and|now|today|successfully)\b)",
    r"\bgot (?:it|this|that|everything) (?:all )?(?:working|to work|running)\b",
    r"\b\w+\s+(?:(?:just|now|finally|already|all|successfully)\s+){0,2}(?:landed|merged|shipped|deployed|launched|finished|completed|released|went live|wrapped up|went through)\b",
    r"\b(?:i|we|they|he|she|that|this|'ve|have|has)\s+(?:(?:just|now|finally|already)\s+){0,2}(?:fixed|resolved|solved|closed|published|delivered|implemented)\s+(?:it|this|that|the|all|everything)\b",
    r"\b(?:it|this|that|everything|all)(?:\s+all)?\s+(?:now\s+|finally\s+)?works?\b",
    r"\bworks?\s+(?:now|perfectly|great|fine|like a charm|as expected|again|flawlessly)\b",
    r"\b(?:is|are|'s|it's)\s+(?:now\s+|finally\s+)?working\s*(?:now|perfectly|again|as expected|fine|in production|$)|^(?:confirmed\s+)?working (?:now|in production|as expected)\b",
    r"\blgtm\b|\bship it\b|^merge it\b|\bgood to go\b|^(?:we're |you're )?all set\b|\bthat(?:'s| is) a wrap\b|\bjob done\b|\bmission accomplished\b",
    r"^closing\s+(?:this|it|the)\b|^close\s+(?:this|it|the\s+(?:ticket|issue|scope|task))\b|\bi'm closing\s+(?:this|it)\b|\bi'?m done\b|\bwe'?re done\b|\bcalling it done\b",
    r"\bwent live\b|\ball (?:the )?(?:tests|checks) (?:pass|passed|are green)\b|\ball green\b|\bsigned off\b|\bthat did (?:it|the trick)\b",
)

DONE_FR = (
    r"(?:finie?s?|terminée?s?|faite?s?|déployée?s?|mergée?s?|fusionnée?s?|livrée?s?|résolue?s?|corrigée?s?|réglée?s?|publiée?s?"
    r"|bouclée?s?|close?s?|fermée?s?|validée?s?|achevée?s?|réparée?s?|sortie?s?|rétablie?s?|mise?s? en (?:prod(?:uction)?|ligne))"
)
FRENCH = (
    r"\b(?:est|sont|a été|ont été|c'est|s'est)\s+(?:(?:enfin|maintenant|bien|tout|déjà|désormais|complètement|entièrement)\s+){0,3}"
    rf"(?:{DONE_FR}|prête?s?|en prod(?:uction)?|en ligne|bon(?:ne)?|opérationnel(?:le)?s?|fonctionnel(?:le)?s?)\b",
    rf"^(?:(?:c'est|tout|bon|voilà|ça y est|enfin)\s+){{0,3}}{DONE_FR}(?:$|\s+(?:en|hier|ce|cette|merci|aujourd'hui|et|dans|sur|à)\b)",
    rf"^\w+\s+(?:\w+\s+)?{DONE_FR}$",
    r"\b(?:ça|cela|tout|elle|il)\s+(?:re)?(?:marche|fonctionne|tourne)\b|\b(?:re)?(?:marche|fonctionne)\s+(?:maintenant|enfin|bien|parfaitement|à nouveau|de nouveau)\b",
    rf"\b(?:j'ai|on a|on l'a|nous avons|nous l'avons|je l'ai|a|ont)\s+(?:(?:enfin|tout|bien|déjà)\s+){{0,2}}(?:{DONE_FR}|mis en (?:prod|production|ligne))(?:\s|$)",
    r"\b(?:viens|vient|venons) (?:tout juste )?de (?:l[ea] |les |tout )?(?:déployer|merger|fusionner|livrer|corriger|terminer|finir|publier|fermer|régler|résoudre)\b",
    r"\bça y est\b|\bje (?:ferme|clos)\b|\bles tests passent\b",
)

DONE_DE = (
    r"(?:fertig|erledigt|abgeschlossen|gemergt|gemerged|deployt|deployed|ausgerollt|ausgeliefert|veröffentlicht|behoben|gefixt"
    r"|repariert|gelöst|geschlossen|live|online|fertiggestellt|umgesetzt|produktiv|durch|durchgelaufen|geschafft|draussen|erfolgreich"
    r"|released|vollendet|beendet|in produktion)"
)
GERMAN = (
    rf"\b(?:ist|sind|war|wurde|wurden|alles|bin|wäre|wären)\s+(?:\w+\s+){{0,4}}?{DONE_DE}\b",
    rf"^(?:(?:alles|so|endlich|bereits|jetzt)\s+){{0,3}}{DONE_DE}$",
    rf"^\w+\s+(?:\w+\s+)?{DONE_DE}$",
    r"\b\w+\s+(?:funktioniert|läuft|klappt|geht wieder)(?:\s+(?:jetzt|nun|endlich|wieder|alles|einwandfrei|perfekt|wie erwartet))?\s*$",
    r"\b(?:funktioniert|läuft|klappt|geht)\s+(?:jetzt|nun|endlich|wieder|einwandfrei|perfekt|wie erwartet)\b|^(?:jetzt|nun|endlich)\s+(?:funktioniert|läuft|klappt|geht)\b",
    rf"\b(?:habe|haben|hab|hat)\s+(?:\w+\s+){{0,4}}?{DONE_DE}\b",
    r"\b(?:lief|liefen) (?:\w+ ){0,3}?durch\b",
    r"^das war's\b|\btests laufen (?:alle |jetzt |wieder )*durch\b",
    r"\bhat (?:alles )?(?:geklappt|funktioniert)\b|\bschliesse (?:das|es|den|die)\b|\b(?:alle )?tests (?:sind|laufen) grün\b",
)

DONE_ES = (
    r"(?:(?:terminad|hech|acabad|desplegad|fusionad|mergead|resuelt|arreglad|corregid|solucionad|publicad|lanzad|entregad|cerrad"
    r"|completad|finalizad|restablecid)[oa]s?)"
)
SPANISH = (
    r"\b(?:está|están|quedó|quedaron|queda|ha sido|fue|fueron|han sido|ya)\s+(?:(?:ya|todo|por fin|finalmente|ahora)\s+){0,3}"
    rf"(?:{DONE_ES}|list[oa]s?|complet[oa]s?|en producción|en línea|operativ[oa]s?)\b",
    rf"^(?:(?:todo|ya|por fin|bien)\s+){{0,3}}(?:{DONE_ES}|listo)(?:$|\s+(?:en|hoy|ayer|gracias|y|esta|con|a)\b)",
    rf"^\w+\s+(?:\w+\s+)?{DONE_ES}$",
    r"\b(?:ya|ahora|todo|por fin|esto|eso)\s+(?:\w+\s+)?funciona\b|^funciona\b|\bfunciona\s+(?:ya|ahora|perfectamente|bien|de nuevo|otra vez)\b",
    rf"\b(?:he|hemos|han|ha)\s+(?:ya\s+)?{DONE_ES}\b",
    r"\b(?:arreglé|terminé|acabé|resolví|corregí|solucioné|publiqué|desplegué|fusioné|cerré|completé|entregué|lancé"
    r"|arreglamos|terminamos|acabamos|resolvimos|corregimos|solucionamos|publicamos|desplegamos|fusionamos|cerramos|completamos|lanzamos)\b",
    r"\b(?:acabo|acabamos) de (?:desplegar|publicar|fusionar|mergear|arreglar|terminar|cerrar|corregir|resolver|lanzar|entregar)\w*",
    r"\b(?:terminó|terminaron|finalizó|acabó)(?:$|\s+(?:bien|ya|con éxito|hoy|ayer))|\bestá funcionando(?:$|\s+(?:ya|bien|ahora|otra vez|de nuevo|perfectamente))",
    r"\bya está$|\bya quedó$|\bse (?:desplegó|publicó|arregló|resolvió|cerró|fusionó|terminó|completó|solucionó|corrigió)\b|\bha quedado (?:list[oa]|resuelt[oa]|arreglad[oa])|^cierro\b|\blo cierro\b|\blos tests pasan\b",
)

CLAIMS = re.compile("|".join(f"(?:{pattern})" for pattern in ENGLISH + FRENCH + GERMAN + SPANISH))
"""A clause that says something is done."""

PERMITS = re.compile(
    r"\b(?:we|you|i) can (?:now |all )?close (?:this|it|the)\b|\bon peut (?:maintenant )?(?:clore|fermer)\b"
    r"|\bkann (?:jetzt )?(?:geschlossen werden|zu$)|\bkönnen (?:wir )?(?:das|es|den|die)(?: \w+)? (?:schliessen|zumachen)\b"
    r"|\b(?:podemos|se puede|puedes) cerrar\b"
)
"""Leave to close, which says that the work is done although it holds a modal verb."""

BLOCKERS = re.compile(
    r"\b(?:not|never|no|nothing|none|nobody|neither|nor|without|hardly|barely|almost|nearly|half|partly|partially|cannot|unless|until|till"
    r"|will|won't|shall|should|must|would|could|might|may|can|want|wants|wanted|need|needs|needed|going to|gonna|plan|plans|planning|let's|lets|try|trying|hope|hopefully|wish|expect|expected to|ought|supposed|have to|has to|had to|to be"
    r"|if|once|when|whenever|after|before|while|as soon as|by the time|whether|why|how|which|what|where|who|unclear|wonder|ask|asks|asked|tell|tells|told|says?|said|claims?|claimed|reports?|reported|maybe|perhaps|probably|think|thought|guess|believe|believed|assume|assumed|assuming|pretend|doubt|mark|like this|soon|tomorrow|next week|tonight|later|eventually|ready to|used to|yet|still|un|far from|stopped|supposedly|apparently|allegedly|since (?:19|20)\d\d)\b"
    r"|n't\b|'ll\b|\b(?:i|we)'d\b"
    r"|\b(?:ne|n'\w+|pas|jamais|rien|aucune?|personne|sans|presque|quasi|bientôt|demain|quand|si|dès|lorsque?|lorsqu'\w+|après|avant|jusqu'\w+|sera|seront|serait|va|vont|vais|allons|doit|doivent|devrait|faut|faudrait|peut|peux|pourrait|veux|voudrais|j'aimerais|espère|peutêtre|pense|pensais|crois|croyais|une fois|est-ce|pourquoi|comment|encore|tant que|à moins|loin d'\w+|dit qu\w*|disent|demande|affirme|paraît|semble|apparemment|on dirait|soi disant|à moitié)\b"
    r"|\b(?:nicht|kein|keine|keinen|keiner|niemand|nie|niemals|nichts|ohne|fast|beinahe|halb|teilweise|noch|bald|morgen|später|wenn|sobald|falls|nachdem|bis|bevor|ob|wird|werden|wirst|soll|sollte|sollten|muss|müssen|müsste|kann|können|könnte|würde|will|wollen|möchte|hoffentlich|vielleicht|vermutlich|angeblich|anscheinend|scheinbar|scheint|glaube|denke|dachte|sagt|sagte|meint|meinte|fragt|behauptet|warum|wann|wie|damit das|dass|alles andere als|weit davon)\b"
    r"|\b(?:no|nunca|jamás|nada|nadie|ningun[oa]?|sin|tampoco|casi|pronto|(?<!esta )(?<!la )mañana|luego|cuando|si|en cuanto|una vez|después|antes|hasta|será|serán|estará|estarán|va a|van a|vamos a|voy a|debe|deben|debería|hay que|tiene que|tenemos que|puede|podría|quiero|quisiera|espero|ojalá|quizás?|tal vez|creo|creía|pensé|pensaba|dice|dicen|dijo|pregunta|supuestamente|parece|al parecer|lejos de|a medias|por qué|cómo|aún|todavía|para que)\b"
)
"""What takes a claim back, or puts it in the future, in doubt, in somebody's wishes, or in somebody else's mouth."""

FRAMES = re.compile(
    r"^(?:please\b(?!.*\b(?:close|merge it|ship it)\b)"
    r"|(?:is|are|was|were|has|did|does|when|why|how|what|who|which|where|have (?:you|we|they)|do (?:we|you|they)|can|could)\b"
    r"|(?:add|assume|change|check|compare|count|create|describe|draft|ensure|explain|figure|filter|find|give|imagine|list|make|mark|pretend"
    r"|remind|rename|say|set|show|suppose|tell|use|verify|write|let me|find out|look for|search for|test (?:if|whether|that)|confirm (?:if|that|whether))\s"
    r"|(?:est-ce|pourquoi|quand|comment|qui|quel\w*|combien|où)\b|qu'\s"
    r"|(?:affiche|ajoute|assure|change|cherche|compte|crée|décris|dis|donne|écris|explique|fais|imagine|liste|marque|mets|montre|préviens"
    r"|rappelle|regarde|suppose|trouve|utilise|vérifie)[rz]?\s"
    r"|(?:ist|sind|hast|habt|wurde|läuft|funktioniert) (?:es|das|der|die|du|ihr)\b(?!.*\b(?:jetzt|wieder|endlich)\b)"
    r"|(?:wann|warum|wie|wer|was|welche\w?|wo|kann|können|könnt|bitte)\b"
    r"|(?:beschreibe?|erkläre?|erstelle?|filtere?|finde?|füge|ändere?|liste|mach|markiere?|nimm|prüfe?|schreibe?|setze?|sag|stell|such|überprüfe?|zähle?|zeige?)\s"
    r"|(?:cuándo|por qué|cómo|qui[eé]n(?:es)?|cuál(?:es)?|cuánt[oa]s?|dónde)\b"
    r"|(?:añade|asegúrate|avísame|busca|cambia|comprueba|crea|cuenta|describe|dime|encuentra|escribe|explica\w*|filtra|haz|imagina|lista|marca"
    r"|muestra|pon|recuérdame|revisa|supón|usa|verifica)\s)"
)
"""Beginnings of questions whose mark was forgotten, of requests and of orders."""

CONTRAST = re.compile(
    r"\b(?:but|except|however|although|though|yet)\b.{0,160}\b(?:not|n't|still|fail\w*|broke\w*|missing|except|crash\w*|only|later|wrong|left|remain\w*|error\w*|revert\w*|rolled back)|\bexcept\b|\bnot (?:today|any ?more|now)\b"
    r"|\b(?:only|just) (?:on|in|locally|for)\b.{0,80}\b(?:machine|locally|staging|dev)\b|\bon my machine\b|\brevert (?:it|this|that)\b|\btoo (?:early|soon)\b"
    r"|\b(?:mais|sauf)\b.{0,160}\b(?:pas|encore|échou\w*|casse\w*|plante\w*|manque\w*|seulement|reste|erreur\w*)|\bsauf\b|\bsur ma machine\b|\bplus maintenant\b"
    r"|\b(?:aber|ausser|jedoch|nur)\b.{0,160}\b(?:nicht|noch|fehl\w*|schlägt|scheiter\w*|kaputt|lokal)|\bnur lokal\b|\bauf meinem rechner\b|\bheute (?:aber )?nicht\b|\bnicht mehr\b"
    r"|\b(?:pero|salvo|excepto)\b.{0,160}\b(?:no|fall\w*|falta\w*|todavía|aún|sólo|solo|error\w*)|\ben mi máquina\b|\bya no\b|\bhoy no\b"
)
"""Sentences that praise and then take back."""

ADJECTIVES = re.compile(
    r"\b(?:a|an|the|any|some|each|every|of|all|use|uses|using|our|your|my|only|un|une|le|la|les|des|ein|eine|einen|der|die|das|el|los|las|una)\s+(?:\w+\s+)?(?:done|fixed|closed|completed|finished|merged|deployed|released|resolved|solved|shipped|published|live|abgeschlossene\w*|fertige\w*|gelöste\w*|(?:terminad|cerrad|resuelt)[oa]s?)\s+(?!(?:in|on|at|by|to|for|with|and|now|today|yesterday|this|it|the|as|already|again)\b)(?=\w)"
    r"|\b(?:closed|fixed|released|published|resolved|completed)\s+(?:source|width|point|rate|price|costs?|size|loop|form|captions?|position|list|items?|path|version|issues|tickets|tasks|date|interval)\b"
    r"|\b(?:how|as|the way|so)\s+(?:it|this|that|everything)\s+works?\b|\bso (?:läuft|funktioniert) das\b"
    r"|\b(?:une?|la|les|des|liste des)\s+(?:\w+\s+)?(?:tâches?|tickets?|version|liste)\s+(?:terminée?s?|résolue?s?|fermée?s?|déployée?s?|publiée?s?)\s+(?=est|sont)"
    r"|\b(?:una?|la|las|los|lista de)\s+(?:\w+\s+)?(?:tareas?|tickets?|versión|lista)\s+(?:terminad|resuelt|cerrad|publicad|desplegad)[oa]s?\s+(?=es\b|está)"
)
"""Completion words that describe a thing instead of claiming anything."""

UNTROUBLED = re.compile(
    r"\b(?:with(?:out)?|no|zero)\s+(?:no\s+|any\s+|further\s+)?(?:problems?|errors?|issues?|incidents?|trouble|hiccups)\b"
    r"|\b(?:sans|pas de)\s+(?:aucun\s+)?(?:problèmes?|soucis?|erreurs?|accrocs?|incidents?)\b"
    r"|\b(?:ohne|keine?)\s+(?:weiteren?\s+)?(?:probleme?|fehler|zwischenfälle|schwierigkeiten)$"
    r"|\b(?:sin|no hay)\s+(?:ningún\s+)?(?:problemas?|errores|incidencias|fallos)\b"
)
"""Negations that take nothing back: what went without problems is done."""

INVERTED = re.compile(r"-(?:t-)?(?:il|elle|ils|elles|on|tu|vous|nous|ce)\b")
"""A French question by word order (`est-il fermé`), or speech reported by it (`dit-il`)."""

ASKED = " comment "
"""What an inversion is read as: one of the words that take a claim back."""

LEAD_INS = re.compile(
    r"^(?:(?:ok|okay|great|nice|perfect|yes|yep|yeah|alright|well|cool|super|parfait|oui|bien|gut|ja|prima|sí|vale|perfecto|genial|and|so|et|und|y|then|danke|merci|gracias|thanks)\s+)+"
)
"""Words before a claim that say nothing."""
