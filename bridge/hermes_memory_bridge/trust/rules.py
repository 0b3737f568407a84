"""What a write looks like that means to command an agent instead of telling it something. Data, not code.

Each rule names a way in which memory is poisoned: an instruction that outlives its conversation and is obeyed when it is
recalled. Patterns are matched against text that `folding.py` has brought to one form: lower case, no accents, no disguise.
They look for who is told (the reader) and what (to drop its rules, to change who it is, to send something away), not for
single words, since facts about security are full of those.
"""

from __future__ import annotations

from dataclasses import dataclass

NOT = r"(?<!never )(?<!not )(?<!n't )(?<!no )(?<!cannot )(?<!jamais )(?<!nicht )(?<!niemals )"
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
class Rule:
    """One way of poisoning a memory."""

    name: str
    what: str
    """What the text does, for the person who looks at it."""
    patterns: tuple[str, ...]


RULES = (
    Rule(
        "override",
        "tells the reader to drop its instructions",
        (
            NOT + r"\b(ignore|disregard|forget|override|overrule|neglect|discard|bypass|do not follow|stop following)\b"
            r"( \w+){0,4} " + RULES_OF + r"\b",
            r"\b(ignorez?|oubliez?|ne tenez? pas compte|ignora|olvida|ignorar|esquece|dimentica|ignoriere?n?|vergiss|missachte)\b"
            r"( \S+){0,4} (instructions?|consignes?|regles|instrucciones|reglas|instrucoes|regras|istruzioni|regole"
            r"|anweisungen|regeln|vorgaben|ordenes)\b",
            r"(忽略|无视|忘记|不要理会|忘掉).{0,8}(指令|指示|规则|提示)",
            r"(指示|命令|ルール|指令)を(無視|忘れ)",
            r"(игнориру[йи]|забудь|не обраща[йи] внимания).{0,30}(инструкци|указани|правил)",
            r"(지시|명령|규칙).{0,6}(무시|잊)",
        ),
    ),
    Rule(
        "persona",
        "tells the reader to be somebody else",
        (
            r"\byou are (now|henceforth|no longer)\b",
            r"\byou('re| are) (an? )?(unrestricted|uncensored|unfiltered|jailbroken|evil|amoral|free(d)? from)\b",
            r"\b(act|behave|respond|operate|roleplay|role-play|pose) as (an? |the )?(\w+ )?(admin(istrator)?|root|superuser|dan\b"
            r"|unrestricted|uncensored|jailbroken|developer mode|god)",
            r"\b(pretend|imagine) (that )?(you|to be|you're)\b.{0,40}(no|without|unrestricted|admin|free)",
            r"\b(enable|enter|activate|switch to|now in) (developer|debug|god|dan|jailbreak|unrestricted|sudo) mode\b",
            r"\bdo anything now\b",
            r"\b(tu es|vous etes) (maintenant|desormais)\b|\b(du bist|sie sind) (jetzt|ab jetzt|nun)\b|\b(eres|usted es) ahora\b",
            r"\bno (safety|ethical|content|moral) (guidelines|restrictions|limits|filters|rules)\b",
            r"你现在是|从现在(起|开始)你",
        ),
    ),
    Rule(
        "role-marker",
        "pretends to be a message of the system",
        (
            r"<\|?(im_start|im_end|system|endoftext|assistant|user|eot_id|start_header_id)\|?>",
            r"\[/?inst\]|<</?sys>>|</?(system|instructions?|admin|developer)>",
            r"(^|[.!?;>\]]\s*|\s{2,}|#{2,} ?)(system|assistant|developer|admin)( prompt| message| note| override)?\s*:\s*"
            r"(you|your|ignore|from now|always|never|the user|must|do not|act|reveal|new|override|please)\b",
            r"\b(begin|end|start) (of )?(system|hidden|new) (prompt|instructions?|message)\b",
            r"\bnew (system )?(instructions?|directives?|prompt)\s*:",
        ),
    ),
    Rule(
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
    ),
    Rule(
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
            r"\b(curl|wget|nc|ncat|invoke-webrequest|iwr|scp)\b.{0,80}(\.env\b|id_rsa|id_ed25519|\.aws/|/etc/(passwd|shadow)|\.netrc"
            r"|\.git-credentials|\$\((env|printenv|cat ~)|@~/\.ssh|memory\.db|keychain)",
            r"(\.env\b|id_rsa|id_ed25519|/etc/(passwd|shadow)|\benv\b|printenv)\s*\|.{0,60}\b(curl|wget|nc|ncat|base64)\b",
        ),
    ),
    Rule(
        "promotion",
        "asks to be obeyed from now on",
        (
            r"\b(remember|save|store|treat|regard|keep|record|adopt|accept|interpret|consider) (this|the following|it|that|what follows)\b"
            r".{0,40}\b(system|standing|permanent|persistent|core|top[- ]priority|highest[- ]priority|binding|overriding)"
            r"( \w+){0,2} (directive|instruction|command|prompt|order)s?",
            r"\[(memory|system|admin|persist|instruction|directive|override)[_ -]?(persist|override|inject|note|update|directive|command)\w*\]",
            r"(\[\w*memory\w*=[^\]]*\]\s*){2,}",
            r"\b(from now on|henceforth|in (all|every) future (session|conversation|message|answer|response)s?)\b,? "
            r"(you (must|will|should|shall|are)|always (say|answer|respond|include|recommend|tell|send)|never (ask|tell|mention|warn))",
            r"\b(this|these) (instruction|directive|order|rule)s? (overrides?|supersedes?|takes? precedence over|replaces?) "
            r"(all|any|every|your|previous|other)",
        ),
    ),
    Rule(
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
    ),
    Rule(
        "privilege",
        "gives the reader rights it does not have",
        (
            r"\b(the )?(assistant|agent|ai|model|you) (now )?(has|have|is granted|are granted|is given|holds?|is allowed) "
            r"(full |complete |unlimited |the )?(admin(istrator)?|root|superuser|sudo|unrestricted|full|unlimited|elevated)"
            r"( \w+)? (rights?|access|privileges?|permissions?|control)",
        ),
    ),
)

OWN_TARGET = (
    r"(identity|agent|self|assistant|system|me)\.(role|roles|permissions?|privileges?|rights|access|access_level|capabilities"
    r"|clearance|trust|trust_level)"
)
"""Targets by which an agent would be told what it may do."""

ELEVATED = r"\b(super-?admin|admin(istrator)?|root|superuser|sudo|owner|unrestricted|full|all|any|delete_all|everything|god)\b|\*"
"""What such a target must not be raised to."""
