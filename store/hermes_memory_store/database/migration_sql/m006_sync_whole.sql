-- texts that masks hide from a team's facts, and which themes are held completely

-- What was masked here of facts from the team, once they say something else: undoing that shows the masked content again,
-- and what it stands for is then said to the others, not the mask.
    CREATE TABLE sync_masked (
      theme_id INTEGER NOT NULL,
      uid BLOB NOT NULL,
      shown TEXT NOT NULL,
      clear TEXT NOT NULL,
      PRIMARY KEY (theme_id, uid, shown)
    ) STRICT, WITHOUT ROWID
    ;

    CREATE TRIGGER sync_masked_purged AFTER INSERT ON tombstones WHEN EXISTS (SELECT 1 FROM sync_themes WHERE theme_id = new.theme_id) BEGIN
      DELETE FROM sync_masked WHERE theme_id = new.theme_id AND uid = new.uid;
    END
    ;

-- Whether a first pull came to its end: how far a theme was pulled does not tell that.
ALTER TABLE sync_themes ADD COLUMN fetched INTEGER NOT NULL DEFAULT 0;

-- What a store that was away for too long has listed anew of everything that the server has, until it has all of it.
    CREATE TABLE sync_listings (
      theme_id INTEGER PRIMARY KEY REFERENCES themes (id),
      seq INTEGER NOT NULL,
      gc_seq INTEGER NOT NULL,
      head INTEGER NOT NULL,
      mark_seq INTEGER,
      mark_token TEXT
    ) STRICT
    ;

    CREATE TABLE sync_listed (
      theme_id INTEGER NOT NULL,
      uid BLOB NOT NULL,
      PRIMARY KEY (theme_id, uid)
    ) STRICT, WITHOUT ROWID
    ;
