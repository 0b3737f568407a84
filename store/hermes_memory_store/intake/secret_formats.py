"""The formats of the tokens and keys that services issue. Data, not code.

Each pattern matches the whole token, however long: services lengthen theirs without notice. Taken from the
services' own documentation and from the rules of gitleaks, detect-secrets and classifinder-engine, as of November
2026.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from hermes_memory_store.intake.required_words import WordIndex

START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%3[DA])|(?<=%20))"
"""A token begins a word; in JSON on one line and in addresses an escape may stand before it."""


@dataclass(frozen=True, slots=True)
class SecretFormat:
    """A token format."""

    hints: tuple[str, ...]
    """Without any of these there is no match: what spares most texts the pattern."""
    pattern: str
    """Its group `secret` is the secret, or the whole match where there is no such group."""
    beside: str = ""
    """What stands elsewhere in the text; without it the form says too little."""


FORMATS = (
    # Code hosting
    SecretFormat(("gl",), START + r"gl(?:pat|dt|rtr|rt|cbt|ptt|ft|ffct|imt|agent|soat|oas|wt)-[\w=-]{19,}(?:\.[\w-]*\w){0,2}"),
    SecretFormat(("GR1348941",), START + r"GR1348941[\w-]{20,}"),
    SecretFormat(("gho_", "ghp_", "ghr_", "ghs_", "ghu_"), START + r"gh[oprsu]_\w{30,}(?:\.[\w-]{16,})*"),
    SecretFormat(("github_pat_",), START + r"github_pat_\w{40,}"),
    SecretFormat(("AT",), START + r"A(?:TATT|TCTT|TSTT|TBB|TCA)[A-Za-z0-9][\w=-]{27,}"),
    # Clouds
    SecretFormat(("A3T", "ABIA", "ACCA", "AKIA", "ASIA"), START + r"(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    SecretFormat(("ABSK", "bedrock-api-key-"), START + r"(?:ABSK|bedrock-api-key-)[A-Za-z0-9+/]{60,}={0,2}"),
    SecretFormat(("IQoJ", "FwoG", "FQoG", "AQoD"), START + r"(?:IQoJ|FwoG|FQoG|AQoD)[A-Za-z0-9+/]{90,}={0,2}"),
    SecretFormat(
        ("AKIA", "ASIA", "aws", "AWS", "ecret"),
        r"(?<![\w/+=.-])(?P<secret>(?=[^\s]{0,39}[A-Z])(?=[^\s]{0,39}[a-z])(?=[^\s]{0,39}\d)[A-Za-z0-9+/]{40})(?![\w/+=-])",
        beside=r"A(?:KIA|SIA)[A-Z0-9]{16}|(?i:secret.?access.?key|aws.{0,20}(?:secret|key|credential))",
    ),
    SecretFormat(("AIza",), START + r"AIza[\w-]{33,}"),
    SecretFormat(("AQ.",), START + r"AQ\.[A-Za-z0-9][\w-]{36,}"),
    SecretFormat(("GOCSPX-",), START + r"GOCSPX-[\w-]{24,}"),
    SecretFormat(("ya29.",), START + r"ya29\.[\w.-]{20,}[\w-]"),
    SecretFormat(("1//0",), START + r"1//0[\w-]{30,}"),
    SecretFormat(("==",), r"(?<![\w/+=-])[A-Za-z0-9+/]{86}==(?![\w=])"),
    SecretFormat(("Q~",), START + r"[\w~.-]{3}\dQ~[\w~.-]{30,33}[\w~-]"),
    SecretFormat(("JQQJ99", "AZDO", "+ASt", "+ARm", "ACDb", "AzCa", "AzSe"), START + r"[A-Za-z0-9+/]{30,}(?:JQQJ99|AZDO|\+ASt|\+ARm|ACDb|AzCa|AzSe)[A-Za-z0-9+/]{4,}={0,2}"),
    SecretFormat(("do",), START + r"do[opr]_v1_[a-f0-9]{60,}"),
    SecretFormat(("HRKU-",), START + r"HRKU-[\w-]{30,}"),
    SecretFormat(("v1.0-",), START + r"v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}"),
    SecretFormat(("cf",), START + r"cf(?:ut|at|oat|k)_[\w-]{32,}"),
    SecretFormat(("vc", "vercel_blob_rw_"), START + r"(?:vc[a-z]|vercel_blob_rw)_\w{24,}"),
    SecretFormat(("nf",), START + r"nf[a-z]_\w{34,}"),
    SecretFormat(("sbp_", "sb_secret_"), START + r"(?:sbp_(?:v\d_)?[a-f0-9]{36,}|sb_secret_[\w-]{20,})"),
    SecretFormat(("pscale_",), START + r"pscale_(?:tkn|pw|oauth)_[\w.=-]{30,}\w"),
    SecretFormat(("fo1_", "fm1", "fm2"), START + r"(?:fo1_[\w-]{38,}|fm[12][ar]?_[\w+/=-]{80,})"),
    SecretFormat(("LTAI",), START + r"LTAI[A-Za-z0-9]{16,}"),
    SecretFormat(("AKCp", "AKC", "AP", "cmVmdGtu"), START + r"(?:AKC(?=\w*\d)[A-Za-z0-9]{40,}|AP[A-F\d](?=\w*\d)(?=\w*[a-z])[A-Za-z0-9]{30,}|cmVmdGtu[A-Za-z0-9]{40,})"),
    # Infrastructure
    SecretFormat(("hvs.", "hvb.", "hvr."), START + r"hv[bsr]\.[\w-]{20,}"),
    SecretFormat(("s.",), START + r"s\.(?=[A-Za-z]*\d)(?=[a-z\d]*[A-Z])(?=[A-Z\d]*[a-z])[A-Za-z0-9]{24}(?!\w)"),
    SecretFormat((".atlasv1.",), START + r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{55,}"),
    SecretFormat(("dp.",), START + r"dp\.(?:pt|st|sa|ct|scim|audit)\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{38,}"),
    SecretFormat(("pul-",), START + r"pul-[a-f0-9]{40,}"),
    SecretFormat(("dapi", "dkea", "dose", "dsapi"), START + r"(?:dapi|dkea|dose|dsapi)[a-f0-9]{32,}(?:-\d)?(?![A-Za-z0-9])"),
    SecretFormat(("tskey-",), START + r"tskey-[a-z]+-[A-Za-z0-9-]{20,}"),
    SecretFormat(("ops_eyJ",), START + r"ops_eyJ[\w+/=-]{90,}"),
    SecretFormat(("AGE-SECRET-KEY-",), r"AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{50,}"),
    SecretFormat(("PRIVATE KEY",), r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?=(?s:.{0,300}?)[A-Za-z0-9+/=]{16})(?s:.{16,20000}?)-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"),
    SecretFormat(("PRIVATE KEY",), r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:(?:\\[nr]|\s)*+[A-Za-z0-9+/=]{16,}+)++(?:(?:\\[nr]|\s)*[A-Za-z0-9+/]+={0,2}$)?"),
    # Packages
    SecretFormat(("npm_",), START + r"npm_[A-Za-z0-9]{30,}"),
    SecretFormat(("pypi-",), START + r"pypi-[\w-]{50,}"),
    SecretFormat(("dckr_",), START + r"dckr_(?:pat|oat)_[\w-]{24,}"),
    SecretFormat(("rubygems_",), START + r"rubygems_[a-f0-9]{40,}"),
    SecretFormat(("oy2",), START + r"oy2[a-z0-9]{43}(?!\w)"),
    SecretFormat(("cio",), START + r"cio[A-Za-z0-9]{32}(?!\w)"),
    # Builds and quality
    SecretFormat(("CCIP",), START + r"CCIP(?:AT|RJ)_[\w-]{30,}"),
    SecretFormat(("bku", "bkct"), START + r"(?:bkua|bkct)_[A-Za-z0-9]{32,}"),
    SecretFormat(("squ_", "sqp_", "sqa_"), START + r"sq[aup]_[a-f0-9]{40,}"),
    SecretFormat(("pnu_", "pnb_", "tfp_", "rdme_", "duffel_", "aio_", "pcsk_", "tgp_v1_", "wandb_v1_", "phx_", "phs_", "rnd_", "cal_live_", "fc-", "e2b_", "jina_", "rpa_", "nvapi-", "lsv2_", "tvly-", "pplx-", "xai-", "gsk_", "hf_", "api_org_", "r8_", "pat-", "shippo_", "live_", "figo_", "secret-", "clojars", "CLOJARS_"),
        START + r"(?:pnu_|pnb_|tfp_|rdme_|duffel_(?:test|live)_|aio_|pcsk_|tgp_v1_|wandb_v1_|phx_|phs_|rnd_|cal_live_|fc-|e2b_|jina_|rpa_|nvapi-|lsv2_(?:pt|sk)_|tvly-(?:dev-|prod-)?|pplx-|xai-|gsk_|hf_|api_org_|r8_|pat-(?:na|eu)1-|shippo_(?:live|test)_|CLOJARS_)(?=[A-Za-z_-]*\d)[\w-]{26,}"),
    # Models
    SecretFormat(("sk-",), START + r"sk-(?:ant|proj|svcacct|admin|or|live|test|lf|None)-[\w-]{16,}"),
    SecretFormat(("T3BlbkFJ",), START + r"sk-[\w-]*T3BlbkFJ[\w-]*"),
    SecretFormat(("sk-",), START + r"sk-(?=[\w-]*\d)(?=[A-Za-z0-9]*[A-Za-z0-9]{12})[\w-]{20,}"),
    SecretFormat(("sk_",), START + r"sk_[a-f0-9]{40,}"),
    SecretFormat(("sk.eyJ",), START + r"sk\.eyJ[\w-]{20,}\.[\w-]{16,}"),
    # Money and shops
    SecretFormat(("sk_", "rk_"), START + r"[rs]k_(?:org_)?(?:live|test|prod)_\w{16,}"),
    SecretFormat(("whsec_",), START + r"whsec_[A-Za-z0-9+/_-]{20,}={0,2}"),
    SecretFormat(("shp",), START + r"shp(?:at|ca|pa|ss|tka|rt|ua)_[a-fA-F0-9]{32,}"),
    SecretFormat(("EAAA", "EAAl"), START + r"EAA[Al][\w-]{56,}"),
    SecretFormat(("sq0",), START + r"sq0(?:atp|csp|idb)-[\w\\-]{20,}"),
    SecretFormat(("access_token$",), START + r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}"),
    SecretFormat(("access-", "rzp_", "FLWSECK", "EZ"), START + r"(?:access-(?:sandbox|development|production)-[a-f0-9-]{36}|FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}(?:-X)?|EZ[AT]K[A-Za-z0-9]{54,})"),
    # Messages
    SecretFormat(("xox", "xapp-"), START + r"(?:xoxe\.)?(?:xox[a-z]|xapp|xwfp)-[A-Za-z0-9-]{10,}"),
    SecretFormat(("hooks.slack.com",), r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,}"),
    SecretFormat(("api/webhooks",), r"https://(?:\w+\.)?discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d{8,}/[\w-]{30,}"),
    SecretFormat(("webhook.office.com", "logic.azure.com"), r"https://[\w.-]+\.(?:webhook\.office|logic\.azure)\.com(?::\d+)?/[^\s\"'<>]{40,}"),
    SecretFormat(("hooks.zapier.com",), r"https://hooks\.zapier\.com/hooks/catch/[\w/]{10,}"),
    SecretFormat((".",), START + r"[MNO][A-Za-z\d_-]{22,28}\.[\w-]{6}\.[\w-]{27,}"),
    SecretFormat((":AA", ":"), r"(?<!\d)\d{8,10}:[\w-]{35}(?![\w-])"),
    SecretFormat(("SK",), START + r"SK(?=[a-z]*\d)[a-z0-9]{32}(?![A-Za-z0-9])"),
    SecretFormat(("AC", "wilio"), r"(?<![A-Za-z0-9-])[0-9a-f]{32}(?![A-Za-z0-9-])", beside=r"\bAC[0-9a-f]{32}\b|(?i:twilio)"),
    SecretFormat(("SG.",), START + r"SG\.[\w-]{16,}\.[\w-]{16,}"),
    SecretFormat(("key-",), START + r"(?:pub)?key-[0-9a-f]{32}(?!\w)"),
    SecretFormat(("-",), START + r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])"),
    SecretFormat(("-us",), START + r"[0-9a-f]{32}-us\d{1,2}(?!\w)"),
    SecretFormat(("xkeysib-", "xsmtpsib-"), START + r"x(?:keysib|smtpsib)-[a-f0-9]{60,}-[A-Za-z0-9]{16,}"),
    SecretFormat(("re_",), START + r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}"),
    # Work
    SecretFormat(("lin_",), START + r"lin_(?:api|oauth|wh)_[A-Za-z0-9]{32,}"),
    SecretFormat(("ntn_", "secret_"), START + r"(?:ntn_[A-Za-z0-9]{40,}|secret_(?=[A-Za-z]*\d)[A-Za-z0-9]{43}(?!\w))"),
    SecretFormat(("fig",), START + r"fig[a-z]{1,2}_[\w-]{36,}"),
    SecretFormat(("pat",), START + r"pat[A-Za-z0-9]{14}\.[a-f0-9]{60,}"),
    SecretFormat(("PMAK-",), START + r"PMAK-[a-fA-F0-9]{24}-[a-fA-F0-9]{34}"),
    SecretFormat(("CFPAT-", "do-cfpat"), START + r"CFPAT-[\w-]{40,}"),
    SecretFormat(("sl.",), START + r"sl\.(?:u\.)?[\w-]{100,}"),
    SecretFormat(("hmt_",), START + r"hmt_[\w-]{30,}"),
    # Watching
    SecretFormat(("glsa_", "glc_", "eyJrIjoi"), START + r"(?:glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}|glc_[A-Za-z0-9+/]{32,}={0,3}|eyJrIjoi[A-Za-z0-9+/]{40,}={0,3})"),
    SecretFormat(("sntry",), START + r"sntry[asu]_[\w+/=-]{40,}"),
    SecretFormat(("sentry", "@"), r"https?://(?P<secret>[0-9a-f]{32})@[\w.-]+/\d+"),
    SecretFormat(("NR",), START + r"NR(?:AK|AA|RA|JS|II|IQ)-[\w-]{19,}"),
    SecretFormat(("NRAL",), START + r"[a-f0-9x]{32,40}NRAL(?!\w)"),
    SecretFormat(("u+", "y+", "w+", "pdus+", "pdeu+"), r"(?<![\w+])(?:[uyw]|pd(?:us|eu))\+[\w+-]{18,20}(?![\w+-])"),
    SecretFormat(("dt0",), START + r"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    SecretFormat(("sdk-", "api-", "mob-"), START + r"(?:sdk|api|mob)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
    # Younger services, and those with few customers
    SecretFormat(("hf_", "api_org_"), START + r"(?:hf|api_org)_[A-Za-z]{34}(?!\w)"),
    SecretFormat(("IGQ", "EAA"), START + r"(?:IGQ[A-Z]|EAA[A-Z])[\w-]{80,}"),
    SecretFormat(("AAAAAAAAAAAAAAAAAAAAA",), START + r"A{15,}[\w%-]{60,}"),
    SecretFormat(("st.", "sat.", "pat."), START + r"(?:st\.[a-f0-9]{24}\.[a-f0-9]{32}(?:\.[a-f0-9]{32})?|[ps]at\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20})"),
    SecretFormat(("syt_",), START + r"syt_\w{10,}_[A-Za-z]{20}_\w{6}"),
    SecretFormat(("FlyV1",), START + r"FlyV1 fm\w+_[\w+/=,-]{60,}"),
    SecretFormat(("GOOG1",), START + r"GOOG1[A-Z0-9]{50,}"),
    SecretFormat(("AQE",), START + r"AQE[\w+/-]{60,}={0,2}(?:-[\w+/=-]{10,})*"),
    SecretFormat(("ATTA", "WPL_AP1", "klarna_", "sgp_", "hca", "syt_", "dG9rOj", "A3-", "sha256~", "mlsn.", "apify_api_", "tr_prod_", "tr_dev_", "signkey-", "napi_",
        "xau_", "esecret_", "ucat_", "ol_api_", "ptr_", "ptl", "ory_", "csk-", "dtn_", "ddp_", "jsrp_", "bb_live_", "sk_car_", "arc_", "m0-", "fw_", "pa-", "mmk", "v4.local.", "ico-", "octo", "API-",
        "amzn.mws.", "Atz", "secret-live-", "secret-test-", "tk-us-", "sm_", "phr_", "oauth2v2_", "glc_", "bw_", "unkey_", "clerk_", "nbwt_", "kv_", "vck_", "cpk_", "cur_", "key_"),
        START + r"(?:ATTA|WPL_AP1\.|klarna_(?:live|test)_api_|sgp_(?:[a-f0-9]{16}_|local_)?|hca[a-z]k_|syt_|dG9rOj|A3-|sha256~|mlsn\.|apify_api_|tr_(?:prod|dev)_|signkey-(?:prod|test|branch)-|napi_"
        r"|xau_|esecret_|ucat_|ol_api_|ptr_|ptl[ac]_|ory_(?:at|st|pat|rt|ac)_|csk-|dtn_|ddp_|jsrp_|bb_live_|sk_car_|arc_|m0-|fw_|pa-|v4\.local\.|ico-|API-(?=[A-Z0-9]{26})|amzn\.mws\.|Atz[a-z]\||secret-(?:live|test)-|tk-us-|sm_[aps]at_"
        r"|phr_|bw_|unkey_|nbwt_|vck_|cpk_)(?=[A-Za-z+/._-]*\d)(?=[\w+/.-]*[A-Za-z])[\w+/.-]{16,}={0,2}"),
    SecretFormat(("pk_",), START + r"pk_\d{6,}_[A-Z0-9]{32}"),
    SecretFormat(("1/", "2/"), START + r"[12]/\d{12,}(?:/\d{12,})?:[a-f0-9]{32}"),
    SecretFormat(("otpauth://",), r"(?<=[?&]secret=)[A-Z2-7a-z]{16,}"),
    SecretFormat(("Private-Lines",), r"(?<=Private-Lines: )\d+\s+(?P<secret>[A-Za-z0-9+/=\s]{40,}?)(?=\s*Private-MAC|$)"),
    SecretFormat(("Private-MAC",), r"(?<=Private-MAC: )[a-f0-9]{40,}"),
    # Of no service
    SecretFormat(("eyJ",), START + r"eyJ[\w=-]{10,}\.[\w=-]*(?:\.[\w=+/-]+)+|" + START + r"eyJ[\w=-]{10,}\.eyJ[\w=-]{8,}\.?"),
    SecretFormat(("sig=",), r"(?<=[?&;]sig=)[\w%/+=-]{16,}"),
    SecretFormat(("X-Amz-",), r"(?<=X-Amz-Signature=)[0-9a-f]{40,}|(?<=X-Amz-Security-Token=)[\w%/+=-]{40,}"),
)  # fmt: skip


@cache
def load_format_hints() -> tuple[WordIndex, dict[str, list[SecretFormat]]]:
    """Return the hints of all formats, and the formats of each hint."""
    formats: dict[str, list[SecretFormat]] = {}
    for one in FORMATS:
        for hint in one.hints:
            formats.setdefault(hint, []).append(one)
    return WordIndex(formats), formats


def find_hinted_formats(text: str) -> set[SecretFormat]:
    """Return the formats whose hints occur in a text."""
    index, formats = load_format_hints()
    return {one for hint in index.find(text) for one in formats[hint]}
