"""The demo store: the memories of three agents in the middle of a working day. Identical on every build."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from hermes_memory_store.model import Actor, FactFilter, Millis, Origin, Session, Way
from hermes_memory_store.places.project_sighting import ProjectSighting, normalise_remote
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from hermes_memory_themes.policy import FILE_NAME
from hermes_memory_tui.demo.demo_jobs import HOSTS

NOW = Millis(1_773_756_000_000)
"""The moment the demo is looked at: 17 March 2026, 14:00 UTC."""

MINUTE = 60_000

DAY = {
    "frontend": [
        ("design-tokens", "D[color.scale]: one ramp of 11 steps per hue, generated in OKLCH, never by hand"),
        ("design-tokens", "C[color.contrast]: body text keeps at least 7:1 on every surface, measured in CI"),
        ("design-tokens", "V[space.unit]: 4 px; every margin and padding is a multiple of it"),
        ("design-tokens", "✓[tokens]: published as @ui/tokens 2.0, old names kept as aliases until June"),
        (
            "checkout-form",
            "C[form.autofill]: every field has an autocomplete token; password managers must fill the form",
        ),
        ("checkout-form", "D[validation.when]: on blur, then on every change once a field was wrong"),
        ("checkout-form", "V[bundle.budget]: 64 kB gzip for the checkout route"),
        ("checkout-form", "?[card.iframe]: may the card iframe inherit our font? provider asked on 12 March"),
        ("checkout-form", "D[state.library]: none; a reducer and context carry the three steps"),
        ("checkout-form", "V[a11y.errors]: errors sit in aria-describedby, announced once, focus moves to the first"),
        (None, "C[browsers]: last two versions of Firefox, Chrome, Safari; no polyfills beyond that"),
        (None, "D[tests.e2e]: Playwright, three browsers, traces kept for failures only"),
    ],
    "intraday-sre": [
        ("incident-4412", "V[incident.start]: 09:42 UTC, p99 of /quotes rose from 80 ms to 2.4 s"),
        ("incident-4412", "?[incident.cause]: connection pool starved after the 09:40 deploy?"),
        ("incident-4412", "D[incident.mitigation]: rolled back to build 8131 at 09:58, p99 back at 85 ms"),
        ("incident-4412", "C[deploy.window]: no deploys between 09:30 and 10:00 while the auction runs"),
        ("incident-4412", "V[incident.cause]: pool of 20 shared by two services since build 8140; 40 needed"),
        ("db-failover", "C[failover.quorum]: never promote a replica that lags more than 5 s behind"),
        ("db-failover", "V[srv.primary]: pg-7 in zone b; pg-4 and pg-9 follow"),
        ("db-failover", "D[failover.drill]: first Monday of the month, outside market hours"),
        ("db-failover", "V[failover.time]: 11 s measured on 2 March, target is 15 s"),
        ("alert-tuning", "D[alert.latency]: page on burn rate over 1 h and 6 h, never on a single spike"),
        ("alert-tuning", "~[alert.cpu]: CPU alerts said nothing in 90 days"),
        (None, "C[access.prod]: read-only by default; write access is granted for one hour and logged"),
        (None, "V[oncall.rotation]: weekly, hand-over on Tuesday 10:00 UTC with open incidents in writing"),
        (None, "V[日本.取引時間]: 09:00–11:30, 12:30–15:30 JST; メンテナンスはその外"),
    ],
    "marketing": [
        ("spring-launch", "D[launch.date]: 9 April, one week after the release, so that docs are complete"),
        ("spring-launch", "C[claims]: no performance number without a link to how it was measured"),
        ("spring-launch", "V[audience]: teams that run three or more agents and lost a decision to compaction"),
        ("spring-launch", "D[tone]: plain sentences, no superlatives, show the screen before the slogan"),
        ("spring-launch", "?[video.length]: 40 s or 90 s? waits for the first cut"),
        ("newsletter-march", "✓[newsletter]: sent on 3 March to 4,120 readers, 46 % opened"),
        (None, "C[brand.name]: always in lower case with hyphens, also at the start of a sentence"),
    ],
}
"""What each agent wrote, oldest first: scope and line."""

SESSIONS = {
    "frontend": "6b1d2f3a-8c41-4e0b-9a57-2f40c1d7e811",
    "intraday-sre": "c90e7a15-3b26-4d8f-b1c4-58d2e6a90f73",
    "marketing": "1f84d6c2-97ae-4b35-8e60-a3c7b2915d08",
}
"""Names of their sessions, which hosts make up: people see them under their client, project and number."""

COMMIT = "4f1c2d9be07a63518c24d0f7a9b86e3351d2c704"

POLICIES = """
[defaults]
hot_chars = 1300

[themes.intraday-sre]
hot_chars = 1040
"""
"""Budgets small enough that a day's facts press on them."""


class DemoClock:
    def __init__(self, now: int = NOW) -> None:
        self.now = Millis(now)

    def __call__(self) -> Millis:
        return self.now


def do_nothing(store: Store, then: int) -> None:
    """Do nothing between two facts."""


def make_demo_day(
    path: Path,
    now: int = NOW,
    *,
    clock: DemoClock | None = None,
    meanwhile: Callable[[Store, int], None] = do_nothing,
) -> DemoClock:
    """Create the demo store with its policies file; its clock ends at `now`.

    :param meanwhile: called before every fact with its time, to add other events up to then
    """
    clock = clock or DemoClock(now)
    write_demo_policies(path)
    with open_demo_store(path, clock) as store:
        for theme, scope, line, ago in demo_facts():
            meanwhile(store, now - ago)
            clock.now = Millis(now - ago)
            store.facts.write(
                theme, line, scope=scope, session=open_demo_session(store, theme), origin=demo_origin(theme)
            )
        apply_person_changes(store, clock, now)
        clock.now = Millis(now)
        for theme in ("frontend", "intraday-sre"):
            store.sessions.heartbeat(open_demo_session(store, theme))
    return clock


def write_demo_policies(path: Path) -> None:
    path.with_name(FILE_NAME).write_text(POLICIES, encoding="utf-8")


def open_demo_store(path: Path, clock: DemoClock) -> Store:
    store = Store.open(path, clock=clock, policies=Policies.load(path.with_name(FILE_NAME)))
    store.origin = Origin(way=Way.TOOL)
    return store


def demo_facts() -> Iterator[tuple[str, str | None, str, int]]:
    """Yield theme, scope, line and age of every fact, oldest first."""
    rows = []
    for place, (theme, lines) in enumerate(DAY.items()):
        for number, (scope, line) in enumerate(lines):
            left = len(lines) - number
            rows.append((theme, scope, line, left * (17 + 9 * place) * MINUTE + (left * left * 7 + place * 3) * MINUTE))
    return iter(sorted(rows, key=lambda row: -row[-1]))


def open_demo_session(store: Store, theme: str, name: str | None = None) -> Session:
    """Open the session of a theme's agent, which works in its project, as its host would. :param name: another one of them"""
    host = HOSTS[theme]
    seen = ProjectSighting(f"/home/me/{host.project}", remote=normalise_remote(host.remote))
    return store.sessions.open(
        theme,
        name or SESSIONS[theme],
        client=host.client,
        client_version=host.version,
        project=store.projects.recognise(seen),
    )


def demo_origin(theme: str) -> Origin:
    """Return what an agent's host and the bridge would say of a call; its session adds the rest."""
    return Origin(way=Way.TOOL, folder=".", branch=HOSTS[theme].branch, commit=COMMIT)


def apply_person_changes(store: Store, clock: DemoClock, now: int) -> None:
    """Apply the changes that a person makes in the inspector before the end of the demo day."""
    clock.now = Millis(now - 50 * MINUTE)
    facts = {fact.target: fact for fact in store.facts.by_ids(list(store.facts.ids(FactFilter())))}
    with store.attribute(Origin(way=Way.SCREEN)):
        store.facts.pin([facts["deploy.window"].uid, facts["claims"].uid])
        store.scopes.close("marketing", "newsletter-march")
        clock.now = Millis(now - 12 * MINUTE)
        store.facts.edit(facts["failover.time"].uid, "9 s measured on 16 March, target is 15 s", actor=Actor("person"))
    clock.now = Millis(now - 3 * MINUTE)
    store.facts.write(
        "intraday-sre",
        "V[incident.cause]: pool of 20 shared by two services since build 8140; now 48 in build 8144",
        scope="incident-4412",
        session=open_demo_session(store, "intraday-sre"),
        origin=demo_origin("intraday-sre"),
    )
