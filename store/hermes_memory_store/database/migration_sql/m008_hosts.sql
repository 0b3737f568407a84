-- the sessions of hosts, the themes of places, what is known of branches

-- Sessions as hosts name them: when their hooks were heard last, what they were given, and how far a transcript was read.
-- A window is what a model has before it: it begins at a start, when a host clears it, and after a compaction.
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
    ;

CREATE INDEX host_sessions_heard ON host_sessions (host, heard_at);

-- Files with hot facts that were written into workspaces. What no longer may be given marks them stale; they are erased
-- before that is committed.
    CREATE TABLE rules_files (
      path TEXT PRIMARY KEY,
      host TEXT NOT NULL,
      theme_id INTEGER REFERENCES themes (id),
      written_at INTEGER NOT NULL,
      stale INTEGER NOT NULL DEFAULT 0
    ) STRICT
    ;

    CREATE TRIGGER rules_files_changed AFTER UPDATE OF tier, content, target ON facts
    WHEN (new.tier IN ('withdrawn', 'quarantined') OR new.content <> old.content OR new.target <> old.target)
      AND EXISTS (SELECT 1 FROM rules_files WHERE stale = 0)
    BEGIN UPDATE rules_files SET stale = 1; END
    ;

    CREATE TRIGGER rules_files_deleted AFTER DELETE ON facts WHEN EXISTS (SELECT 1 FROM rules_files WHERE stale = 0)
    BEGIN UPDATE rules_files SET stale = 1; END
    ;

CREATE INDEX host_sessions_of_session ON host_sessions (session_id) WHERE session_id IS NOT NULL;

-- The facts that stand before a session's model in its present window, each in the wording of that time of change.
    CREATE TABLE host_given (
      host_session_id INTEGER NOT NULL REFERENCES host_sessions (id) ON DELETE CASCADE,
      uid BLOB NOT NULL,
      updated_at INTEGER NOT NULL,
      PRIMARY KEY (host_session_id, uid)
    ) STRICT, WITHOUT ROWID
    ;

-- What was captured of a session, so that hooks, transcripts and records that arrive late keep each message once: whether a
-- hook brought it, whether the transcript showed it. No text; the digest goes when its message is erased.
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
    ;

CREATE INDEX host_turns_of_session ON host_turns (host_session_id, role, digest);

CREATE INDEX host_turns_captured ON host_turns (turn_uid) WHERE turn_uid IS NOT NULL;

    CREATE TRIGGER host_turns_erased AFTER DELETE ON turns BEGIN
      UPDATE host_turns SET digest = NULL, turn_uid = NULL WHERE turn_uid = old.uid;
    END
    ;

-- By what an agent's theme is chosen where nobody names one: `default` for all places, or `projects`. A store that was
-- there before keeps `default` until its person chooses; null in `chosen_at`: nobody has.
    CREATE TABLE place_choice (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      places TEXT NOT NULL,
      chosen_at INTEGER
    ) STRICT
    ;

INSERT INTO place_choice SELECT 1, iif(user_version > 0, 'default', 'projects'), NULL FROM pragma_user_version;

-- The theme of each project. Such a theme is of the kind `theme`, whatever its name.
    CREATE TABLE place_themes (
      project_id INTEGER PRIMARY KEY REFERENCES projects (id),
      theme TEXT NOT NULL UNIQUE,
      at INTEGER NOT NULL
    ) STRICT
    ;

-- Branches of projects as they were last seen: their newest commit, and which one is the default branch. `merged_tip` is
-- the commit with which a merge was journaled last.
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
    ;

-- What is known of commits that facts were written at: whether their branch is merged into a target, which is the
-- default branch (empty) or another branch that an agent is on. Without a branch: a detached HEAD.
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
    ;
