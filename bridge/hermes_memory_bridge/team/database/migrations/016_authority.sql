-- All that is written goes through the functions below, and no role of the stores has a right to write a table: the database decides
-- what it takes, and not the program at the other end. Programs before this migration are told to be updated.

-- Themes that a role may read only, and when its rights end. `*` is every theme, those of the future too.
ALTER TABLE hm.member ADD COLUMN reads text[] NOT NULL DEFAULT '{}', ADD COLUMN until timestamptz;

-- A theme is open to nobody until its owner opens it; one that is there already stays open to whoever could reach it.
INSERT INTO hm.member (role, themes)
SELECT DISTINCT r.rolname, ARRAY(SELECT c.theme FROM hm.clock c ORDER BY c.theme)
FROM pg_class c, aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee
WHERE c.oid = 'hm.fact'::regclass AND a.privilege_type = 'INSERT' AND a.grantee <> c.relowner
ON CONFLICT (role) DO NOTHING;

-- The themes that are open to whoever is connected: by what his own role was given, or else by the roles he is a member of. NULL: all.
-- Nobody else can read who may what. Asked by every statement: in this language its plans are kept.
CREATE FUNCTION hm.allowed_themes(writing boolean DEFAULT false) RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  granted text[];
BEGIN
  IF pg_has_role(session_user, current_user, 'MEMBER') THEN  -- whom this function belongs to
    RETURN NULL;
  END IF;
  SELECT coalesce(array_agg(DISTINCT t.theme), '{}') INTO granted
  FROM hm.member m,
  unnest(CASE WHEN m.until <= now() THEN '{}' WHEN writing THEN m.themes ELSE m.themes || m.reads END) AS t (theme)
  WHERE m.role = session_user
     OR NOT EXISTS (SELECT FROM hm.member o WHERE o.role = session_user)
        AND pg_has_role(session_user, (SELECT r.oid FROM pg_roles r WHERE r.rolname = m.role), 'MEMBER');
  RETURN CASE WHEN '*' <> ALL (granted) THEN granted END;
END $$;

-- Rows that anybody had left in `hm.stage` were merged into the theme of whoever loaded next.
DROP TABLE hm.stage;

DROP TRIGGER IF EXISTS pusher_of_row ON hm.fact;
DROP TRIGGER IF EXISTS origin_of_row ON hm.fact;
DROP TRIGGER IF EXISTS pusher_of_row ON hm.turn;
DROP TRIGGER IF EXISTS origin_of_row ON hm.turn;
DROP TRIGGER IF EXISTS vector_of_former_text ON hm.fact;
DROP FUNCTION IF EXISTS hm.note_pusher(), hm.keep_origin(), hm.forget_vector();

-- Digests of contents are keyed: a plain one, wherever it is kept on, tells whoever guesses a text that he was right.
INSERT INTO hm.setting (name, value)
SELECT 'hash_key', replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');
UPDATE hm.fact f SET content_sha = sha256(convert_to(s.value || f.content, 'UTF8'))
FROM hm.setting s WHERE s.name = 'hash_key' AND f.content IS NOT NULL;
DO $$
BEGIN
  IF to_regclass('hm.vector') IS NOT NULL THEN
    UPDATE hm.vector v SET content_sha = f.content_sha FROM hm.fact f WHERE f.theme = v.theme AND f.id = v.id;
  END IF;
END $$;

-- Sizes: no store takes more than 100,000 characters. What is there already stays as it is.
ALTER TABLE hm.fact ADD CONSTRAINT fact_sizes CHECK (
  octet_length(content) <= 409600 AND pg_column_size(attrs) <= 65536 AND pg_column_size(origin) <= 65536
  AND cardinality(anc) <= 256 AND octet_length(theme) <= 1024 AND octet_length(kind) <= 64
) NOT VALID;
ALTER TABLE hm.turn ADD CONSTRAINT turn_sizes CHECK (
  pg_column_size(origin) <= 65536 AND octet_length(theme) <= 1024
) NOT VALID;

CREATE FUNCTION hm.refuse_reader(asked text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF asked <> ALL (hm.allowed_themes(true)) THEN
    RAISE insufficient_privilege USING MESSAGE = format('%s may not write to this theme', session_user);
  END IF;
END $$;

-- When a change of the theme was announced last.
ALTER TABLE hm.clock ADD COLUMN announced_at timestamptz;

-- Advances the clock of a theme by the rows of a push, whose row lock orders the commits, and leaves the push's mark. Returns the
-- number before its first row, never one that is taken: a clock that was set back counts on behind what there is. By the right of
-- whoever calls it, which are the functions below.
-- An announcement wakes every session that listens to anything, so a theme has one a second, on the channel of its group of themes, and
-- who was told asks again by himself after that. A push of many rows takes long, so that nobody would ask again after it: each is
-- announced.
CREATE FUNCTION hm.tick(asked text, by uuid, token uuid, rows int, bytes bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  base bigint;
  taken bigint;
  moment timestamptz := clock_timestamp();
  is_due boolean;
BEGIN
  PERFORM hm.refuse_reader(asked);
  IF rows NOT BETWEEN 1 AND 2000 OR rows > 1 AND bytes > 4194304 THEN
    RAISE program_limit_exceeded USING MESSAGE = format('%s pushed more than 2,000 rows or 4 MiB at once', session_user);
  END IF;
  INSERT INTO hm.clock AS c (theme, seq, announced_at) VALUES (asked, rows, moment)
  ON CONFLICT (theme) DO UPDATE SET seq = c.seq + excluded.seq, announced_at = CASE
      WHEN rows <= 100 AND c.announced_at BETWEEN moment - interval '1 second' AND moment + interval '1 second' THEN c.announced_at
      ELSE moment END
  RETURNING c.seq - rows, c.announced_at = moment INTO base, is_due;
  taken := greatest(
    (SELECT max(f.seq) FROM hm.fact f WHERE f.theme = asked), (SELECT max(t.seq) FROM hm.turn t WHERE t.theme = asked),
    (SELECT max(m.seq) FROM hm.mark m WHERE m.theme = asked)
  );
  IF taken > base THEN
    base := taken;
    UPDATE hm.clock SET seq = base + rows WHERE theme = asked;
  END IF;
  INSERT INTO hm.mark (theme, seq, token, node) VALUES (asked, base + rows, token, by);
  IF is_due THEN  -- without the theme's name: whoever may connect may listen
    PERFORM pg_notify('hm_' || left(md5(asked), 1), left(md5(asked), 8));
  END IF;
  RETURN base;
END $$;

-- Takes versions of rows. Of two versions the purged one wins, then the one of the higher clock, then of the higher node; what is
-- stamped more than five minutes ahead is left out, and one that was taken when a clock was wrong loses against any other. A purge
-- empties its row. The first origin of a row stands, and who brought it is who is connected. Returns the number before the first
-- row, the time, and the numbers of the rows that are the database's version now.
CREATE FUNCTION hm.push(
  asked text, by uuid, token uuid, own_ms bigint, uids uuid[], kinds text[], texts text[], about text[], replaced uuid[],
  states smallint[], stamps bigint[], stores uuid[], befores text[], sources text[],
  OUT base bigint, OUT ms bigint, OUT won bigint[]
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  hash_key text := (SELECT s.value FROM hm.setting s WHERE s.name = 'hash_key');
BEGIN
  base := hm.tick(asked, by, token, cardinality(uids), greatest(
    (SELECT sum(octet_length(t)) FROM unnest(texts) AS t), (SELECT sum(octet_length(t)) FROM unnest(about || sources) AS t)
  ));
  ms := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
  WITH u AS (
    SELECT n, id, kind, replaced_id, state, stamp, store, before,
           CASE WHEN state < 2 THEN said END AS content, CASE WHEN state < 2 THEN described ELSE '{}' END AS attrs,
           CASE WHEN state < 2 THEN source END AS origin
    FROM unnest(uids, kinds, texts, about, replaced, states, stamps, stores, befores, sources) WITH ORDINALITY
      AS r (id, kind, said, described, replaced_id, state, stamp, store, before, source, n)
    WHERE stamp >> 16 <= ms + 300000
  ), w AS (
    INSERT INTO hm.fact AS f (
      theme, id, kind, content, attrs, supersedes, content_sha, state, hlc, node, anc, seq, origin, pushed_by
    )
    SELECT asked, u.id, u.kind, u.content, u.attrs::jsonb, u.replaced_id, sha256(convert_to(hash_key || u.content, 'UTF8')), u.state, u.stamp,
           u.store, u.before::bigint[], base + u.n, u.origin::jsonb,
           CASE WHEN u.state < 2 THEN session_user || '/' || left(u.store::text, 8) END
    FROM u
    ON CONFLICT (theme, id) DO UPDATE SET kind = excluded.kind, content = excluded.content, attrs = excluded.attrs,
        content_sha = excluded.content_sha, state = excluded.state, hlc = excluded.hlc, node = excluded.node,
        anc = excluded.anc, seq = excluded.seq,
        origin = CASE WHEN excluded.state < 2 THEN coalesce(f.origin, excluded.origin) END,
        pushed_by = CASE WHEN excluded.state < 2 THEN f.pushed_by END
      WHERE (excluded.state = 2, excluded.hlc, excluded.node)
          > (f.state = 2, CASE WHEN f.hlc >> 16 > greatest(ms, own_ms) + 300000 THEN 0 ELSE f.hlc END, f.node)
    RETURNING f.seq
  )
  SELECT coalesce(array_agg(w.seq), '{}') INTO won FROM w;
  -- A vector belongs to one text, and does not outlive it.
  IF to_regclass('hm.vector') IS NOT NULL THEN
    DELETE FROM hm.vector v USING hm.fact f
    WHERE f.theme = asked AND f.seq > base AND v.theme = asked AND v.id = f.id
      AND (f.state <> 0 OR f.content_sha IS DISTINCT FROM v.content_sha);
  END IF;
END $$;

-- Takes captured turns, and erases those that are pushed as erased; a turn never changes. Returns the number before the first.
CREATE FUNCTION hm.push_turns(
  asked text, by uuid, token uuid, uids uuid[], stores uuid[], sessions text[], roles text[], texts text[], times bigint[],
  states smallint[], sources text[], OUT base bigint
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  base := hm.tick(asked, by, token, cardinality(uids), greatest(
    (SELECT sum(octet_length(t)) FROM unnest(texts) AS t), (SELECT sum(octet_length(t)) FROM unnest(sessions || sources) AS t)
  ));
  INSERT INTO hm.turn AS h (theme, id, session, role, content, said_at, state, node, seq, origin, pushed_by)
  SELECT asked, u.id, u.session, u.role, u.content, u.said_at, u.state, u.store, base + u.n,
         CASE WHEN u.state = 0 THEN u.source::jsonb END,
         CASE WHEN u.state = 0 THEN session_user || '/' || left(u.store::text, 8) END
  FROM unnest(uids, stores, sessions, roles, texts, times, states, sources) WITH ORDINALITY
    AS u (id, store, session, role, content, said_at, state, source, n)
  ON CONFLICT (theme, id) DO UPDATE SET session = NULL, role = NULL, content = NULL, said_at = NULL, state = 2,
      seq = excluded.seq, origin = NULL, pushed_by = NULL
    WHERE excluded.state = 2 AND h.state = 0;
END $$;

-- Keeps vectors of texts that stand. Nothing is kept for a text that is gone by now: the facts are held as they are until the vectors
-- stand, and those that somebody is writing to are passed over, since waiting for two of them could be waiting for each other.
-- Returns how many were not passed over.
CREATE FUNCTION hm.keep_vectors(asked text, maker text, uids uuid[], shas bytea[], numbers text[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  held bigint;
BEGIN
  PERFORM hm.refuse_reader(asked);
  WITH u AS (
    SELECT * FROM unnest(uids, shas, numbers) AS u (id, sha, many)
  ), f AS MATERIALIZED (
    SELECT f.id FROM hm.fact f JOIN u ON u.id = f.id AND u.sha = f.content_sha
    WHERE f.theme = asked AND f.state = 0 FOR SHARE OF f SKIP LOCKED
  ), w AS (
    INSERT INTO hm.vector AS v (theme, id, model, content_sha, embedding)
    SELECT asked, u.id, maker, u.sha, u.many::real[] FROM u JOIN f ON f.id = u.id
    ON CONFLICT (theme, id) DO UPDATE
      SET model = excluded.model, content_sha = excluded.content_sha, embedding = excluded.embedding
      WHERE (v.model, v.content_sha) <> (excluded.model, excluded.content_sha)
  )
  SELECT count(*) INTO held FROM f;
  RETURN held;
END $$;

-- As before, and by the roles that one is a member of, too.
CREATE OR REPLACE FUNCTION hm.worded(
  asked text, queries text[], types text[], tiers text[], scopes text[], newest int, most int
) RETURNS TABLE (n int, id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
  IF asked <> ALL (hm.allowed_themes()) THEN
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

CREATE OR REPLACE FUNCTION hm.turns_worded(asked text, queries text[], newest int, most int)
RETURNS TABLE (n int, id uuid, bytes int)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
  IF asked <> ALL (hm.allowed_themes()) THEN
    RETURN;
  END IF;
  FOR n IN 1 .. cardinality(queries) LOOP
    RETURN QUERY SELECT n, w.id, w.bytes FROM (
      SELECT t.id, octet_length(t.content) AS bytes FROM hm.turn t
      WHERE t.words @@ queries[n]::tsquery AND t.theme = asked AND t.state = 0 LIMIT most
    ) w ORDER BY w.id DESC LIMIT newest;
  END LOOP;
END $$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA hm FROM PUBLIC;
