"""Patterns for claims that work is done, in English, French, German and Spanish.

What takes a claim back is in `closing_signal_retractions.py`.
"""

from __future__ import annotations

import re

DONE_EN = (
    r"(?:done|finished|completed?|merged|deployed|shipped|released|fixed|resolved|solved|closed|landed|delivered|implemented"
    r"|published|restored|repaired|squashed|launched|handled|migrated|verified|sorted(?: out)?)"
)
STATE_EN = r"(?:live|online|over|in place|good to go|in production|up and running|out the door|back up|up again|all set|in order|out(?=$| now| today))"
END_EN = (
    r"(?:$|\s+(?:now|already|today|yesterday|thanks?|thank you|everyone|team|guys|finally|and|with|to|in|on|as|by|into|this|at"
    r"|for|successfully|everywhere|again|too|here|v?\d)\b)"
)
"""What may follow a participle that stands alone."""

OBJECT = r"(?:\s+\w+){0,4}?"
"""The object between a verb and its particle."""

PERFECT = r"(?:\b(?:have|has|been|got|get|was|were)|'ve|'s)\s+(?:(?:just|now|finally|already|all|also)\s+){0,2}"

CHECKS_EN = r"(?:ci|pipelines?|builds?|tests?|checks?|suites?|everything|all|jobs?)"

TROUBLE_NOUN_EN = r"bugs?|crash(?:es)?|errors?|leaks?|issues?|problems?|warnings?|failures?|regressions?|exceptions?|flak(?:e|iness)|outages?"

BEGUN_EN = (
    r"(?:been|seen|noticed|reported|requested|asked|mentioned|planned|scheduled|delayed|postponed|blocked|discussed|suggested|opened"
    r"|reopened|assigned|started|begun|affected|broken|moved|failing|running|open|waiting|tried|attempted|proposed|drafted|needed|expected"
    r"|wanted|used|known|called|named|given|told|said|considered|thought|confused|stuck|red|reverted|rejected|cancelled|abandoned|ignored"
    r"|working|going|getting|having|trying|looking|there|here|on|in|up|down|a|an|the|very|so|too|added|written|changed|made|\w+ing)"
)
"""What was only begun, talked about or spoilt, among participles."""

ENGLISH = (
    # Whatever has been acted on is done, unless the action only begins something.
    rf"\b(?:has|have) (?:(?:just|now|finally|already|all|also|successfully|fully) ){{0,2}}been (?:(?:\w+ly|now|all|just) )?(?!{BEGUN_EN}\b)(?:\w+ed|rebuilt|sent|built|run|set up|put in place|taken over)\b",
    rf"{PERFECT}\w+ed{OBJECT} (?:everything|all of it|all the|the last|the rest)\b|{PERFECT}(?:patched|ported|automated|documented|removed|replaced|upgraded|renamed|refactored) (?:it|them|everything|all)\b|\b(?:tracked|hunted|chased){OBJECT} down and \w+ed\b",
    rf"\b(?:errors?|crashes|failures|alerts) (?:have |has )?(?:stopped|ceased)\b|\bworking end to end\b|\ball (?:services|systems|machines|jobs|nodes) (?:run|work|are up)\b|^(?:i |we |i've |we've |just )*finished (?:\w+ ){{0,2}}(?:everything|all)\b|\bcleared{OBJECT} up\b.{{0,40}}\bmerged\b",
    r"^(?:(?:i|we|i've|we've|just|now|finally|have|i'm|we're) )*(?:finished|done|completed|through with) \w+ing\b",
    r"\b(?:went|go|gone|goes|going) (?:well|fine|smoothly|through|as planned|without a hitch|off without)\b",
    r"\b(?!is|was|has|this|does|its|us|as)\w{2,}s (?:now )?(?:correctly|properly|as expected|flawlessly|perfectly|cleanly|again now|fine now|like a charm)\b|\bnow (?:loads|renders|passes|builds|compiles|runs|starts|behaves|responds|returns) (?:\w+ )?(?:correctly|properly|fine|again)\b",
    r"^(?:(?:it|everything|this|all|that|the (?:build|suite)|now|finally) )+(?:passes|builds|compiles|runs|loads|passed|worked)$|\b(?:we|i) (?:finally )?(?:did it|made it|nailed it|pulled it off|cracked it)$|\bgreen (?:across the board|everywhere|all over|again|at last)\b",
    r"\b(?:is|are) (?:now )?(?:switched|turned) on\b|\b(?:is|are) (?:now )?(?:enabled|active|activated) (?:for (?:all|every)|everywhere|in (?:all|prod))|\b(?:is|are) (?:now )?on for (?:all|every)|\b(?:is|are) (?:now )?(?:fully|completely|entirely|all) (?!\w+ing)\w+ed\b",
    r"\b(?:that|this) takes care of\b|\bchalk \w+ (?:\w+ )?up as\b|\ball systems go\b|\bcan put (?:this|that|it)(?: one)? to (?:rest|bed)\b|\bthat was it\b(?! (?:not|was))",
    r"\b(?:is|are|'s|'re|was|been|got|gets|be|looks|seems)\s+(?:(?:now|all|finally|fully|already|just|officially|completely|successfully)\s+){0,3}"
    rf"(?:{DONE_EN}|{STATE_EN})\b",
    rf"^(?:(?:all|it's|and|now|finally|just|successfully|everything)\s+){{0,3}}{DONE_EN}{END_EN}",
    rf"^(?:(?:i|we|i've|we've|and|just|now|finally)\s+){{0,3}}(?:{DONE_EN}|pushed|cleared up)\s+(?:version|release|v?\d+|the|your|my|our|it|this|that|all|everything|both)\b",
    rf"^\w+\s+(?:\w+\s+)?{DONE_EN}(?:$|\s+(?:to|in|on|by|and|now|today|successfully)\b)",
    r"\bgot (?:it|this|that|everything) (?:all )?(?:working|to work|running)\b",
    r"\b\w+\s+(?:(?:just|now|finally|already|all|successfully)\s+){0,2}(?:landed|merged|shipped|deployed|launched|finished|completed|released|went live|wrapped up|went through)\b",
    r"\b(?:i|we|they|he|she|that|this|'ve|have|has)\s+(?:(?:just|now|finally|already)\s+){0,2}(?:fixed|resolved|solved|closed|published|delivered|implemented)\s+(?:it|this|that|the|all|everything)\b",
    r"\b(?:it|this|that|everything|all)(?:\s+all)?\s+(?:now\s+|finally\s+)?works?\b",
    r"\bworks?\s+(?:now|perfectly|great|fine|like a charm|as expected|again|flawlessly)\b",
    r"\b(?:is|are|'s|it's)\s+(?:now\s+|finally\s+)?working\s*(?:now|perfectly|again|as expected|fine|in production|$)|^(?:confirmed\s+)?working (?:now|in production|as expected)\b",
    r"\blgtm\b|\bship it\b|^merge it\b|\bgood to go\b|^(?:we're |you're )?all set\b|\bthat(?:'s| is) a wrap\b|\bjob done\b|\bmission accomplished\b",
    r"^closing\s+(?:this|it|the)\b|^close\s+(?:this|it|the\s+(?:ticket|issue|scope|task))\b|\bi'm closing\s+(?:this|it)\b|\bi'?m done\b|\bwe'?re done\b|\bcalling it done\b",
    # Particle verbs that complete, with their object on either side: rolled the change out, wrapped it up, was checked in.
    rf"\b(?:wrap(?:s|ped)|tidied|buttoned|tied|sewn|mopped|cleaned|cleared|finished){OBJECT} up\b",
    rf"\b(?:rolled|sorted|ironed|pushed|knocked|carried|phased|hammered|sent|shipped){OBJECT} out\b",
    rf"\b(?:signed|finished|polished|ticked|crossed|checked|rounded|knocked|closed|handed){OBJECT} off\b",
    rf"\b(?:closed){OBJECT} out\b|\b(?:pushed|carried){OBJECT} through\b|\b(?:switched|handed|cut){OBJECT} over\b",
    rf"\b(?:merged|checked){OBJECT} in\b|\bput to (?:bed|rest)\b|\b(?:taken|took) care of\b|\bdealt with\b",
    rf"{PERFECT}(?:set{OBJECT} up and|(?:turned|switched){OBJECT} on|brought{OBJECT} (?:back up|online|back)|put{OBJECT} (?:live|in place|into production)|gone (?:live|out|through)|nailed it|cracked it|done it|pushed{OBJECT} live|tracked{OBJECT} down and fixed)\b|\btracked{OBJECT} down and fixed\b",
    r"\b(?:managed to get|got) (?:it|this|that|everything|the (?:\w+ ){1,3}?)\s?(?:all )?(?:working|to work|running|to pass|to build|sorted|fixed|done)\b",
    # What was looked after stands well: checks, builds and machines.
    rf"\b{CHECKS_EN}(?: (?:\w+ )?(?:is|are))?(?: (?:now|all|finally|back|again|fully))* (?:green|passing|happy)\b|\b{CHECKS_EN} (?:now |all |finally )*pass(?:es|ed)?\b",
    r"\b(?:deploy(?:ment)?|release|build|upgrade|migration|rollout|import|job|launch|install(?:ation)?|cutover|backfill) (?:has |have )?(?:just |finally )?(?:succeeded|ran through|worked|went (?:well|fine|smoothly|through))\b",
    rf"\b(?:{TROUBLE_NOUN_EN}) (?:is|are|'s|has|have|went|seems)\b.{{0,24}}?\b(?:gone|away|disappeared|vanished|history)\b|\b(?:service|server|prod|production|site|system|api|everything) (?:is|are) back\b|'s back up(?=\s|$)",
    r"\b(?:that|this|it) was (?:it$|the (?:very )?last (?:one|open|of|task|thing|point|item|piece|bit|bug|ticket|step|test)\b)",
    r"\b(?:customer|client|users?|qa|reviewers?|boss|everyone|stakeholders?) (?:has |have )?(?:confirmed|accepted|approved)\b|^(?:tested|verified|reviewed|approved|checked|confirmed|tests?)(?: \w+)?(?: and|$)(?: (?:working|merged|approved|verified|tested|live|good|green|deployed))?(?: (?:in|on) \w+)?$",
    r"\b(?:pr|mr|patch|fix|change|commit|feature|branch|it)(?: #?\d+)?(?: is|'s) (?:now |all )?in(?:$| now| main| master)|\b(?:finally )?(?:builds|compiles|runs)(?: and)?(?= and|$)|\beverything (?:on the list )?(?:is )?(?:runs|checked off|passes|there)\b",
    # Idioms of endings.
    r"\b(?:we|you)(?:'re| are) (?:now )?(?:all )?(?:golden|good(?: here| now)?|through|sorted|home free|set|there)$|\bit(?:'s| is) (?:all )?(?:good now|alive|a wrap|in the (?:bag|can)|fine now)\b|\b(?:that|this) (?:one )?(?:nailed it|does it|settles it|about wraps|'ll do it|will do it|wraps)\b",
    r"\bcall it (?:a day|done|good|a wrap)\b|\bput a bow on\b|\bconsider it (?:done|closed|fixed)\b|\bwork(?:s|ed) (?:a treat|a charm|end to end|everywhere|for everyone|as it should|as intended|beautifully|nicely|too|at last|just fine)\b|^(?:ok )?closing(?: (?:now|as \w+))?$|^(?:success|victory)$",
    r"\bwent live\b|\ball (?:the )?(?:tests|checks) (?:pass|passed|are green)\b|\ball green\b|\bsigned off\b|\bthat did (?:it|the trick)\b",
)

DONE_FR = (
    r"(?:finie?s?|terminée?s?|faite?s?|déployée?s?|mergée?s?|fusionnée?s?|livrée?s?|résolue?s?|corrigée?s?|réglée?s?|publiée?s?"
    r"|bouclée?s?|pliée?s?|testée?s? et \w+|intégrée?s?|remise?s? en (?:route|service|marche)|mise?s? en (?:service|place)|poussée?s?|close?s?|fermée?s?|validée?s?|achevée?s?|réparée?s?|sortie?s?|rétablie?s?|mise?s? en (?:prod(?:uction)?|ligne))"
)
FRENCH = (
    r"\b(?:a|ont) (?:enfin |bien |déjà |tous |toutes )?été (?:bien )?(?!demandé|signalé|vu|prévu|reporté|ouvert|commencé|proposé|annulé|cassé|refusé|bloqué|ajouté|évoqué|touché|mentionné)\w+(?:é|i|is|ie|u|it)e?s?\b",
    rf"\bj'ai (?:\w+ ){{1,8}}?et {DONE_FR}\b|\b(?:réussi|arrivés?) à (?:le |la |les |tout )?\w+er?\b|\berreurs? (?:ont|a) (?:cessé|disparu)\b|\bc'est nickel\b",
    r"\bs'est (?:très |tout )?bien (?:passée?|déroulée?|terminée?)|\b(?:re)?fonctionne (?:de|à) nouveau\b|\bc'est (?:carré|gagné|acquis|ficelé|emballé|réussi)\b|\bça (?:c'est fait|baigne|passe)\b",
    r"\b(?:est|sont|a été|ont été|c'est|s'est)\s+(?:(?:enfin|maintenant|bien|tout|déjà|désormais|complètement|entièrement)\s+){0,3}"
    rf"(?:{DONE_FR}|prête?s?|en prod(?:uction)?|en ligne|bon(?:ne)?|opérationnel(?:le)?s?|fonctionnel(?:le)?s?|en place|dans la (?:boîte|poche)|plié|revenue?s?|au vert|ok(?= pour moi)|tout bon)\b",
    rf"^(?:(?:c'est|tout|bon|voilà|ça y est|enfin)\s+){{0,3}}{DONE_FR}(?:$|\s+(?:en|hier|ce|cette|merci|aujourd'hui|et|dans|sur|à)\b)",
    rf"^\w+\s+(?:\w+\s+)?{DONE_FR}$",
    r"\b(?:ça|cela|tout|elle|il)\s+(?:marche|fonctionne|tourne|remarche|refonctionne)\b|\b(?:marche|fonctionne|remarche|refonctionne)\s+(?:maintenant|enfin|bien|parfaitement|à nouveau|de nouveau)\b",
    rf"\b(?:j'ai|on a|on l'a|nous avons|nous l'avons|je l'ai|a|ont)\s+(?:(?:enfin|tout|bien|déjà|fini de|fini par)\s+){{0,3}}(?:l[ea] )?(?:été )?(?:bien )?(?:{DONE_FR}|corriger|mis (?:\w+ ){{0,3}}?en (?:prod|production|ligne|service))(?:\s|$)",
    r"\b(?:viens|vient|venons) (?:tout juste )?de (?:l[ea] |les |tout )?(?:mettre (?:\w+ ){0,3}?en (?:prod|ligne|service)|pousser|boucler|déployer|merger|fusionner|livrer|corriger|terminer|finir|publier|fermer|régler|résoudre)\b",
    r"\b(?:tests?|ci|builds?|pipeline|tout|tous) (?:\w+ )?(?:est|sont|passe(?:nt)?)?(?: tous| toutes| enfin| maintenant)* ?(?:au |en )?(?:verte?s?|passent)\b|\btout passe\b|\btests au vert\b",
    r"\b(?:bug|souci|problème|erreur|fuite(?: mémoire)?|plantage)s? (?:a|ont) disparu|\bc'était l[ea] dernière?\b|\b(?:client|recette|équipe|utilisateurs?) (?:l')?(?:a|ont) (?:tout )?(?:validé|accepté|approuvé)",
    r"\bon (?:est bons?|s'en est occupé|clôt|peut clore)\b|\bje (?:clôture|m'en suis occupé)\b|\bparti en prod\b|\bil n'y a plus rien\b|\btout (?:est|a été) (?:en place|en ordre|remis)",
    r"\bça y est\b|\bje (?:ferme|clos)\b|\bles tests passent\b",
)

DONE_DE = (
    r"(?:fertig|erledigt|abgeschlossen|gemergt|gemerged|deployt|deployed|ausgerollt|ausgeliefert|veröffentlicht|behoben|gefixt"
    r"|repariert|gelöst|geschlossen|live|online|fertiggestellt|umgesetzt|produktiv|durch|durchgelaufen|geschafft|draussen|erfolgreich"
    r"|released|vollendet|beendet|in produktion|eingespielt|freigeschaltet|abgenommen|abgehakt|zugemacht|hingekriegt|hinbekommen|durchgezogen"
    r"|hochgefahren|live geschaltet|live gegangen|abgeräumt|fertig gemacht|drin|(?:im|in trockenen) (?:kasten|tüchern)|gegessen|unter dach und fach|alles in butter|grün|weg(?=$)|durchgegangen|aktiviert|migriert|angenommen)"
)
GERMAN = (
    r"^(?:na |so )*(?:endlich )?es geht(?: wieder| jetzt)?$|\b(?:zum laufen|nach hause) (?:gebracht|bekommen|gekriegt)\b|\b(?:ist|sind) (?:\w+ )?(?:umgezogen|geprüft|getestet|aktiviert|migriert)\b",
    r"\b(?:gut|glatt|reibungslos|problemlos|sauber) (?:gelaufen|verlaufen|durchgelaufen|gegangen)\b|\b(?:vom (?:eis|tisch)|über die bühne|wie (?:am schnürchen|geschmiert)|in trockenen tüchern|vollbracht|wackelt und hat luft)\b|\bfertig (?:bekommen|gekriegt|geworden|gestellt)\b",
    r"\b(?:ist|sind) (?:\w+ ){0,3}?(?!gemeldet|geplant|gestartet|verschoben|abgebrochen|angefragt|begonnen|besprochen)(?:\w*ge\w+t|\w+iert|\w*ge\w+en) worden\b",
    rf"\b(?:ist|sind|war|wurde|wurden|alles|bin|wäre|wären|endlich)\s+(?:\w+\s+){{0,4}}?{DONE_DE}\b",
    rf"^(?:(?:alles|so|endlich|bereits|jetzt)\s+){{0,3}}{DONE_DE}$",
    rf"^\w+\s+(?:\w+\s+)?{DONE_DE}$",
    r"\b\w+\s+(?:funktioniert|läuft|klappt|geht wieder)(?:\s+(?:jetzt|nun|endlich|wieder|alles|einwandfrei|perfekt|wie erwartet))?\s*$",
    r"\b(?:funktioniert|läuft|klappt|geht)\s+(?:jetzt|nun|endlich|wieder|einwandfrei|perfekt|wie erwartet)\b|^(?:jetzt|nun|endlich)\s+(?:funktioniert|läuft|klappt|geht)\b",
    rf"\b(?:habe|haben|hab|hab's|hat)\s+(?:\w+\s+){{0,4}}?{DONE_DE}\b",
    r"^läuft$|^(?:das|die \w+|den \w+) habe(?:n)? (?:ich|wir) (?:\w+ ){0,3}?(?:erledigt|durchgezogen|abgeschlossen|behoben|gelöst|ausgerollt|umgesetzt)$|\bfertig ist die\b|\b(?:das )?(?:wär|war)'s\b|\bdas war (?:das|der|die) letzte\w*\b",
    r"^(?:\w+ )?(?:alles|tests|ci|pipeline|build) grün$",
    r"\b(?:lief|liefen) (?:\w+ ){0,3}?durch\b",
    r"^das war's\b|\btests laufen (?:alle |jetzt |wieder )*durch\b",
    r"\bhat (?:alles )?(?:geklappt|funktioniert)\b|\bschliesse (?:das|es|den|die)\b|\b(?:alle )?tests (?:sind|laufen) grün\b",
)

DONE_ES = (
    r"(?:(?:terminad|hech|acabad|desplegad|fusionad|mergead|resuelt|arreglad|corregid|solucionad|publicad|lanzad|entregad|cerrad"
    r"|completad|finalizad|restablecid|probad|zanjad|validad|migrad|integrad|subid)[oa]s?)"
)
SPANISH = (
    r"\b(?:se ha|se han|ha sido|han sido|ya se ha) (?:ya |todo )?(?!pedid|vist|report|plane|propuest|abiert|empezad|rot|cancelad|retrasad|bloquead|discutid|mencionad|añadid)\w+(?:ado|ido)[as]?s?\b",
    r"\b(?:salió|salieron|fue|ha ido|ha salido|fueron) (?:todo )?(?:muy )?bien\b|\bvuelve[n]? a funcionar\b|\b(?:conseguido|logrado|liquidad[oa]|finiquitad[oa]|rematad[oa]|solventad[oa]|listísimo)\b|\bya lo (?:tenemos|tengo|hemos)\b|\bsacado adelante\b|\bya estaría\b|\bhecho funcionar\b",
    r"\b(?:está|están|quedó|quedaron|queda|ha sido|fue|fueron|han sido|ya|ha quedado|han quedado|hemos dejado|he dejado|se ha|se han|todo)\s+(?:(?:ya|todo|por fin|finalmente|ahora)\s+){0,3}"
    rf"(?:{DONE_ES}|list[oa]s?|complet[oa]s?|en producción|en línea|operativ[oa]s?|en verde|verdes?|en orden|en marcha|niquelad[oa]|de lujo|puesto en marcha|puesto en producción|dado de alta)\b",
    rf"^(?:(?:todo|ya|por fin|bien)\s+){{0,3}}(?:{DONE_ES}|listo)(?:$|\s+(?:en|hoy|ayer|gracias|y|esta|con|a)\b)",
    rf"^\w+\s+(?:\w+\s+)?{DONE_ES}$",
    r"\b(?:ya|ahora|todo|por fin|esto|eso)\s+(?:\w+\s+)?funciona\b|^funciona\b|\bfunciona\s+(?:ya|ahora|perfectamente|bien|de nuevo|otra vez)\b",
    rf"\b(?:he|hemos|han|ha)\s+(?:ya\s+)?{DONE_ES}\b",
    r"\b(?:arreglé|terminé|acabé|resolví|corregí|solucioné|publiqué|desplegué|fusioné|cerré|completé|entregué|lancé"
    r"|arreglamos|terminamos|acabamos|resolvimos|corregimos|solucionamos|publicamos|desplegamos|fusionamos|cerramos|completamos|lanzamos)\b",
    r"\b(?:he|hemos|han|ha|acabo de|acabamos de|se ha) (?:\w+ ){0,2}?(?:puesto|poner\w*|sacado|salido|dejado|subir\w*|conseguido) (?:\w+ ){0,3}?(?:a producción|en producción|en marcha|list[oa]|arreglar|resuelt[oa])",
    r"\b(?:ci|pipeline|build|tests?|pruebas|todo) (?:está|están) (?:ya )?(?:en )?verdes?\b|\b(?:error|fallo|problema|bug) (?:ha desaparecido|desapareció)|\b(?:el|la) \w+ ya va\b|\bcliente (?:lo )?ha (?:validado|aceptado|aprobado)|\bcierro el (?:tema|ticket)\b",
    r"\b(?:acabo|acabamos) de (?:subir|desplegar|publicar|fusionar|mergear|arreglar|terminar|cerrar|corregir|resolver|lanzar|entregar)\w*",
    r"\b(?:terminó|terminaron|finalizó|acabó)(?:$|\s+(?:bien|ya|con éxito|hoy|ayer))|\bestá funcionando(?:$|\s+(?:ya|bien|ahora|otra vez|de nuevo|perfectamente))",
    r"\bya está$|\bya quedó$|\bse (?:desplegó|publicó|arregló|resolvió|cerró|fusionó|terminó|completó|solucionó|corrigió)\b|\bha quedado (?:list[oa]|resuelt[oa]|arreglad[oa])|^cierro\b|\blo cierro\b|\blos tests pasan\b",
)


WORK_EN = r"(?:topics?|subjects?|tasks?|tickets?|items?|things?|ones?|issues?|features?|stor(?:y|ies)|cards?|points?|parts?|work|modules?|pages?|services?|sides?|sections?|apps?|pieces?|scripts?)"

START = r"(?:^|(?<=[,:;–—(] )|(?<=[,:–—(]))"
END = r"(?=$|\s?[,:;–—()])"
"""Where a clause begins and ends in its sentence."""

IDIOMS = (
    rf"{START}(?:(?:and|so|then|ok|well|right|this one's|this is|it's|that's|we can call this one|call it) )*(?:a wrap|a done deal|done and dusted|in the (?:bag|can|books)|all she wrote|home and dry|sorted|nailed(?: it)?|case closed|mission complete|crossed off the list|good to ship|all sorted|all good(?: now| here)?|signed|smooth sailing(?: now)?|that's (?:that(?: then)?|it|all(?: folks)?|everything|the lot)|that'll do(?: it)?|(?:we have )?lift ?off|we can call (?:this|it)(?: one)? (?:done|finished|closed|complete|a wrap)){END}",
    rf"{START}(?:(?:et|bon|nickel|impeccable|top|allez|ouf|voilà) )*(?:nickel|impeccable|emballé|affaire classée|le tour est joué|voilà le travail|hop|ça roule|ça passe(?: maintenant)?|ça tourne|testé et \w+|on est bons?|mission accomplie|victoire){END}",
    rf"{START}(?:(?:so|alles|und|ja|passt|das) )*(?:haut hin|sitzt|thema durch|abgehakt|haken dran|passt(?: so)?|paletti|hätten wir|in butter|im grünen bereich|umgesetzt und getestet|getestet und \w+|unter dach und fach|tests grün|ticket zu){END}",
    rf"{START}(?:(?:uf|bien|y|por fin|todo|todas las|los|las) )*(?:eso es todo|ya está todo|misión cumplida|todo (?:en )?(?:orden|verde|ok)|en verde|va (?:fino|perfecto|de maravilla|como la seda|genial)(?: ahora| ya)?|ya va|list[oa] \w+|tema cerrado|era lo último|era el último \w+|pruebas pasan|tests pasan){END}",
)
"""What people say at the end of work, as a clause of its own."""

MOVES_ON = (
    rf"(?:{START}|\b(?:let's|let us|we can(?: now)?|time to|good to|ready to|i'm|i am|we're|we are|we|i'll|now) )(?:now )?mov(?:e|ing) (?:on|along|ahead)(?: now)?(?:{END}|(?=\s+(?:to|from|with|now|then)\b))",
    rf"(?:{START}|{START}(?:ok|okay|right|and|good|great|now) |\b(?:let's|let us|now) )(?:go |move |jump |switch )?(?:on|over|onwards?) to (?:the |our )?(?=\w)(?!something|it\b)",
    rf"{START}(?:ok |okay |right |good |great )*(?:the )?(?:next|new|another) {WORK_EN}(?:,? please| now| then| on the \w+)?{END}|{START}next up{END}|{START}what's the next {WORK_EN}{END}|{START}ok(?:ay)? next(?: please)?{END}",
    rf"{START}(?:right |ok |and |so )*now (?:for|to|let's (?:do|turn to|tackle|get to|work on)) (?:the |our )?(?:\w+ ){{0,2}}(?:{WORK_EN}|\w+){END}",
    rf"\blet's (?:now )?(?:turn to|tackle|switch to|go on to|start (?:with|on)|pick up|jump to|take|do|look at) (?:the |our )?(?:next {WORK_EN}|(?:\w+ )?{WORK_EN}|next)\b",
    rf"\b(?:let's|let us) (?:\w+ ){{0,4}}?(?:leave|drop|close) (?:\w+ ){{1,3}}?and (?:go|move|turn|get)\b|\blet's (?:now )?get (?:started|going) on\b|{START}(?:i'm |we're |now )?(?:switching|moving|turning|jumping) (?:over )?to (?:the )?(?:\w+ ){{0,2}}{WORK_EN}\b|\b(?:that's )?enough (?:of this{END}|of \w+{END}|about \w+{END}|for \w+{END})",
    rf"{START}(?:(?:bon|ok|maintenant|allez|et) )*(?:passons|attaquons|on attaque|continuons|on continue|on passe|je passe|on peut passer|nous passons|on enchaîne|enchaînons) (?:maintenant )?(?:à|au|aux|avec|sur|la suite|l[ea])\b|{START}(?:au suivant|(?:prochaine?|autre) (?:sujet|tâche|ticket|point|étape|chantier)|(?:sujet|tâche|ticket|point|étape) suivante?|à la suite){END}|{START}maintenant (?:la partie|le module|le sujet)\b",
    rf"{START}(?:(?:gut|ok|so|dann|jetzt|nun) )*(?:als nächstes \w+|weiter (?:mit|geht's|im text)|kommen wir z\w+|(?:jetzt|nun) z\w+|lass uns (?:\w+ ){{0,3}}?(?:übergehen|weitermachen)|machen wir (?:\w+ ){{0,4}}?weiter|(?:nächste[rs]?|neues) (?:punkt|thema|ticket|aufgabe|baustelle)|z(?:um|ur) nächsten \w+|(?:jetzt|nun) kommt \w+(?: \w+)? dran)(?!\w)",
    rf"{START}(?:(?:bien|vale|ahora|ok) )*(?:pasemos|pasamos|sigamos|vamos|seguimos) (?:ya )?(?:a (?:l[oa]|otr\w+|por|el)\b|al \w+|con (?:l[oa]|el)\b)|{START}(?:siguiente|nuev[oa]|próxim[oa]) (?:tarea|tema|punto|ticket|cosa){END}|{START}ahora (?:la parte|el módulo|el tema|vamos con)\b",
    rf"\blet's (?:now )?(?:\w+ ){{1,3}}(?:to|into|with|on) (?:the )?next\b|\b(?:let's|let us) (?:now )?(?:get going|continue|carry on|proceed|go ahead|dive|jump) (?:on |in)?(?:to|with) (?:the )?\w+|{START}now,? the \w+{END}",
    rf"{START}(?:bon |ok |et |allez )*(?:parlons (?:maintenant )?d\w+|on peut avancer sur|la suite{END}|on attaque \w+)|{START}(?:dann |ok |so )*(?:(?:jetzt|nun) (?:die|der|das|den) \w+{END}|auf z(?:um|ur) (?:nächsten )?\w+|wenden wir uns \w+)",
    rf"{START}(?:bueno |ok |y )*(?:ahora toca|cambiemos de tema|cambiando de tema|al siguiente)\b",
)
"""Moving on to other work, which leaves the present one as done."""

FREE_OF_TROUBLE = (
    rf"{START}(?:zero|no|0|null|cero|zéro|aucune?|ningún) (?:errors?|failures?|issues?|fehler|erreurs?|errores|error){END}|\bnothing (?:broke|failed|crashed)\b|\bnothing else to \w+",
    r"\b(?:doesn't|does not|don't|do not|won't) (?:happen|occur|fail|crash|break|appear|show up|hang|reproduce) any ?(?:more|longer)\b|\bno longer (?:happens?|occurs?|fails?|crash(?:es)?|appears?|breaks|hangs)\b",
    r"\b(?:there are |we have |i see |see )?(?:no|zero) (?:more |open |remaining |outstanding |further |known )+(?:\w+ )?(?:issues?|bugs?|errors?|failures?|tickets?|crash(?:es)?|points?|items?|problems?|tasks?|work|todos)(?: left| open)?(?: in (?:the )?\w+)?",
    r"\bnothing (?:is |more is )?(?:left|more|else|remaining|open)(?: to (?:do|fix))?(?: here)?(?=$|,)|\bno (?:\w+ )?(?:issues|bugs|tickets|tasks|work|points) left\b",
    r"\bplus (?:aucune?|d[e']) ?(?:\w+ )?(?:erreurs?|bugs?|plantages?|soucis?|problèmes?|tickets?)(?: ouverts?)?|\bne (?:se produit|plante|casse|échoue|reproduit) plus\b|\b(?:il n'y a |il ne reste )?plus rien à (?:faire|corriger)\b|\brien à signaler\b",
    r"\b(?:tritt|treten) nicht mehr auf\b|\bkeine (?:offenen|weiteren) (?:punkte|fehler|tickets|aufgaben|probleme)(?: mehr)?|\bkeine (?:\w+ )?mehr\b|\bnichts mehr (?:zu tun|offen)\b|\bstürzt nicht mehr ab\b",
    r"\bya no (?:falla|ocurre|pasa|aparece|se cae|se produce|da error)\b|\bno queda (?:nada|ningún \w+)(?: por hacer| pendiente)?|\bno hay más (?:errores|fallos)\b|\bsin nada pendiente\b",
)
"""Negations of trouble or of work that is left."""

LEAVE_TO_CLOSE = (
    r"\b(?:we|you|i) can (?:now |all |finally |safely )?(?:close|tick|check|cross|archive|retire|mark|put)(?: off)? (?:this|it|that|the|them)(?: one| (?:ticket|task|issue|scope|item))?(?: off| to (?:rest|bed)| as (?:done|closed))?\b",
    r"\bon peut (?:maintenant |enfin )?(?:clore|clôturer|fermer|cocher|classer|archiver)\b",
    r"\b(?:kann|kannst|können) (?:wir |du |jetzt |man )*(?:das |es |den |die )?(?:\w+ )?(?:geschlossen werden|zu$|schliessen|zumachen|abhaken|abschliessen|archivieren)|\bläuft (?:\w+ )?wie (?:am schnürchen|geschmiert)\b",
    r"\b(?:podemos|se puede|puedes) (?:ya )?(?:cerrar|tachar|archivar|dar por)\w*\b",
)
"""Leave to close, which says that the work is done although it holds a modal verb."""

SETTLED = "✓"
"""What a phrase is read as that says that work is done and holds a word that would take a claim back."""

PERMITS = re.compile("|".join(f"(?:{pattern})" for pattern in LEAVE_TO_CLOSE + FREE_OF_TROUBLE + MOVES_ON + IDIOMS))
"""Phrases that are read as `SETTLED`."""


STEM = 4
"""First letters of a word that tell which patterns may match it."""


def find_stems(text: str) -> frozenset[str]:
    """Return the beginnings of the words of a text."""
    return frozenset(word[:STEM] for word in re.findall(r"[^\W\d_]{2,}|✓", text))


def find_pattern_stems(patterns: tuple[str, ...]) -> frozenset[str]:
    """Return the beginnings of the words that stand in patterns."""
    return find_stems(re.sub(r"\\[bwsd]", " ", " ".join(patterns)))


CLAIMS = tuple(
    (find_pattern_stems(patterns), re.compile("|".join(f"(?:{pattern})" for pattern in patterns)))
    for patterns in (("✓", *ENGLISH), FRENCH, GERMAN, SPANISH)
)
"""By language: the stems of its words, without which nothing matches, and what says that something is done."""

COMMON = find_stems(
    "all alle alre also and anot any are avec but can das day dans dass des did die each else est esta este eso feat for from get"
    " gets had has hat have hay her here hier how ich issu ist item jetz job just kann las les let like look los mehr mit mod moi more"
    " most new nich noch not nous now one ones only othe our out over page par part per plan por pour que see serv side sin some"
    " sont take task team test text than that the them then ther they thin this time tout und uns user use von war was well"
    " were what wie will wir with you your über zero agai bug bugs cust chan chec bien bon exce find fine ever ment plea shou open modu last sett"
    " point aux dann eing ende erro err fach fail fall buil clie clea bed box back two runn run runs tion ing sort"
)
PERMIT_STEMS = find_pattern_stems(LEAVE_TO_CLOSE + FREE_OF_TROUBLE + MOVES_ON + IDIOMS)
STEMS = frozenset(
    stem
    for stem in PERMIT_STEMS.union(*(stems for stems, _ in CLAIMS))
    - COMMON
    - (find_pattern_stems((BEGUN_EN,)) - {"been"})
    if len(stem) > 2 or stem == SETTLED
)
"""Words of which a long sentence holds one before it is looked at closely: a claim is made with more than common words."""
