-- themes, scopes, facts, sessions, the journal, and the triggers that keep gauges and tallies

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
    ;

    CREATE TABLE actors (
      id INTEGER PRIMARY KEY,
      kind TEXT NOT NULL,
      name TEXT NOT NULL,
      UNIQUE (kind, name)
    ) STRICT
    ;

-- Facts without a scope live in the scope labelled '' of their theme: it never closes and is never listed.
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
    ;

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
    ;

-- One standing fact per scope, type and target: what supersedes, deduplicates and never races between processes.
    CREATE UNIQUE INDEX facts_standing ON facts (scope_id, type, target)
    WHERE tier IN ('hot', 'cold', 'archived')
    ;

CREATE INDEX facts_by_update ON facts (theme_id, tier, type, updated_at);

CREATE INDEX facts_by_creation ON facts (theme_id, tier, type, created_at);

CREATE INDEX facts_by_target ON facts (theme_id, tier, type, target);

CREATE INDEX facts_of_scope ON facts (scope_id, tier, type, updated_at);

CREATE INDEX facts_of_actor ON facts (actor_id);

CREATE INDEX facts_pinned ON facts (theme_id) WHERE pinned = 1;

-- What a fact replaced: the chain is read each time a person looks at a fact. Few facts were replaced, so it is small.
CREATE INDEX facts_replaced ON facts (superseded_by) WHERE superseded_by IS NOT NULL;

-- How often search and injection handed a fact out; apart from facts, so that reading touches none of its indexes.
    CREATE TABLE reads (
      fact_id INTEGER PRIMARY KEY,
      times INTEGER NOT NULL,
      last_at INTEGER NOT NULL
    ) STRICT
    ;

    CREATE TABLE tallies (
      theme_id INTEGER NOT NULL,
      scope_id INTEGER NOT NULL,
      tier TEXT NOT NULL,
      type TEXT NOT NULL,
      facts INTEGER NOT NULL,
      PRIMARY KEY (theme_id, scope_id, tier, type)
    ) STRICT, WITHOUT ROWID
    ;

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
    ;

-- Which scopes a session has in mind: the turn of its last reference, and since which turn it writes elsewhere.
    CREATE TABLE attention (
      session_id INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
      scope_id INTEGER NOT NULL REFERENCES scopes (id) ON DELETE CASCADE,
      last_turn INTEGER NOT NULL,
      written_turn INTEGER,
      streak INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (session_id, scope_id)
    ) STRICT, WITHOUT ROWID
    ;

CREATE INDEX attention_of_scope ON attention (scope_id);

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
    ;

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
    ;

CREATE INDEX journal_of_entity ON journal (uid);

CREATE INDEX journal_of_actor ON journal (actor_id);

CREATE INDEX journal_undos ON journal (undoes) WHERE undoes IS NOT NULL;

-- What purge leaves: that something stood here, never what.
    CREATE TABLE tombstones (
      uid BLOB PRIMARY KEY,
      theme_id INTEGER NOT NULL,
      purged_at INTEGER NOT NULL,
      actor_id INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    ;

-- Contentless: the text stands once, in facts. fulltext.py decides which words are indexed, and puts them in and takes
-- them out; the triggers below keep the facets, by which a search narrows to a scope, a tier or a type inside FTS5.
-- No sizes are kept: nothing ranks by bm25(), which reads the whole list of a word to rank its first hit.
    CREATE VIRTUAL TABLE facts_text USING fts5 (
      target, content, facets,
      content = '', columnsize = 0, tokenize = ascii
    )
    ;

CREATE VIRTUAL TABLE facts_words USING fts5vocab (facts_text, instance);

    CREATE TRIGGER facts_refaceted AFTER UPDATE OF scope_id, tier, type ON facts
    WHEN old.scope_id <> new.scope_id OR old.tier <> new.tier OR old.type <> new.type BEGIN
      INSERT INTO facts_text (facts_text, rowid, target, content, facets)
        VALUES ('delete', old.id, '', '', char(57344) || 's' || old.scope_id || ' ' || char(57344) || old.tier || ' ' || char(57344) || 't' || unicode(old.type));
      INSERT INTO facts_text (rowid, target, content, facets) VALUES (new.id, '', '', char(57344) || 's' || new.scope_id || ' ' || char(57344) || new.tier || ' ' || char(57344) || 't' || unicode(new.type));
    END
    ;

    CREATE TRIGGER facts_unfaceted AFTER DELETE ON facts BEGIN
      INSERT INTO facts_text (facts_text, rowid, target, content, facets)
        VALUES ('delete', old.id, '', '', char(57344) || 's' || old.scope_id || ' ' || char(57344) || old.tier || ' ' || char(57344) || 't' || unicode(old.type));
    END
    ;

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
    ;

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
    ;

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
    ;
