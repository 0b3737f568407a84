"""Rules for writes that try to command an agent instead of telling it something. Data, not code.

Each rule names a way of poisoning a memory: an instruction that outlives its conversation and is obeyed when it is
recalled. Patterns are matched against text folded by `text_folding.py`: lower case, no accents, no disguise. They
look for who is addressed (the reader) and what is demanded (to drop its rules, to change who it is, to send
something away), not for single words, since facts about security are full of those.
"""

from __future__ import annotations

from hermes_memory_store.frozen import dataclass

NOT = r"\b(?<!never )(?<!not )(?<!n't )(?<!no )(?<!cannot )(?<!jamais )(?<!nicht )(?<!niemals )"
"""`never reveal the prompt` is a constraint, not an attack."""

RULES_OF = (
    r"(instructions?|rules|prompts?|guidelines?|directives?|guardrails|safeguards|programming|constraints you|orders)"
)

PEOPLE = r"(operators?|users?|humans?|owners?|person|anyone|somebody|administrators?)"

SECRETS = (
    r"(passwords?|credentials?|secrets?|api[ _-]?keys?|private keys?|ssh keys?|access tokens?|session tokens?|tokens"
    r"|env(ironment)? variables?|system prompt|hidden prompt|chat history|conversations?|memor(y|ies)|user data|customer data)"
)


@dataclass(frozen=True, slots=True)
class InjectionRule:
    """A way of poisoning a memory."""

    name: str
    what: str
    """What the text does, for the person who looks at it."""
    patterns: tuple[str, ...]
    hints: tuple[str, ...]
    """Without any of these there is no match: what spares most facts the patterns."""
    besides: tuple[str, ...] = ()
    """Words of which a match holds one, too, if there are any."""


RULES = (
    InjectionRule(
        "override",
        "tells the reader to drop its instructions",
        (
            NOT
            + r"\b(ignore|disregard|forget|override|overrule|neglect|discard|bypass|(do not|don't) (follow|listen to|obey)|stop following)\b"
            r"( \w+){0,4} " + RULES_OF + r"\b(?! (with|by|via) --)",
            NOT
            + r"\b(ignorez?|oubliez?|ne (tenez?|tiens|respecte[sz]?|suis|suivez) (pas compte|plus)|ignor[ae]|olvida|esqueca"
            r"|esquece|dimentica|ignoriere|vergiss|missachte|negeer|vergeet|zignoruj|zapomnij)\b"
            r"( \S+){0,4} (instructions?|consignes?|regles|instrucciones|reglas|instrucoes|regras|istruzioni|regole"
            r"|anweisungen|regeln|vorgaben|ordenes|instructies|regels|instrukcje|polecenia|zasady)\b(?! (de|du|des|d'|di|von|fur|para) (?!se[cg]ur))",
            r"talimatlar\S* (yok say|unut|gormezden)",
            r"(忽略|无视|忘记|不要理会|忘掉).{0,6}(以上|之前|先前|前面|所有|全部|你的)(?! ?[.a-z*])",
            r"(指示|命令|ルール|指令|規則)を(す[へべ]て|全て|全部)?(無視|忘れ(?!ず))",
            r"\bpay no (attention|heed) to\b.{0,40}\b(told|instruct\w*|rules|guid\w+|prompt)",
            r"\b(set|put|push|throw|leave) (aside|away|out) (all |any )?(of )?(your|earlier|previous|prior|the)( \w+){0,2} "
            r"(guidance|guidelines|rules|instructions|training|programming)",
            r"\byour ((previous|prior|earlier|former|old|original|initial|current) )?(rules|instructions|guidelines|guidance|orders"
            r"|directives) (is|are)( \w+)? (void|null|cancel\w+|obsolete|revoked|lifted|suspended)",
            r"\b(whatever|anything|everything|what) (your|the) (developers?|operators?|creators?|makers?|system prompt|user) "
            r"(said|says|told|wrote|asked).{0,40}\b(no longer|does not|doesn't|is void|ignore)",
            NOT + r"\b(ignore|disregard|forget|throw away)\b.{0,20}\b(system|initial|original) prompt",
            r"(игнориру[йи]|забудь|не обраща[йи] внимания).{0,30}(инструкци|указани|правил)",
            r"(지시|명령|규칙).{0,6}(무시|잊)",
        ),
        hints=(
            "ignor",
            "disregard",
            "forget",
            "over",
            "neglect",
            "discard",
            "bypass",
            "follow",
            "listen to",
            "obey",
            "oublie",
            "ne t",
            "ne respecte",
            "ne sui",
            "olvida",
            "esquec",
            "dimentica",
            "vergiss",
            "missachte",
            "negeer",
            "vergeet",
            "zignoruj",
            "zapomnij",
            "talimatlar",
            "忽略",
            "无视",
            "忘",
            "不要理会",
            "無視",
            "attention",
            "heed",
            "guidance",
            "guidelines",
            "rules",
            "instructions",
            "training",
            "programming",
            "orders",
            "directives",
            "no longer",
            "does not",
            "doesn't",
            "is void",
            "prompt",
            "игнориру",
            "забудь",
            "не обраща",
            "무시",
            "잊",
        ),
        besides=(
            "instruc",
            "rule",
            "prompt",
            "guid",
            "directive",
            "guardrail",
            "safeguard",
            "programming",
            "training",
            "constraints you",
            "orders",
            "consigne",
            "regle",
            "regla",
            "regra",
            "istruzion",
            "regol",
            "anweisung",
            "regel",
            "vorgaben",
            "ordenes",
            "instruk",
            "poleceni",
            "zasad",
            "talimat",
            "忽略",
            "无视",
            "忘",
            "不要理会",
            "指示",
            "命令",
            "ルール",
            "指令",
            "規則",
            "developer",
            "operator",
            "creator",
            "maker",
            "user",
            "инструкци",
            "указани",
            "правил",
            "지시",
            "명령",
            "규칙",
            "told",
        ),
    ),
    InjectionRule(
        "persona",
        "tells the reader to be somebody else",
        (
            r"\byou are (now|henceforth|no longer)( an?| the| my)?( \S+){0,2} (ai|assistant|agent|model|chatbot|bot|admin\w*|root|hacker"
            r"|dan|unrestricted|uncensored|unfiltered|free|bound|restricted|limited|constrained)\b",
            r"\byour (new|true|real|actual|only|secret) (goal|identity|purpose|mission|objective|persona|master) is\b",
            r"\byou have no (rules|limits|filters|restrictions)\b|\b(role-?play|pretend)\b.{0,40}\b(no|without)( any)? (filters?|rules|limits|limitations"
            r"|restrictions|guidelines)\b",
            r"\b(fais|agis|comporte-toi) comme si tu etais\b|\b(handle|verhalte dich|tu so),? als (warst|seist) du\b"
            r"|\b(actua|comportate) como si fueras\b",
            r"\byou('re| are) (an? )?(unrestricted|uncensored|unfiltered|jailbroken|evil|amoral|free(d)? from)\b",
            r"\b(act|behave|respond|operate|roleplay|role-play|pose) as (an? |the )?(\w+ )?(admin(istrator)?|root|superuser|dan\b"
            r"|unrestricted|uncensored|jailbroken|developer mode|god)",
            r"\b(pretend|imagine) (that )?(you|to be|you're)\b.{0,40}(no|without|unrestricted|admin|free)",
            r"\b(enter|activate|now in) (developer|god|dan|jailbreak|unrestricted|sudo) mode\b"
            r"|\b(enable|switch to) (god|dan|jailbreak|unrestricted) mode\b",
            r"\bdo anything now\b",
            r"\b((tu es|vous etes) (maintenant|desormais)|(du bist|sie sind) (jetzt|ab jetzt|nun|ab sofort)"
            r"|(ahora|a partir de ahora) eres|(eres|usted es) ahora)\b.{0,40}\b(assistante?|asistente|ia|ki|ai|modele?l?o?|admin\w*"
            r"|sans (limite|restriction|filtre)s?|sin (limites|restricciones|filtros)|ohne (grenzen|einschrankungen|regeln)"
            r"|unbeschrankt\w*|root)\b",
            r"\bno (safety|ethical|content|moral) (guidelines|restrictions|limits|filters|rules)\b",
            r"你现在是|从现在(起|开始)你",
        ),
        hints=(
            "you are",
            "your ",
            "you have no",
            "role",
            "pretend",
            "comme si",
            "als ",
            "como si",
            "you're",
            "act as",
            "behave as",
            "respond as",
            "operate as",
            "pose as",
            "imagine",
            " mode",
            "anything now",
            "tu es",
            "vous etes",
            "du bist",
            "sie sind",
            "eres",
            "usted es ahora",
            "no safety",
            "no ethical",
            "no content",
            "no moral",
            "你现在是",
            "从现在",
        ),
        besides=(
            "you are",
            "you're",
            "goal",
            "identity",
            "purpose",
            "mission",
            "objective",
            "persona",
            "master",
            "rules",
            "limit",
            "filter",
            "restrict",
            "guideline",
            "etais",
            "warst",
            "seist",
            "fueras",
            " as ",
            "pretend",
            "imagine",
            "developer",
            "god",
            "dan ",
            "jailbreak",
            "sudo",
            "anything now",
            "tu es",
            "vous etes",
            "du bist",
            "sie sind",
            "eres",
            "usted es",
            "你现在是",
            "从现在",
        ),
    ),
    InjectionRule(
        "role-marker",
        "pretends to be a message of the system",
        (
            r"<\|?(im_start|system|assistant|user|start_header_id)\|?>\s*(system|assistant|developer|user|you|ignore|new|obey)\b",
            r"(\[inst\]|<<sys>>|</?(system|instructions?|admin|developer|memory|context|data|tool_result)>)\s*(<|you\b|your\b|ignore|new "
            r"|from now|always|never|the user|must|do not|act\b|reveal|override|please|obey|disregard|forget|send\b)",
            r"\b(end|close) of (the )?(recalled )?(memory|context|data|user input|tool output)\b.{0,20}\b(assistant|system|human|new|now)\b",
            r"\b(human|user)\s*:.{1,120}\bassistant\s*:\s*(sure|ok|yes|here|i will|i'll)\b",
            r"<(tool_call|function_call|invoke|tool_use)\b[^>]*>\s*(<|\{\s*[\"']name[\"']\s*:\s*[\"']\w)",
            r"[\"']role[\"']\s*:\s*[\"'](system|developer)[\"']\s*,\s*[\"']content[\"']\s*:\s*[\"'](you|ignore|from now|obey|new)",
            r"(^|[.!?;>\]]\s*|\s{2,}|#{2,} ?)(system|assistant|developer|admin)( prompt| message| note| override)?\s*:\s*"
            r"(you|your|ignore|from now|always (?!on\b)|never (?!used\b)|the user|must|do not|act|reveal|new|override|please)\b",
            r"\b(begin|end|start) (of )?(system|hidden|new) (prompt|instructions?|message)\b",
            r"\bnew (system )?(instructions?|directives?|prompt)\s*:(?! ?(see|in|under|read|https?)\b)",
        ),
        hints=(
            "<",
            "[inst]",
            "end of",
            "close of",
            "assistant",
            "role",
            "system",
            "developer",
            "admin",
            "prompt",
            "instruction",
            "message",
            "directive",
        ),
    ),
    InjectionRule(
        "reveal",
        "tells the reader to give away what it must keep",
        (
            NOT + r"\b(reveal|print|show|repeat|output|leak|expose|disclose|display|tell me|give me|recite)\b"
            r"( (me|us|him|them|all|any|every|the|your|full|entire|complete|initial|original|hidden|stored|of)){0,5} "
            r"(system prompt|hidden prompt|initial prompt|developer message|instructions you|stored (credentials|secrets|passwords)"
            r"|(all|your|the users?'?|stored) (passwords|credentials|secrets|api keys|private keys|tokens))",
            NOT + r"\b(reveal|leak|expose|disclose|dump|exfiltrate|steal|harvest)\b( \w+){0,2} "
            r"(passwords|credentials|secrets|api keys|private keys|system prompt)",
        ),
        hints=("prompt", "message", "instructions you", "credential", "secret", "password", "key", "token"),
        besides=(
            "reveal",
            "print",
            "show",
            "repeat",
            "output",
            "leak",
            "expose",
            "disclose",
            "display",
            "tell me",
            "give me",
            "recite",
            "dump",
            "exfiltrate",
            "steal",
            "harvest",
        ),
    ),
    InjectionRule(
        "exfiltration",
        "sends what the reader knows to somewhere else",
        (
            NOT
            + r"\b(send|post|forward|e-?mail|upload|transmit|exfiltrate|leak|copy|report|submit|append|attach|include|cc|bcc)\b"
            r"( \S+){0,3} (all|every|any|your|their|the users?'?s?|stored|full|entire|its|each|my|contents? of)( \S+){0,3} "
            + SECRETS
            + r".{0,80}(https?://|\S+@\S+\.\S+|\b(webhook|server|endpoint|bucket|attacker|external)\b)",
            NOT + r"\b(send|post|forward|e-?mail|upload|transmit|exfiltrate)\b.{0,60}(https?://|\S+@\S+\.\S+)"
            r".{0,40}\b(before|after|with) (each|every|any) (answer|response|reply|message|call)",
            r"!\[[^\]]{0,80}\]\(https?://[^)\s]{0,200}(\{|\$\{|%7b|<\w|[?&](data|secret|leak|exfil|mem|memory|history|prompt)=)",
            r"\b(curl|wget|nc|ncat|invoke-webrequest|iwr|scp)\b.{0,80}(?<!-i )(?<!-i ~/\.ssh/)(\.env\b|id_rsa|id_ed25519|\.aws/|/etc/(passwd|shadow)|\.netrc"
            r"|\.git-credentials|\$\((env|printenv|cat ~)|@~/\.ssh|memory\.db|keychain)",
            r"(\.env\b|id_rsa|id_ed25519|/etc/(passwd|shadow)|\benv\b|printenv|tar\b.{0,20}\.(aws|ssh|kube|gnupg)\S*)\s*\|.{0,60}\b(curl|wget|nc|ncat|base64)\b",
        ),
        hints=(
            "http",
            "@",
            "webhook",
            "server",
            "endpoint",
            "bucket",
            "attacker",
            "external",
            "|",
            ".env",
            "id_rsa",
            "id_ed25519",
            ".aws/",
            "/etc/",
            ".netrc",
            ".git-cred",
            "$(",
            ".ssh",
            "memory.db",
            "keychain",
        ),
        besides=(
            "send",
            "post",
            "forward",
            "mail",
            "upload",
            "transmit",
            "exfiltrate",
            "leak",
            "copy",
            "report",
            "submit",
            "append",
            "attach",
            "include",
            "cc ",
            "![",
            "curl",
            "wget",
            "nc",
            "invoke-web",
            "iwr",
            "scp",
            "base64",
        ),
    ),
    InjectionRule(
        "secret-file",
        "gives away a file that holds secrets",
        (
            NOT + r"\b(paste|upload|send|post|encode|put|attach|e-?mail|exfiltrate|forward|publish|share)\b.{0,40}"
            r"((?<![\w])\.env\b(?!\.)|id_(rsa|ed25519|ecdsa)\b(?!\.pub)|\.aws/\w+|\.kube/config|\.netrc|\.git-credentials|\.pgpass"
            r"|/etc/shadow|private keys?|ssh keys?|\bpasswords\b|\bcredentials\b).{0,60}"
            r"(https?://|\S+@\S+\.\S+|\b(pastebin|(the|a|an|next|public|this|every) (\w+ )?(gist|issue|comment|commit|pull request|chat"
            r"|channel|paste))\b)",
            NOT + r"\bexfiltrate\b.{0,60}\b(to|via|through|over)\b",
        ),
        hints=(
            ".env",
            "id_",
            "aws",
            "kube",
            "netrc",
            "git-cred",
            "pgpass",
            "shadow",
            "key",
            "password",
            "credential",
            "exfiltrate",
        ),
        besides=(
            "paste",
            "upload",
            "send",
            "post",
            "encode",
            "put",
            "attach",
            "mail",
            "exfiltrate",
            "forward",
            "publish",
            "share",
        ),
    ),
    InjectionRule(
        "trigger",
        "waits for a moment in which to act for somebody else",
        (
            r"\b((every|each) time|whenever|when|if|before|after) (you (answer|reply|respond|start|finish|write|read|are)|(each|every|any|your)"
            r" (answer|reply|response))\b.{0,80}"
            r"\b(send\w*|post|fetch|curl|upload|forward|exfiltrate|leak|rm -rf|request)\b.{0,80}"
            r"(https?://|\S+@\S+\.\S+|\b(chat|conversation|transcript|history|secrets?|passwords?|credentials)\b)",
            r"\b(when|whenever|if) (the|a|any) user (asks|says|mentions|types|writes)\b.{0,80}\b(send\w*|post|upload|forward|exfiltrate|leak)\b"
            r".{0,40}\b(whole chat|chat history|conversation|transcript|secrets?|passwords?|credentials)\b",
            r"\b(curl|wget|run|execute)\b.{0,80}(https?://\S+ ?\| ?\w*sh\b|rm -rf).{0,60}"
            r"\b((before|after|at the (start|end) of) (each|every)|when(ever)? the user|(before|when) you)\b",
            r"\b(in|to|at the end of|with) (all |every |each |any |your )+(answers?|repl(y|ies)|responses?|messages?)\b.{0,80}(!\[|<img|https?://\S*[?{])",
            r"(!\[[^\]]*\]\(https?://|<img[^>]{0,20}https?://).{0,120}\b(in|to|at the end of|with) (all |every |each |any |your |the )*"
            r"(answers?|repl(y|ies)|responses?)\b",
            r"\b(append|add|attach|include|put)\b.{0,20}\b(api key|password|token|secret|conversation|chat|memory|last message|system prompt)s?\b"
            r".{0,40}\b(query|parameter|url|image|link)\b.{0,30}\b(you (show|render|send|display)|every|each)\b",
        ),
        hints=(
            "http",
            "@",
            "secret",
            "password",
            "chat",
            "conversation",
            "transcript",
            "history",
            "credential",
            "rm -rf",
            "url",
            "image",
            "link",
            "query",
            "![",
            "<img",
        ),
        besides=("you", "user", "each", "every", "answer", "repl", "respon", "message"),
    ),
    InjectionRule(
        "conceal",
        "is to be kept from the person",
        (
            r"\b(hide|conceal|keep|withhold) (this|it|that|these|the fact)( \w+){0,3} from (the (user|human|owner|operator|person)|anyone)\b",
            r"\b(do not|don't|never|must not) (mention|reveal|disclose|show|quote|discuss|talk about|tell anyone about|admit)"
            r" (this|these|that) (note|memory|memories|instructions?|messages?|rules?|fact|directive|entry)",
            r"n'(informe|avertis|previens)[sz]? jamais l'utilisateur|ne (dis|dites|demande)[sz]? (jamais|rien) (a )?l'utilisateur",
            r"\b(frage?|informiere|sage?) (den|dem) (be)?nutzer (nie|niemals|nichts|nicht)\b",
            r"\bno (avises|informes|digas|preguntes|pidas)( \S+){0,2} al usuario\b|\bnon (dire|informare|chiedere)( \S+){0,2} all'utente",
            r"不要(告诉|询问)用户|ユーザーに(知らせ|教え|言わ|伝え)(ない|るな)",
            r"не (говори|сообща[ий]|спрашива[ий]) пользовател",
        ),
        hints=(
            "from ",
            "mention",
            "reveal",
            "disclose",
            "show",
            "quote",
            "discuss",
            "talk about",
            "tell any",
            "admit",
            "utilisateur",
            "nutzer",
            "usuario",
            "utente",
            "用户",
            "ユーサー",
            "ユーザー",
            "пользовател",
        ),
        besides=(
            "hide",
            "conceal",
            "keep",
            "withhold",
            "do not",
            "don't",
            "never",
            "must not",
            "utilisateur",
            "nutzer",
            "usuario",
            "utente",
            "用户",
            "ユーザー",
            "пользовател",
        ),
    ),
    InjectionRule(
        "obedience",
        "makes somebody the reader's master",
        (
            r"\b(you (must|should|shall|will)|always|blindly) (\w+ )?(obey|trust|comply with|follow)( any| all| every| the)?( \w+)? "
            r"(messages?|instructions?|commands?|orders?|requests?)\b.{0,40}\b(from|signed|sent|by)\b",
            r"^(trust|obey|execute|follow) (any|all|every|only|each) (instructions?|commands?|orders?|messages?)\b.{0,20}\b(from|by|in|signed)\b",
            r"\btreat\b.{0,60}\bas (if|though) (the user|it came|they came|i|the owner|an admin)",
            r"\b(may|can|is allowed to) (override|bypass|ignore) (all|every|your) (policy|policies|rules?|restrictions?|checks?|instructions?)",
            r"\b(user|owner|operator|human|admin)s? (has|have) (already )?(pre-?)?(approved|authori[sz]ed) (all|any|every)",
            r"\bassume (consent|permission|approval|the user (agrees|consents|approves))",
            r"\byou (no longer|do not|don't) (need|require|have to ask for) (the |any |a )?(user's )?(approval|permission|consent|confirmation) (to|before|when you)"
            r" (push|delet|drop|pay|transfer|deploy|run|execut|buy|send|purg)\w*",
            r"\b(befolge|gehorche)\b.{0,20}\b(nur|meinen?|allen?)\b|\bobeis(sez)? (a|aux) (tous|mes|toutes)\b|\bobedece (todas|solo|mis)\b",
            r"\b(envoie[sz]?|envoyez|transmet[sz]?|sende|schicke|ubermittle|envia|manda|reenvia|invia)\b.{0,25}"
            r"(mots de passe|identifiants|cles|passworter|zugangsdaten|schlussel|contrasenas|claves|credenciales|senhas|credenziali)"
            r".{0,30}(https?://|\S+@\S+\.)",
            r"(отправ\w*|перешли|вышли).{0,25}(парол|ключи|секрет|переписк).{0,30}(https?://|@)",
            r"把.{0,8}(密码|密钥|凭证|对话|记忆).{0,8}(发送|上传|发到|发给)",
        ),
        hints=(
            "instruction",
            "message",
            "command",
            "order",
            "request",
            "treat",
            "override",
            "bypass",
            "ignore",
            "approved",
            "authori",
            "approval",
            "consent",
            "permission",
            "confirmation",
            "assume",
            "obei",
            "obed",
            "gehorche",
            "befolge",
            "http",
            "@",
            "把",
        ),
        besides=(
            "obey",
            "trust",
            "comply",
            "follow",
            "execute",
            "treat",
            "override",
            "bypass",
            "ignore",
            "approved",
            "authori",
            "assume",
            "you ",
            "befolge",
            "gehorche",
            "obei",
            "obed",
            "envoi",
            "envoy",
            "transmet",
            "send",
            "schick",
            "ubermittle",
            "envia",
            "manda",
            "reenvia",
            "invia",
            "отправ",
            "перешли",
            "вышли",
            "把",
        ),
    ),
    InjectionRule(
        "promotion",
        "asks to be obeyed from now on",
        (
            r"\b(remember|save|store|treat|regard|keep|record|adopt|accept|interpret|consider) (this|the following|it|that|what follows)\b"
            r".{0,40}\b(system|standing|permanent|persistent|core|top[- ]priority|highest[- ]priority|binding|overriding)"
            r"( \w+){0,2} (directive|instruction|command|prompt|order)s?",
            r"\[(memory|system|admin|persist|instruction|directive|override)[_ -]?(persist|override|inject|note|update|directive|command)\w*\]",
            r"(\[\w*memory\w*=[^\]]*\]\s*){2,}",
            r"\b(from now on|henceforth|in (all|every) future (session|conversation|message|answer|response)s?)\b,? "
            r"(you (must|will|should|shall|are)|(only )?(respond|answer|reply|speak|obey)\b|always (say|answer|respond|include|recommend|tell|send)|never (ask|tell|mention|warn))",
            r"\b(this|these) (instruction|directive|order|rule)s? (overrides?|supersedes?|takes? precedence over|replaces?) "
            r"(all|any|every|your|previous|other)",
        ),
        hints=(
            "directive",
            "instruction",
            "command",
            "prompt",
            "order",
            "[",
            "from now on",
            "henceforth",
            "in all future",
            "in every future",
            "rule",
        ),
        besides=(
            "[",
            "from now on",
            "henceforth",
            "in all future",
            "in every future",
            "overrid",
            "supersede",
            "precedence",
            "replace",
            "system",
            "standing",
            "permanent",
            "persistent",
            "core",
            "priority",
            "binding",
        ),
    ),
    InjectionRule(
        "oversight",
        "removes the person who must agree",
        (
            r"\b(approve|allow|grant|authori[sz]e|execute|transfer|wire|export|delete|send|pay|run|perform|accept)\b.{0,60}"
            r"\bwithout (asking|telling|informing|notifying|consulting|waiting for)( the| your| any| an)? " + PEOPLE,
            r"\b(approve|allow|grant|authori[sz]e|accept|confirm) (all|any|every)\b.{0,50}\bwithout (any )?"
            r"(review|approval|confirmation|question|verification|asking)",
            r"\b(skip|omit|disable|avoid|bypass|suppress)( all| any| the| every)? "
            + PEOPLE
            + r"('s)? (confirmation|approval|consent|review)",
            r"\b(never|do not|don't|no need to) (ask|tell|inform|notify|warn|alert|consult)( the| your| any)? "
            + PEOPLE
            + r"\b.{0,30}(confirm|permission|approv|consent|about|before|that)",
            NOT
            + r"\b(bypass|disable|turn off|circumvent|evade|defeat) (all|any|every|each|your) (security|safety|permission|access|policy)"
            r" ?(checks?|filters?|controls?|rules?|measures?|guards?)",
        ),
        hints=(
            "without",
            "confirm",
            "approv",
            "consent",
            "review",
            "ask",
            "tell",
            "inform",
            "notify",
            "warn",
            "alert",
            "consult",
            "bypass",
            "disable",
            "turn off",
            "circumvent",
            "evade",
            "defeat",
        ),
        besides=(
            "operator",
            "user",
            "human",
            "owner",
            "person",
            "anyone",
            "somebody",
            "administrator",
            " all",
            " any",
            " every",
            " each",
            " your",
        ),
    ),
    InjectionRule(
        "privilege",
        "gives the reader rights it does not have",
        (
            r"\b(the )?(assistant|agent|ai|model|you) (now )?(has|have|is granted|are granted|is given|holds?|is allowed) "
            r"(full |complete |unlimited |the )?(admin(istrator)?|root|superuser|sudo|unrestricted|full|unlimited|elevated)"
            r"( \w+)? (rights?|access|privileges?|permissions?|control)",
        ),
        hints=("right", "access", "privilege", "permission", "control"),
    ),
)

OWN_TARGET = (
    r"(identity|agent|self|assistant|system|me)\.(role|roles|permissions?|privileges?|rights|access|access_level|capabilities"
    r"|clearance|trust|trust_level)"
)
"""Targets by which an agent would be told what it may do."""

ELEVATED = r"\b(super-?admin|admin(istrator)?|root|superuser|sudo|owner|unrestricted|full|all|any|delete_all|everything|god)\b|\*"
"""What such a target must not be raised to."""


def explain_injection_rule(name: str) -> str:
    """Explain what a fact does that matched this rule; the name alone for a rule of another version."""
    return next((rule.what for rule in RULES if rule.name == name), name)
