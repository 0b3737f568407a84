-- what facts cite, by which they are checked before they are given

-- Citations as JSON, see places/citations.py.
ALTER TABLE facts ADD COLUMN cites TEXT;

CREATE INDEX facts_citing ON facts (id) WHERE cites IS NOT NULL;

CREATE TRIGGER facts_sync_cited AFTER UPDATE OF cites ON facts
WHEN EXISTS (SELECT 1 FROM sync_themes WHERE theme_id = new.theme_id) BEGIN
  INSERT OR IGNORE INTO sync_changed VALUES (new.theme_id, new.uid);
END;
