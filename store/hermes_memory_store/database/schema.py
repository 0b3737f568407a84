"""The tables of the store, and the numbers that identify a file as one.

`STORE_VERSION` is in `PRAGMA user_version`, so that opening a current store takes one pragma and no DDL, and a
store from a newer program is refused before anything is touched. `migrations.py` applies what is defined here.
"""

from __future__ import annotations

APPLICATION_ID = 0x484D454D
"""`HMEM` in `PRAGMA application_id`: tells our files from any other SQLite database."""

STORE_VERSION = 10
"""Number of the newest migration."""

THEME_SHIFT = 40
"""A fact's integer id is `theme_id << 40 | n`, so that the facts of a theme are one range of rowids: full-text search
walks only that range, newest first, and one theme's size never slows (or leaks into) another's search."""

FACET = "\ue000"
"""Begins every facet term of the full-text index. A private-use character, which no indexed word can hold."""


def facets_sql(row: str) -> str:
    """Return SQL for the facet terms (scope, tier, type) of a row of `facts`: `new`, `old`, or the table's name."""
    mark = f"char({ord(FACET)})"
    return (
        f"{mark} || 's' || {row}.scope_id || ' ' || {mark} || {row}.tier || ' ' || {mark} || 't' || unicode({row}.type)"
    )


FIRST_SCHEMA = (
    """
    CREATE TABLE themes (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      created_at INTEGER NOT NULL,
      last_fact INTEGER NOT NULL DEFAULT 0,
      hot_facts INTEGER NOT NULL DEFAULT 0,
      hot_chars INTEGER NOT NULL DEFAULT 0,
      hot_tokens INTEGER NOT NULL DEFAULT 0,
      pinned_chars INTEGER NOT NULL DEFAULT 0
    ) STRICT
    """,
    """
    CREATE TABLE actors (
      id INTEGER PRIMARY KEY,
      kind TEXT NOT NULL,
      name TEXT NOT NULL,
      UNIQUE (kind, name)
    ) STRICT
    """,
    # Facts without a scope live in the scope labelled '' of their theme: it never closes and is never listed.
    """
    CREATE TABLE scopes (
      id INTEGER PRIMARY KEY,
      uid BLOB NOT NULL UNIQUE,
      theme_id INTEGER NOT NULL REFERENCES themes (id),
      label TEXT NOT NULL,
      status TEXT NOT NULL,
      opened_at INTEGER NOT NULL,
      closed_at INTEGER,
      closed_by TEXT,
      UNIQUE (theme_id, label)
    ) STRICT
    """,
    """
    CREATE TABLE facts (
      id INTEGER PRIMARY KEY,
      uid BLOB NOT NULL UNIQUE,
      theme_id INTEGER NOT NULL REFERENCES themes (id),
      scope_id INTEGER NOT NULL REFERENCES scopes (id),
      type TEXT NOT NULL,
      target TEXT NOT NULL COLLATE NOCASE,
      content TEXT NOT NULL,
      tier TEXT NOT NULL,
      pinned INTEGER NOT NULL DEFAULT 0,
      chars INTEGER NOT NULL,
      tokens INTEGER NOT NULL,
      actor_id INTEGER NOT NULL REFERENCES actors (id),
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL,
      superseded_by BLOB,
      cooled_by TEXT
    ) STRICT
    """,
    # One standing fact per scope, type and target: what supersedes, deduplicates and never races between processes.
    """
    CREATE UNIQUE INDEX facts_standing ON facts (scope_id, type, target)
    WHERE tier IN ('hot', 'cold', 'archived')
    """,
    "CREATE INDEX facts_by_update ON facts (theme_id, tier, type, updated_at)",
    "CREATE INDEX facts_by_creation ON facts (theme_id, tier, type, created_at)",
    "CREATE INDEX facts_by_target ON facts (theme_id, tier, type, target)",
    "CREATE INDEX facts_of_scope ON facts (scope_id, tier, type, updated_at)",
    "CREATE INDEX facts_of_actor ON facts (actor_id)",
    "CREATE INDEX facts_pinned ON facts (theme_id) WHERE pinned = 1",
    # What a fact replaced: the chain is read each time a person looks at a fact. Few facts were replaced, so it is small.
    "CREATE INDEX facts_replaced ON facts (superseded_by) WHERE superseded_by IS NOT NULL",
    # How often search and injection handed a fact out; apart from facts, so that reading touches none of its indexes.
    """
    CREATE TABLE reads (
      fact_id INTEGER PRIMARY KEY,
      times INTEGER NOT NULL,
      last_at INTEGER NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE tallies (
      theme_id INTEGER NOT NULL,
      scope_id INTEGER NOT NULL,
      tier TEXT NOT NULL,
      type TEXT NOT NULL,
      facts INTEGER NOT NULL,
      PRIMARY KEY (theme_id, scope_id, tier, type)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE sessions (
      id INTEGER PRIMARY KEY,
      uid BLOB NOT NULL UNIQUE,
      theme_id INTEGER NOT NULL REFERENCES themes (id),
      name TEXT NOT NULL,
      client TEXT,
      pid INTEGER,
      status TEXT NOT NULL,
      started_at INTEGER NOT NULL,
      heartbeat_at INTEGER NOT NULL,
      heartbeat_ms INTEGER NOT NULL,
      lease_ms INTEGER NOT NULL,
      turn INTEGER NOT NULL DEFAULT 0,
      scope_id INTEGER REFERENCES scopes (id),
      on_orphan TEXT NOT NULL,
      ended_at INTEGER,
      checkpoint TEXT,
      UNIQUE (theme_id, name)
    ) STRICT
    """,
    # Which scopes a session has in mind: the turn of its last reference, and since which turn it writes elsewhere.
    """
    CREATE TABLE attention (
      session_id INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
      scope_id INTEGER NOT NULL REFERENCES scopes (id) ON DELETE CASCADE,
      last_turn INTEGER NOT NULL,
      written_turn INTEGER,
      streak INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (session_id, scope_id)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX attention_of_scope ON attention (scope_id)",
    """
    CREATE TABLE injections (
      id INTEGER PRIMARY KEY,
      at INTEGER NOT NULL,
      theme_id INTEGER NOT NULL,
      session_id INTEGER,
      kind TEXT NOT NULL,
      why TEXT,
      tokens INTEGER NOT NULL,
      facts TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE journal (
      seq INTEGER PRIMARY KEY,
      at INTEGER NOT NULL,
      theme_id INTEGER NOT NULL,
      actor_id INTEGER NOT NULL,
      op TEXT NOT NULL,
      entity TEXT NOT NULL,
      uid BLOB NOT NULL,
      change INTEGER NOT NULL,
      undoes INTEGER,
      before TEXT,
      after TEXT,
      salt BLOB NOT NULL,
      digest BLOB,
      hash BLOB NOT NULL
    ) STRICT
    """,
    "CREATE INDEX journal_of_entity ON journal (uid)",
    "CREATE INDEX journal_of_actor ON journal (actor_id)",
    "CREATE INDEX journal_undos ON journal (undoes) WHERE undoes IS NOT NULL",
    # What purge leaves: that something stood here, never what.
    """
    CREATE TABLE tombstones (
      uid BLOB PRIMARY KEY,
      theme_id INTEGER NOT NULL,
      purged_at INTEGER NOT NULL,
      actor_id INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    # Contentless: the text stands once, in facts. fulltext.py decides which words are indexed, and puts them in and takes
    # them out; the triggers below keep the facets, by which a search narrows to a scope, a tier or a type inside FTS5.
    # No sizes are kept: nothing ranks by bm25(), which reads the whole list of a word to rank its first hit.
    """
    CREATE VIRTUAL TABLE facts_text USING fts5 (
      target, content, facets,
      content = '', columnsize = 0, tokenize = ascii
    )
    """,
    "CREATE VIRTUAL TABLE facts_words USING fts5vocab (facts_text, instance)",
    f"""
    CREATE TRIGGER facts_refaceted AFTER UPDATE OF scope_id, tier, type ON facts
    WHEN old.scope_id <> new.scope_id OR old.tier <> new.tier OR old.type <> new.type BEGIN
      INSERT INTO facts_text (facts_text, rowid, target, content, facets)
        VALUES ('delete', old.id, '', '', {facets_sql("old")});
      INSERT INTO facts_text (rowid, target, content, facets) VALUES (new.id, '', '', {facets_sql("new")});
    END
    """,
    f"""
    CREATE TRIGGER facts_unfaceted AFTER DELETE ON facts BEGIN
      INSERT INTO facts_text (facts_text, rowid, target, content, facets)
        VALUES ('delete', old.id, '', '', {facets_sql("old")});
    END
    """,
    """
    CREATE TRIGGER facts_counted AFTER INSERT ON facts BEGIN
      INSERT INTO tallies VALUES (new.theme_id, new.scope_id, new.tier, new.type, 1)
        ON CONFLICT DO UPDATE SET facts = facts + 1;
      UPDATE themes SET
          last_fact = max(last_fact, new.id & 1099511627775),
          hot_facts = hot_facts + (new.tier = 'hot'),
          hot_chars = hot_chars + (new.tier = 'hot') * new.chars,
          hot_tokens = hot_tokens + (new.tier = 'hot') * new.tokens,
          pinned_chars = pinned_chars + (new.tier = 'hot' AND new.pinned) * new.chars
        WHERE id = new.theme_id;
    END
    """,
    """
    CREATE TRIGGER facts_recounted AFTER UPDATE OF tier, scope_id, pinned, chars, tokens ON facts BEGIN
      UPDATE tallies SET facts = facts - 1
        WHERE theme_id = old.theme_id AND scope_id = old.scope_id AND tier = old.tier AND type = old.type;
      INSERT INTO tallies VALUES (new.theme_id, new.scope_id, new.tier, new.type, 1)
        ON CONFLICT DO UPDATE SET facts = facts + 1;
      UPDATE themes SET
          hot_facts = hot_facts + (new.tier = 'hot') - (old.tier = 'hot'),
          hot_chars = hot_chars + (new.tier = 'hot') * new.chars - (old.tier = 'hot') * old.chars,
          hot_tokens = hot_tokens + (new.tier = 'hot') * new.tokens - (old.tier = 'hot') * old.tokens,
          pinned_chars = pinned_chars + (new.tier = 'hot' AND new.pinned) * new.chars
            - (old.tier = 'hot' AND old.pinned) * old.chars
        WHERE id = new.theme_id;
    END
    """,
    """
    CREATE TRIGGER facts_uncounted AFTER DELETE ON facts BEGIN
      UPDATE tallies SET facts = facts - 1
        WHERE theme_id = old.theme_id AND scope_id = old.scope_id AND tier = old.tier AND type = old.type;
      UPDATE themes SET
          hot_facts = hot_facts - (old.tier = 'hot'),
          hot_chars = hot_chars - (old.tier = 'hot') * old.chars,
          hot_tokens = hot_tokens - (old.tier = 'hot') * old.tokens,
          pinned_chars = pinned_chars - (old.tier = 'hot' AND old.pinned) * old.chars
        WHERE id = old.theme_id;
      DELETE FROM reads WHERE fact_id = old.id;
    END
    """,
)

SECOND_SCHEMA = (
    # Who may speak to the bridge over the network: only the digest of each token, never the token.
    """
    CREATE TABLE credentials (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      digest BLOB NOT NULL UNIQUE,
      theme TEXT NOT NULL,
      rights TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER,
      revoked_at INTEGER
    ) STRICT
    """,
    # What a call with an idempotency key answered, so that a retry is answered alike and changes nothing.
    """
    CREATE TABLE calls (
      key TEXT PRIMARY KEY,
      at INTEGER NOT NULL,
      answer TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX calls_by_age ON calls (at)",
    # Ids are `theme_id << THEME_SHIFT | n`, as those of facts and for the same reason.
    """
    CREATE TABLE turns (
      id INTEGER PRIMARY KEY,
      uid BLOB NOT NULL UNIQUE,
      theme_id INTEGER NOT NULL REFERENCES themes (id),
      session_id INTEGER REFERENCES sessions (id),
      role TEXT NOT NULL,
      content TEXT NOT NULL,
      at INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX turns_by_time ON turns (theme_id, at)",
    "CREATE INDEX turns_of_session ON turns (session_id) WHERE session_id IS NOT NULL",
    """
    CREATE VIRTUAL TABLE turns_text USING fts5 (content, content = '', columnsize = 0, tokenize = ascii)
    """,
)

THIRD_SCHEMA = (
    # What a person ruled about everything suspicious that one source writes: `always` let it in, or `never`.
    """
    CREATE TABLE source_rules (
      theme_id INTEGER NOT NULL REFERENCES themes (id),
      source TEXT NOT NULL,
      rule TEXT NOT NULL,
      at INTEGER NOT NULL,
      PRIMARY KEY (theme_id, source)
    ) STRICT, WITHOUT ROWID
    """,
)

TRACKED = "EXISTS (SELECT 1 FROM sync_themes WHERE theme_id = {row}.theme_id)"

FOURTH_SCHEMA = (
    # This store among the others, the hybrid clock of its versions, and who syncs it at the moment.
    """
    CREATE TABLE sync_store (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      node BLOB NOT NULL,
      clock INTEGER NOT NULL DEFAULT 0,
      ahead_ms INTEGER NOT NULL DEFAULT 0,
      holder TEXT,
      held_until INTEGER NOT NULL DEFAULT 0,
      held_ms INTEGER NOT NULL DEFAULT 0
    ) STRICT
    """,
    # Themes whose writes are tracked; while there is none, tracking costs one look into an empty table.
    """
    CREATE TABLE sync_themes (
      theme_id INTEGER PRIMARY KEY REFERENCES themes (id),
      enrolled INTEGER NOT NULL DEFAULT 0,
      ready INTEGER NOT NULL DEFAULT 0,
      seq INTEGER NOT NULL DEFAULT 0,
      mark_seq INTEGER,
      mark_token TEXT
    ) STRICT
    """,
    # What was changed and has no version yet: uids of facts as blobs, labels of scopes as text. Empty between transactions.
    """
    CREATE TABLE sync_changed (
      theme_id INTEGER NOT NULL,
      thing ANY NOT NULL,
      PRIMARY KEY (theme_id, thing)
    ) STRICT, WITHOUT ROWID
    """,
    # The newest known version of each thing. What it says stands in facts and scopes; only where the store's own rules
    # show something else (two facts in one place) it stands here, in shadow.
    """
    CREATE TABLE sync_rows (
      theme_id INTEGER NOT NULL,
      uid BLOB NOT NULL,
      label TEXT,
      state INTEGER NOT NULL,
      hlc INTEGER NOT NULL,
      node BLOB NOT NULL,
      ancestors TEXT NOT NULL,
      said TEXT NOT NULL,
      sent INTEGER NOT NULL,
      offered INTEGER NOT NULL DEFAULT 0,
      seq INTEGER,
      refused TEXT,
      shadow TEXT,
      PRIMARY KEY (theme_id, uid)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX sync_unsent ON sync_rows (theme_id, hlc) WHERE sent = 0",
    "CREATE INDEX sync_shadows ON sync_rows (theme_id, label) WHERE shadow IS NOT NULL",
    # Versions that lost against one that did not know of them, until a person decides.
    """
    CREATE TABLE sync_conflicts (
      theme_id INTEGER NOT NULL,
      uid BLOB NOT NULL,
      hlc INTEGER NOT NULL,
      node BLOB NOT NULL,
      why TEXT NOT NULL,
      at INTEGER NOT NULL,
      other BLOB,
      ancestors TEXT NOT NULL,
      said TEXT NOT NULL,
      PRIMARY KEY (theme_id, uid, hlc, node, why)
    ) STRICT, WITHOUT ROWID
    """,
    f"""
    CREATE TRIGGER facts_sync_new AFTER INSERT ON facts WHEN {TRACKED.format(row="new")} BEGIN
      INSERT OR IGNORE INTO sync_changed VALUES (new.theme_id, new.uid);
    END
    """,
    f"""
    CREATE TRIGGER facts_sync_changed
    AFTER UPDATE OF scope_id, content, tier, pinned, created_at, updated_at, superseded_by, cooled_by ON facts
    WHEN {TRACKED.format(row="new")} BEGIN
      INSERT OR IGNORE INTO sync_changed VALUES (new.theme_id, new.uid);
    END
    """,
    f"""
    CREATE TRIGGER facts_sync_gone AFTER DELETE ON facts WHEN {TRACKED.format(row="old")} BEGIN
      INSERT OR IGNORE INTO sync_changed VALUES (old.theme_id, old.uid);
    END
    """,
    f"""
    CREATE TRIGGER facts_sync_purged AFTER INSERT ON tombstones WHEN {TRACKED.format(row="new")} BEGIN
      INSERT OR IGNORE INTO sync_changed VALUES (new.theme_id, new.uid);
      DELETE FROM sync_conflicts WHERE theme_id = new.theme_id AND uid = new.uid;
      UPDATE sync_rows SET shadow = NULL WHERE theme_id = new.theme_id AND uid = new.uid;
    END
    """,
    f"""
    CREATE TRIGGER scopes_sync_new AFTER INSERT ON scopes WHEN new.label <> '' AND {TRACKED.format(row="new")} BEGIN
      INSERT OR IGNORE INTO sync_changed VALUES (new.theme_id, new.label);
    END
    """,
    f"""
    CREATE TRIGGER scopes_sync_changed AFTER UPDATE OF status, opened_at, closed_at, closed_by ON scopes
    WHEN new.label <> '' AND {TRACKED.format(row="new")} BEGIN
      INSERT OR IGNORE INTO sync_changed VALUES (new.theme_id, new.label);
    END
    """,
    # Facts name their scope by its label.
    f"""
    CREATE TRIGGER scopes_sync_renamed AFTER UPDATE OF label ON scopes
    WHEN old.label <> new.label AND {TRACKED.format(row="new")} BEGIN
      INSERT OR IGNORE INTO sync_changed VALUES (old.theme_id, old.label), (new.theme_id, new.label);
      INSERT OR IGNORE INTO sync_changed SELECT theme_id, uid FROM facts WHERE scope_id = new.id;
    END
    """,
)

FIFTH_SCHEMA = (
    # Whether the turns of a theme are shared (1), or once were (2); how far they were pulled; whether all of them ever were.
    "ALTER TABLE sync_themes ADD COLUMN turns INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE sync_themes ADD COLUMN turn_seq INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE sync_themes ADD COLUMN turns_whole INTEGER NOT NULL DEFAULT 0",
    # A turn never changes, so all there is to know is who captured it (null: this store), whether it was erased for good, and
    # whether the team knows. What was erased stays here by its uid, so that it does not come back. What this machine's screens
    # altered is never sent.
    """
    CREATE TABLE sync_turns (
      theme_id INTEGER NOT NULL,
      uid BLOB NOT NULL,
      node BLOB,
      erased INTEGER NOT NULL,
      sent INTEGER NOT NULL,
      altered INTEGER NOT NULL DEFAULT 0,
      refused TEXT,
      PRIMARY KEY (theme_id, uid)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX sync_turns_unsent ON sync_turns (theme_id, uid) WHERE sent = 0",
    """
    CREATE TRIGGER turns_sync_new AFTER INSERT ON turns
    WHEN EXISTS (SELECT 1 FROM sync_themes WHERE theme_id = new.theme_id AND turns = 1) BEGIN
      INSERT OR IGNORE INTO sync_turns (theme_id, uid, erased, sent) VALUES (new.theme_id, new.uid, 0, 0);
    END
    """,
    # Turns that were erased here, and perhaps not yet from the backups and what else lies beside the store.
    """
    CREATE TABLE turns_to_scrub (
      uid BLOB PRIMARY KEY,
      told INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
)

SIXTH_SCHEMA = (
    # What was masked here of facts from the team, once they say something else: undoing that shows the masked content again,
    # and what it stands for is then said to the others, not the mask.
    """
    CREATE TABLE sync_masked (
      theme_id INTEGER NOT NULL,
      uid BLOB NOT NULL,
      shown TEXT NOT NULL,
      clear TEXT NOT NULL,
      PRIMARY KEY (theme_id, uid, shown)
    ) STRICT, WITHOUT ROWID
    """,
    f"""
    CREATE TRIGGER sync_masked_purged AFTER INSERT ON tombstones WHEN {TRACKED.format(row="new")} BEGIN
      DELETE FROM sync_masked WHERE theme_id = new.theme_id AND uid = new.uid;
    END
    """,
    # Whether a first pull came to its end: how far a theme was pulled does not tell that.
    "ALTER TABLE sync_themes ADD COLUMN fetched INTEGER NOT NULL DEFAULT 0",
    # What a store that was away for too long has listed anew of everything that the server has, until it has all of it.
    """
    CREATE TABLE sync_listings (
      theme_id INTEGER PRIMARY KEY REFERENCES themes (id),
      seq INTEGER NOT NULL,
      gc_seq INTEGER NOT NULL,
      head INTEGER NOT NULL,
      mark_seq INTEGER,
      mark_token TEXT
    ) STRICT
    """,
    """
    CREATE TABLE sync_listed (
      theme_id INTEGER NOT NULL,
      uid BLOB NOT NULL,
      PRIMARY KEY (theme_id, uid)
    ) STRICT, WITHOUT ROWID
    """,
)

SEVENTH_SCHEMA = (
    # What is one project to people: known by what it was seen as. One that turned out to be another has joined it, and keeps
    # its name, so that a name never means something else later. `folded` is the name as names are compared.
    """
    CREATE TABLE projects (
      id INTEGER PRIMARY KEY,
      uid BLOB NOT NULL UNIQUE,
      name TEXT NOT NULL,
      folded TEXT NOT NULL UNIQUE,
      seen_at INTEGER NOT NULL,
      joined_id INTEGER REFERENCES projects (id)
    ) STRICT
    """,
    # Identities: normalised remote URLs, root commits, common directories and paths.
    """
    CREATE TABLE project_aliases (
      kind TEXT NOT NULL,
      value TEXT NOT NULL,
      project_id INTEGER NOT NULL REFERENCES projects (id),
      seen_at INTEGER NOT NULL,
      PRIMARY KEY (kind, value)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX aliases_of_project ON project_aliases (project_id)",
    # Where things came from, one row for each distinct origin of a theme. The digest covers all of it but paths of this
    # machine (root, and where a file lies): the journal's chain names an origin by it. Its salt goes with what is erased.
    """
    CREATE TABLE origins (
      id INTEGER PRIMARY KEY,
      theme_id INTEGER NOT NULL REFERENCES themes (id),
      digest BLOB NOT NULL,
      salt BLOB NOT NULL,
      way TEXT NOT NULL,
      session TEXT,
      title TEXT,
      client TEXT,
      client_version TEXT,
      project_id INTEGER REFERENCES projects (id),
      root TEXT,
      folder TEXT,
      branch TEXT,
      commit_id TEXT,
      peer TEXT,
      program TEXT,
      teammate TEXT,
      team_way TEXT,
      team_verdict TEXT,
      file TEXT
    ) STRICT
    """,
    "CREATE INDEX origins_alike ON origins (theme_id, session, file, commit_id)",
    "CREATE INDEX origins_of_project ON origins (project_id) WHERE project_id IS NOT NULL",
    # Null in all of these: unknown. The detail is JSON: the line of an import, the turns a fact was written from.
    "ALTER TABLE facts ADD COLUMN origin_id INTEGER REFERENCES origins (id)",
    "ALTER TABLE facts ADD COLUMN origin_detail TEXT",
    "ALTER TABLE facts ADD COLUMN verdict TEXT",
    "ALTER TABLE turns ADD COLUMN origin_id INTEGER REFERENCES origins (id)",
    "ALTER TABLE turns ADD COLUMN verdict TEXT",
    "ALTER TABLE journal ADD COLUMN origin_id INTEGER REFERENCES origins (id)",
    "ALTER TABLE sessions ADD COLUMN client_version TEXT",
    "ALTER TABLE sessions ADD COLUMN project_id INTEGER REFERENCES projects (id)",
    "ALTER TABLE sessions ADD COLUMN number INTEGER",
    # Numbers count the sessions of a client in a project.
    "CREATE INDEX sessions_by_client ON sessions (theme_id, client, project_id, number) WHERE number IS NOT NULL",
    "CREATE INDEX facts_of_origin ON facts (origin_id) WHERE origin_id IS NOT NULL",
    # Where facts of the team came from that are not shown here yet: what their rows say of it, and who brought them.
    """
    CREATE TABLE sync_origins (
      theme_id INTEGER NOT NULL,
      uid BLOB NOT NULL,
      said TEXT,
      teammate TEXT,
      PRIMARY KEY (theme_id, uid)
    ) STRICT, WITHOUT ROWID
    """,
    f"""
    CREATE TRIGGER sync_origins_purged AFTER INSERT ON tombstones WHEN {TRACKED.format(row="new")} BEGIN
      DELETE FROM sync_origins WHERE theme_id = new.theme_id AND uid = new.uid;
    END
    """,
)


HOST_TABLES = (
    # Sessions as hosts name them: when their hooks were heard last, what they were given, and how far a transcript was read.
    # A window is what a model has before it: it begins at a start, when a host clears it, and after a compaction.
    """
    CREATE TABLE host_sessions (
      id INTEGER PRIMARY KEY,
      host TEXT NOT NULL,
      name TEXT NOT NULL,
      theme_id INTEGER REFERENCES themes (id),
      session_id INTEGER REFERENCES sessions (id) ON DELETE SET NULL,
      host_version TEXT,
      folder TEXT,
      started_at INTEGER NOT NULL,
      heard_at INTEGER NOT NULL,
      heard_event TEXT NOT NULL,
      window_at INTEGER NOT NULL,
      given_at INTEGER,
      given_seq INTEGER NOT NULL DEFAULT 0,
      given_tokens INTEGER NOT NULL DEFAULT 0,
      given_facts INTEGER NOT NULL DEFAULT 0,
      transcript TEXT,
      transcript_offset INTEGER NOT NULL DEFAULT 0,
      pid INTEGER,
      source TEXT NOT NULL DEFAULT '',
      compacting_at INTEGER,
      compacted_at INTEGER,
      prompts INTEGER NOT NULL DEFAULT 0,
      prompt_tokens INTEGER NOT NULL DEFAULT 0,
      window_prompts INTEGER NOT NULL DEFAULT 0,
      transcript_size INTEGER NOT NULL DEFAULT 0,
      capture_from INTEGER,
      capture_spans TEXT NOT NULL DEFAULT '[]',
      UNIQUE (host, name)
    ) STRICT
    """,
    "CREATE INDEX host_sessions_heard ON host_sessions (host, heard_at)",
    # Files with hot facts that were written into workspaces. What no longer may be given marks them stale; they are erased
    # before that is committed.
    """
    CREATE TABLE rules_files (
      path TEXT PRIMARY KEY,
      host TEXT NOT NULL,
      theme_id INTEGER REFERENCES themes (id),
      written_at INTEGER NOT NULL,
      stale INTEGER NOT NULL DEFAULT 0
    ) STRICT
    """,
    """
    CREATE TRIGGER rules_files_changed AFTER UPDATE OF tier, content, target ON facts
    WHEN (new.tier IN ('withdrawn', 'quarantined') OR new.content <> old.content OR new.target <> old.target)
      AND EXISTS (SELECT 1 FROM rules_files WHERE stale = 0)
    BEGIN UPDATE rules_files SET stale = 1; END
    """,
    """
    CREATE TRIGGER rules_files_deleted AFTER DELETE ON facts WHEN EXISTS (SELECT 1 FROM rules_files WHERE stale = 0)
    BEGIN UPDATE rules_files SET stale = 1; END
    """,
    "CREATE INDEX host_sessions_of_session ON host_sessions (session_id) WHERE session_id IS NOT NULL",
    # The facts that stand before a session's model in its present window, each in the wording of that time of change.
    """
    CREATE TABLE host_given (
      host_session_id INTEGER NOT NULL REFERENCES host_sessions (id) ON DELETE CASCADE,
      uid BLOB NOT NULL,
      updated_at INTEGER NOT NULL,
      PRIMARY KEY (host_session_id, uid)
    ) STRICT, WITHOUT ROWID
    """,
    # What was captured of a session, so that hooks, transcripts and records that arrive late keep each message once: whether a
    # hook brought it, whether the transcript showed it. No text; the digest goes when its message is erased.
    """
    CREATE TABLE host_turns (
      id INTEGER PRIMARY KEY,
      host_session_id INTEGER NOT NULL REFERENCES host_sessions (id) ON DELETE CASCADE,
      role TEXT NOT NULL,
      digest BLOB,
      at INTEGER NOT NULL,
      turn TEXT NOT NULL DEFAULT '',
      heard INTEGER NOT NULL,
      read INTEGER NOT NULL,
      turn_uid BLOB
    ) STRICT
    """,
    "CREATE INDEX host_turns_of_session ON host_turns (host_session_id, role, digest)",
    "CREATE INDEX host_turns_captured ON host_turns (turn_uid) WHERE turn_uid IS NOT NULL",
    """
    CREATE TRIGGER host_turns_erased AFTER DELETE ON turns BEGIN
      UPDATE host_turns SET digest = NULL, turn_uid = NULL WHERE turn_uid = old.uid;
    END
    """,
)

PLACE_TABLES = (
    # By what an agent's theme is chosen where nobody names one: `default` for all places, or `projects`. A store that was
    # there before keeps `default` until its person chooses; null in `chosen_at`: nobody has.
    """
    CREATE TABLE place_choice (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      places TEXT NOT NULL,
      chosen_at INTEGER
    ) STRICT
    """,
    "INSERT INTO place_choice SELECT 1, iif(user_version > 0, 'default', 'projects'), NULL FROM pragma_user_version",
    # The theme of each project. Such a theme is of the kind `theme`, whatever its name.
    """
    CREATE TABLE place_themes (
      project_id INTEGER PRIMARY KEY REFERENCES projects (id),
      theme TEXT NOT NULL UNIQUE,
      at INTEGER NOT NULL
    ) STRICT
    """,
)

BRANCH_TABLES = (
    # Branches of projects as they were last seen: their newest commit, and which one is the default branch. `merged_tip` is
    # the commit with which a merge was journaled last.
    """
    CREATE TABLE project_branches (
      id INTEGER PRIMARY KEY,
      uid BLOB NOT NULL UNIQUE,
      project_id INTEGER NOT NULL REFERENCES projects (id),
      name TEXT NOT NULL,
      tip TEXT,
      is_default INTEGER NOT NULL DEFAULT 0,
      merged_tip TEXT,
      seen_at INTEGER NOT NULL,
      UNIQUE (project_id, name)
    ) STRICT
    """,
    # What is known of commits that facts were written at: whether their branch is merged into a target, which is the
    # default branch (empty) or another branch that an agent is on. Without a branch: a detached HEAD.
    """
    CREATE TABLE branch_states (
      project_id INTEGER NOT NULL REFERENCES projects (id),
      branch TEXT NOT NULL,
      commit_id TEXT NOT NULL,
      target TEXT NOT NULL,
      target_commit TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('merged', 'unmerged', 'undecided')),
      way TEXT,
      was_outside INTEGER NOT NULL DEFAULT 0,
      checked_at INTEGER NOT NULL,
      PRIMARY KEY (project_id, branch, commit_id, target)
    ) STRICT, WITHOUT ROWID
    """,
)

EIGHTH_SCHEMA = (*HOST_TABLES, *PLACE_TABLES, *BRANCH_TABLES)

USE_TABLES = (
    # How often a session was given a fact, and how often what was said or done after it touched the fact. Beside `reads`,
    # which counts every answer: what was given and never used is worth less at the next start.
    """
    CREATE TABLE fact_uses (
      fact_id INTEGER PRIMARY KEY,
      given INTEGER NOT NULL DEFAULT 0,
      used INTEGER NOT NULL DEFAULT 0,
      last_used_at INTEGER
    ) STRICT
    """,
    "CREATE TRIGGER fact_uses_gone AFTER DELETE ON facts BEGIN DELETE FROM fact_uses WHERE fact_id = old.id; END",
    # Why each fact of a context record was given, and what was left out, as JSON; null where nothing was ranked.
    "ALTER TABLE injections ADD COLUMN reasons TEXT",
)
"""What sessions did with what they were given."""

WORD_TABLES = (
    # By `row` instead of `instance`: the terms of a range are read at a tenth of the cost, where before each was sought.
    "DROP TABLE IF EXISTS facts_words",
    "CREATE VIRTUAL TABLE facts_words USING fts5vocab (facts_text, row)",
    "CREATE VIRTUAL TABLE turns_words USING fts5vocab (turns_text, row)",
)
"""The vocabularies of the full-text indexes, in which a search looks for longer words, other forms and what was mistyped.
They read the index itself: nothing has to be kept with each write, and nothing of what is purged remains in them."""

NINTH_SCHEMA = (*USE_TABLES, *WORD_TABLES)

TENTH_SCHEMA = (
    # The name of a theme in the team's database; null: its own.
    "ALTER TABLE sync_themes ADD COLUMN team_name TEXT",
)

SCHEMAS = {
    "m001_memory": FIRST_SCHEMA,  # themes, scopes, facts, sessions, the journal, and the triggers that keep gauges and tallies
    "m002_bridge": SECOND_SCHEMA,  # tokens, answers by idempotency key, captured turns
    "m003_sources": THIRD_SCHEMA,  # a person's rules for sources of suspicious facts
    "m004_sync": FOURTH_SCHEMA,  # the versions exchanged with a team, and the triggers that note every change of them
    "m005_shared_turns": FIFTH_SCHEMA,  # which captured turns a team knows
    "m006_sync_whole": SIXTH_SCHEMA,  # texts that masks hide from a team's facts, and which themes are held completely
    "m007_origins": SEVENTH_SCHEMA,  # projects, origins of facts, turns and changes, verdicts, numbers of sessions
    "m008_hosts": EIGHTH_SCHEMA,  # the sessions of hosts, the themes of places, what is known of branches
    "m009_recall": NINTH_SCHEMA,  # what sessions did with the facts they were given, what search knows of words
    "m010_team_names": TENTH_SCHEMA,  # the name that a theme has in the team's database
}
"""The migrations in their order, by name; the doctor knows a whole store by their statements."""
