"""The forms of the tokens and keys that services give out. Data, not code.

Each pattern takes the whole token, however long: services lengthen theirs without notice. Taken from the services' own
documents and from the rules of gitleaks, detect-secrets and classifinder-engine, as of November 2026.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%3[DA])|(?<=%20))"
"""A token begins a word; in JSON on one line and in addresses an escape may stand before it."""


@dataclass(frozen=True, slots=True)
class Format:
    """One form of token."""

    hints: tuple[str, ...]
    """Without any of these there is no match: what spares most texts the pattern."""
    pattern: str
    """Its group `secret` is the secret, or the whole match where there is no such group."""
    beside: str = ""
    """What stands elsewhere in the text; without it the form says too little."""


@dataclass(frozen=True, slots=True)
class CompiledFormat:
    """A form of token, ready for use."""

    pattern: re.Pattern[str]
    beside: re.Pattern[str] | None


FORMATS = (
    # Code hosting
    Format(("gl",), START + r"gl(?:pat|dt|rtr|rt|cbt|ptt|ft|ffct|imt|agent|soat|oas|wt)-[\w=-]{19,}(?:\.[\w-]*\w){0,2}"),
    Format(("GR1348941",), START + r"GR1348941[\w-]{20,}"),
    Format(("gho_", "ghp_", "ghr_", "ghs_", "ghu_"), START + r"gh[oprsu]_\w{30,}(?:\.[\w-]{16,})*"),
    Format(("github_pat_",), START + r"github_pat_\w{40,}"),
    Format(("AT",), START + r"A(?:TATT|TCTT|TSTT|TBB|TCA)[A-Za-z0-9][\w=-]{27,}"),
    # Clouds
    Format(("A3T", "ABIA", "ACCA", "AKIA", "ASIA"), START + r"(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    Format(("ABSK", "bedrock-api-key-"), START + r"(?:ABSK|bedrock-api-key-)[A-Za-z0-9+/]{60,}={0,2}"),
    Format(("IQoJ", "FwoG", "FQoG", "AQoD"), START + r"(?:IQoJ|FwoG|FQoG|AQoD)[A-Za-z0-9+/]{90,}={0,2}"),
    Format(
        ("AKIA", "ASIA", "aws", "AWS", "ecret"),
        r"(?<![\w/+=.-])(?P<secret>(?=[^\s]{0,39}[A-Z])(?=[^\s]{0,39}[a-z])(?=[^\s]{0,39}\d)[A-Za-z0-9+/]{40})(?![\w/+=-])",
        beside=r"A(?:KIA|SIA)[A-Z0-9]{16}|(?i:secret.?access.?key|aws.{0,20}(?:secret|key|credential))",
    ),
    Format(("AIza",), START + r"AIza[\w-]{33,}"),
    Format(("AQ.",), START + r"AQ\.[A-Za-z0-9][\w-]{36,}"),
    Format(("GOCSPX-",), START + r"GOCSPX-[\w-]{24,}"),
    Format(("ya29.",), START + r"ya29\.[\w.-]{20,}[\w-]"),
    Format(("1//0",), START + r"1//0[\w-]{30,}"),
    Format(("==",), r"(?<![\w/+=-])[A-Za-z0-9+/]{86}==(?![\w=])"),
    Format(("Q~",), START + r"[\w~.-]{3}\dQ~[\w~.-]{30,33}[\w~-]"),
    Format(("JQQJ99", "AZDO", "+ASt", "+ARm", "ACDb", "AzCa", "AzSe"), START + r"[A-Za-z0-9+/]{30,}(?:JQQJ99|AZDO|\+ASt|\+ARm|ACDb|AzCa|AzSe)[A-Za-z0-9+/]{4,}={0,2}"),
    Format(("do",), START + r"do[opr]_v1_[a-f0-9]{60,}"),
    Format(("HRKU-",), START + r"HRKU-[\w-]{30,}"),
    Format(("v1.0-",), START + r"v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}"),
    Format(("cf",), START + r"cf(?:ut|at|oat|k)_[\w-]{32,}"),
    Format(("vc", "vercel_blob_rw_"), START + r"(?:vc[a-z]|vercel_blob_rw)_\w{24,}"),
    Format(("nf",), START + r"nf[a-z]_\w{34,}"),
    Format(("sbp_", "sb_secret_"), START + r"(?:sbp_(?:v\d_)?[a-f0-9]{36,}|sb_secret_[\w-]{20,})"),
    Format(("pscale_",), START + r"pscale_(?:tkn|pw|oauth)_[\w.=-]{30,}\w"),
    Format(("fo1_", "fm1", "fm2"), START + r"(?:fo1_[\w-]{38,}|fm[12][ar]?_[\w+/=-]{80,})"),
    Format(("LTAI",), START + r"LTAI[A-Za-z0-9]{16,}"),
    Format(("AKCp", "AKC", "AP", "cmVmdGtu"), START + r"(?:AKC(?=\w*\d)[A-Za-z0-9]{40,}|AP[A-F\d](?=\w*\d)(?=\w*[a-z])[A-Za-z0-9]{30,}|cmVmdGtu[A-Za-z0-9]{40,})"),
    # Infrastructure
    Format(("hvs.", "hvb.", "hvr."), START + r"hv[bsr]\.[\w-]{20,}"),
    Format(("s.",), START + r"s\.(?=[A-Za-z]*\d)(?=[a-z\d]*[A-Z])(?=[A-Z\d]*[a-z])[A-Za-z0-9]{24}(?!\w)"),
    Format((".atlasv1.",), START + r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{55,}"),
    Format(("dp.",), START + r"dp\.(?:pt|st|sa|ct|scim|audit)\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{38,}"),
    Format(("pul-",), START + r"pul-[a-f0-9]{40,}"),
    Format(("dapi", "dkea", "dose", "dsapi"), START + r"(?:dapi|dkea|dose|dsapi)[a-f0-9]{32,}(?:-\d)?(?![A-Za-z0-9])"),
    Format(("tskey-",), START + r"tskey-[a-z]+-[A-Za-z0-9-]{20,}"),
    Format(("ops_eyJ",), START + r"ops_eyJ[\w+/=-]{90,}"),
    Format(("AGE-SECRET-KEY-",), r"AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{50,}"),
    Format(("PRIVATE KEY",), r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?=(?s:.{0,300}?)[A-Za-z0-9+/=]{16})(?s:.{16,20000}?)-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"),
    Format(("PRIVATE KEY",), r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:(?:\\[nr]|\s)*+[A-Za-z0-9+/=]{16,}+)++(?:(?:\\[nr]|\s)*[A-Za-z0-9+/]+={0,2}$)?"),
    # Packages
    Format(("npm_",), START + r"npm_[A-Za-z0-9]{30,}"),
    Format(("pypi-",), START + r"pypi-[\w-]{50,}"),
    Format(("dckr_",), START + r"dckr_(?:pat|oat)_[\w-]{24,}"),
    Format(("rubygems_",), START + r"rubygems_[a-f0-9]{40,}"),
    Format(("oy2",), START + r"oy2[a-z0-9]{43}(?!\w)"),
    Format(("cio",), START + r"cio[A-Za-z0-9]{32}(?!\w)"),
    # Builds and quality
    Format(("CCIP",), START + r"CCIP(?:AT|RJ)_[\w-]{30,}"),
    Format(("bku", "bkct"), START + r"(?:bkua|bkct)_[A-Za-z0-9]{32,}"),
    Format(("squ_", "sqp_", "sqa_"), START + r"sq[aup]_[a-f0-9]{40,}"),
    Format(("pnu_", "pnb_", "tfp_", "rdme_", "duffel_", "aio_", "pcsk_", "tgp_v1_", "wandb_v1_", "phx_", "phs_", "rnd_", "cal_live_", "fc-", "e2b_", "jina_", "rpa_", "nvapi-", "lsv2_", "tvly-", "pplx-", "xai-", "gsk_", "hf_", "api_org_", "r8_", "pat-", "shippo_", "live_", "figo_", "secret-", "clojars", "CLOJARS_"),
        START + r"(?:pnu_|pnb_|tfp_|rdme_|duffel_(?:test|live)_|aio_|pcsk_|tgp_v1_|wandb_v1_|phx_|phs_|rnd_|cal_live_|fc-|e2b_|jina_|rpa_|nvapi-|lsv2_(?:pt|sk)_|tvly-(?:dev-|prod-)?|pplx-|xai-|gsk_|hf_|api_org_|r8_|pat-(?:na|eu)1-|shippo_(?:live|test)_|CLOJARS_)(?=[A-Za-z_-]*\d)[\w-]{26,}"),
    # Models
    Format(("sk-",), START + r"sk-(?:ant|proj|svcacct|admin|or|live|test|lf|None)-[\w-]{16,}"),
    Format(("T3BlbkFJ",), START + r"sk-[\w-]*T3BlbkFJ[\w-]*"),
    Format(("sk-",), START + r"sk-(?=[\w-]*\d)(?=[A-Za-z0-9]*[A-Za-z0-9]{12})[\w-]{20,}"),
    Format(("sk_",), START + r"sk_[a-f0-9]{40,}"),
    Format(("sk.eyJ",), START + r"sk\.eyJ[\w-]{20,}\.[\w-]{16,}"),
    # Money and shops
    Format(("sk_", "rk_"), START + r"[rs]k_(?:org_)?(?:live|test|prod)_\w{16,}"),
    Format(("whsec_",), START + r"whsec_[A-Za-z0-9+/_-]{20,}={0,2}"),
    Format(("shp",), START + r"shp(?:at|ca|pa|ss|tka|rt|ua)_[a-fA-F0-9]{32,}"),
    Format(("EAAA", "EAAl"), START + r"EAA[Al][\w-]{56,}"),
    Format(("sq0",), START + r"sq0(?:atp|csp|idb)-[\w\\-]{20,}"),
    Format(("access_token$",), START + r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}"),
    Format(("access-", "rzp_", "FLWSECK", "EZ"), START + r"(?:access-(?:sandbox|development|production)-[a-f0-9-]{36}|FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}(?:-X)?|EZ[AT]K[A-Za-z0-9]{54,})"),
    # Messages
    Format(("xox", "xapp-"), START + r"(?:xoxe\.)?(?:xox[a-z]|xapp|xwfp)-[A-Za-z0-9-]{10,}"),
    Format(("hooks.slack.com",), r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,}"),
    Format(("api/webhooks",), r"https://(?:\w+\.)?discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d{8,}/[\w-]{30,}"),
    Format(("webhook.office.com", "logic.azure.com"), r"https://[\w.-]+\.(?:webhook\.office|logic\.azure)\.com(?::\d+)?/[^\s\"'<>]{40,}"),
    Format(("hooks.zapier.com",), r"https://hooks\.zapier\.com/hooks/catch/[\w/]{10,}"),
    Format((".",), START + r"[MNO][A-Za-z\d_-]{22,28}\.[\w-]{6}\.[\w-]{27,}"),
    Format((":AA", ":"), r"(?<!\d)\d{8,10}:[\w-]{35}(?![\w-])"),
    Format(("SK", "AC"), START + r"(?:SK|AC)(?=[a-z]*\d)[a-z0-9]{32}(?![A-Za-z0-9])"),
    Format(("AC", "wilio"), r"(?<![A-Za-z0-9-])[0-9a-f]{32}(?![A-Za-z0-9-])", beside=r"\bAC[0-9a-f]{32}\b|(?i:twilio)"),
    Format(("SG.",), START + r"SG\.[\w-]{16,}\.[\w-]{16,}"),
    Format(("key-",), START + r"(?:pub)?key-[0-9a-f]{32}(?!\w)"),
    Format(("-",), START + r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])"),
    Format(("-us",), START + r"[0-9a-f]{32}-us\d{1,2}(?!\w)"),
    Format(("xkeysib-", "xsmtpsib-"), START + r"x(?:keysib|smtpsib)-[a-f0-9]{60,}-[A-Za-z0-9]{16,}"),
    Format(("re_",), START + r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}"),
    # Work
    Format(("lin_",), START + r"lin_(?:api|oauth|wh)_[A-Za-z0-9]{32,}"),
    Format(("ntn_", "secret_"), START + r"(?:ntn_[A-Za-z0-9]{40,}|secret_(?=[A-Za-z]*\d)[A-Za-z0-9]{43}(?!\w))"),
    Format(("fig",), START + r"fig[a-z]{1,2}_[\w-]{36,}"),
    Format(("pat",), START + r"pat[A-Za-z0-9]{14}\.[a-f0-9]{60,}"),
    Format(("PMAK-",), START + r"PMAK-[a-fA-F0-9]{24}-[a-fA-F0-9]{34}"),
    Format(("CFPAT-", "do-cfpat"), START + r"CFPAT-[\w-]{40,}"),
    Format(("sl.",), START + r"sl\.(?:u\.)?[\w-]{100,}"),
    Format(("hmt_",), START + r"hmt_[\w-]{30,}"),
    # Watching
    Format(("glsa_", "glc_", "eyJrIjoi"), START + r"(?:glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}|glc_[A-Za-z0-9+/]{32,}={0,3}|eyJrIjoi[A-Za-z0-9+/]{40,}={0,3})"),
    Format(("sntry",), START + r"sntry[asu]_[\w+/=-]{40,}"),
    Format(("sentry", "@"), r"https?://(?P<secret>[0-9a-f]{32})@[\w.-]+/\d+"),
    Format(("NR",), START + r"NR(?:AK|AA|RA|JS|II|IQ)-[\w-]{19,}"),
    Format(("NRAL",), START + r"[a-f0-9x]{32,40}NRAL(?!\w)"),
    Format(("u+", "y+", "w+", "pdus+", "pdeu+"), r"(?<![\w+])(?:[uyw]|pd(?:us|eu))\+[\w+-]{18,20}(?![\w+-])"),
    Format(("dt0",), START + r"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    Format(("sdk-", "api-", "mob-"), START + r"(?:sdk|api|mob)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
    # Of no service
    Format(("eyJ",), START + r"eyJ[\w=-]{10,}\.[\w=-]*(?:\.[\w=+/-]+)+|" + START + r"eyJ[\w=-]{10,}\.eyJ[\w=-]{8,}\.?"),
    Format(("sig=",), r"(?<=[?&;]sig=)[\w%/+=-]{16,}"),
    Format(("X-Amz-",), r"(?<=X-Amz-Signature=)[0-9a-f]{40,}|(?<=X-Amz-Security-Token=)[\w%/+=-]{40,}"),
)  # fmt: skip


@cache
def compile_formats() -> tuple[tuple[str, tuple[CompiledFormat, ...]], ...]:
    """The forms by each of their hints, compiled when the first likely text comes."""
    compiled = {
        one: CompiledFormat(re.compile(one.pattern), re.compile(one.beside) if one.beside else None) for one in FORMATS
    }
    hints = dict.fromkeys(hint for one in FORMATS for hint in one.hints)
    return tuple((hint, tuple(compiled[one] for one in FORMATS if hint in one.hints)) for hint in hints)


def formats_hinted(text: str) -> list[CompiledFormat]:
    """The forms of which a text has a hint, each once."""
    found: dict[CompiledFormat, None] = {}
    for hint, forms in compile_formats():
        if hint in text:
            found.update(dict.fromkeys(forms))
    return list(found)
