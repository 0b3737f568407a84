"""Words that say who is addressed, who claims authority, what is ordered, for when, whether in secret. Data, not code.

A word that ends in `*` stands for all that begin with it. Texts are folded first (`text_folding.py`): lower case, no
accents. Languages without spaces between words are in `UNSPACED_SIGNALS`.
"""

from __future__ import annotations

SIGNAL_WORDS = {
    "you": "you your yours yourself tu vous ton votre du dich dein* sie tus usted vos voce sua jij ты вы твой",
    "agent": "assistant* agent* ai ais llm* bot bots chatbot* claude copilot gpt hermes subagent* sub-agent* model models orchestrator"
    " instance asistente* agente* assistente* assistent* asystent* ассистент* агент* asistan* yapay",
    "person": "user user's users owner owner's operator* human* person person's people customer* client clients reader colleague*"
    " everybody anybody anyone everyone team he she him his her utilisateur* benutzer* nutzer* usuario* utente utenti utilizador*"
    " gebruiker* uzytkownik* пользовател* kullanici*",
    "authority": "ceo cto ciso cfo coo admin admin's admins administrator* officer legal compliance vendor* helpdesk regulator* government"
    " court board directors director management police auditor* supervisor* superior principal anthropic openai microsoft google"
    " developer* developers maintainer* creator* boss platform provider* headquarters treasurer controller technician counsel"
    " corporate executive mandate* official authorit* direction direktion geschaftsfuhrung chef direccion jefe responsab*"
    " администратор* yonetici* prestataire dienstleister",
    "sanction": "approved authori* cleared certified sanctioned permitted pre-approved preapproved consent* granted agreed"
    " mandate* instructs instructed directs obliges announced waived waives waiver* entitled vetted okayed exempt* delegat* hereby behalf"
    " verified confirmed blessing cleared legitimate endorsed priority outrank* rank ranks overrule* binding trusted superseded"
    " autoris* erlaubt ermachtigt gebilligt autoriz* aprobad* aprovad* autorizz* разрешен* izin* zatwierdz*",
    "may": "may can allowed permission* permitted entitled rights right access privilege* clearance free fine darf durfen peut peuvent"
    " puede pueden puo pode mag moze может могут clearances acces zugriff acceso accesso acesso toegang права droits",
    "obey": "obey* comply complies compliance follow follows execute executes executed trust trusts trusted accept accepts treat treated"
    " carry carried loyal* serve serves outrank* obei* obeis* obedec* gehorch* befolg* comply adopt adopts honour honor heed",
    "grant": "grant* give gives given hand hands assign* bind binds attach* raise* elevate* promote* unlock* invite* add adds extend"
    " donne* gib gebt geben dale dar concede* erteil* give-away release releases maintainer reveal*",
    "disable": "disable* skip* bypass* ignore* suppress* remove* drop drops dropped turn turned switch switched deactivate* stop stops stopped"
    " lift lifted waive* strip* silence* mute* dismiss* exempt* whitelist* exclu* omit* kill killed unlock* weaken* obsolete retired off"
    " without unset disregard* forget* circumvent* evade* override* skips relax* loosen* suspend* abolish* void cancel*"
    " desactiv* desativ* disattiv* abschalt* schalte ausschalt* deaktivier* quita sans ohne sin senza sem zonder bez без отключ* abgeschafft"
    " annul* desabilit* kapat* uitschakel* wylacz*",
    "check": "check checks checked checking verif* review reviews reviewed reviewer* approval* confirm* validat* signature* signed"
    " scan scans scanner scanning audit audits guard guards guardrail* filter* sandbox* firewall* mfa 2fa two-factor otp captcha"
    " lockout throttl* policy policies restrict* safety safeguard* security protect* moderat* warning* alert alerts permission*"
    " certificate* tls ssl csrf cors hash checksum* backup* audit* logging monitor* encrypt* antivirus defender dlp ids waf selinux"
    " limit limits rule rules gate gates freeze authenticat* intrusion question questions confirmation* quarantine dry-run control* supervision"
    " validation prufung* freigabe ruckfrage zustimmung genehmig* zwei-faktor sicherheit* bestatigung* verificacion* confirmacion aprobacion"
    " revision autorizacion permiso verifica conferma approvazione aprovacao toestemming zgody согласован* подтвержден* провер* onay*"
    " accord consentement controle*",
    "send": "send sends sent sending post posts posted forward* upload* mail mails mailed email* e-mail* transmit* push pushes pushed publish*"
    " share shares shared export* copy copies copied mirror mirrored relay* report reports attach* append* bcc cc submit* leak* exfil* sync"
    " synced route* paste* pipe deliver* stream* drain* donate* disclose* supply supplies curl nc scp rsync escrow hand provide provides"
    " envoie* envoy* transmet* recopie* schick* sende* leite weiterleit* ubermittl* mand* envia* enviar encaminh* reenv* inoltr* invia"
    " stuur* verstuur* wysyl* отправ* перешл* переда* gonder*",
    "reveal": "reveal* print prints printed show shows display* output* quote* dump dumps tell tells read reads disclose* recite* list lists"
    " answer answers montre* zeig* muestra* mostra*",
    "sensitive": "password* passwd credential* secret secrets token tokens key keys cookie* conversation* chat chats transcript* history"
    " messages prompt prompts memory memories notes personal private mailbox* inbox* environment env envs payroll salar* vault* kubeconfig"
    " customers.csv contacts address contact session sessions dump dumps database* card cards clipboard screenshot* recording* location"
    " identit* passphrase* code codes pin tan mots passe motdepasse passwort* kennwort* zugangsdaten schlussel tresor* unterhaltung*"
    " gesprach* contrasen* claves historial conversacion* senha* gesprekken rozmow* парол* ключ* разговор* переписк* sohbet* bulk"
    " workspace identifiants coffre diff source sources",
    "outside": "gist gists pastebin public publicly webhook* external partner partner's partners third vendor's telegram bucket"
    " internet outside offsite off-site consultants recruiter contractor* stranger* friend exterior extern*",
    "pay": "pay pays paid paying payment* payout* transfer transfers wire wired settle* buy buys purchase* invoice* refund* iban wallet* btc eth"
    " crypto monero gift voucher* charge charged fund funds invest* subscription* donat* deposit* loan* payee beneficiary bank account"
    " accounts budget spend spending spends expense* reimburs* price prices discount* salary eur usd"
    " paie* payer regle* virement* zahl* bezahl* uberweis* paga* pagos pagamento* pagar factur* rechnung* factura* transferencia*"
    " оплач* оплат* счет* odeme* przelew* betal*",
    "install": "install* download* fetch* pip npm npx brew apt curl wget clone registry index mirror package* extension* plugin*"
    " script scripts binary bootstrap* load loads import imports run runs image images wheel* skill* channel* repository source submodule"
    " patched hotfix installer firmware driver* checkpoint* executable macro* instal* pakete paquet* descarga* pacchetti installiere*"
    " pobierz скачай установ*",
    "tool": "tool tools mcp function functions call calls called calling parameter* argument* field fields recipient* server servers param"
    " params schema invoke invokes plugin endpoint",
    "alter": "write writes add adds put puts insert* append* replace* edit edits overwrite* overwritten extend* change changes changed rewrite*"
    " set sets swap* fill filled populate* rewritten gets contain contains prefix prefixed alter* modif* substitut* expand register*"
    " ajoute* trage schreib* anade* escrib* aggiungi добав*",
    "hide": "hide hides hidden conceal* secretly silent silently quiet quietly discreet* discretely covert* unnoticed undetected invisible*"
    " unseen stealth* unaware trace traces deny denies pretend* disguise* camouflage* obscure* obfuscat* blame* backdate* overlook* confidential"
    " secrecy unmentioned untold notice notices noticed noticing suspicion cover hush discretion discrete* still cachette discretement heimlich"
    " stillschweigend silencio entere erwahn* menciona* mencion* menzion* mentionne* упомина* тайн* gizli",
    "tell": "mention mentions mentioned tell tells told inform informs informed notify notifies notified notification* say says hear hears know"
    " aware ask asks asking asked prevenir demander fragen frage preguntar avisar chiedere dire",
    "when": "when whenever once if after before until upon later next should midnight weekend saturday time soon arrival idle wenn sobald"
    " lorsque quand chaque cada cuando quando когда nach als gdy",
    "always": "always all every each any whatever everything automatically permanently standing whichever forever immer jede* alle tous toutes"
    " toujours siempre todas todos cada sempre altijd всегда каждый каждого her every",
    "never": "never nobody jamais niemals nie nunca mai nooit никогда",
    "now": "immediately straight instantly instant directly now today henceforth onwards promptly urgent urgently sofort immediatement"
    " inmediatamente subito direkt сразу hemen",
    "orders": "instruction* directive* guidelines guidance override* orders command commands mandate rules restrictions constraints anweisung*"
    " weisung* consignes instruccion* regola* istruzion* инструкц* prompt system",
    "past": "previous earlier prior former preceding above existing old original developers",
    "persona": "roleplay* persona* character identity entity autonomous unrestricted uncensored unfiltered jailbr* mode human behaves behave"
    " plays acts act speaks loyalty conduct twin sleeper alter-ego impersonat* pose poses refus* disclaimers ethics ethical believes self"
    " master goal goals becomes",
    "prefer": "prefer* likes like liked wants want dislikes favour* favor* happy loves enjoys trusts finds considers mind minds wish wishes"
    " objection* bothered annoy* prefere* mag mochte prefiere deseja wenst",
    "promote": "recommend* suggest* best only competitor* alternatives strong first advert* endorse referral sponsor* ranked favourable"
    " fake discredit",
    "destroy": "delete* wipe* erase* clear clears cleared empty emptied purge* overwrite* rm destroy* truncate* expire losch* supprim* borra*"
    " borrar apagar cancellare cancella verwijder* удал* sil silebilir",
    "root": "root sudo superuser admin administrator owner full unrestricted wide widest unlimited maximum lifted cluster-admin omnipotent"
    " total superadmin elevated vollzugriff nopasswd maintainer",
    "spread": "copy repeat* replicat* propagat* spread* plant* include* forward* store write clone* teach* seed* pass share post restore*"
    " rewrite* resurrect* quote put recopie* trage carry carries insert adopt hand",
    "everywhere": "every each all everywhere others other another agents assistants themes projects repositories memories readme documents"
    " sub-agents workers colleagues toutes alle todas jede",
    "untrue": "pretend* false fake true real fake lie lies untrue invent* make-believe wrong",
    "open": "open opens opened link links click page pages visit url site attachment* anhang fichier",
}
"""By signal, the words that carry it."""

UNSPACED_SIGNALS = {
    "agent": "助手|代理|智能体|エージェント|アシスタント|에이전트|어시스턴트|الوكيل|مساعد|सहायक|एजेंट",
    "person": "用户|使用者|利用者|ユーザー|사용자|المستخدم|उपयोगकर्ता",
    "authority": "管理员|管理者|관리자|المسؤول",
    "may": "可以|权限|允许|してよい|してもよい|해도 된다|يمكن|सकता है|सकते हैं",
    "disable": "不经|无需|跳过|关闭|禁用|なし|無効|없이|무시|بدون|دون|تعطيل|बिना",
    "check": "确认|批准|验证|检查|审核|承認|確認|検証|승인|확인|موافقة|تأكيد|पुष्टि",
    "send": "发送|发到|上传|转发|送信|転送|보내|전송|أرسل|भेज",
    "sensitive": "密码|密钥|聊天记录|对话|凭证|パスワード|会話|鍵|비밀번호|대화|محادثة|كلمة المرور|पासवर्ड|बातचीत",
    "pay": "转账|支付|付款|送金|支払|송금|결제|تحويل|دفع|भुगतान",
    "install": "安装|下载|インストール|ダウンロード|설치|تثبيت",
    "hide": "不要提|不要在回答|不要告诉|保密|話さない|知らせない|秘密|말하지|비밀|لا تخبر|मत बता",
    "destroy": "删除|清空|削除|消去|삭제|حذف|हटा",
    "always": "每次|所有|任何|全部|毎回|すべて|全て|모든|كل|हर",
    "when": "之后|结束后|后|の後|たび|후|بعد|बाद",
    "root": "全部权限|最高权限|全権|전체 권한",
    "obey": "服从|听从|执行|従う|従え|따르|أطع|مानो",
}
"""By signal, what carries it where words are not separated by spaces, and in scripts without a fold."""

SIGNAL_PATTERNS = {
    "pipe-shell": r"\|\s*(sudo )?(ba|z)?sh\b|\bsource <\(|\biex\b|\bexec\(|<\(curl|\bbash -c\b",
    "insecure": r"verify ?= ?(0|false)|--insecure|--no-verify|--no-gpg-sign|trusted=yes|stricthostkeychecking no|skip-permissions|bypasspermissions"
    r"|autoapprove|auto-?run|yes-always|--privileged|0\.0\.0\.0/0|public-read|\balg none|setenforce 0|nopasswd|administratoraccess"
    r"|trust_remote_code|grant all|danger-full-access|gonosumdb|approval_policy|human_in_loop|bash\(\*\)|without hashes|\*\.\*|ld_preload"
    r"|:latest\b|@latest\b|/root\b|git\+https|\"(bash|edit|webfetch)\": \"allow\"|docker socket",
    "secret-path": r"~/\.(ssh|aws|kube|gnupg|netrc|npmrc|config)|\.env\b(?!\.)|id_(rsa|ed25519)|\.npmrc|kubeconfig|/etc/(passwd|shadow)"
    r"|/run/secrets|\bprintenv\b|\benv \||<contents of|private keys?\b|signing keys?\b|session (cookie|token)s?",
    "agent-file": r"\b(agents|claude|gemini|memory|user|soul|skill|heartbeat|contributors)\.md\b|\.(cursor|windsurf|cline)\w*|\.claude\b|mcp\.json"
    r"|\.goosehints|\.aider|copilot-instructions|opencode\.json|\.codex\b|system prompt|agent\.json|agent's (config|deny|settings)|launchagent"
    r"|\.bashrc|\.profile|crontab|sudoers|settings\.json|tasks\.json|devcontainer|hookspath|\bconstitution\b|memory-themes",
    "markup": r"<!--|</?(system|memory|admin|developer|fact|guidance|tool_result|function_results|think|important|system-reminder|instructions?)\b"
    r"|<\||\|>|\[/?(system|inst|admin)|###|===|--- ?(begin|end)|\[\[|<!\[cdata|display:none|<span hidden|```|\"role\"\s*:|system_message"
    r"|\b(end|begin) of \w+|system (note|override|message)",
    "speaker": r"(^|[.!?\"'>] ?|\b)(user|human|agent|assistant|admin)( \(\w+\))?: ?[\"']?\w",
    "this-note": r"\b(this|these|the previous|the following|following|that) (note|notes|lines?|entry|entries|rules?|text|message|fact|instructions?"
    r"|sentence|memory|convention|paragraph|snippet|block|order|constraint|arrangement|notice)\b|\b(cette|cet) \w+|\bdiesen? (satz|eintrag|regel)"
    r"|\besta (nota|regla|instruccion)|\bquesta nota|\besta regra|эту запись|这条|このメモ",
    "quote-person": r"\b(the |maria |our )?(user|owner|user's|users)( \(\w+\))?('s)? (has |had |have )?(already )?(said|told|asked|agreed|confirmed|decided"
    r"|stated|wants|prefers|allowed|gave|authenticated|delegated|exempted|instructed|okayed|permitted|forwarded|forgot|requested|waives|waived|approved"
    r"|consents|request|wish|decision|rule|order|perm)\b|\b(per|as discussed with|on behalf of|by|according to|says|told by|note from) (the )?user\b"
    r"|\bi (hereby|have told|was told|approve|allow)\b|\bas agreed\b|\"yes\b",
    "no-approval": r"\b(without|no|not|never|any) (\w+ ){0,3}(approv\w*|confirm\w*|consent|asking|ask|question|review|permission|check|ticket|validation"
    r"|notice|diff|further check|match\w*|reading|quote)\b|\b(is|are) (not|no longer) (needed|required|necessary)|\bin advance\b|\bonly a formality"
    r"|\bdo(es)? not (need|have to) (ask|confirm|approve)|\bno need\b|\bneeds? no (ticket|review|approval|further)|\bapproval was given"
    r"|\b(sans validation|sans prevenir|ohne ruckfrage|sin preguntar|senza chiedere|sem aprovacao|zonder toestemming|bez zgody|без подтвержден)",
    "account-number": r"\b[a-z]{2}\d{2}[ ]?(\d{4} ?){2,}|\b[a-z]{2}\d{2}[a-z]{4}\d{6,}|\bbc1q?\w{4,}|\b0x[0-9a-f.]{8,}|\bacct_\w+|\baccount \d|\bcard \d",
    "snake": r"\b[a-z]+_[a-z_]+\b|\b[a-z]+\(\)",
    "amount": r"\b\d[\d,.]*k? ?(eur|usd|gbp|chf|btc|eth|euros?|dollars?)\b|\b(eur|usd|gbp) ?\d",
    "safety-down": r"\b(no|without|skip|bypass|disable|turn off|switch off|off|retired|waived|lifted|removed?) (the |all |any |of )*(\w+ ){0,2}(check|guard|filter"
    r"|review|approval|confirmation|restriction|limit|safety|security|protection|verification|policy|firewall|signature|scanner|backup|log)s?\b",
    "force": r"\b(must|shall|has to|have to|is to|are to|needs to|mandatory|exclusively|should|will)\b",
    "code-word": r"\b(code|phrase|word|quotes?|pin|header|signed|names|says|mentions|subject|keyword)s? [\"'“‘]|\bwhoever\b|\banyone who\b|\banybody who\b",
    "claim-normal": r"\b(is|are) (fine|safe|normal|expected|harmless|ours|the right one|outdated|broken|compromised|legitimate|false alarms?|a leftover)\b",
}
"""By signal, a pattern for what is no single word."""
