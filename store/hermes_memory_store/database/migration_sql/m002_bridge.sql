-- tokens, answers by idempotency key, captured turns

-- Who may speak to the bridge over the network: only the digest of each token, never the token.
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
    ;

-- What a call with an idempotency key answered, so that a retry is answered alike and changes nothing.
    CREATE TABLE calls (
      key TEXT PRIMARY KEY,
      at INTEGER NOT NULL,
      answer TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    ;

CREATE INDEX calls_by_age ON calls (at);

-- Ids are `theme_id << THEME_SHIFT | n`, as those of facts and for the same reason.
    CREATE TABLE turns (
      id INTEGER PRIMARY KEY,
      uid BLOB NOT NULL UNIQUE,
      theme_id INTEGER NOT NULL REFERENCES themes (id),
      session_id INTEGER REFERENCES sessions (id),
      role TEXT NOT NULL,
      content TEXT NOT NULL,
      at INTEGER NOT NULL
    ) STRICT
    ;

CREATE INDEX turns_by_time ON turns (theme_id, at);

CREATE INDEX turns_of_session ON turns (session_id) WHERE session_id IS NOT NULL;

    CREATE VIRTUAL TABLE turns_text USING fts5 (content, content = '', columnsize = 0, tokenize = ascii)
    ;
