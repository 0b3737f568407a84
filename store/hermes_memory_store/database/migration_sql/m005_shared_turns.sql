-- which captured turns a team knows

-- Whether the turns of a theme are shared (1), or once were (2); how far they were pulled; whether all of them ever were.
ALTER TABLE sync_themes ADD COLUMN turns INTEGER NOT NULL DEFAULT 0;

ALTER TABLE sync_themes ADD COLUMN turn_seq INTEGER NOT NULL DEFAULT 0;

ALTER TABLE sync_themes ADD COLUMN turns_whole INTEGER NOT NULL DEFAULT 0;

-- A turn never changes, so all there is to know is who captured it (null: this store), whether it was erased for good, and
-- whether the team knows. What was erased stays here by its uid, so that it does not come back. What this machine's screens
-- altered is never sent.
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
    ;

CREATE INDEX sync_turns_unsent ON sync_turns (theme_id, uid) WHERE sent = 0;

    CREATE TRIGGER turns_sync_new AFTER INSERT ON turns
    WHEN EXISTS (SELECT 1 FROM sync_themes WHERE theme_id = new.theme_id AND turns = 1) BEGIN
      INSERT OR IGNORE INTO sync_turns (theme_id, uid, erased, sent) VALUES (new.theme_id, new.uid, 0, 0);
    END
    ;

-- Turns that were erased here, and perhaps not yet from the backups and what else lies beside the store.
    CREATE TABLE turns_to_scrub (
      uid BLOB PRIMARY KEY,
      told INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    ;
