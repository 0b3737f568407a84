-- a person's rules for sources of suspicious facts

-- What a person ruled about everything suspicious that one source writes: `always` let it in, or `never`.
    CREATE TABLE source_rules (
      theme_id INTEGER NOT NULL REFERENCES themes (id),
      source TEXT NOT NULL,
      rule TEXT NOT NULL,
      at INTEGER NOT NULL,
      PRIMARY KEY (theme_id, source)
    ) STRICT, WITHOUT ROWID
    ;
