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

MORE_CLOSING = {
    "en": """
the importer is done|fixed in 4.2|PR merged!|everything's deployed|that did it, thanks
we just shipped the new billing page|finished the refactor this morning|the outage is over, service restored
ok the tests are green and the branch is merged|I finished the docs|it's live on production
done with the parser, next topic|this is resolved, thank you|released as 1.4.0
the upgrade went through without problems|all set|nice, that fixed it|all checks passed, merged to main
we can close this|you can close the ticket now|the feature is complete and in users' hands|search works again
migration completed successfully|the redesign has shipped|problem solved|yes, it works!
confirmed working in production|I've merged your branch|everything is up and running
the login bug has been fixed|the ETL job is done and dusted|pushed the last commit, this is complete
the hotfix is out|ok the rollout finished|bug squashed|I just deployed it|we finally got it working
resolved in the latest build|the invoice export is finished, thank you so much|yep that works
it's all merged now|finished!|the tests are passing and it's released|shipped it|great work, this one is done
that's done, what's next|the certificates have been renewed, issue closed|feature delivered to the client
all tasks are completed|this works perfectly now|the search index rebuild is finished|all bugs are fixed
it's been released|the pipeline is green and the change is deployed|merged into main|I closed the ticket
we launched yesterday|issue resolved|great, everything works again|the new API is live
done deal, it's in production|I completed the migration|the docs are published|the patch has landed
this is finally working|task finished, thanks
""",
    "fr": """
c'est mergé|c'est déployé, merci|le login marche enfin|on a mis en prod ce matin|tâche terminée|problème résolu
j'ai déployé la correction|la refonte est finie|tout fonctionne|ok pour moi, on peut fermer le ticket
le bug est réglé, merci beaucoup|livré hier soir|la mise en production est faite|c'est bon, ça marche
nous avons terminé la migration|le chantier est terminé|c'est validé et en ligne|les tests passent, c'est mergé
ça remarche|j'ai fusionné la branche|la release est sortie|voilà, terminé|parfait, c'est réglé
la correction est en production|on a fini|le module est terminé|c'est fait, on passe à la suite
je viens de déployer|correctif livré|la fusion est faite|ça tourne en prod|tout est terminé, bravo
on a réglé le souci|c'est réparé|le projet est bouclé|j'ai tout corrigé|la nouvelle page est en ligne
ok c'est bon maintenant|tests verts, PR fusionnée|le service est rétabli|la recherche est finie
tous les bugs sont corrigés|c'est sorti|la branche est mergée dans main|j'ai fermé le ticket
on a lancé hier, c'est en ligne|souci réglé|super, tout remarche|la nouvelle API est en prod
la migration s'est terminée sans erreur|j'ai livré le correctif|c'est enfin fonctionnel, merci
voilà qui est fait|le déploiement s'est bien passé, c'est terminé
""",
    "de": """
Feature ist fertig|habe es gemergt|der Bug ist gefixt|alles läuft wieder|die Umstellung ist durch
wir haben das Release ausgeliefert|Aufgabe erledigt|Problem gelöst, danke|es läuft
Tests sind grün und der Branch ist gemergt|das Ticket kann geschlossen werden|ich bin fertig damit
die Seite ist online|das Deployment war erfolgreich|die Migration ist durchgelaufen
passt, wir können das schließen|funktioniert wieder|ist erledigt|ist jetzt in Produktion|der Login geht wieder
super, hat funktioniert|wir sind live|Fehler behoben|das wäre geschafft
die Arbeit an der Suche ist abgeschlossen|das Modul ist abgeschlossen|Branch gemergt|ich habe alles erledigt
ist fertig und deployt|der Import funktioniert jetzt|Ticket geschlossen|die Korrektur ist ausgerollt
wir haben es geschafft|so, fertig|das klappt jetzt wunderbar|Version 3 ist draußen|alle Tests laufen durch
die Aufgabe ist beendet|das war's, danke|Server läuft wieder|die Suche ist fertig|alle Fehler sind behoben
es ist draußen|der Branch ist in main gemergt|ich habe das Ticket geschlossen|wir sind gestern live gegangen
Thema erledigt|prima, alles funktioniert wieder|die neue API ist live|die Migration lief ohne Probleme durch
ich habe den Patch ausgeliefert|endlich läuft es|das wurde gestern ausgerollt|Release abgeschlossen
""",
    "es": """
ya funciona todo|tarea terminada|problema resuelto|he fusionado la rama|la corrección está desplegada
ya está en producción|todo funciona perfectamente|el despliegue ha terminado bien|lo hemos publicado esta mañana
está hecho, gracias|se ha corregido el error|podemos cerrar el ticket|la migración está completa|ya lo arreglé
terminé la página|listo, ya quedó|la tarea está completada|el bug está arreglado|acabo de desplegarlo
la nueva versión ya está en línea|perfecto, funciona|hemos acabado|desplegado en producción
los tests pasan y está mergeado|cerrado, gracias|el módulo está terminado|rama fusionada|ya lo desplegué
todo está hecho|la corrección ya está en producción|ya funciona el login|hemos resuelto el problema
está listo para usar y publicado|asunto cerrado|el servidor ya funciona|lanzamos la versión 3
ya está arreglado, gracias|la exportación está acabada|trabajo terminado|se ha desplegado sin errores
la búsqueda está terminada|todos los errores están corregidos|ya salió, está publicado
la rama está fusionada en main|cerré el ticket|lo lanzamos ayer|tema resuelto|genial, todo funciona otra vez
la nueva API está en producción|la migración terminó sin problemas|he entregado el parche
por fin está funcionando|se publicó ayer|versión publicada
""",
}
"""Written after the rules, as three tables; the rules were corrected after each had been counted."""

MORE_TRAPS = {
    "en": """
what's left before it's done?|let me know when it is deployed|can you check that the PR was merged
I thought it was fixed|who merged this|it was working yesterday|it used to work
the build is done but the deploy failed|I'd like this merged today|nearly finished|is it live
the done column is empty|add a done button to the form|the closed tickets page is slow|show only resolved issues
the fix will be released on monday|assume it is merged|it would be finished if the API worked
the deployed version is outdated|figure out how the cache works|fixed costs went up
a function that returns whether the job is done|set status to completed|the test named test_is_done fails
my boss asked whether it's done|looks like it's not working|this should be fixed|it's not like it's done
write a changelog entry saying the bug is fixed|the door must be closed when shipped
we'll call it done after review|half of the tests pass|nobody has merged it
the service is live since 2019, describe it|I doubt it works|has anyone merged it|we're not done
is the rollout finished|I need it done by noon|the merged PR broke the build
the test says it works but it doesn't|please get it merged|what does "done" mean here
after it's deployed we celebrate|the closed beta starts tomorrow|it isn't resolved|they claim it's fixed
no, it is still open|search for released albums|the job gets completed at midnight every day if configured
could you finish the docs|I hope it's shipped|write a test for the completed state|it stopped working
almost merged|the search index rebuild isn't finished|are all bugs fixed?|it was released too early, revert it
the pipeline must be green|don't merge into main|who closed the ticket|we launch tomorrow
the issue is not resolved by this|does everything work again|make the new API live next week
the published docs are wrong|completed orders are shown twice|a fixed header would be nice|finish the task
I am working on it|I expect it to be done
""",
    "fr": """
c'est bientôt fini|il n'est pas mergé|quand sera-t-il déployé ?|tu me dis quand c'est bon
je pense que c'est résolu|il faut déployer avant lundi|ajoute un bouton terminé
la version déployée est trop vieille|ça marchait hier|vérifie que c'est bien mergé|le port est-il fermé
rien ne fonctionne|personne n'a corrigé ça|affiche les tickets résolus
le build est fini mais le déploiement a échoué|si c'est corrigé, on ferme|c'est presque terminé
on livrera demain|je ne crois pas que ce soit fini|le client demande si c'est livré|qui a mergé ça
il dit que c'est fini|explique comment fonctionne le cache|c'est loin d'être terminé|pas encore en prod
ce n'est toujours pas réglé|tu as fini ?|il faudrait que ce soit livré vendredi
la page des commandes livrées est lente|qu'est-ce qui est terminé|pas fini|j'espère que ça marche
avant de fermer, teste|le bug fermé est revenu|c'est à moitié fait|il paraît que c'est corrigé|on n'a rien livré
corrige le bouton fermé|quand tout est vert, fusionne|ça ne fonctionne plus|la recherche n'est pas finie
tous les bugs sont-ils corrigés ?|on lance demain|ne merge pas dans main|qui a fermé le ticket
la doc publiée est fausse|les commandes terminées apparaissent deux fois|termine la tâche|je travaille dessus
il faut fermer le ticket|rien n'est en prod|c'est pas réglé|peux-tu livrer le correctif
dès que c'est fonctionnel, dis-le
""",
    "de": """
es ist fast fertig|wann läuft das|der Branch ist nicht gemergt|bitte prüfe, ob es deployt ist
es lief gestern noch|mach das bitte fertig|das ist alles andere als fertig
gestern hat es funktioniert, heute nicht|zeige alle erledigten Aufgaben|füge einen Fertig-Button hinzu
die veröffentlichte Version ist veraltet|der Build ist fertig, aber das Deployment ist fehlgeschlagen
keiner hat es behoben|ich dachte, es wäre gelöst|wer hat das gemergt|wenn das erledigt ist, gehen wir weiter
es sollte jetzt funktionieren|der Kunde fragt, ob es fertig ist|ist das schon live|so funktioniert das nicht
wie funktioniert der Cache|das Fenster muss geschlossen sein|nach dem Release ist es erledigt
er sagt, es sei fertig|noch nicht in Produktion|das ist nicht erledigt|seid ihr fertig?
bitte bis Freitag fertig machen|die Liste der erledigten Aufträge ist langsam|was ist noch offen|halb fertig
hoffentlich klappt es|vor dem Schließen testen|das geschlossene Ticket ist wieder offen|angeblich ist es behoben
wir haben nichts ausgeliefert|wenn alles grün ist, merge|es klappt nicht mehr|ich will es heute fertig haben
es läuft nur lokal|die Suche ist nicht fertig|sind alle Fehler behoben?|wir gehen morgen live
nicht in main mergen|wer hat das Ticket geschlossen|die veröffentlichte Doku ist falsch
abgeschlossene Bestellungen erscheinen doppelt|schließe das Thema noch nicht|ich arbeite daran
das Ticket muss geschlossen werden|nichts ist in Produktion|das ist immer noch nicht behoben
kannst du den Patch ausliefern|sobald es läuft, melde dich
""",
    "es": """
está casi listo|¿ya se desplegó?|no lo hemos fusionado|avísame cuando esté listo|creo que está resuelto
funcionaba ayer|hay que corregirlo hoy|la versión publicada es antigua|añade un botón de terminado
muestra los tickets cerrados|el build está listo pero el despliegue falló|nadie lo ha arreglado
si está hecho, seguimos|pensé que estaba resuelto|comprueba que esté desplegado
el cliente pregunta si está terminado|quién lo ha fusionado|no creo que funcione|mañana estará listo
explica cómo funciona la caché|lejos de estar terminado|aún sin resolver|debería funcionar ahora
dice que está listo|todavía no está en producción|esto no está terminado|¿habéis acabado?
tiene que estar listo el viernes|la lista de pedidos entregados es lenta|qué está hecho y qué no|a medio hacer
ojalá funcione|antes de cerrar, prueba|el ticket cerrado se ha reabierto|supuestamente está corregido
no hemos entregado nada|cuando todo esté verde, fusiona|ya no funciona|lo quiero terminado hoy
sólo funciona en local|la búsqueda no está terminada|¿están todos los errores corregidos?|lanzamos mañana
no fusiones en main|quién cerró el ticket|la documentación publicada está mal
los pedidos terminados aparecen dos veces|termina la tarea|estoy trabajando en ello|hay que cerrar el ticket
nada está en producción|sigue sin estar resuelto|puedes entregar el parche|en cuanto funcione, avisa
""",
}
"""Written with them."""


def sentences(table: dict[str, str]) -> list[tuple[str, str]]:
    """(language, sentence) pairs of a table."""
    return [
        (language, sentence.strip())
        for language, text in table.items()
        for line in text.strip().splitlines()
        for sentence in line.split("|")
    ]
