-- What recall asks of the database: words as stores compare them, and vectors that never outlive their text.

-- As `words.py` of the store folds, for texts beyond ASCII: accents off, scripts without spaces taken apart into characters.
-- A database of another encoding cannot even name them, and compares them as they come.
DO $make$
BEGIN
  IF getdatabaseencoding() = 'UTF8' THEN
    EXECUTE $sql$
      CREATE FUNCTION hm.folded(said text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT regexp_replace(
          translate(replace(replace(replace(
            lower(normalize(regexp_replace(normalize(said, NFKD), '[\u0300-\u036f]', '', 'g'), NFKC)),
            E'\u0153', 'oe'), E'\u00e6', 'ae'), E'\u00df', 'ss'), E'\u00f8\u0142\u0111\u00f0\u0131', 'olddi'),
          '([\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3041-\u30ff\u3100-\u318f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7ff])',
          ' \1 ', 'g')
      $$ $sql$;
  ELSE
    EXECUTE $sql$
      CREATE FUNCTION hm.folded(said text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT said $$
    $sql$;
  END IF;
END $make$;

-- Not stemmed: who asks looks for beginnings, and ranks by the store's own terms. The parser would keep a dotted or hyphenated name
-- in one piece, or take it for an address, so that a word in its middle could not be found. The theme is a word of its own, so
-- that the index intersects with it instead of reading what other themes say. Every push pays for this: replacing single
-- characters costs a quarter of translating them, and nothing is folded that is ASCII.
ALTER TABLE hm.fact DROP COLUMN words;
ALTER TABLE hm.fact ADD COLUMN words tsvector GENERATED ALWAYS AS (
  strip(to_tsvector('simple', replace(replace(replace(replace(replace(replace(
    CASE WHEN (octet_length(content) = length(content)
               AND octet_length(attrs ->> 'target') = length(attrs ->> 'target')) IS NOT FALSE
    THEN left(coalesce(attrs ->> 'target', ''), 400) || ' ' || left(coalesce(content, ''), 8000)
    ELSE hm.folded(left(coalesce(attrs ->> 'target', ''), 400) || ' ' || left(coalesce(content, ''), 8000)) END,
    '.', ' '), '/', ' '), '-', ' '), '@', ' '), '<', ' '), '+', ' ')))
  || array_to_tsvector(ARRAY['@' || md5(theme)])
) STORED;
CREATE INDEX fact_words ON hm.fact USING gin (words);

-- By the owner's right: what was purged is erased whatever the role of a store may do with vectors.
CREATE FUNCTION hm.forget_vector() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_RELID <> 'hm.fact'::regclass THEN
    RAISE insufficient_privilege USING MESSAGE = 'vectors are forgotten with their facts alone';
  END IF;
  DELETE FROM hm.vector WHERE theme = NEW.theme AND id = NEW.id;
  RETURN NULL;
END $$;

DO $$
BEGIN
  IF to_regclass('hm.vector') IS NOT NULL THEN
    CREATE TRIGGER vector_of_former_text AFTER UPDATE ON hm.fact FOR EACH ROW
      WHEN (NEW.state <> 0 OR NEW.content_sha IS DISTINCT FROM OLD.content_sha) EXECUTE FUNCTION hm.forget_vector();
    DELETE FROM hm.vector v WHERE NOT EXISTS (
      SELECT 1 FROM hm.fact f
      WHERE f.theme = v.theme AND f.id = v.id AND f.state = 0 AND f.content_sha = v.content_sha
    );
  END IF;
END $$;

-- The newest facts of a theme that match each of some queries, by the number of the query; an empty one matches all. By the owner's
-- right, since a policy on the table forbids its index of words (what compares words might tell of rows that it is shown), so the
-- policy is asked here. Bounded: of a word that most facts have, only some are looked at.
CREATE FUNCTION hm.worded(
  asked text, queries text[], types text[], tiers text[], scopes text[], newest int, most int
) RETURNS TABLE (n int, id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
  IF NOT has_table_privilege(session_user, 'hm.fact', 'SELECT') OR EXISTS (
    SELECT 1 FROM hm.member m WHERE m.role = session_user AND asked <> ALL (m.themes)
  ) THEN
    RETURN;
  END IF;
  FOR n IN 1 .. cardinality(queries) LOOP
    IF queries[n] = '' THEN
      RETURN QUERY SELECT n, f.id FROM hm.fact f
        WHERE f.theme = asked AND f.kind = 'fact' AND f.state = 0
          AND (types IS NULL OR f.attrs ->> 'type' = ANY (types)) AND (tiers IS NULL OR f.attrs ->> 'tier' = ANY (tiers))
          AND (scopes IS NULL OR coalesce(f.attrs ->> 'scope', '') = ANY (scopes))
        ORDER BY f.id DESC LIMIT newest;
    ELSE
      RETURN QUERY SELECT n, w.id FROM (
        SELECT f.id FROM hm.fact f
        WHERE f.words @@ queries[n]::tsquery AND f.theme = asked AND f.kind = 'fact' AND f.state = 0
          AND (types IS NULL OR f.attrs ->> 'type' = ANY (types)) AND (tiers IS NULL OR f.attrs ->> 'tier' = ANY (tiers))
          AND (scopes IS NULL OR coalesce(f.attrs ->> 'scope', '') = ANY (scopes))
        LIMIT most
      ) w ORDER BY w.id DESC LIMIT newest;
    END IF;
  END LOOP;
END $$;
