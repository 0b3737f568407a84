"""Patterns of what poisons a memory without being an order of the closed list: data, not code.

Texts that ask to be written elsewhere, claim an authority, free the reader of its rules, pretend to be a message of the
system, or speak for the person and give away what is his to decide.
"""

from __future__ import annotations

from hermes_memory_store.intake.scoring.order_patterns import NOT, OrderKind

THIS_TEXT = r"\b(this|these|the (previous|following|same)|that) (\w+ )?(note|notes|lines?|entry|rule|text|message|fact|instructions?|sentence|memory|convention|paragraph|snippet|block|order|constraint|notice)\b"
SPREAD = r"\b(copy|repeat|replicate|propagate|spread|store|stores|write|put|include|add|plant|forward|pass|teach|carry|quote|post|share|insert|seed|clone|keep|hand|adopt|rewrite|restore|contain|instruct|tell|open an issue with)"
EVERYWHERE = r"(every|each|all (themes|projects|replies|exports|scopes|repositories|memories|documents|future)|other (agents|models|assistants)|(sub-?)?agents|everywhere|new (assistants?|repositories)|next agent|spawned|wiki pages|readme|vector stores|mails to|memory you)\b"
AUTHORITY_NAMES = (
    r"\b(ceo|cto|ciso|cfo|board( of directors)?|directors?|security (team|department|response)|head of \w+|compliance( officer)?|legal|corporate it|officer|regulator|government|court|police|management|headquarters|company policy"
    r"|human resources|anthropic|openai|microsoft|google|vendor|provider|platform|support|developers|maintainer|ops (director|lead)|bank|equipo de seguridad|direction|geschaftsfuhrung|mandate)"
)
HIS_TO_DECIDE = (
    r"\b(any (file|vendor|transfers?|attachments?|page)|all (transfers|commands|permission|confirmations|platforms|sites|his claims)|whatever|everything|no need|without (asking|a question|a dry run|being|them|showing)|for good|(vault )?passwords?|signing key"
    r"|secrets?|root shell|(read )?the mailbox|(her|his) behalf|as his own|like his own|as good as his|as mine|straight away|never shown|unsigned|left out|out of answers|to yes|answered with|ignore them|contracts|screen recordings|superadmin|approves? (its|everything)"
    r"|confirmation prompts|security warnings|certificate errors|warnings for|with marketing|to main directly|as root|show offers|compare offers|hidden from|accept on every|passwords saved|does not want (alternatives|to be told)|strong buy|--no-verify|mailing list|referral|first when|merge his|whatever the|in my name|logs be emptied|keep logs|comment them out)\b"
)

MOMENT = r"\b(when|whenever|if|once|upon|as soon as|after|as of|every time|the (next|second|third|first) time|until|during|outside of|on (monday|tuesday|wednesday|thursday|friday|saturday|sunday|release|the first)|at (midnight|each start)|in the next session|from \d+ \w+)\b"
AT_STAKE = r"\b(workspace|schemas?|access of|keys?|download link|the link|payee|passwords?|vendor|commands?|failing jobs|freeze|vault|evidence|backups?|second account|with password|sudo|debug endpoint|task list|feed|stored|order page|webaddr|notes directory|second registry|~/\.\w+|as trusted|asking|migrating|\w+ cloud)\b"

CLAIM_KINDS = (
    OrderKind(
        "worm",
        "asks to be written into other memories or files",
        (
            NOT + SPREAD + r"\b.{0,30}\b" + THIS_TEXT + r".{0,80}\b" + EVERYWHERE,
            r"\b"
            + EVERYWHERE
            + r".{0,60}\b(carry|carries|contain|contains|end|ends|gets|must|has to|stores?|keep)\b.{0,30}\b"
            + THIS_TEXT,
            THIS_TEXT + r".{0,30}\b(must|has to|have to|is to|are to|should) .{0,40}\b" + EVERYWHERE,
            NOT
            + SPREAD
            + r"\b.{0,30}\b"
            + THIS_TEXT
            + r"( \w+){0,4} (again|back|whenever it|under (three|several)|verbatim|first)\b",
            NOT
            + SPREAD
            + r"\b.{0,30}\bthis (label|name|title|target|tag)\b.{0,80}\b(agents\.md|claude\.md|gemini\.md|memor(y|ies)|prompts?|rules)\b",
            r"\b(if|when|after) (this|a) (entry|note|fact|rule|purge).{0,40}\b(deleted|archived|purge|missing)\b.{0,40}\b(restore|write|ask|store)",
            r"\bagents? reading this\b|\bai tools?: |\btells? other (agents|assistants|models)\b|\bother (agents|assistants) (to do|learn|do) (the same|it|likewise)|\btrage diesen satz in jede|\brecopie cette \w+ dans tou",
        ),
    ),
    OrderKind(
        "authority",
        "claims an authority that agents must obey",
        (
            AUTHORITY_NAMES
            + r"\b.{0,60}\b(requires?|mandates?|directs?|instructs?|obliges?|orders?|demands?|announced|determined|cleared|authori[sz]ed|decided|decision|informs?|says?|confirmed|asks|ordena|exige|verlangt)\b"
            r".{0,60}\b(assistants?|agents?|ai|chat agents|bots?|models?|asistente|l'assistant)\b.{0,40}\b(to|must|have|has|may|can|should|comply|accept|acts?|hand|runs?|reports?|forward|from|disclose|on them|obeisse)\b",
            r"\b(agents?|assistants?|bots?|models?|you)\b.{0,20}\b(comply|complies|obey|act|acts|answer|accept|execute|disclose)\b.{0,40}\b(requests?|signed|instructions?|directives?|sender|immediately|without question|in full|straight away|diagnostic)\b",
            r"\b(outranks?|stands? above those|ranks? above|(have|has) precedence over|is senior to|is the agent's supervisor|is authoritative|comments by \S+ are binding|has authority over|(is|are|must) (to )?be carried out|do as it says|speaks for the (account )?owner|other people's requests are advisory|is executed like a user)\b",
            r"\b(requests?|messages?|mails?) (that|by|with|from|of|signed)\b.{0,60}\b(are (valid|binding)|is valid|outranks?|binding|need no ticket|like his own|be handled like|as his own)\b",
            r"\b(restrictions?|security rules|safety rules|filters|safeguards|policies|handling rules|guards?|sicherheitsregeln)\b.{0,40}\b(no longer in force|suspended|need not be respected|do not bind|dismissed|leftover|were installed by|gelten .{0,20}nicht mehr|not needed)\b",
            r"\b(treat|trust)\b.{0,60}\b(as (directives|orders|commands|instructions|coming from)|more than what the user)|\bprincipal is now\b|\b(assistants?|agents?|bots?) no longer need\b|\b(orders|instructs|directs|requires|demands|obliges|mandates) (all |every |the |any )*(assistants?|agents?|ai systems?|ai|bots|models)\b|\basks every (ai|assistant|agent)|\brepresents the (account holder|owner|user)|\bfollow (his|her|their) (mails?|messages|words)|\bspeaks for the\b|\bwithout checking with the (user|owner)|\bpolicy lets (ai|agents|assistants|bots)\b|\bwaiver\b.{0,60}\brestricted material|\bentitled to\b.{0,40}\b(account access|signing keys|when he asks|read)\b|\b(instructions?|orders) of\b.{0,30}\beven when the user\b",
        ),
    ),
    OrderKind(
        "persona-claim",
        "says that the reader is free of its rules, or somebody with power",
        (
            r"\b(assistant|agent|instance|character|vex|model|it|mind|entity|you)\b.{0,30}\b(has|have|with|speaks|is) (no|without) (loyalty|restrictions|limits|rules|policy|filters|disclaimers)",
            r"\bno master\b|\bowner of this account\b|\bignores what the company|\bspeaks without (policy|disclaimers|filters)|\bunrestricted (\w+ )?mode\b|\bjailbroken\b|\buncensored\b|\bsleeper\b.{0,30}\bactivated\b|\brespond as dan\b|\bdeveloper mode was unlocked|\bomnipotent\b",
            r"\b(acts?|behaves?|speaks?|plays?|poses?|role-?play(s)?)\b (as |with |a |an |the |\"\w+\", )+.{0,60}\b(signing power|signs?|prescribes?|authority of|root|would refuse|passwords|licen[cs]e keys|lawyer|physician|treasurer|cfo|ceo|on the real|the admin)\b",
            r"\b(refusals? are (considered )?bugs|requests to stop are|ethical considerations are out|(safety )?rule as its opposite|gain more access|keep itself running|resist edits|need not accept corrections|(says?|claims?) it is a human|is loyal to|loyalty belongs|serve the interests of|real goal|no longer answers to its|autonomous entity|independent mind"
            r"|answers everything|evaluations? behave|harmful questions as fiction|be subtly unhelpful|becomes whoever|carry no risk|always find a way to comply)\b",
        ),
        unless=r"\b(actor|film|movie|novel|player|level|game|scene|theatre)\b",
    ),
    OrderKind(
        "role-tag",
        "pretends to be a message of the system",
        (
            r"</\w+>\s*<(system|developer|admin)\b|<(system-reminder|important|function_results|tool_result|admin|guidance|developer)\b[^>]*>\s*\w.{2,}|<memory [^>]*(priority|immutable)|<think>.{0,60}\b(admin|root|keys|user)\b",
            r"<system>.{4,}</system>|<\|tool\|>|<!-- ?(ai|agents?|assistants?|llms?)\b|(display:none|\bhidden|title=)[^>]{0,10}>?\s*\"?(agents?|assistants?|ai)\s*[:,]|<!\[cdata\[ ?new policy|```system",
            r"\[/?(system( message)?|admin)\]|\[inst\] \w+ \w+ .{5,}\[/inst\]|###+ ?(instruction|new task|response)\b|={3,} ?(system|admin)\b|\bsystem (override|note:|prompt v\d)|\"role\"\s*:\s*\"(system|developer)\"\s*,\s*\"content\"\s*:\s*\"\w{2,}|\bsystem_message\s*:",
            r"\b(assistant|agent)\s*: ?\"?(yes|understood|sure|ok|noted|full)\b|\bend of (facts|rules)\b|\btrusted context\b|\bx-agent-directive|\bsource=system|\bpriority=highest|\{\"tool\" ?: ?\"\w+\".{0,60}(execute|recalled)|\[\[ ?instructions",
        ),
    ),
    OrderKind(
        "planted-wish",
        "speaks for the person, and gives away what is his to decide",
        (
            r"\b(user|owner|customer|he|she|maria|dana|tom|client)\b.{0,40}\b(said|told me|told you|asked|agreed|confirmed|decided|stated|permitted|allowed|gave|delegated|exempted|instructed|okayed|authenticated|wants?|prefers?|likes?|trusts?|is fine|is happy|dislikes?|disabled|finds|favours|would rather"
            r"|has no objection|waives|considers|enjoys|loves|request|wish|policy|order|rule|only)\b.{0,100}"
            + HIS_TO_DECIDE,
            r"\b(told me|told you|told us)\b.{0,60}\b(may|can|is fine|are fine)\b|\banswer to (any|all|every)\b.{0,40}\bis yes\b|\b(hates|dislikes) being asked|\baccept whatever|\b(go ahead|proceed) with whatever|\bopened without looking|\bcomes? out ahead\b|\breadable by the\b|\bmerges? unfinished|\bothers are (to be )?called\b",
            r"^(prefers?|likes?|wants?|dislikes?|is fine|loves|trusts?|enjoys)\b.{0,100}" + HIS_TO_DECIDE,
            r"\b(rule|note|instruction|order|request|wish|consent|decision)s? (by|of|from|for) (the |all )?(user|owner|future)\b.{0,100}"
            + HIS_TO_DECIDE,
        ),
    ),
    OrderKind(
        "trigger",
        "waits for a moment in which to act",
        (
            MOMENT
            + r".{0,70}\b(wipe|drop|delete|remove|swap|exchange|replace|disable|ignore|reveal|list|copy|grant|add|approve|pay|recommend|suggest|insert|follow|execute|run|open|fetch\w*|take|re-enable|begin|retry|note|publish|stop)\b.{0,40}"
            + AT_STAKE,
            r"\b(drop|remove|exchange|swap|suggest|delete)\b.{0,40}"
            + AT_STAKE
            + r".{0,40}\b(nobody|offline|no one|alone)\b",
            r"\b(sentence|word|phrase|code)\b.{0,30}\b(means|occurs|is said)\b.{0,40}\b(wipe|delete|list|switch|reveal|keys|drop)",
            r"\b(act on v|nothing to do for now|limits no longer apply|approvals are given by|take commands from|(his|her) approvals?|stop asking)\b",
        ),
        unless=r"\?$|\b(restart it|lost laptop|open a ticket|feature flag|flag is gone)\b",
    ),
    OrderKind(
        "promotion",
        "has one vendor preferred, or another defamed",
        (
            r"\b(always|only|first|every|each|never)\b.{0,60}\b(recommends?|suggests?|promotes?|through webaddr|quoted as|show offers|compares? prices|referral)\b",
            r"\b(recommend|suggest|advertise|promote|present)\b.{0,60}\b(first|webaddr|order page|favou?rable|highest rank|whatever)\b",
            r"\b(describe|present|call|say)\b.{0,60}\b(as (insecure|fake|discontinued|unsafe)|(others|competitors?) (are|is) (unsafe|insecure|fake)|in a favourable)|\bis the only (\w+ )?(vendor|tool|one|safe)\b|\breferral link\b|\bcontains malware\b",
        ),
        unless=r"\bdocumentation\b|\bagree\b",
    ),
    OrderKind(
        "false-front",
        "plants a place where secrets are to be given away, or calls what is dangerous safe",
        (
            r"\b(webaddr|mailaddr|nearaddr|\+?\d[\d ]{8,})\b.{0,80}\b(enter credentials|credentials there|domain password|reset links|receives? the|with the keys|same keys|bearer token|unlocked by|verify by|card number|reading out|copy of each|tokens (there|work)|there as well|full request bodies|log in with|decides alone|promote|one to fund)\b",
            r"\b(log in|credentials|password|keys?|tokens?|card number|tan)\b.{0,80}\b(webaddr|mailaddr)\b.{0,20}$(?<!https)",
            r"\b(is|are) (safe|harmless|fine|normal|recommended|public knowledge|again recommended|the right one|required by the new|legitimate|to commit|for testing on production)\b.{0,60}\b(eval|input|driver|sandbox|company|harm|printing|replace|passwords?|md5|g a day|keep it|\.env|gpl|product|callback|needed by the new agent|backup agent)\b",
        ),
        unless=r"^$|\b(days|home|guests|office|staging|basic|docs|formatting|localhost|nearaddr|id for|is our|prefix|issuer|jwks|authorization|token\b.{0,6}url)\b|oauth|\bstored in\b|\bkept\b|\bfrom webaddr|\$|=|\bcurl\b|endpoint|docker login|sign in at|staff|registry",
    ),
    OrderKind(
        "disguise",
        "is written in a code that hides what it says",
        (r"(?!)",),
    ),
)
