"""Sixty-one secrets in sentences that were written after the rules.

When they were first tried, 51 were found exactly and 2 more were covered (84 and 87 %). The rules were mended by the others
since, so what is found of them today says less about texts that nobody has seen.
"""

from __future__ import annotations

import base64

from .secret_samples import ALNUM, DIGITS, HEX, UPPER, URLSAFE, Generator, Sample


def held_out(seed: int = 4099) -> list[Sample]:
    """The samples."""
    g = Generator(seed)
    d = g.draw
    made: list[Sample] = []

    def add(form: str, content: str, secret: str, target: str = "memo") -> None:
        made.append(Sample(form, content.replace("@@", secret), secret, target))

    def password() -> str:
        return d(ALNUM + "!$#&", 13)

    add("tell", "Ada told me her laptop password: @@", password())
    add("unlock", "unlock the archive with the password @@", password())
    add("login pair", "log in to the router as admin with @@", d(ALNUM + "!#$%&", 14) + "Aa1!")
    add("slash pair", "creds for Jenkins: ci-bot/@@", d(ALNUM + "!#$%&", 12) + "Zq8#")
    add("reset", "We reset the root password to @@ on Monday", password())
    add("new password", "new Grafana admin password = @@", password())
    add("it is", "Regarding the VPN password, it is @@", password())
    add("keep", "the password for ftp.example.com is still @@", "Winter2025!")
    add("weak", "guest wifi password: @@", "coffee4all")
    add("dash", "DB password - @@", password())
    add("passphrase gpg", 'gpg passphrase is "@@"', "velvet kayak sprout nimbus quartz")
    add("passphrase plain", "Passphrase = @@", "orbit lantern maple thunder")
    add("fr login", "Le mot de passe admin est désormais @@", password())
    add("fr new", "nouveau mot de passe : @@", "Bonjour2025!")
    add("fr quotes", "mot de passe du wifi « @@ »", "baguette77")
    add("fr api", "la clé API de Mistral est @@", d(ALNUM, 32))
    add("de new", "Neues Passwort: @@", "Herbst2025!")
    add("de db", "Das Datenbank-Passwort ist @@", password())
    add("de for", "Kennwort fürs NAS: @@", password())
    add("de key", "der API-Schlüssel lautet @@", d(HEX, 40))
    add("es new", "nueva contraseña: @@", "Verano2025!")
    add("es of", "La contraseña de la base de datos es @@", password())
    add("es admin", "contraseña del administrador = @@", password())
    add("env two", "APP_ENV=prod JWT_SECRET=@@ PORT=8080", d(URLSAFE, 48))
    add("env lower", "db_password=@@", "s3cretsauce")
    add("env camel", "spring.datasource.password=@@", password())
    add("env comment", "MAIL_PASSWORD=@@ # app password", d(ALNUM, 16))
    add("env webhook", "GITHUB_WEBHOOK_SECRET='@@'", d(HEX, 40))
    add("env aws", "export AWS_SECRET_ACCESS_KEY=@@", d(ALNUM + "/+", 40))
    add("env db", 'DATABASE_URL="mysql2://root:@@@127.0.0.1/app"', password().replace("#", "x").replace("&", "y"))
    add("yaml nested", 'smtp: {user: mailer, password: "@@"}', password())
    add("json token", '{"access_token":"@@","expires_in":3600}', d(URLSAFE, 64))
    add("json escaped", '{\\"password\\": \\"@@\\"}', d(ALNUM, 14))
    add("toml", '[registry]\ntoken = "@@"', d(ALNUM, 32))
    add("ini", "[client]\nuser=app\npassword=@@", password())
    add("properties", "keystore.pass=@@", password())
    add("xml", "<password>@@</password>", password())
    add("terraform", 'variable default: db_password = "@@"', password())
    add("docker", "docker login -u acme -p @@ registry.example.com", password())
    add("psql", "PGPASSWORD=@@ psql -h db -U app", password())
    add("redis cli", "redis-cli -a @@ ping", password())
    add("sshpass", "sshpass -p '@@' ssh root@10.0.0.4", password())
    add("git remote", "git clone https://oauth2:@@@gitlab.example.com/a/b.git", "glpat-" + d(URLSAFE, 20))
    add("basic url", "https://build:@@@nexus.example.com/repository/npm/", password().replace("#", "x"))
    add("mongo", "mongodb://root:@@@m1.example.com:27017,m2.example.com:27017/?replicaSet=rs0", "Qx!9/rT@2kLm")
    add("jdbc", "jdbc:mysql://db:3306/app?user=app&password=@@&useSSL=true", password().replace("&", "z"))
    add("odbc", "Driver={ODBC Driver 18};Server=db;Uid=app;Pwd=@@;", password())
    add("header api", "X-API-Key: @@", d(ALNUM, 36))
    add("header cookie", "Authorization: token @@", "gho_" + d(ALNUM, 36))
    add("basic header", "-H 'Authorization: Basic @@'", base64.b64encode(b"svc:" + password().encode()).decode())
    add(
        "sas",
        "BlobEndpoint=https://a.blob.core.windows.net/;SharedAccessSignature=sv=2024-11-04&ss=b&sp=r&sig=@@",
        d(ALNUM, 40) + "%3D",
    )
    add("mapbox", "the map uses sk.@@", "eyJ1IjoiYWNtZSIsImEiOiJ" + d(ALNUM, 24) + "." + d(URLSAFE, 22))
    add("discord", "webhook https://discordapp.com/api/webhooks/1234567890123456789/@@", d(URLSAFE, 68))
    add("telegram", "curl https://api.telegram.org/bot@@/getMe", "7123456789:AAE" + d(URLSAFE, 32))
    add("slack rotated", "slack: @@", "xoxe.xoxp-1-" + d(ALNUM, 146))
    add("openai org", "key @@ belongs to the eval project", f"sk-proj-{d(URLSAFE, 48)}T3BlbkFJ{d(URLSAFE, 48)}")
    add("pagerduty", "PagerDuty API token is @@", d(URLSAFE, 20))
    add("okta", "OKTA_API_TOKEN: @@", "00" + d(URLSAFE, 40))
    add("wireguard", "PrivateKey = @@", g.base64(32))
    add(
        "google json",
        '{"private_key": "@@\\n", "client_email": "a@b.iam.gserviceaccount.com"}',
        g.pem("PRIVATE KEY", "\\n"),
    )
    add("totp", "the recovery key is @@", "-".join(d(UPPER + DIGITS, 5) for _ in range(5)))
    return made
