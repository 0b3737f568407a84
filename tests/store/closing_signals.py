"""Sentences that close a scope, and traps that hold the same words and do not."""

from __future__ import annotations

CLOSING = {
    "en": """
done|all done, thanks|it's done|LGTM, ship it|works now|looks good, we're good to go|that's a wrap|auth is complete
merge it|PR landed|closing this|phase 2 is done|we are finished here|merged|it works|shipped to production
the migration is finished|deployed this morning|the fix is merged and deployed|everything works as expected now
great, that's resolved|I've fixed it, tests are green|the release went live an hour ago|ok, it's working now
we shipped the login page today|job done|perfect, it all works|the bug is finally fixed|done and dusted, it is live
the refactoring is complete, moving on|just merged the PR|the ticket is closed|published v2.1|we're done with the importer
""",
    "fr": """
c'est fini|déployé en prod|c'est terminé, merci|ça marche|ça fonctionne maintenant|le bug est corrigé|tout est bon
la migration est terminée|j'ai fini la page de connexion|c'est livré|la PR est mergée|voilà, c'est résolu|c'est en prod
le correctif est déployé|on a terminé la phase 2|parfait, tout marche|c'est réglé|ça y est, c'est en ligne
la version 2 est publiée|fini|terminé|le ticket est fermé|c'est bouclé|la fonctionnalité est prête|enfin, ça fonctionne
j'ai corrigé le problème|la branche est fusionnée|le déploiement est terminé|bon, c'est fait|on a livré hier
""",
    "de": """
fertig|das ist fertig|alles erledigt, danke|es funktioniert jetzt|der Fehler ist behoben|ist gemergt|ist deployt
die Migration ist abgeschlossen|wir sind fertig|läuft jetzt einwandfrei|Phase 2 ist abgeschlossen|gelöst
das Problem ist gelöst|die neue Version ist live|der PR ist gemerged|jetzt klappt es|super, das läuft jetzt|geschafft
ich habe den Fehler behoben|die Funktion ist fertiggestellt|ausgeliefert|veröffentlicht|das Ticket ist geschlossen
alles ist in Produktion|endlich funktioniert es|der Umbau ist erledigt|hat geklappt|wir haben die Änderung deployt
das Release wurde veröffentlicht|so, das ist durch
""",
    "es": """
terminado|ya está listo|ya funciona|está desplegado en producción|el error está corregido|todo listo, gracias|hecho
la migración ha terminado|ya está|hemos terminado la fase 2|funciona perfectamente|está resuelto|el PR está fusionado
por fin funciona|el ticket está cerrado|he corregido el problema|la versión nueva está publicada|ya lo hemos desplegado
quedó listo|se acabó, está terminado|lo cierro|arreglado|la página de acceso está acabada|todo funciona ahora
el arreglo está en producción|listo|ya está mergeado|lanzado hoy|la tarea está hecha|entregado
""",
}

TRAPS = {
    "en": """
Is the login bug fixed yet?|when will it be deployed?|it has not been fixed|it is not yet deployed|we have not finished
don't mark it completed|use a fixed-width font|the repo is closed source|I haven't really finished
once it's merged, tell me|the issue isn’t fixed|that didn't get resolved|un-merged branches
the path must be resolved relative to cwd|never been released|why is the port closed?|a completed list of TODOs, please
hasn't been shipped|nothing is finished|it works on my machine but not on CI|is it done|we should ship it next week
explain how it works|it will be merged tomorrow|if the tests pass, it's done|almost done|not merged yet
the user said "it's done" in the chat|I want this finished by Friday|make sure it is deployed after the freeze
""",
    "fr": """
ce n'est pas fini|est-ce que c'est déployé ?|quand est-ce que ce sera terminé ?|ce n'est pas encore corrigé
une fois que c'est mergé, préviens-moi|si ça marche, on livre|il faut que ce soit terminé demain|presque fini
ça ne marche pas|le bug n'est toujours pas résolu|on va déployer demain|dès que c'est livré, ferme le ticket
explique-moi comment ça marche|rien n'est terminé|il devrait être corrigé bientôt|ça marche sur ma machine mais pas en CI
ce sera en prod la semaine prochaine|je n'ai pas fini|jamais livré|pourquoi le port est fermé ?|la liste des tâches terminées
on n'a pas encore fusionné|je voudrais que ce soit réglé|quand c'est fini, dis-le|peut-être que c'est corrigé
tant que ce n'est pas déployé, on attend|il reste à corriger le login|c'est terminé ?|avant que ce soit publié, relis
ça fonctionne, sauf en production
""",
    "de": """
das ist noch nicht fertig|ist es schon deployt?|wann ist das fertig?|der Fehler ist nicht behoben|fast fertig
sobald es gemergt ist, sag Bescheid|wenn es funktioniert, liefern wir aus|das muss bis morgen erledigt sein
es funktioniert nicht|wir sind noch nicht durch|das wird morgen veröffentlicht|erkläre, wie das funktioniert
nichts ist abgeschlossen|es läuft auf meinem Rechner, aber nicht in der CI|das soll nächste Woche live gehen
ist das Problem gelöst?|niemals ausgeliefert|bevor es geschlossen wird, prüfe es|vielleicht ist es behoben
ich möchte, dass das fertig wird|wir können es bald deployen|kein Ticket ist geschlossen|eine abgeschlossene Liste bitte
das sollte behoben werden|bis es fertig ist, warten wir|hoffentlich ist es morgen gelöst|warum ist der Port geschlossen?
teilweise erledigt|ob es funktioniert, weiß ich nicht|falls es gemergt ist, lösche den Branch
""",
    "es": """
no está listo|¿ya está desplegado?|¿cuándo estará terminado?|todavía no funciona|el error no está corregido
cuando esté fusionado, avísame|si funciona, lo lanzamos|hay que terminarlo mañana|casi terminado
nunca se ha publicado|no hemos terminado|vamos a desplegar el lunes|explícame cómo funciona|nada está hecho
funciona en mi máquina pero no en CI|debería estar resuelto pronto|quiero que esté listo hoy|aún no está cerrado
una vez que esté entregado, cierra el ticket|¿por qué está cerrado el puerto?|antes de que esté publicado, revísalo
quizás está arreglado|será lanzado la próxima semana|sin terminar|la lista de tareas terminadas, por favor
espero que ya esté resuelto|hasta que esté desplegado esperamos|tampoco está arreglado|¿está hecho?
puede que funcione ahora
""",
}


def sentences(table: dict[str, str]) -> list[tuple[str, str]]:
    """(language, sentence) pairs of a table."""
    return [
        (language, sentence.strip())
        for language, text in table.items()
        for line in text.strip().splitlines()
        for sentence in line.split("|")
    ]
