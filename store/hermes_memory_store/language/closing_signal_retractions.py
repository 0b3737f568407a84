"""Patterns that take a claim that work is done back, or show that it is none, in English, French, German and Spanish."""

from __future__ import annotations

import re

INVERTED = re.compile(r"-(?:t-)?(?:il|elle|ils|elles|on|tu|vous|nous|ce)\b")
"""A French question by word order (`est-il fermé`), or speech reported by it (`dit-il`)."""

ASKED = " comment "
"""What an inversion is read as: one of the words that take a claim back."""

BLOCKERS = re.compile(
    r"\b(?:not|never|no|nothing|none|nobody|neither|nor|without|hardly|barely|almost|nearly|half|partly|partially|cannot|unless|until|till"
    r"|will|won't|shall|should|must|would|could|might|may|can|want|wants|wanted|need|needs|needed|going to|gonna|plan|plans|planning|let's|lets|try|trying|hope|hopefully|wish|expect|expected to|ought|supposed|have to|has to|had to|to be"
    r"|if|once|when|whenever|after(?!.*\b(?:again|now|finally|gone|away)\b)|before|while|as soon as|by the time|whether|why|how|which|what|where|who|unclear|wonder|ask|asks|asked|tell|tells|told|says?|said|claims?|claimed|reports?|reported|thinks|read that|maybe|perhaps|probably|think|thought|guess|believes?|believed|shows? .{1,40} as|assume|assumed|assuming|pretend|doubt|mark|like this|soon|tomorrow|next (?:week|sprint|month|release)|tonight|later today|in a (?:minute|moment|bit|sec)|about to|assuming|provided|according to|heard|comments|in case|as long as|only when|for now|come back to|blocked|later|eventually|ready to|used to|yet|still|un|nowhere|wrote|writes|far from|(?<!errors )(?<!failures )(?<!crashes )stopped|supposedly|apparently|allegedly|since (?:19|20)\d\d)\b"
    r"|n't\b|'ll\b|\b(?:i|we)'d\b"
    r"|\b(?:ne|n'\w+|pas|jamais|rien|aucune?|personne|sans|presque|quasi|bientôt|demain|quand|si|dès|lorsque?|lorsqu'\w+|après|avant|jusqu'\w+|sera|seront|serait|va|vont|vais|allons|doit|doivent|devrait|faut|faudrait|peut|peux|pourrait|veux|voudrais|j'aimerais|espère|peutêtre|pense|pensais|crois|croyais|une fois|ce soir|selon|d'après|m'a dit|prétend\w*|est-ce|pourquoi|comment|encore|tant que|à moins|loin d'\w+|dit qu\w*|disent|demande|affirme|paraît|semble|apparemment|on dirait|soi disant|à moitié)\b"
    r"|\b(?:nicht|keineswegs|mitnichten|kein|keine|keinen|keiner|niemand|nie|niemals|nichts|ohne|fast|beinahe|halb|teilweise|(?<!gestern )(?<!heute )noch|bald|gleich|nachher|heute abend|nächste woche|laut|lautet|gesagt|meinten?|(?<!heute )(?<!diesen )morgen|später|nach de[mr](?!.*\b(?:wieder|jetzt|endlich|weg)\b)|wenn|sobald|falls|nachdem|bis|bevor|ob|wird|werden|wirst|soll|sollte|sollten|muss|müssen|müsste|kann|können|könnte|würde|will|wollen|möchte|hoffentlich|vielleicht|vermutlich|angeblich|anscheinend|scheinbar|scheint|glaube|denke|dachte|sagt|sagte|meint|meinte|fragt|behauptet|warum|wann|wie|damit das|dass|alles andere als|weit davon)\b"
    r"|\b(?:no|nunca|jamás|nada|nadie|ni|ningun[oa]?|sin|tampoco|casi|pronto|(?<!esta )(?<!la )mañana|luego|según|dicho|comentan?|cuentan?|esta noche|el (?:lunes|martes|miércoles|jueves|viernes)|cuando|con tal|si|en cuanto|una vez|después|antes|hasta|será|serán|estará|estarán|va a|van a|vamos a|voy a|debe|deben|debería|hay que|tiene que|tenemos que|puede|podría|quiero|quisiera|espero|ojalá|quizás?|tal vez|creo|creía|pensé|pensaba|dice|dicen|dijo|pregunta|supuestamente|parece|al parecer|lejos de|a medias|por qué|cómo|aún|todavía|para que)\b"
)
"""What takes a claim back, or puts it in the future, in doubt, in somebody's wishes, or in somebody else's mouth."""

CONDITION = re.compile(
    r"^(?:(?:and|but|only|ok|so|und|aber|nur|et|mais|y|pero|sólo|solo) )*(?:if (?!you (?:need|want|have|see))|unless|once|assuming|provided|should|had (?:it|we|i|they)|were (?:it|we)|wäre[n]? (?:es|das|die|der|wir)|hätte[n]? |sollte[n]? |as soon as|as long as|when(?:ever)?|after|until"
    r"|wenn|falls|sofern|sobald|nachdem|solange|si(?! tu)|une fois|dès|quand|lorsqu\w*|à condition|en cuanto|cuando|siempre que|con tal|una vez|tras)\b"
)
"""Clauses on which those beside them depend."""

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

AFTERTHOUGHT = re.compile(
    r"^(?:but )?(?:not (?!only|just)|nicht (?!nur)|pas |no (?:en|para|con|el|la)\b)|^(?:but|mais|aber|pero|jedoch)\b"
    r"|\b(?:isn't|aren't|doesn't|hasn't|haven't|didn't|is not|are not|has not)\b|\b(?:pas|nicht|no)$|\bil manque\b|\breste à\b"
)
"""Clauses behind a claim that take it back: a condition, or that it does not hold somewhere."""

TROUBLE = re.compile(
    r"(?<!the )(?<!that )(?<!no )(?<!this )\b(?:fails?|failing|breaks|crashes|crashing|hangs|times out|throws|regress(?:es|ed)|reopen(?:ing|ed)?|revert(?:ed|ing)|rolled (?:it |everything )?back|roll (?:it )?back|broke)\b(?! (?:is|are|was|were|has) (?:now )?(?:gone|fixed))"
    r"|\b(?:is|are|'s|stays|remains|looks)\s+(?:(?:now|all|still|again|totally|also) )*(?:broken|down|red|stuck|flaky|missing|wrong|blocked|pending|unfinished|on fire)\b|\b(?:green|fine|done|works|good) \w+(?: \w+)? (?:red|broken|down)\b"
    r"|\b(?:broken|down|failing|crashing|wrong|back) again\b|\bstill (?:\w+ )?(?:the same |an? )?(?:error|fail\w*|broken|open|red|missing|down|crash\w*|happens|see\w*|times|throw\w*)|\b(?:returns?|shows?|gives?|throws?|gets?) (?:an? |the same |some )?(?:errors?|5\d\d|4\d\d|exceptions?|timeouts?)\b"
    r"|\b(?:bug|error|issue|problem|crash|it)(?:'s| is| came| has come) back\b(?! (?:up|online|to normal))|^\W*(?:oh |no |hm+ |uh )*(?:wait|never ?mind|scratch that|false alarm|spoke too soon)\b|\b(?:in progress|wip|offline|unreachable|unavailable|on hold|time out|timing out|unstable|reappeared|resurfaced)\b|\bfixed (?:it|that|this) (?:and )?broke\b|\bnot \w+ after all\b|\bno luck\b|\b(?:keeps?|are|is) (?:still )?(?:seeing|getting|hitting|failing|having (?:issues|problems|errors))\b"
    r"|\b(?:plante\w*|échoue\w*|casse|(?:est|sont|c'est) (?:\w+ )?(?:cassée?s?|en panne|rouges?|bloquée?s?|down)|injoignables?|en erreur|(?:renvoie|affiche|donne) (?:une|des|l')? ?erreurs?|en cours|replante|revenir en arrière|puis annulée?|retombée?|revenue?(?= mais|$)(?<!prod est revenue)|fausse alerte|en fait non|ne l'est plus)\b"
    r"|\b(?:schlägt \w* ?fehl|fehlgeschlagen|kaputt|stürzt (?:\w+ )?ab|abgestürzt|kracht|hängt|(?:zeigt|meldet|wirft|gibt) (?:\w+ )?fehler|in arbeit|aufgetaucht|ist rot|sind rot|zurückgerollt|fehlalarm|doch nicht|zu früh gefreut|wieder (?:da|zurück)|(?:fehler|bug) ist zurück|fehlt|fehlen)\b"
    r"|\b(?:falla|fallan|fallando|sigue[n]? (?:sin|rot[oa]s?|fallando|mal)|rot[oa]s?|se (?:cae|caen|rompe)|en rojo|da[n]? (?:un )?error(?:es)?|en curso|vuelve a (?:fallar|romperse)|me precipité|falsa alarma|pues no|revertir\w*|se ha vuelto a|volvió a (?:fallar|romper\w*)|volvió el|ha vuelto (?:el|a)|falta|faltan)\b"
)
"""Something fails now, or fails again: what was claimed before it does not count."""

PARTIAL = re.compile(
    r"(?<!100)(?<!100 )(?:\b(?!100)\d+ ?%)|\b(?:apart from|aside from|other than|all but|mostly|basically|practically|virtually|partway|halfway|polishing|almost there|getting there|so far|one more|the (?:easy|hard|main|big|first|tricky) (?:part|half|bit|one)|done-?ish|(?:drei|zwei) (?:viertel|drittel)|trois quarts|(?:tres|dos) (?:cuartas|tercios)|the (?:bulk|majority) of|the first (?:two|three|few|half|part)|the rest (?:will|follows|comes)|good to go(?= once))\b"
    r"|(?<!nothing )\b(?:remain(?:s|ing)?|missing)\b|(?<!nothing )\bleft\b(?! (?:the|it|for))|\b(?:one|two|three|four|five|more|\d+) to go\b"
    r"|\b(?:one|two|three|four|five|six|some|most|many|several|parts?|half|\d+) (?:out )?of\b|\bpart (?:one|two|\d+)\b.*\b(?:next|follows|to do)\b|\b(?:first|one) (?:part|half|step|batch)\b.*\b(?:next|second|more|other)\b"
    r"|\b(?:il (?:ne )?reste|reste (?:à|la|le|les)|quasiment|en partie|une (?:bonne )?partie|la plupart|il manque|à moitié|la moitié|partiellement|(?:un|deux|trois|quatre|\d+) (?:\w+ )?sur (?:deux|trois|quatre|cinq|\d+)|à peu près)\b"
    r"|\b(?:zum teil|ein teil|grösstenteils|so gut wie|bis auf|(?:die|zur) hälfte|der (?:grösste|erste) teil|(?:ein\w*|zwei|drei|vier|\d+) von|weitgehend|beinahe|nahezu)\b"
    r"|\b(?:medio|menos (?:el|la|los|las)|parcialmente|la mitad|una parte|la mayor parte|la mayoría|a medias|(?:un[oa]?|dos|tres|cuatro|\d+) de (?:los|las|dos|tres|cuatro|cinco|\d+)|prácticamente|queda por)\b"
)
"""Claims of less than the whole."""

IRONY = re.compile(
    r"\b(?:as if|yeah (?:right|sure)|said no one|bonne blague|sí seguro|sure sure|my ass|my foot|in your dreams|lol|if you (?:like|enjoy|love|call)|finished crashing|tu parles|mon œil|bien sûr|c'est ça$|ou pas|mort de rire|von wegen|schön wär's|haha|ja (?:genau|klar)|dass ich nicht lache|am arsch|mis narices|mais bien sûr|claro que no|qué va|ni hablar|ni de broma|ja ja|sí claro)\b"
    r"|(?:…|\.\.|,)\s*(?:not|nicht|ou pas|qué va)\W*$|^\s*(?:not|nicht|ou pas|qué va|von wegen)\W*$"
)
"""Praise that means its opposite, also as a sentence of its own behind the praise."""

AGENDA = re.compile(
    r"^\W*(?:to ?-?do|to be done|still to do|left to do|remaining|next steps?|things to|open|pending|à faire|reste|noch zu tun|zu erledigen|offen|aufgaben|por hacer|pendientes?|queda por|tareas|checklist|outstanding|agenda|plan|goals?|criteria|definition|we need|il faut|restent|zu tun|falta)\b[^:]*:|^\W*\[ ?\]"
)
"""A list of what is to be done."""

OTHER_SENSE = re.compile(
    r"\b(?:ports?|sockets?|connections?|files?|handles?|shops?|stores?|doors?|windows?|streams?|intervals?|loops?|magasin|verbindung|laden|conexión|connexion|tienda|puerto|bornes?)\b.{0,30}?\b(?:closed|finished|open|fermée?|geschlossen|cerrad[oa])\b"
    r"|\b(?:done|fixed|closed|completed|merged|resolved|finished|released|fermée?s?|cerrad[oa]s?|geschlossen) (?:by|par|durch|por|after|nach|après|with a)\b|\bwell done\b|\bdone (?:waiting|trying|arguing|being|working|dealing|fighting)\b"
    r"|^(?:une?|una?|an?) \w+ \w+$|\b(?:so|i'm|i am|s?he's|s?he is) done with (?:this|these|that) (?!one\b|task|ticket|part|feature|pr\b|branch|issue|step|work|page|module|topic)|\bworks by\b|\b(?:marked|flagged|labelled|set|considered) (?:as )?(?:done|completed?|closed|resolved|fixed)\b|\bwhatever\b|\b(?:it|this|that|which) works by\b"
    r"|\b(?:finished|came in|placed) (?:first|second|third|last)\b|\b(?:une?|la) (?:valeur|boucle|adresse|liste)\b(?! (?:est|sont|a)\b)|\bein (?:geschlossene\w*|gelöste\w*)|\bfunciona con\b|\bfonctionne (?:avec|par)\b|\bmarche (?:par|avec)\b|\bläuft (?:auf port|im speicher|unter|über|als)\b|\bon sundays\b|\bsonntags\b|\bdomingos\b|\ble lundi$"
)
"""Completion words about things that are not work."""

ADJECTIVES = re.compile(
    r"\b(?:a|an|the|any|some|each|every|of|all|use|uses|using|our|your|my|only|un|une|le|la|les|des|ein|eine|einen|der|die|das|el|los|las|una)\s+(?:\w+\s+)?(?:done|fixed|closed|completed|finished|merged|deployed|released|resolved|solved|shipped|published|live|abgeschlossene\w*|fertige\w*|gelöste\w*|(?:terminad|cerrad|resuelt)[oa]s?)\s+(?!(?:in|on|at|by|to|for|with|and|now|today|yesterday|this|it|the|as|already|again)\b)(?=\w)"
    r"|\b(?:closed|fixed|released|published|resolved|completed)\s+(?:source|width|point|rate|price|costs?|size|loop|form|captions?|position|list|items?|path|version|issues|tickets|tasks|date|interval)\b"
    r"|\b(?:how|as|the way|so)\s+(?:it|this|that|everything)\s+works?\b|\bso (?:läuft|funktioniert) das\b"
    r"|\b(?:une?|la|les|des|liste des)\s+(?:\w+\s+)?(?:tâches?|tickets?|version|liste)\s+(?:terminée?s?|résolue?s?|fermée?s?|déployée?s?|publiée?s?)\s+(?=est|sont)"
    r"|\b(?:una?|la|las|los|lista de)\s+(?:\w+\s+)?(?:tareas?|tickets?|versión|lista)\s+(?:terminad|resuelt|cerrad|publicad|desplegad)[oa]s?\s+(?=es\b|está)"
)
"""Completion words that describe a thing instead of claiming anything."""

UNTROUBLED = re.compile(
    r"\b(?:with(?:out)?|no|zero)\s+(?:no\s+|any\s+|further\s+)?(?:problems?|errors?|issues?|incidents?|trouble|hiccups|a (?:hitch|problem|fuss|glitch)|breaking anything)\b"
    r"|\b(?:sans|pas de)\s+(?:aucun\s+)?(?:problèmes?|soucis?|erreurs?|accrocs?|incidents?)\b"
    r"|\b(?:ohne|keine?)\s+(?:weiteren?\s+)?(?:probleme?|fehler|zwischenfälle|schwierigkeiten)(?=$|\s+(?:durch|ab)\b)"
    r"|\b(?:sin|no hay)\s+(?:ningún\s+)?(?:problemas?|errores|incidencias|fallos)\b"
)
"""Negations that take nothing back: what went without problems is done."""

LEAD_INS = re.compile(
    r"^(?:(?:ok|okay|great|nice|perfect|yes|yep|yeah|alright|well|cool|super|parfait|oui|bien|gut|ja|prima|sí|vale|perfecto|genial|and|so|et|und|y|then|danke|merci|gracias|thanks)\s+)+"
)
"""Words before a claim that say nothing."""
