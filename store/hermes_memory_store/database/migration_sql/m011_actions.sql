-- what agents ran, read and edited, where a person allowed that it is kept

-- One call of a tool, or one file of it. No item of the journal: nothing changes such a row, nothing undoes it, and it never
-- leaves this machine. Its uid says which call it was and nothing of it. A row without `what` was erased, and keeps the call
-- from coming back; with a `run` it may come again when a person asks for it. `run`: the backfill that brought it; null: a hook.
    CREATE TABLE actions (
      id INTEGER PRIMARY KEY,
      uid BLOB NOT NULL UNIQUE,
      theme_id INTEGER NOT NULL REFERENCES themes (id),
      session_id INTEGER REFERENCES sessions (id) ON DELETE SET NULL,
      host TEXT NOT NULL,
      at INTEGER NOT NULL,
      kept_at INTEGER NOT NULL,
      run INTEGER,
      kind TEXT NOT NULL CHECK (kind IN ('run', 'read', 'edit')),
      what TEXT,
      folder TEXT,
      exit_code INTEGER,
      duration_ms INTEGER,
      error TEXT
    ) STRICT
    ;

CREATE INDEX actions_of_session ON actions (session_id, at) WHERE what IS NOT NULL;

CREATE INDEX actions_of_theme ON actions (theme_id, at) WHERE what IS NOT NULL;
