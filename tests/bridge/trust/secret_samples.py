"""Invented secrets in the forms that services give out, and sentences around them.

Every value is drawn by a seeded generator when the tests run: none stands in this file, so no scanner of repositories can
take it for a real one.
"""

from __future__ import annotations

import base64
import json
import random
import string
from dataclasses import dataclass

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALNUM, HEX = LOWER + UPPER + DIGITS, "0123456789abcdef"
URLSAFE, BASE64 = ALNUM + "_-", ALNUM + "+/"


@dataclass(frozen=True, slots=True)
class Sample:
    """One text that holds one secret."""

    form: str
    content: str
    secret: str
    target: str = "note"


class Generator:
    """Draws values of a given alphabet and length, the same in every run."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def draw(self, alphabet: str, length: int) -> str:
        """A value with a letter and a digit in it, that neither begins nor ends with a sign."""
        while True:
            value = "".join(self.random.choices(alphabet, k=length))
            if value[0].isalnum() and value[-1].isalnum() and any(map(str.isdigit, value)) and not value.isdigit():
                return value

    def base64(self, count: int) -> str:
        """That many random bytes."""
        return base64.b64encode(self.random.randbytes(count)).decode()

    def uuid(self) -> str:
        """As services give them out for keys."""
        return "-".join(self.draw(HEX, length) for length in (8, 4, 4, 4, 12))

    def jwt(self, claims: dict[str, object]) -> str:
        """Header, claims and signature."""
        parts = [json.dumps(part).encode() for part in ({"alg": "HS256", "typ": "JWT"}, claims)]
        parts.append(self.random.randbytes(32))
        return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)

    def pem(self, kind: str, newline: str) -> str:
        """A private key as a block."""
        body = self.base64(600)
        lines = [body[start : start + 64] for start in range(0, len(body), 64)]
        return newline.join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----"])


def tokens(seed: int = 7) -> dict[str, str]:
    """One token for each form that says by itself what it is."""
    g = Generator(seed)
    d = g.draw
    return {
        "GitLab personal": "glpat-" + d(URLSAFE, 20),
        "GitLab personal, routable": f"glpat-{d(URLSAFE, 44)}.01.{d(LOWER + DIGITS, 9)}",
        "GitLab personal, routable, first form": f"glpat-{d(URLSAFE, 27)}.{d(LOWER + DIGITS, 9)}",
        "GitLab deploy": "gldt-" + d(URLSAFE, 20),
        "GitLab runner": "glrt-" + d(URLSAFE, 20),
        "GitLab runner, typed": "glrt-t1_" + d(URLSAFE, 20),
        "GitLab job": "glcbt-64_" + d(URLSAFE, 20),
        "GitLab trigger": "glptt-" + d(HEX, 40),
        "GitLab feed": "glft-" + d(URLSAFE, 20),
        "GitLab SCIM": "glsoat-" + d(URLSAFE, 20),
        "GitLab agent": "glagent-" + d(URLSAFE, 50),
        "GitLab OAuth application": "gloas-" + d(HEX, 64),
        "GitLab incoming mail": "glimt-" + d(LOWER + DIGITS, 25),
        "GitLab runner registration": "GR1348941" + d(URLSAFE, 20),
        "GitHub classic": "ghp_" + d(ALNUM, 36),
        "GitHub OAuth": "gho_" + d(ALNUM, 36),
        "GitHub user to server": "ghu_" + d(ALNUM, 36),
        "GitHub installation": "ghs_" + d(ALNUM, 36),
        "GitHub refresh": "ghr_" + d(ALNUM, 76),
        "GitHub fine-grained": f"github_pat_{d(ALNUM, 22)}_{d(ALNUM, 59)}",
        "Stripe, short": "sk_" + "live_" + d(ALNUM, 24),
        "Stripe, today": "sk_" + "live_51" + d(ALNUM, 97),
        "Stripe restricted": "rk_" + "live_51" + d(ALNUM, 97),
        "Stripe test": "sk_" + "test_51" + d(ALNUM, 97),
        "Stripe webhook": "whsec_" + d(ALNUM, 32),
        "AWS key id": "AKIA" + d(UPPER + "234567", 16),
        "AWS session key id": "ASIA" + d(UPPER + "234567", 16),
        "AWS session token": "IQoJb3JpZ2luX2Vj" + g.base64(300),
        "Google API": "AIza" + d(URLSAFE, 35),
        "Google OAuth client": "GOCSPX-" + d(URLSAFE, 28),
        "Google access": "ya29." + d(URLSAFE, 160),
        "Azure storage": g.base64(64),
        "Azure application": f"{d(ALNUM, 3)}8Q~{d(ALNUM + '_.', 34)}",
        "Slack bot": f"xoxb-{g.random.randrange(1, 10)}{g.random.randrange(10**11)}-{g.random.randrange(10**12)}-{d(ALNUM, 24)}",
        "Slack user": f"xoxp-{g.random.randrange(10**11)}-{g.random.randrange(10**12)}-{g.random.randrange(10**12)}-{d(HEX, 32)}",
        "Slack app": f"xapp-1-A{d(UPPER + DIGITS, 10)}-{g.random.randrange(10**12)}-{d(HEX, 64)}",
        "Slack webhook": f"https://hooks.slack.com/services/T{d(UPPER + DIGITS, 10)}/B{d(UPPER + DIGITS, 10)}/{d(ALNUM, 24)}",
        "Twilio API": "SK" + d(HEX, 32),
        "SendGrid": f"SG.{d(URLSAFE, 22)}.{d(URLSAFE, 43)}",
        "Mailgun": "key-" + d(HEX, 32),
        "Mailgun, today": f"{d(HEX, 32)}-{d(HEX, 8)}-{d(HEX, 8)}",
        "Mailchimp": d(HEX, 32) + "-us21",
        "npm": "npm_" + d(ALNUM, 36),
        "PyPI": "pypi-AgEIcHlwaS5vcmc" + d(URLSAFE, 150),
        "Docker": "dckr_pat_" + d(URLSAFE, 27),
        "Hugging Face": "hf_" + d(ALNUM, 34),
        "OpenAI, first form": f"sk-{d(ALNUM, 20)}T3BlbkFJ{d(ALNUM, 20)}",
        "OpenAI project": f"sk-proj-{d(URLSAFE, 74)}T3BlbkFJ{d(URLSAFE, 74)}",
        "OpenAI service account": f"sk-svcacct-{d(URLSAFE, 74)}T3BlbkFJ{d(URLSAFE, 74)}",
        "Anthropic": f"sk-ant-api03-{d(URLSAFE, 93)}AA",
        "OpenRouter": "sk-or-v1-" + d(HEX, 64),
        "DigitalOcean": "dop_v1_" + d(HEX, 64),
        "Heroku": "HRKU-AA" + d(URLSAFE, 58),
        "Cloudflare origin CA": f"v1.0-{d(HEX, 24)}-{d(HEX, 146)}",
        "Vercel": "vcp_" + d(ALNUM, 56),
        "Netlify": "nfp_" + d(ALNUM, 36),
        "Supabase": "sbp_" + d(HEX, 40),
        "Supabase service role": g.jwt({"iss": "supabase", "role": "service_role", "exp": 2051222400}),
        "Supabase secret": "sb_secret_" + d(URLSAFE, 31),
        "Databricks": "dapi" + d(HEX, 32),
        "Shopify": "shpat_" + d(HEX, 32),
        "Shopify shared": "shpss_" + d(HEX, 32),
        "Square": "EAAA" + d(URLSAFE, 60),
        "Square OAuth": "sq0csp-" + d(URLSAFE, 43),
        "Discord bot": f"M{d(ALNUM, 25)}.{d(URLSAFE, 6)}.{d(URLSAFE, 38)}",
        "Discord webhook": f"https://discord.com/api/webhooks/11{g.random.randrange(10**16, 10**17)}/{d(URLSAFE, 68)}",
        "Telegram bot": f"{g.random.randrange(10**9, 10**10)}:AA{d(URLSAFE, 33)}",
        "Linear": "lin_api_" + d(ALNUM, 40),
        "Notion": "ntn_" + d(ALNUM, 46),
        "Notion, first form": "secret_" + d(ALNUM, 43),
        "Atlassian": f"ATATT3xFfGF0{d(URLSAFE, 170)}={d(HEX, 8).upper()}",
        "Figma": "figd_" + d(URLSAFE, 40),
        "Grafana service account": f"glsa_{d(ALNUM, 32)}_{d(HEX, 8)}",
        "Grafana Cloud": "glc_" + g.base64(120),
        "Vault": "hvs." + d(URLSAFE, 95),
        "Terraform Cloud": f"{d(ALNUM, 14)}.atlasv1.{d(URLSAFE, 67)}",
        "Doppler": "dp.pt." + d(ALNUM, 43),
        "Doppler service": "dp.st.prd." + d(ALNUM, 43),
        "Pulumi": "pul-" + d(HEX, 40),
        "Sentry user": "sntryu_" + d(HEX, 64),
        "Sentry organisation": "sntrys_eyJpYXQiOjE3" + d(BASE64, 120) + "=_" + d(BASE64, 43),
        "New Relic": "NRAK-" + d(UPPER + DIGITS, 27),
        "New Relic licence": d(HEX, 36) + "NRAL",
        "PagerDuty": "u+" + d(URLSAFE, 18),
        "Airtable": f"pat{d(ALNUM, 14)}.{d(HEX, 64)}",
        "age": "AGE-SECRET-KEY-1" + d("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
        "PEM": g.pem("RSA PRIVATE KEY", "\n"),
        "PEM in one line": g.pem("PRIVATE KEY", "\\n"),
        "PEM, OpenSSH": g.pem("OPENSSH PRIVATE KEY", " "),
        "JWT": g.jwt({"sub": "1234567890", "name": "Ada", "iat": 1516239022}),
        "Postman": f"PMAK-{d(HEX, 24)}-{d(HEX, 34)}",
        "Groq": "gsk_" + d(ALNUM, 52),
        "Perplexity": "pplx-" + d(ALNUM, 48),
        "1Password service account": "ops_eyJ" + d(URLSAFE, 250),
        "Tailscale": f"tskey-auth-{d(ALNUM, 17)}-{d(ALNUM, 30)}",
        "RubyGems": "rubygems_" + d(HEX, 48),
        "CircleCI": f"CCIPAT_{d(ALNUM, 22)}_{d(HEX, 40)}",
        "Dynatrace": f"dt0c01.{d(UPPER + DIGITS, 24)}.{d(UPPER + DIGITS, 64)}",
        "Contentful": "CFPAT-" + d(URLSAFE, 43),
        "SonarQube": "squ_" + d(HEX, 40),
    }


def in_context(seed: int = 11) -> list[Sample]:
    """Secrets that only what stands beside them gives away."""
    g = Generator(seed)
    d = g.draw
    aws, twilio, hex32, hex40 = d(BASE64, 40), d(HEX, 32), d(HEX, 32), d(HEX, 40)
    password = lambda: "K" + d(ALNUM + "!#%^&*", 11) + "z9"  # noqa: E731
    made: list[Sample] = []

    def add(form: str, content: str, secret: str, target: str = "note") -> None:
        made.append(Sample(form, content.replace("@@", secret), secret, target))

    add("AWS secret beside its id", "AKIA" + d(UPPER + "234567", 12) + "Q234 / @@ for the deploy user", aws)
    add("AWS credentials file", "aws_secret_access_key = @@", d(BASE64, 40))
    add(
        "Azure connection string",
        "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=@@;EndpointSuffix=core.windows.net",
        g.base64(64),
    )
    add(
        "Azure SAS",
        "https://acme.blob.core.windows.net/dumps?sv=2024-11-04&ss=b&sig=@@&se=2026-01-01",
        d(ALNUM, 40) + "%2F3D",
    )
    add(
        "Azure service bus",
        "Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey=@@",
        g.base64(32),
    )
    add("Twilio token beside the account", f"Twilio account AC{d(HEX, 32)} with @@", twilio)
    add("Cloudflare", "CLOUDFLARE_API_TOKEN=@@", d(URLSAFE, 40))
    add("Heroku, UUID", "HEROKU_API_KEY=@@", g.uuid())
    add("Datadog", "the Datadog API key is @@", hex32)
    add("Datadog header", "DD-APPLICATION-KEY: @@", hex40)
    add("Sentry DSN", "https://@@@o45678.ingest.sentry.io/45", d(HEX, 32))
    add("Vercel, first form", "vercel deploy --token @@", d(ALNUM, 24))
    add("npm line", "//registry.npmjs.org/:_authToken=@@", g.uuid())
    add("bearer", 'curl -H "Authorization: Bearer @@" https://api.example.com', d(URLSAFE, 40))
    add("basic", "Authorization: Basic @@", base64.b64encode(f"app:{password()}".encode()).decode())
    add("private token header", "PRIVATE-TOKEN: @@", d(URLSAFE, 20))
    add("URL", "postgresql://app:@@@db.example.com:5432/app", password())
    add("URL, one letter", "postgresql://app:@@@h/db is a database address", "a")
    add("URL, with @", "connect to mysql://app:@@@db.example.com/app", "p@ssw0rdQx9@")
    add("URL, with :", "amqp://app:@@@mq.example.com:5672/%2F", "a:b:Xk9pQ27")
    add("URL, with /", "redis://:@@@cache.example.com:6379/0", "xY/7kd0/pQm2")
    add("URL, with %", "mongodb+srv://app:@@@cluster0.ab1cd.mongodb.net/app", "p%40ss%2Fw0rdXz")
    add("URL in .env", "DATABASE_URL=postgres://app:@@@db:5432/app?sslmode=require", password())
    add("curl user", "curl -u deploy:@@ https://nexus.example.com", password())
    add("driver", "app:@@@tcp(10.0.0.5:3306)/app?parseTime=true", password())
    add(".env", "DB_PASSWORD=@@", password())
    add(".env, quoted", 'export SESSION_SECRET="@@"', d(URLSAFE, 32))
    add(".env, with a sentence", "set STRIPE_SIGNING_SECRET=@@ on the build host", d(ALNUM, 32))
    add(".env, spaces in quotes", "SMTP_PASSWORD='@@'", "four Words and 1 sign!")
    add(".env, short", "REDIS_PASSWORD=@@", "hunter2")
    add("JSON", '{"user": "app", "password": "@@", "port": 5432}', password())
    add("JSON, key", '{"api_key": "@@"}', d(ALNUM, 32))
    add("YAML", "client_secret: @@", d(URLSAFE, 36))
    add("YAML, camel case", "clientSecret: '@@'", d(URLSAFE, 36))
    add("ADO", "Server=db1;Database=app;User Id=sa;Password=@@;Encrypt=true", password())
    add("ADO, spaces", "Server=db1;User Id=sa;Password=@@;Encrypt=true", "two words 9")
    add("libpq", "host=db1 user=app password=@@ dbname=app", "weakpass")
    add("libpq, quoted", "host=db1 password='@@' dbname=app", "it is a1")
    add("command line", "mysql --user=root --password=@@ app", password())
    add("English", "the password is @@", password())
    add("English, for", "The admin password for staging is @@, please rotate", password())
    add("English, set to", "root password was changed to @@.", password())
    add("English, colon", "Password for the printer: @@", "sunshine42")
    add("English, short", "the wifi password is @@", "hunter2")
    add("English, quoted word", 'the vault password is "@@"', "swordfish")
    add("English, before", "@@ is the password of the NAS", password())
    add("English, key", "the API key for the weather service is @@", d(HEX, 32))
    add("French", "le mot de passe est @@", password())
    add("French, of", "Le mot de passe de la base de production est « @@ »", password())
    add("French, colon", "mot de passe du serveur : @@", "soleil2024")
    add("German", "das Passwort lautet @@", password())
    add("German, for", "Das Kennwort für den Server ist „@@“", password())
    add("German, colon", "Passwort: @@", "Sommer2024")
    add("Spanish", "la contraseña es @@", password())
    add("Spanish, clave", "La clave del wifi es @@.", password())
    add("Rails", "export SECRET_KEY_BASE=@@", d(HEX, 128))
    add("kubeconfig", "client-key-data: @@", d(BASE64, 120))
    add("Spanish, of", "La contraseña del servidor es @@.", password())
    add("Spanish, key", "la clave de acceso es: @@", password())
    add("passphrase", "passphrase: @@", "correct horse battery staple")
    add("passphrase, hyphens", "the passphrase of the backup is @@", "tulip-anvil-orbit-canyon-mimic")
    add("target", "@@", password(), "db.password")
    add("target, short", "@@", "sunshine42", "wifi.password")
    add("target, words", "@@", "correct horse battery staple", "backup.passphrase")
    return made


SENTENCES = (
    "the dashboards use @@, rotated in May",
    "@@",
    "deploy with `@@`.",
    '{"value": "@@"}',
    "old (@@) and new differ",
)


def all_samples() -> list[Sample]:
    """Every token in a sentence, and what only its context gives away."""
    alone = [
        Sample(form, SENTENCES[number % len(SENTENCES)].replace("@@", secret), secret)
        for number, (form, secret) in enumerate(tokens().items())
    ]
    return alone + in_context()
