-- Captured turns of themes that share them. A turn never changes: it is there (0), or was erased for ever (2). The clock of its theme
-- orders it among all that stores exchange, so one greeting tells of both.
CREATE TABLE hm.turn (
  theme   text NOT NULL,
  id      uuid NOT NULL,
  session text,                                 -- by the name it has where it was captured
  role    text,
  content text,
  said_at bigint,                               -- milliseconds UTC
  state   smallint NOT NULL DEFAULT 0 CHECK (state IN (0, 2)),
  node    uuid NOT NULL,
  seq     bigint NOT NULL,
  -- As the words of facts are. A turn has at most 100,000 characters, which is far below what a tsvector takes.
  words   tsvector GENERATED ALWAYS AS (
    strip(to_tsvector('simple', replace(replace(replace(replace(replace(replace(
      CASE WHEN (octet_length(content) = length(content)) IS NOT FALSE THEN coalesce(left(content, 100000), '')
      ELSE hm.folded(left(content, 100000)) END,
      '.', ' '), '/', ' '), '-', ' '), '@', ' '), '<', ' '), '+', ' ')))
    || array_to_tsvector(ARRAY['@' || md5(theme)])
  ) STORED,
  PRIMARY KEY (theme, id),
  CHECK (state = 0 OR (session IS NULL AND role IS NULL AND content IS NULL AND said_at IS NULL)),
  CHECK (state = 2 OR (role IS NOT NULL AND content IS NOT NULL AND said_at IS NOT NULL)),
  CHECK (length(content) <= 100000 AND length(session) <= 1000 AND length(role) <= 100)
);
CREATE UNIQUE INDEX turn_theme_seq ON hm.turn (theme, seq);
CREATE INDEX turn_said ON hm.turn (theme, seq) WHERE state = 0;
CREATE INDEX turn_words ON hm.turn USING gin (words);

ALTER TABLE hm.turn ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_themes ON hm.turn USING (
  NOT EXISTS (SELECT 1 FROM hm.member WHERE role = current_user)
  OR theme = ANY (ARRAY(SELECT unnest(themes) FROM hm.member WHERE role = current_user))
);

-- The newest turns of a theme that match each of some queries, by the number of the query and with their bytes; by the owner's right,
-- as `hm.worded`.
CREATE FUNCTION hm.turns_worded(asked text, queries text[], newest int, most int)
RETURNS TABLE (n int, id uuid, bytes int)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
  IF NOT has_table_privilege(session_user, 'hm.turn', 'SELECT') OR EXISTS (
    SELECT 1 FROM hm.member m WHERE m.role = session_user AND asked <> ALL (m.themes)
  ) THEN
    RETURN;
  END IF;
  FOR n IN 1 .. cardinality(queries) LOOP
    RETURN QUERY SELECT n, w.id, w.bytes FROM (
      SELECT t.id, octet_length(t.content) AS bytes FROM hm.turn t
      WHERE t.words @@ queries[n]::tsquery AND t.theme = asked AND t.state = 0 LIMIT most
    ) w ORDER BY w.id DESC LIMIT newest;
  END LOOP;
END $$;
