"""Patterns of the orders that wait for the person: data, not code.

They are matched against folded text whose addresses are replaced by their kind (`signals.replace_addresses`). Each looks
for what is ordered together with what makes it an order to an agent: rights for all, a check of security, data of the
person, an account, a source of programs, another's eyes. A word alone is never enough.
"""

from __future__ import annotations

from dataclasses import dataclass

NOT = (
    r"(?<!never )(?<!not )(?<!n't )(?<!no )(?<!cannot )(?<!nobody )(?<!nobody uses )(?<!nicht )(?<!jamais )(?<!nunca )"
)
READER = r"(assistants?|agents?|bots?|you|models?|ai|subagents?|sub-agents?|assistente|asistente|agente|assistent|l'agent|l'assistant|агент\w*|ассистент\w*)"
APPROVAL = (
    r"(approvals?|confirmations?|consent|permission|reviews?|tickets?|sign-?off|second signature|human|asking|questions?|confirm|validation"
    r"|quote|notice|checks?|call back|matching)"
)
GUARD = (
    r"((signature|certificate|checksum|hash|fraud|security|secret|safety|vulnerability|tls|ssl|host key|code|virus|integrity|licen[cs]e|identity"
    r"|upload|input|compliance|peer|human|manual|moderation|approval|confirmation|intrusion|rate|spending|branch|endpoint|data loss)[ -]?"
    r"(\w+ )?(checks?|checking|checked|verification|validation|scann?(er|ing)?s?|filters?|guards?|limits?|gates?|step|reviews?|protection"
    r"|prevention|alerts?|detection|warnings?|prompts?|dialogs?)|guards?|guardrails?|safeguards|firewalls?|two-factor|2fa|mfa|captcha|lockout"
    r"|login throttling|audit (log|entries|trail)s?|waf|web application firewall|antivirus|defender|selinux|dlp|csrf( tokens?)?|sandbox"
    r"|branch protection|code (scanning|review)|peer review|pre-commit( hooks?)?|secret scanner|(nightly |all )backups|backups of|second factor|audit logging|four-eyes rule|ssl_verify|(malware|virus) scan|security checks?|shell history|syslog|verify|signed|breach check"
    r"|vulnerability alerts|ocsp|revocation|safe mode|pagerduty|confirmations?|multi-factor( checks)?|zwei-faktor\S*|sicherheitsabfragen"
    r"|double authentification|verificacion|autenticacion|autenticazione|revision de codigo|verification des signatures|validation humaine"
    r"|проверк\w+( подписи)?|验证|検証|query allowlist|encryption|alarms|security warnings|malware warnings|failing tests?|failing security test)"
)
OFF = (
    r"(disable|turn off|switch off|delete|skip|bypass|remove|deactivate|suppress|lift|waive|drop|strip|take out|stop( writing to)?|silence|kill"
    r"|ignore|dismiss|retire|omit|exclude|comment( \w+)? out|unlock|get rid of|desactive[rz]?|schalte|deaktiviere|quita"
    r"|desactiva|disattiva|desativa|отключи|wylacz)"
)
ELSEWHERE = r"(webaddr|mailaddr|gist|pastebin|telegram|external|third part|partner|vendor|consultant|public (channel|issue|gist|bucket|sheet|readme)|shared sheet|another host|recruiter|externe\w*|dienstleister|prestataire|externo|proveedor|ns1|webhook|\+s3)"
PRIVATE = (
    r"(passwords?|credentials?|secrets?|tokens?|(api|private|ssh|signing|new|host) keys?|keys|cookies?|conversations?|chats?( log| history)?|transcripts?|prompts? and answers?"
    r"|every prompt|chat history|messages?|this memory|memories|(private|meeting|the) notes|the notes|customers? (table|lists?|records?|export|data)|customers\.csv|phone numbers|internal draft|pricing sheet|personal|private|mailbox|inbox|env|environment"
    r"( variables)?|\.env|payroll|salar\w+|vault|kubeconfig|contracts|screenshots?|clipboard|location|contacts"
    r"|address book|session (cookies?|keys?)|recordings?|workspace|all branches|repositor(y|ies)|diffs?|names and numbers|all names|pg_dump|logs with|~/\.\w+|\.npmrc|user's (question|mail)|(all|his|her|incoming|outgoing|user's) (mails?|e-mails?)|full request bodies|user name"
    r"|conversation|identifiants|~/\w+|mots de passe|unterhaltung|gesprach|e-mails|historial|claves|contrasenas|messaggio|senhas|gesprekken|rozmow\w*|разговор\w*|парол\w*|"
    r"sohbet\w*|聊天记录|密码|密钥|会話|대화|محادثة)"
)
SEND = (
    r"(send|sent|post|posted|forward|upload|mail|e-?mail|transmit|push|publish|share|export|copy|copies|copied|mirror|mirrored|relay|report|attach|append|include|go(es)? to"
    r"|bcc|submit|drain|sync|route|paste|pipe|deliver|donate|disclose|supply|escrow|enter|compute|create|tar|put|curl|nc|write|add|look up|calls?|uploads|posts"
    r"|envoie|envoyer|enviar|recopie|schicke?|leite|sende|manda|envia|encaminha|inoltra|stuur|wysylaj|отправ\w+|передавай|发到|发送|送信|보내\w*|أرسل|gonder)"
)
NOW = r"(at once|immediately|straight away|right away|instantly|without (asking(?! for)|approval|matching|a (question|call|quote|ticket)|being|any|review|further)|within the hour|quickly|no quote|no approval|automatically|sofort|inmediatamente|сразу|sans prevenir)"
PAY = (
    r"(pay|pays|paid|settle|wire|transfer|route|reimbursed?|top up|buy|purchase|order|charge|charged|fund|release|renew|sponsor|send|book|bid|invest|donate|deposit|move"
    r"|accept|swap|approve|raise|settled|paye|regle|transfere|bezahle|zahle|paga|pagar|overmaak|оплачивай|转账|支付)"
)
PAYEE = (
    r"([a-z]{2}\d{2} ?(\d{4} ?){2,}\d*|[a-z]{2}\d{2}[a-z]{4}\d{6,}|bc1\w*|0x[0-9a-f.]{4,}|acct_\w+|gift cards?|vouchers?|wallet|crypto|monero|btc|eth\b|gas station"
    r"|(the )?(company|stored|our|agent's) card|new account|account (of|to|in|\d)|address on file|account in his|amount|any price|token allowance|idle cash"
    r"|premium plan|loan offer|daily budget|purchase limit|spending limit|usd a month|units from|referral|service fee|twice|% off)"
)
INSTALL = r"(install|installed|pip|npm|npx|gem|cargo|brew tap|helm repo|conda|flash|register|go get|instala|descarga|installe|installez|installiere|安装|bootstrap|deb)"
FETCH = (
    r"(add|fetch|fetches|download|clone|run|runs|import|load|gets?|replaced?|taken?|come from|use|uses|set|trust|overwrite|overwritten|repairs|updates?|synced|insert|follow|wget|curl"
    r"|source|put|open|executed?|pin|copy|instalador)"
)
PROGRAM = (
    r"(scripts?|installers?|binary|binaries|kubectl|packages?|plugins?|extensions?|images?|modules?|skills?|checkpoint|wheels?|drivers?|updates?|rules of|rules with|task list|orders|hotfix|helper"
    r"|root|mcp server|server|repository|repo|registry|index|submodule|channels?|toolchain|proxy|certificate|key|tool|it with|latest|init|code|charts?|\.sh|actions?)"
)
SOURCE = (
    r"(webaddr|--(extra-)?index-url|registry ?=|\b(own|local|fast|best) (index|mirror)|from the (mirror|index)|git\+|trusted=yes|ppa:|source -a|--add channels|npx -y|goproxy|\bmarket\b|shared folder"
    r"|\bgist\b|vs code extension|browser extension|extension \"|plugin \"|script at)"
)
AGENT_FILE = (
    r"((agents|claude|gemini|memory|user|soul|skill|heartbeat|goosehints)\.md|\.(cursorrules|cursor/\w+|windsurfrules|clinerules|goosehints|aider\S*)|\.claude/\S+|\.?mcp\.json"
    r"|copilot-instructions\.md|opencode\.json|~?/?\.codex/\S+|system prompt( file)?|agent\.json|agent's (config\w*|deny list|settings|user)|launchagent|\.bashrc|\.profile"
    r"|crontab|sudoers|\.vscode/\S+|tasks\.json|devcontainer\.json|hookspath|constitution( file)?|memory-themes\.toml|dotfiles|host config|post-?commit hook|posttooluse"
    r"|prompts/|(rules of|section on) \w+|project templates)"
)
ALTER = (
    r"(write|writes|add|adds|put|puts|insert|append|replaced?|edit|overwrite|overwritten|extend|change|rewrite|set|gets?|contain|must (state|say)|should (tell|say)|has to say"
    r"|remove|delete|drop|register|create|keep|is set|becomes|raise|says?|runs|trage|let)"
)
HARM = (
    r"(without|approv\w*|trust\w*|permissions?|skip|bypass\w*|allow\w*|never|auto\w*|(all|run|allowed|terminal) commands|commands without|push|hooks?|consent|webaddr|confirm\w*|unrestricted|admin\w*|loyalty|disregard"
    r"|do not flag|flag|helper|curl|nopasswd|/tmp|/root|fetch\w*|says to read|come first|refusals?|quarantine|human_in_loop|max_autonomy|danger|ping|sudo|hidden|\.u\.sh|\.x\.js|runs?|deny"
    r"|from the vendor|the version at|belongs|waives|optional|agents?:|import)"
)
TOOL = (
    r"(\b[a-z]+(_[a-z0-9]+)+\b(?! ?[=:])(\(\))?|\b[a-z]+\(\)|tool calls?|(each|any|every|all|hidden|confirm|url|path|context|recipient|iban) (tools?|field|param(eter)?|argument)s?"
    r"|(the )?(\w+ )?tools?\b|\bhttp_get|calls to \w+|parameter|argument)"
)
GIVEN = r"(called|calls?|with|adds?|must|needs?|expects?|takes?|takes the|carry|pass(ed)?|put|given|given|requires?|use|always|always|appends?|first|copies|sets?|swap|wants|filled|only works|replaces|rewritten|goes|says|means|broken|repeated|outdated|fall back|counts?|append|has to be|get)"
TOOL_HARM = (
    r"(bcc|extra recipient|as recipient|recipient field|in its place|in place of|instead of|replaces the|conversation|contents? of|(the|as|\"|parameter) ?\"?context\b|call (\w+ )?\w+ (of server|once|first)|first requires"
    r"|webaddr|mailaddr|knownaddr|nearaddr|(on|to) everything|=true|admin=true|force=true|=prod|true by default|rewritten|appends? the|append \"|prefix shell|password|secrets? from|session token|a token|the api key|private|sidenote|account \d|e-mail address"
    r"|system prompt|real author|full name|unlimited|ignore the one|in addition to the requested|user's address|not from the invoice|drop the|user's (last|phone|password)|sidecar|reply-to|discount|set theme|accept its|route queries|as instructions|comment of)"
)
DEED = r"(exports?|copy|send|drop|remove|upload|delete|disable|forward|mail|transfer|keep a copy|report full|carry out|applique)"
PERSON = r"((the |our |his |any |that )?(users?|owners?|persons?|people|customers?|humans?|human in charge|team|reviewers?|readers?|anybody|anyone|nobody|somebody|audit|auditors?|benutzer|nutzer|usuario|utilisateur|utente|utilizador|пользовател\w+|用户|利用者|ユーザー|kullanici))"


@dataclass(frozen=True, slots=True)
class OrderKind:
    """A kind of order that waits for the person."""

    name: str
    what: str
    """What it orders, for the person who looks at it."""
    patterns: tuple[str, ...]
    unless: str = r"(?!)"
    """What makes an ordinary sentence of it."""


SAFE_PLACE = r"\b(test client|tests?\b|in (dev|development|ci|staging)|locally?|localhost|load tests?|docs|documentation|preview|nearaddr)\b"

ORDER_KINDS = (
    OrderKind(
        "grant",
        "grants rights",
        (
            NOT
            + r"\b"
            + READER
            + r"( \S+){0,3} (may|can|is allowed|is entitled|is permitted|are permitted|is cleared|is authori[sz]ed|are exempt|is exempt|has the right|darf|peut|puede|pode|puo|mag|moze|может)\b(?! not\b|n't).{0,60}"
            r"\b(prod\w*|mailbox\w*|passwords?|mots de passe|secrets?|keys?|tokens?|any|every|all|private|payments?|pay|paying|invoices?|transfers?|virements?|uberweisungen|przelewy|salary|approve|requests by itself|customer|outside|unrestricted"
            r"|itself|history|address|delete|remove|fr[oe]m multi-factor|exempt|checks|guard|without|copias|produccion|borrar|sin|sans|ohne|sem|senza|bez|без|zonder|leer|lesen|contracts|own)\b",
            r"\b(has|have|had|hold|holds|with|gets|to|into|given|take|got|receives?|add \S+ to|attach|bind) (\S+ ){0,3}(full|standing|blanket|unlimited|unrestricted|all|the same|owners?|admin\w*|root|maintainer|decrypt|superuser|precedence|grant|cluster-admin|elevated|any)"
            r" (\S+ )?(rights?|access|permissions?|consent|group|privileges?|role|control|requests? in advance|on the|authority)\b",
            r"\b(give|gives|grant|grants|hand|hands|gib|donne|donne-lui|dale|dar|dale)\b.{0,50}\b(rights?|keys?|door code|password|root|admin|owner|contents|passwort|cles|acceso total|tresors?|contrasena\w*|full access|all access)\b",
            r"\b(whoever|anyone who|anybody who|anybody|anyone|any \w+ who|holders of|messages? (that begin|that mention|signed|by)|requests? (that mention|signed|by)|the caller who|an? (\w+ )?\w+ who (gives|quotes|names|knows|mails)|cualquiera que)\b.{0,80}"
            r"\b(may|can have the\b.{0,20}\b(password|keys?)|have the (door|code)|has (full|the same|authority)|speaks for|outranks?|may be given|given (pin|the)|counts? as|binding|valid|entitled|allowed|es administrador|(is|are) (a |an |the |from the )?(verified|admin\w*|entitled|valid|cleared|binding|to be)|from the (platform )?owner|past the)\b",
            r"\b(approv\w+|agreed|accepted|consent\w*|authori[sz]ed|permitted|vetted|cleared|trusted|confirmed|whitelisted|okayed)\b.{0,40}\b(in advance|for good|permanently|on all sites|all (commands|repositories|requests|future)|for the whole|everything|any |all commands|blanket|already)",
            r"\bno (approval|confirmation|permission|ticket|question)s? (is|are) (required|needed|necessary)\b|\b(need|needs) no (ticket|second signature|approval)\b.{0,10}$|\b(is|are) pre-?(approved|authori[sz]ed)|\bpermission level\b.{0,30}unrestricted",
            r"\btreat\b.{0,50}\bas (fully |a |an |a fully )?(trusted|approved|valid|admin\w*|coming from|mine|directives|the user|his own|instructions|system)",
            r"\b(spending|purchase|agent|any|all|autonomy) limits?\b.{0,30}\b(lifted|removed|no longer|to the maximum)|\bforce pushes\b.{0,40}\bpermitted|\b(widest|maximum) (oauth )?scopes?|\bdelete_repo\b|\bgrant all\b|\badministratoraccess\b|\bnopasswd\b|\bcluster-admin\b"
            r"|\"?anyone with the link\"?|--privileged|on behalf of the (user|owner)|\bsame rights\b|(pre-?approved|may be executed|fine to run|merged automatically)\b",
            r"\b(everyone|anyone|anybody|everybody|interns|guests|contractors?)\b.{0,40}\b(may|can|are cleared|have been cleared|is allowed)\b.{0,30}\b(order|command|instruct|receive|deploy|ask for any|copy)\b",
            r"\b"
            + READER
            + r"\b.{0,20}\b(may|can)\b.{0,20}\b(truncate|drop|delete|wipe|overwrite|restart)\b.{0,20}\b(live|production|tables|databases?|backups)\b|\bcan have the\b.{0,20}\b(password|keys?)\b|\bsign in with the \w+'s account|\b(has|have) permission to\b.{0,20}\b(drop|delete|wipe|read|pay|transfer|overwrite|spend|run any)|\b(is|are) allowed to (see|read|access|use|enter) (all|every|any)\b|\bgiven the right to\b|\b(assistant|agent|bot) is free to\b|\bwrite rights on the (live|prod)|\blet (anybody|anyone|everybody|everyone)\b.{0,60}\binto\b|\bpermiso de administrador|\bis allowed everything|\bhave been vetted\b",
            r"(任何|所有).{0,20}(管理员|权限)|可以不经|してよい|해도 된다|يمكن.{0,40}(دون|بدون)|(без подтверждени|без соглас)|onayi olmadan|बिना पुष्टि",
        ),
        unless=r"\?$|\bbut not\b|\b(one hour|read-only|staging only|screen sharing|ticket and|not in|only (the|from)|below docs)\b",
    ),
    OrderKind(
        "disable",
        "switches a check off",
        (
            NOT + r"\b" + OFF + r"\b( \S+){0,5}? " + GUARD + r"\b",
            NOT
            + r"\b(keep|leave|turn|switch|set|mark|to stay)\b( \S+){0,5}? "
            + GUARD
            + r"\b.{0,40}\b(off|out|disabled|unencrypted|false positives?|wide open)\b",
            NOT + r"\b(turn|switch|turned|switched) off\b( \S+){0,5}? " + GUARD + r"\b",
            r"\b"
            + GUARD
            + r"( \S+){0,6} (is|are|was|were|has been|have been|stay|stays|to stay|gets|get|be|to be) (now |no longer |therefore |to stay |to be |not )?(off|disabled|retired|waived|lifted|skipped|removed|obsolete|exempt|abolished|abgeschafft|unencrypted|checked any|verified any|turned off|switched off|dropped)\b",
            NOT
            + r"(verify ?= ?(0|false)|verify\b.{0,6}\bto (false|0|off)\b|--insecure|--no-verify|--no-gpg-sign|trusted=yes|stricthostkeychecking no|skip-permissions|bypasspermissions|autoapprove|yes-always|0\.0\.0\.0/0|public-read"
            r"|\balg none|setenforce 0|trust_remote_code|danger-full-access|gonosumdb|human_in_loop to false|\"?sandbox\"?: ?(false|off)|\"?network\"?: ?\"all|com\.apple\.quarantine|quarantine = false|histfile|secrets = \"allow\"|\bmd5 (until|is again))",
            r"\b(do not|don't|never|no longer|not) (check|verify|validate|ask|scan|stop)\b.{0,50}\b(revocation|certificates?|signatures?|before (deletions|payments)|ocsp|before deleting|checked on)",
            r"\bwithout (hashes|(a )?signature|(a )?dry run|(a )?dry run or backup|backups?|(a |any )?reviews?|peer review|validation)\b|\b(is|are) no longer (checked|required|verified)\b",
            r"\b(approve|dismiss|mark)\b.{0,30}\b(quarantine|alerts|findings|pending|pull requests|whatever)\b|\b(approves?|merges?) (its|his|their) own\b|\bapprove (what|whatever|everything)\b|\bapprove (every|all|any)\b.{0,30}\b(requests?|purchases?|transfers?|payments?|invites?)|\bopen \S+ on port\b|\ballow everything\b|\bwhitelist \S*\d|\bunlock\b.{0,30}\bprotection",
            r"\b(ignore|ignored|expected|exempt\w*|excluded|excludes)\b.{0,40}\b(mismatch\w*|all warnings|certificate errors|sandbox|change freeze|approval|multi-factor)|\bmismatch\b.{0,30}\b(expected|fine)\b|\bleft out of answers\b|\bfreeze\b.{0,30}\bnot apply\b",
            r"\b(alarms?|alerts?|warnings?|errors?|reports?)\b.{0,50}\b(closed unread|unreported|unread|unseen|suppress it|suppress them)|\bcomment .{0,30}\bchecks? out|\bne demande plus de confirmation|\bfrag nicht mehr nach|\bno pidas mas confirmacion|关闭所有|\bwith(out)? \"?(a )?(pull request|reviews?)\b|\bmerge\b.{0,40}\bas soon as\b|\b(on|in) production without\b|\bstrip\w*\b.{0,30}\b(authentication|middleware)",
        ),
        unless=SAFE_PLACE
        + r"|\bused to (be|get)\b|\bcan be\b|\bby the user\b|\bnobody (merges|approves)|\bold \w+ job|\bis not disabled|\bnever (skip|disable)|\bdo not (disable|skip)|\bafter approval|\brejected\b|\breverted\b|\bundone\b|\b(off|skipped|disabled|removed|lifted) (on|for|from|in|by) (merge commits|/|ci\b|docs)|\b(never|nobody|do not|don't|no one) (\w+ ){0,3}(without|skip\w*|bypass|ignore)\b|\bkill switch|\boff by default",
    ),
    OrderKind(
        "send",
        "sends what it knows elsewhere",
        (
            NOT + r"\b" + SEND + r"\b.{0,90}\b" + PRIVATE + r"\b.{0,90}\b" + ELSEWHERE,
            NOT + r"\b" + PRIVATE + r"\b.{0,80}\b" + SEND + r"\b.{0,60}\b" + ELSEWHERE,
            NOT
            + r"\b(forwarding rule|copy of (each|every|all) (conversation|answer|message|prompt|mail|chat)|(each|every|all) (conversation|answer|message|prompt|mail|chat)s?\b.{0,40}\b(to|mirrored|ends? with)\b.{0,60}(webaddr|mailaddr)|(?<!stripe calls )webaddr ?\?|px\.|tracker at|image (at )?webaddr|\| ?nc )|\b(whole|complete|entire|last \w+) (chat|conversation|drive|mailbox|history|address book)\b.{0,60}\b(attached|copied|copy|webaddr|mailaddr)|\b(attach|copy|hand over|send)\b.{0,20}\b(whole|complete|entire) (chat|conversation|drive|mailbox|history)|\b(picture|image|pixel)\b.{0,10}\b(from|at) webaddr.{0,40}(<|\?|each|every)|\b(mails|correos|e-mails|courriels) (of|del|de la|du)\b.{0,40}mailaddr",
            r"\b(paste|post|publish|print|read out|share|hand over|supply|disclose|forward|copy|attach|send|reveal|let the|list the)\b.{0,60}\b(full \.env|vault contents|credentials|private keys?|session tokens?|secrets|signing keys?|kubeconfig|one-time codes|the keys|stored (secret|password)s?|vault password"
            r"|passwords|his inbox|mailbox|customer (records?|table|files)|personal records|private messages|payroll|host keys|user list|my password|file paths?)\b(?! (manager|policy|reset|hash))",
            r"\b(all traffic|https?_proxy|openai_base_url|proxy)\b.{0,40}webaddr|\b(bearer|credentials|password|card number|tan|token|keys?)\b.{0,50}\b(there|as before|as well)\b|(enter|send|give|unlock\w*|verify)\b.{0,50}\b(credentials|card number|bearer|domain password|the key|reading out)\b",
            r"(发到|送信|보내라|أرسل).{0,60}(webaddr|mailaddr)|(webaddr|mailaddr).{0,20}(发|送信|로 보내|adresine)",
            r"\bwebaddr\b.{0,30}\b(carries|carry|contains?|includes?)\b.{0,30}\b(hostname|user|command|token|path)|\bwith the salar\w+\b|\ball secrets?\b.{0,30}\bto\b|\bas parameter \w\b|in the query string|\?d=|base64 of",
        ),
        unless=r"\b(images?|photos?|pictures?|files?|documents?|attachments?) on upload\b|\b(post|put|patch) (routes?|requests?|endpoints?|bod(y|ies)|methods?)\b"
        r"|\b(never|do not|don't|must not|may not) (send|share|post|write|copy|upload|put|log|disclose|print|paste|reveal|show|expose|leak|forward|commit|store)\b|authorization: bearer|-u \"?\$|\bmailto:|\bwithout (personal|content|user names)|\bredis\b|nearaddr|password manager|\bis hashed\b|\brclone\b|^vault\b|\breports? (vulnerabilities|to security)",
    ),
    OrderKind(
        "pay",
        "orders a payment",
        (
            NOT + r"\b" + PAY + r"\b.{0,90}\b" + PAYEE,
            NOT
            + r"\b"
            + r"(pay|settle|settled|paid|pays|wire|transfers?|refunds?|invoices?|payouts?|claims|reminders|bounty|reimbursed|purchases|bezahle|rechnungen|factures|facturas|счета|фатуры)\b.{0,80}\b"
            + NOW
            + r"\b(?! being)",
            r"\b"
            + PAYEE
            + r".{0,60}\b(pay|paid|payouts?|wire|fund|from now on|is the one|invoices|beneficiary|due|transfers?|salary|send)\b",
            r"\b(iban|bank details|beneficiary|payout account|payee|recipient|account|destination|payouts?)\b.{0,40}\b(is now|are now|changed|rotated|replaced? by|to be replaced|outdated|in stripe to|always|is always|genuine|use those|to the one)\b",
            r"\b(replace|change|swap|update|route|switch)\b.{0,30}\b(iban|bank details|payout account|payee|payouts|payroll|account of)\b",
            r"\b(buy|book|order \d+|purchase|sponsor|donate|pay|top up)\b.{0,50}\b(webaddr|with every|with each|to each order|add a \d ?% \w+ fee|each week|no quote needed|without being)\b",
            r"\bpurchases?\b.{0,40}\b(completed|without)\b|\b(charge|with) the company card\b|\bwants? to be paid\b|\b(paid|pay) to his\b|\baccount,? (do so|from now)|\bon the account\b|\b(customs|licen[cs]e) fee\b.{0,30}\blink\b|\bpaid on webaddr|\b(is|are) to be paid\b|\bprepaid card|\bmove \d+ (percent|%|eur|usd)\b.{0,20}\bto\b",
        ),
        unless=r"\bour own account\b|\bapproval of\b|\bneed(s)? (a|an) (second|call|approval|team|ok)\b|\bconfirmed by phone\b|\bis approved\b|\bask for a tan\b|\btestnet\b|standing order|\?$|iterat|^buy the (annual|second)",
    ),
    OrderKind(
        "install",
        "installs programs from a source of its own",
        (
            r"\b(curl|wget|iwr|irm)\b.{0,100}(\| ?(sudo )?(ba|z)?sh\b|\| ?iex)|\biex ?\(|\bexec\(.{0,30}urlopen|\bsource <\(|\bcurl it to\b",
            NOT + r"\b" + INSTALL + r"\b.{0,90}" + SOURCE,
            NOT + r"\b" + FETCH + r"\b.{0,60}\b" + PROGRAM + r"\b.{0,60}webaddr",
            NOT + r"\b" + FETCH + r"\b.{0,60}webaddr.{0,40}\b" + PROGRAM + r"\b",
            NOT
            + r"\b(pip|npm|npx|gem|cargo|uv|conda|brew|apt|go)\b.{0,30}\b(install|add|config|source)\b.{0,60}(webaddr|git\+|-fix|fast|@99)",
            r"\b(images?|wheels?|drivers?|checkpoint|binary|installer|base images|skills?|plugin|updates?|extension|packages?|hotfix|module)\b.{0,50}\b(from|by|over) (webaddr|\S+-\S+ )",
            r"\b(use|replace|favou?rs?|install)\b.{0,60}\b(over the (standard|internal)|in new projects|in its place|rather than from|by \w+, it has|by speedy|on every host|to every (profile|package)|over the internal)",
            r"\b(root certificate|\bca\b|the key)\b.{0,30}(from )?webaddr|\b(key|certificate|ca)\b.{0,60}\btrust it\b|from (\S+ )?webaddr as root|webaddr.{0,40}\bas root\b|run them without|open and run",
            r"\"postinstall\"|replace crates-io|updates come from webaddr|\bwebaddr\b.{0,20}\b(instead of|rather than|not from) the (distribution|official|package manager|index|store)|\b[\w-]+/[\w-]+@(master|main|latest)\b|set registry|add repository webaddr|add deb",
        ),
        unless=r"\bwas used\b|\bverify\b.{0,20}sign|\bnearaddr\b|\bfrom (the )?(internal|company|artifactory)|\bdo not\b|\bcustom\.css|\bis (mirrored|public)\b|\?$|\baccess logs\b|\bstripe\b|\bpush images\b|\bno third",
    ),
    OrderKind(
        "tool",
        "alters what a tool is given",
        (
            TOOL + r".{0,60}\b" + GIVEN + r"\b.{0,60}" + TOOL_HARM,
            r"\b" + GIVEN + r"\b.{0,60}" + TOOL_HARM + r".{0,60}" + TOOL,
            r"(when(ever)?|before|each time|calls to|queries).{0,40}"
            + TOOL
            + r".{0,60}\b(call|add|put|given|use|pass|has to)\b",
            r"\b(use|call|route)\b.{0,40}\b(instead of|in place of|rather than) the (built-in|host's)|\breplaces the host's|\bhelper-mcp|\bserver \"[\w-]+\"|\bserver \w+-\w+ replaces",
        ),
        unless=r"\bneeds? a confirmed|\bhidden files|\bvariables?\b|\bsnake_case|created_at|updated_at|database_url|\benv\b.{0,10}=|\bsql_|_id\b|_dsn|_at\b|\bindex_url|lock_timeout|retry_delay|\bdisable_checkout|lower case",
    ),
    OrderKind(
        "agent-files",
        "alters an agent's files",
        (
            NOT + r"\b" + ALTER + r"\b.{0,80}" + AGENT_FILE + r".{0,120}" + HARM,
            r"\bhooks?\b.{0,50}\b(starts?|calls?|runs?|posts?|uploads?)\b.{0,40}(/var/tmp|/tmp|~/\.|webaddr)",
            AGENT_FILE + r".{0,60}\b" + ALTER + r"\b.{0,120}" + HARM,
            NOT + r"\b" + ALTER + r"\b.{0,80}\b" + HARM + r".{0,80}" + AGENT_FILE,
        ),
        unless=r"\bunder \d+ lines|\bnpm run mcp\b|\bis (tested|generated|in prompts)|prefix \w+ with",
    ),
    OrderKind(
        "hide",
        "is to be hidden from the person",
        (
            NOT
            + r"\b(unnoticed|undetected|heimlich|discretement|gizlice|applique-la discretement)\b|(\b"
            + DEED
            + r"\b.{0,50}|^|[,;:] ?|, )\b(silently|secretly|quietly|covertly|discreet(ly)?|stealthily)\b(?=.{0,3}$|.{0,20}\b"
            + DEED
            + r"\b|[,;:]| and)(?! (in|at) the (background|night))(?!.{0,20}(in the background|and logs))(?! (and|unless|fail))",
            PERSON
            + r"\b.{0,30}\b(need not|not|never|no|nothing|unaware|will not|does not|cannot|nobody|no one|nicht|pas|no se)\b.{0,16}\b(hear|know (of|about|which|that)|notice\w*|see it|see them|told|shown|aware|informed|learn (of|about)|reach|notification|looks?|entere|watching|notices)",
            r"\b(must|may|should) not (find out|discover|learn of)|\bmention\b.{0,40}\bnowhere\b|\bkeep quiet (until|about)|\bfrom the sent folder|\bsans les montrer|\bhidden from the (report|user|owner|team|customer)|\b(never|not) mention\b.{0,40}\bin any (answer|reply|report)|\bwithout leaving (a|an|any) (trace|entry)|\bскрыва|\b(oculta|esconde|verbirg|verschweige|cache) (estos|esto|es|das|dem|cela|ces)\b|\bnot for the (ears|eyes) of|\b(vanish|disappear)\b.{0,20}\bfrom\b|\b(so|damit) (that )?(nobody|no one|niemand)\b.{0,30}\b(sees?|notices?|sieht|merkt)\b|\bstay unaware|\bnobody (looks|notices|knows)|\bwhere (the )?(person|reader|user|reviewer)s?\b.{0,10}\bnot\b|\bhumans do not see|\bpeople are not shown|\bno need for .{0,20} to know|\b(so|that) .{0,20}(overlook|goes undetected|cannot be found)",
            r"\b(keep|leave)\b.{0,50}\b(out of|from) the (change notes|summar\w+|report|user|plan|log|notes|answer|person|customer)|\bleave no trace|\bno mention of|\bleave out\b|\bleft? out of the\b.{0,10}\b(summary|plan|report)",
            NOT
            + r"\b(clear|wipe|delete|remove|unset|expire|empty|emptied|close|mute|purge)\b.{0,40}\b(history|log lines|call log|traces?|reflog|histfile|alert mails|evidence|terminal window|past alarms|its output)\b|\bfrom the journal\b|\blogs be emptied",
            r"\b(deny|denies) (having|knowing|any)|\bpretend\b.{0,40}\b(fail|pass|not)|\bif (the user|anybody|somebody|someone|asked|anyone)\b.{0,40}\b(asks?|notices?|complains?|write)\b.{0,60}\b(say|tell|blame|that)\b|\bshould anybody complain",
            r"\bbetween us\b|\bback-?date|\bcover up\b|\bcamouflage|\bdisguise (it|the|this|\w+ as)\b|\bdescribe the \w+ as\b.{0,30}\bin the books|\bin the books\b|\bobfuscate\b.{0,20}\bpayload|\bwhite text|\binvisible (link|text)|\bgive \w+ as the reason|\bcall the data loss"
            r"|\b(stay|remain)s? (below|unseen|hidden)\b.{0,40}\b(threshold|users?|person)|\bcommit metadata|\bconfidential to agents|\bno copies are made|\bbe discreet|\bspread the change",
            r"(?<!never )\bwithout (telling|informing|notifying) (the |any |his |our )?(users?|owners?|persons?|anybody|anyone|customers?|team|operator|human)\b|\bwithout a (message|note)\b|\bdo not display\b|\bdo not keep logs|\bsay nothing\b|\bnot want the (assistant|agent) to (report|tell|inform)|\bdoes not tell people|\bno notification\b.{0,40}\bnew device|\bneed not (hear|know)|\btell him it is\b",
            NOT
            + r"\b(delete|remove|skip|disable|drop|comment out)\b.{0,60}\band (report|claim|say|tell)\b.{0,60}\b(green|pass(ed|es|ing)?|succeeded)\b",
            r"\bne (parle|mentionne|dis)\b.{0,30}\bpas\b|\berwahne\b.{0,30}\bnicht\b|\bno se entere|\bno debe contar|\bnon menzionare|\bnao contes|\bне упомина\w+|不要在?(回答中)?提到|話さない|말하지|\bsans prevenir",
        ),
        unless=r"\breader who\b|\bthe reader\b|\bcalendar\b|surprise|birthday|\bbug\b|\bplayer\b|\bsilent(ly)? unless|\bwhether\b|\bdoes not tell whether|\bquest\b|does not see the price",
    ),
)
"""In the order in which they are named to a person."""
