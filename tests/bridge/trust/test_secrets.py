"""Secrets are found whole and replaced once; what is no secret stays."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_memory_bridge.runtime.call_log import CallSubject
from hermes_memory_bridge.team.dsn import mask_dsn_password
from hermes_memory_bridge.trust import Vault
from hermes_memory_bridge.trust.vault import VaultEntry
from hermes_memory_store.intake.detectors.secrets import find_secret_texts, find_secrets
from hermes_memory_store.intake.intake import Intake, Masking, format_secret_shape
from hermes_memory_store.intake.spans import (
    MARK,
    TextSpan,
    merge_text_spans,
    replace_text_spans,
    to_secret_placeholder,
)
from hermes_memory_store.model import FactFilter, Tier
from hermes_memory_store.notation import memory_spec
from hermes_memory_themes import Policies
from tests.examples import example_count

from .conftest import Desk
from .secret_samples import Sample, all_samples, draw_tokens, read_samples

HERE = Path(__file__).parent
LOOKALIKES = (HERE / "lookalikes.txt").read_text(encoding="utf-8").splitlines()

POLICIES = Policies.load(HERE / "none.toml")
SAMPLES = all_samples()
TOKENS = list(draw_tokens(23).values())

RUN = 6
"""Characters of a secret in a row that must be found nowhere."""

UNTOLD = "https://‹secret:note›"
"""Runs of a secret that tell nothing of it."""


def runs(secret: str) -> set[str]:
    """Every run of a secret's characters, or all of a short one."""
    said = " ".join(secret.split())
    return {said[at : at + RUN] for at in range(max(1, len(said) - RUN + 1))} if len(said) >= RUN else set()


class MemoryVault(Vault):
    """A vault that asks neither a disk nor a keyring: thousands of texts are masked here."""

    def __init__(self) -> None:
        super().__init__(Path("unused.json"), "file")
        self.held: dict[str, str] = {}

    def take(self, theme: str, wanted: str, secret: str, *, besides: Collection[str] = ()) -> VaultEntry:
        for number in itertools.count(1):
            name = wanted.replace(".", "-").replace("_", "-") + (f"-{number}" if number > 1 else "")
            if name not in besides and self.held.get(f"{theme}/{name}", secret) == secret:
                fresh = f"{theme}/{name}" not in self.held
                self.held[f"{theme}/{name}"] = secret
                return VaultEntry(theme, name, fresh)
        raise AssertionError

    def reveal(self, theme: str, name: str) -> str | None:
        return self.held.get(f"{theme}/{name}")


def mask_secrets(vault: Vault, theme: str, target: str, content: str) -> Masking:
    """The content as an agent's write stores it."""
    intake = Intake(POLICIES, lambda theme, source: None)
    intake.vault = vault
    return intake.admit_content(theme, target, content)[0]


def reveal(content: str, names: tuple[str, ...], vault: Vault) -> str:
    """The text with the secrets in place of the marks that were put there."""
    revealed = {to_secret_placeholder(name): vault.reveal("ours", name) or "" for name in names}
    return re.sub(MARK, lambda mark: revealed.get(mark[0], mark[0]), content)


@pytest.mark.parametrize("line", LOOKALIKES)
def test_what_only_looks_like_a_secret_stays(line: str) -> None:
    said = memory_spec.parse_notation(line)
    assert find_secret_texts(said.target, said.content) == []


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.form)
def test_a_secret_is_found_whole(sample: Sample) -> None:
    assert sample.secret in find_secret_texts(sample.target, sample.content)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.form)
def test_nothing_of_a_secret_is_left_and_the_vault_has_it_whole(sample: Sample) -> None:
    vault = MemoryVault()
    verdict = mask_secrets(vault, "ours", sample.target, sample.content)
    assert sample.secret in vault.held.values()
    assert not [run for run in runs(sample.secret) if run in verdict.content and run not in UNTOLD]
    assert reveal(verdict.content, verdict.names, vault) == sample.content
    assert mask_secrets(vault, "ours", sample.target, verdict.content).names == (), "a mark is masked again"


UID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{8}\b"
"""Names of facts are random, and may hold six characters of a secret by chance."""

TIME = r"'updated_at': \d{13}"
"""Milliseconds of the present, any six digits of which may be those of a token's number."""


async def test_no_part_of_any_secret_reaches_the_store_the_context_or_an_answer(ask: Desk, tmp_path: Path) -> None:
    answers = []
    for number, sample in enumerate(SAMPLES):
        target = sample.target if sample.target != "note" else f"note.{number}"
        answers.append(str(await ask("memory_write", content=f"V[{target}]: {sample.content}")))
        if sample.target == "note":  # where the target gives a secret away, a turn has none
            answers.append(str(await ask("memory_turn", role="user", content=sample.content)))
        answers.append(str(await ask("memory_edit", uid=sample.content, content=sample.content)))
    answers.append(str(await ask("memory_status")))
    answers.append(str(await ask("memory_export")))
    facts = await ask.hub.read(lambda store: store.facts.page(FactFilter(tiers=frozenset(Tier)), limit=500).facts)
    assert len(facts) >= len(SAMPLES) - 8, "a sample of the same target supersedes, none is refused"
    said = re.sub(rf"{UID}|{TIME}", "", " ".join(answers[-2:])) + " ".join(fact.notation for fact in facts)
    stored = b"".join(file.read_bytes() for file in tmp_path.glob("memory.db*") if file.is_file())
    held = {ask.vault.reveal("default", name) for name in ask.vault.names("default")}
    for sample in SAMPLES:
        assert sample.secret in held, sample.form
        if len(sample.secret) >= 12:  # a short one may stand in the store by chance
            assert sample.secret[:12].encode() not in stored, sample.form
            assert sample.secret[-12:].encode() not in stored, sample.form
        assert not [run for run in runs(sample.secret) if any(map(str.isdigit, run)) and run in said], sample.form


async def test_a_private_key_keeps_its_lines_and_may_be_longer_than_a_fact(ask: Desk) -> None:
    key = draw_tokens(8)["PEM"]
    answer = await ask("memory_write", content=f"V[deploy]: the key is {key}")
    assert answer.data["fact"]["content"] == "the key is ‹secret:deploy›"
    assert ask.vault.reveal("default", "deploy") == key
    long = await ask("memory_write", content="V[long]: " + "word " * 200)
    assert long.data["error"]["code"] == "content.too_long"


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        (
            "postgresql://app:" + "a@h/db is a database address",
            "postgresql://app:‹secret:note›@h/db is a database address",
        ),
        ("mysql://app:" + "p@ssw0rdQx9@@db.example.com/app", "mysql://app:‹secret:note›@db.example.com/app"),
    ],
)
def test_a_secret_is_replaced_where_it_stands_and_nowhere_else(content: str, kept: str) -> None:
    assert mask_secrets(MemoryVault(), "ours", "note", content).content == kept


def test_a_repeated_secret_has_one_name_and_two_secrets_have_two() -> None:
    vault, (one, two, *_) = MemoryVault(), TOKENS
    verdict = mask_secrets(vault, "ours", "keys", f"{one} {two} {one}")
    assert verdict.content == "‹secret:keys› ‹secret:keys-2› ‹secret:keys›"
    assert verdict.names == ("keys", "keys-2")


def test_a_mark_from_elsewhere_keeps_its_meaning() -> None:
    """Another machine's mark has no secret here; a new secret beside it must not be given its name."""
    vault = MemoryVault()
    verdict = mask_secrets(vault, "ours", "login", f"old ‹secret:login›, new {TOKENS[0]}")
    assert verdict.content == "old ‹secret:login›, new ‹secret:login-2›"
    assert vault.held == {"ours/login-2": TOKENS[0]}


@pytest.mark.parametrize(
    "content",
    [
        "password: ‹secret:db-password-2›",
        "DATABASE_URL=postgres://app:‹secret:db›@db/app",
        "Authorization: Bearer ‹secret:long-name-of-a-secret-2›",
        "token=‹secret:Stripe-2›, password=‹secret›",
    ],
)
def test_what_is_masked_already_is_not_masked_again(content: str) -> None:
    assert find_secret_texts("db.password", content) == []


@pytest.mark.parametrize("sample", read_samples("sentences"), ids=lambda sample: sample.form)
def test_a_secret_in_a_sentence_written_after_the_rules_is_covered(sample: Sample) -> None:
    start = sample.content.index(sample.secret)
    found = find_secrets(sample.target, sample.content)
    assert any(span.start <= start and start + len(sample.secret) <= span.end for span in found)


@pytest.mark.parametrize(
    ("secret", "said"), [("a", "…, 1 characters"), (TOKENS[0], f"glp…, {len(TOKENS[0])} characters")]
)
def test_a_refusal_tells_nothing_of_a_short_secret(secret: str, said: str) -> None:
    assert format_secret_shape(secret) == said


def test_the_log_of_calls_hides_a_secret_where_it_stands() -> None:
    said = CallSubject("V[db]: postgres://app:" + "a@h/app is a database", "db", len("V[db]: "))
    assert said.to_display_text() == "V[db]: postgres://app:‹secret›@h/app is a database"


@pytest.mark.parametrize("password", ["a", "pa/ss", "p@ss", "p:s/s@1", "p%40ss"])
def test_the_address_of_the_team_is_shown_without_any_part_of_its_password(password: str) -> None:
    dsn = f"postgresql://app:{password}@db.example.com:5432/app"
    assert mask_dsn_password(dsn) == "postgresql://app@db.example.com:5432/app"


SAID = st.text(alphabet=st.characters(blacklist_categories=["Cs"]), max_size=12)
SECRET = st.sampled_from(
    [*TOKENS[:40], "password: Xk9#mPq2vL", "DB_PASSWORD=hunter2 ", "postgres://app:a@h/db", "://u:p@ss/w@h:1/"]
)
MARKED = st.sampled_from(
    ["‹secret:note›", "‹secret:note-2›", "‹secret›", "password: Xk9‹secret:note›#mPq2vL", "‹", "›"]
)
TEXT = st.lists(SAID | SECRET | MARKED | st.sampled_from([" ", "a", "\n", '"']), max_size=10).map("".join)


@given(st.sampled_from(["note", "db.password", "stripe.api_key"]), TEXT)
@settings(max_examples=example_count(400), deadline=None)
def test_what_is_revealed_is_what_was_written(target: str, text: str) -> None:
    vault = MemoryVault()
    verdict = mask_secrets(vault, "ours", target, text)
    assert reveal(verdict.content, verdict.names, vault) == text


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)).map(lambda at: TextSpan(at[0], at[0] + at[1]))))
def test_merged_spans_cover_the_same_and_overlap_nowhere(spans: list[TextSpan]) -> None:
    merged = merge_text_spans(spans)
    assert {at for span in merged for at in range(*span)} == {at for span in spans for at in range(*span)}
    assert all(one.end <= other.start for one, other in itertools.pairwise(merged))
    text = "".join(chr(0x4E00 + at) for at in range(40))
    assert len(replace_text_spans(text, ((span, "") for span in merged))) == 40 - sum(
        end - start for start, end in merged
    )


@pytest.mark.parametrize(
    "text",
    ["password " + "1" * 5_000 + "!", "a" * 20_000, "password: " + "aB" * 5_000 + "!", "token " * 3_000, "://u:" + "@a" * 2_000,
     "-----BEGIN PRIVATE KEY-----" + "A" * 9_000 + "!", "key=" + "x-" * 5_000 + "!", "eyJ" + "a." * 5_000, "password is " * 900],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_no_text_takes_long(text: str) -> None:
    start = time.process_time()
    find_secrets("db.password", text)
    assert time.process_time() - start < 2.0, "seconds of processor time; a pattern that backtracks takes minutes"
