-- the versions exchanged with a team, and the triggers that note every change of them

-- This store among the others, the hybrid clock of its versions, and who syncs it at the moment.
    CREATE TABLE sync_store (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      node BLOB NOT NULL,
      clock INTEGER NOT NULL DEFAULT 0,
      ahead_ms INTEGER NOT NULL DEFAULT 0,
      holder TEXT,
      held_until INTEGER NOT NULL DEFAULT 0,
      held_ms INTEGER NOT NULL DEFAULT 0
    ) STRICT
    ;

-- Themes whose writes are tracked; while there is none, tracking costs one look into an empty table.
    CREATE TABLE sync_themes (
      theme_id INTEGER PRIMARY KEY REFERENCES themes (id),
      enrolled INTEGER NOT NULL DEFAULT 0,
      ready INTEGER NOT NULL DEFAULT 0,
      seq INTEGER NOT NULL DEFAULT 0,
      mark_seq INTEGER,
      mark_token TEXT
    ) STRICT
    ;

-- What was changed and has no version yet: uids of facts as blobs, labels of scopes as text. Empty between transactions.
    CREATE TABLE sync_changed (
      theme_id INTEGER NOT NULL,
      thing ANY NOT NULL,
      PRIMARY KEY (theme_id, thing)
    ) STRICT, WITHOUT ROWID
    ;

-- The newest known version of each thing. What it says stands in facts and scopes; only where the store's own rules
-- show something else (two facts in one place) it stands here, in shadow.
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
    ;

CREATE INDEX sync_unsent ON sync_rows (theme_id, hlc) WHERE sent = 0;

CREATE INDEX sync_shadows ON sync_rows (theme_id, label) WHERE shadow IS NOT NULL;

-- Versions that lost against one that did not know of them, until a person decides.
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
    ;

    CREATE TRIGGER facts_sync_new AFTER INSERT ON facts WHEN EXISTS (SELECT 1 FROM sync_themes WHERE theme_id = new.theme_id) BEGIN
      INSERT OR IGNORE INTO sync_changed VALUES (new.theme_id, new.uid);
    END
    ;

    CREATE TRIGGER facts_sync_changed
    AFTER UPDATE OF scope_id, content, tier, pinned, created_at, updated_at, superseded_by, cooled_by ON facts
    WHEN EXISTS (SELECT 1 FROM sync_themes WHERE theme_id = new.theme_id) BEGIN
      INSERT OR IGNORE INTO sync_changed VALUES (new.theme_id, new.uid);
    END
    ;

    CREATE TRIGGER facts_sync_gone AFTER DELETE ON facts WHEN EXISTS (SELECT 1 FROM sync_themes WHERE theme_id = old.theme_id) BEGIN
      INSERT OR IGNORE INTO sync_changed VALUES (old.theme_id, old.uid);
    END
    ;

    CREATE TRIGGER facts_sync_purged AFTER INSERT ON tombstones WHEN EXISTS (SELECT 1 FROM sync_themes WHERE theme_id = new.theme_id) BEGIN
      INSERT OR IGNORE INTO sync_changed VALUES (new.theme_id, new.uid);
      DELETE FROM sync_conflicts WHERE theme_id = new.theme_id AND uid = new.uid;
      UPDATE sync_rows SET shadow = NULL WHERE theme_id = new.theme_id AND uid = new.uid;
    END
    ;

    CREATE TRIGGER scopes_sync_new AFTER INSERT ON scopes WHEN new.label <> '' AND EXISTS (SELECT 1 FROM sync_themes WHERE theme_id = new.theme_id) BEGIN
      INSERT OR IGNORE INTO sync_changed VALUES (new.theme_id, new.label);
    END
    ;

    CREATE TRIGGER scopes_sync_changed AFTER UPDATE OF status, opened_at, closed_at, closed_by ON scopes
    WHEN new.label <> '' AND EXISTS (SELECT 1 FROM sync_themes WHERE theme_id = new.theme_id) BEGIN
      INSERT OR IGNORE INTO sync_changed VALUES (new.theme_id, new.label);
    END
    ;

-- Facts name their scope by its label.
    CREATE TRIGGER scopes_sync_renamed AFTER UPDATE OF label ON scopes
    WHEN old.label <> new.label AND EXISTS (SELECT 1 FROM sync_themes WHERE theme_id = new.theme_id) BEGIN
      INSERT OR IGNORE INTO sync_changed VALUES (old.theme_id, old.label), (new.theme_id, new.label);
      INSERT OR IGNORE INTO sync_changed SELECT theme_id, uid FROM facts WHERE scope_id = new.id;
    END
    ;
