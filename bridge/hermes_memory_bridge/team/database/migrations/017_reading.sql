-- All that is read goes through the functions below, too: no role of the stores has a right to a table of rows, so it can neither
-- lock one nor read past the themes that are open to it. Each returns nothing of a theme that is closed to whoever is connected.

CREATE FUNCTION hm.may_read(asked text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN coalesce(asked = ANY (hm.allowed_themes()), true);
END $$;

-- What a store has to know before an exchange: the time, the version, when `team collect` ran last, and of every asked theme that is open
-- and not as the store knows it: name, clock, removed up to, whether all the store has seen is still there, and the sequence and token
-- of the node's last push. Asked again and again by every store behind a pooler, so it is few statements, and calls no other function.
CREATE FUNCTION hm.greet(
  asking uuid, themes text[], seqs bigint[], marks bigint[], tokens uuid[],
  OUT ms bigint, OUT version int, OUT read_only boolean, OUT news json, OUT closed text[], OUT collected bigint
) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  readable text[] := hm.allowed_themes();
BEGIN
  ms := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
  read_only := current_setting('transaction_read_only')::boolean;
  SELECT
    (SELECT max(m.version) FROM hm.migration m), (SELECT s.value::bigint FROM hm.setting s WHERE s.name = 'collected'),
    ARRAY(SELECT t FROM unnest(themes) AS t WHERE t <> ALL (readable)),
    (
      SELECT coalesce(json_agg(json_build_array(d.theme, d.seq, d.gc_seq, d.whole,
        (SELECT json_build_array(m.seq, m.token) FROM hm.mark m
          WHERE m.theme = d.theme AND m.node = asking ORDER BY m.seq DESC LIMIT 1))), '[]')
      FROM (
        SELECT k.theme, coalesce(c.seq, 0) AS seq, coalesce(c.gc_seq, 0) AS gc_seq, k.seq AS known,
               coalesce(c.seq, 0) >= k.seq AND (k.mark IS NULL OR EXISTS (
                 SELECT 1 FROM hm.mark m WHERE m.theme = k.theme AND m.seq = k.mark AND m.token = k.token)) AS whole
        FROM unnest(themes, seqs, marks, tokens) AS k (theme, seq, mark, token)
        LEFT JOIN hm.clock c ON c.theme = k.theme
        WHERE readable IS NULL OR k.theme = ANY (readable)
      ) d
      WHERE d.seq <> d.known OR NOT d.whole
    )
  INTO version, collected, closed, news;
END $$;

-- Whether the clock of any of these themes is another than the known one, or the given mark of a push is gone. Asked again and again,
-- and nearly always for nothing: what is open is looked at only when one is.
CREATE FUNCTION hm.is_changed(asked text[], known bigint[], marks bigint[] DEFAULT NULL, tokens uuid[] DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  changed text[] := ARRAY(
    SELECT k.theme
    FROM unnest(asked, known, marks, tokens) AS k (theme, seq, mark, token)
    LEFT JOIN hm.clock c ON c.theme = k.theme
    WHERE coalesce(c.seq, 0) <> k.seq OR k.mark IS NOT NULL AND NOT EXISTS (
      SELECT FROM hm.mark m WHERE m.theme = k.theme AND m.seq = k.mark AND m.token = k.token)
  );
BEGIN
  RETURN changed <> '{}' AND coalesce(changed && hm.allowed_themes(), true);
END $$;

-- Which of these themes there are, of those that are open; all when none is named.
CREATE FUNCTION hm.list_themes(named text[]) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  readable text[] := hm.allowed_themes();
BEGIN
  RETURN QUERY SELECT c.theme FROM hm.clock c
    WHERE (named IS NULL OR c.theme = ANY (named)) AND (readable IS NULL OR c.theme = ANY (readable)) ORDER BY c.theme;
END $$;

-- A page of the rows after a position, at most so many and so many bytes, or one row; and the position after it.
CREATE FUNCTION hm.pull(asked text, after bigint, most int, most_bytes bigint) RETURNS TABLE (
  upto bigint, gc_seq bigint, mark_seq bigint, mark_token text, seq bigint, id text, kind text, content text, attrs text,
  supersedes text, state smallint, hlc bigint, node text, anc bigint[], origin text, pushed_by text, more boolean
) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
  IF NOT hm.may_read(asked) THEN
    RETURN;
  END IF;
  RETURN QUERY WITH c AS MATERIALIZED (SELECT seq, gc_seq FROM hm.clock WHERE theme = asked),
  q AS MATERIALIZED (
    SELECT *, sum(bytes) OVER (ORDER BY seq) - bytes AS before
    FROM (
      SELECT *, octet_length(attrs) + coalesce(octet_length(content), 0) + coalesce(octet_length(origin), 0) AS bytes
      FROM (
        SELECT id, kind, content, attrs::text AS attrs, supersedes, state, hlc, node, anc, seq, origin::text AS origin, pushed_by
        FROM hm.fact WHERE theme = asked AND seq > after ORDER BY seq LIMIT most
      ) r
    ) s
  ), p AS MATERIALIZED (SELECT * FROM q WHERE before < most_bytes),
  e AS MATERIALIZED (
    SELECT l.more, CASE WHEN l.more THEN (SELECT max(seq) FROM p) ELSE c.seq END AS seq, c.gc_seq
    FROM c, (SELECT count(*) = most OR count(*) > (SELECT count(*) FROM p) AS more FROM q) l
  ), m AS (
    SELECT m.seq, m.token FROM hm.mark m, e WHERE m.theme = asked AND m.seq <= e.seq ORDER BY m.seq DESC LIMIT 1
  )
  SELECT e.seq, e.gc_seq, m.seq, m.token::text, p.seq, p.id::text, p.kind, p.content, p.attrs, p.supersedes::text, p.state,
         p.hlc, p.node::text, p.anc, p.origin, p.pushed_by, e.more
  FROM e LEFT JOIN m ON true LEFT JOIN p ON true ORDER BY p.seq;
END $$;

-- The database's versions of rows, where they are others than these.
CREATE FUNCTION hm.pull_winners(asked text, ids uuid[], hlcs bigint[], nodes uuid[]) RETURNS TABLE (
  seq bigint, id text, kind text, content text, attrs text, supersedes text, state smallint, hlc bigint, node text, anc bigint[],
  origin text, pushed_by text
) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
  IF hm.may_read(asked) THEN
    RETURN QUERY SELECT f.seq, f.id::text, f.kind, f.content, f.attrs::text, f.supersedes::text, f.state, f.hlc, f.node::text, f.anc,
        f.origin::text, f.pushed_by
      FROM unnest(ids, hlcs, nodes) AS u (id, hlc, node) JOIN hm.fact f ON f.theme = asked AND f.id = u.id
      WHERE (f.hlc, f.node) <> (u.hlc, u.node) ORDER BY f.seq;
  END IF;
END $$;

-- A page of the turns between two positions, at most so many and so many characters, or one turn.
CREATE FUNCTION hm.pull_turns(asked text, after bigint, upto bigint, live boolean, most int, most_chars bigint) RETURNS TABLE (
  id text, node text, session text, role text, content text, said_at bigint, state smallint, origin text, pushed_by text,
  seq bigint, found bigint
) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
  IF hm.may_read(asked) THEN
    RETURN QUERY WITH p AS MATERIALIZED (
      SELECT *, sum(coalesce(length(content), 0)) OVER (ORDER BY seq) - coalesce(length(content), 0) AS before
      FROM (
        SELECT id, node, session, role, content, said_at, state, seq, origin, pushed_by FROM hm.turn
        WHERE theme = asked AND seq > after AND seq <= upto AND (state = 2 OR live) ORDER BY seq LIMIT most
      ) q
    )
    SELECT p.id::text, p.node::text, p.session, p.role, p.content, p.said_at, p.state, p.origin::text, p.pushed_by, p.seq,
           (SELECT count(*) FROM p)
    FROM p WHERE before <= most_chars ORDER BY seq;
  END IF;
END $$;

-- These turns, as far as they are there.
CREATE FUNCTION hm.find_turns(asked text, wanted uuid[]) RETURNS TABLE (
  id text, node text, session text, role text, content text, said_at bigint, state smallint, origin text, pushed_by text
) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
  IF hm.may_read(asked) THEN
    RETURN QUERY SELECT t.id::text, t.node::text, t.session, t.role, t.content, t.said_at, t.state, t.origin::text, t.pushed_by
      FROM hm.turn t WHERE t.theme = asked AND t.id = ANY (wanted) ORDER BY t.seq;
  END IF;
END $$;

CREATE FUNCTION hm.list_turn_states(asked text) RETURNS TABLE (id text, state smallint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
  IF hm.may_read(asked) THEN
    RETURN QUERY SELECT t.id::text, t.state FROM hm.turn t WHERE t.theme = asked;
  END IF;
END $$;

-- How many facts a theme has, counted so far, by the key's index alone: scopes are known by the version of their uids, which are
-- made of their labels.
CREATE FUNCTION hm.count_facts(asked text, most int) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN (
    SELECT count(*) FROM (SELECT f.id FROM hm.fact f WHERE f.theme = asked ORDER BY f.id LIMIT most) f
    WHERE get_byte(uuid_send(f.id), 6) >> 4 <> 5 AND hm.may_read(asked)
  );
END $$;

CREATE FUNCTION hm.count_turns(asked text, most int) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN (
    SELECT count(*) FROM (SELECT t.id FROM hm.turn t WHERE t.theme = asked ORDER BY t.id LIMIT most) t WHERE hm.may_read(asked)
  );
END $$;

-- These facts in order, and for each how many lie between it and the one before, up to two.
CREATE FUNCTION hm.find_facts(asked text, wanted uuid[]) RETURNS TABLE (id text, content text, attrs text, between_them bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
  IF hm.may_read(asked) THEN
    RETURN QUERY WITH c AS (SELECT id, lag(id) OVER (ORDER BY id) AS before FROM unnest(wanted) AS u (id))
      SELECT f.id::text, f.content, f.attrs::text, (
        SELECT count(*) FROM (
          SELECT 1 FROM hm.fact n WHERE n.theme = asked AND n.id > c.before AND n.id < c.id AND n.kind = 'fact' LIMIT 2
        ) t
      )
      FROM c JOIN hm.fact f ON f.theme = asked AND f.id = c.id
      WHERE f.kind = 'fact' AND f.state = 0 ORDER BY f.id;
  END IF;
END $$;

CREATE FUNCTION hm.find_scopes(asked text, wanted uuid[]) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF hm.may_read(asked) THEN
    RETURN QUERY SELECT f.content FROM hm.fact f
      WHERE f.theme = asked AND f.id = ANY (wanted) AND f.kind = 'scope' AND f.state = 0;
  END IF;
END $$;

-- These turns and those around them, in the order of the theme's clock, and for each how many lie between it and the one before.
CREATE FUNCTION hm.find_turns_around(asked text, wanted uuid[], far int, chars int, chars_beside int) RETURNS TABLE (
  id text, session text, role text, content text, said_at bigint, between_them bigint
) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
BEGIN
  IF NOT hm.may_read(asked) THEN
    RETURN;
  END IF;
  RETURN QUERY WITH u AS (SELECT t.seq FROM hm.turn t WHERE t.theme = asked AND t.id = ANY (wanted) AND t.state = 0),
  a AS (
    SELECT DISTINCT b.seq FROM u, LATERAL (
      (SELECT t.seq FROM hm.turn t WHERE t.theme = asked AND t.seq >= u.seq AND t.state = 0 ORDER BY t.seq LIMIT far + 1)
      UNION ALL
      (SELECT t.seq FROM hm.turn t WHERE t.theme = asked AND t.seq < u.seq AND t.state = 0 ORDER BY t.seq DESC LIMIT far)
    ) b
  ), c AS (SELECT seq, lag(seq) OVER (ORDER BY seq) AS before FROM a)
  SELECT t.id::text, t.session, t.role,
    left(t.content, CASE WHEN t.id = ANY (wanted) THEN chars ELSE chars_beside END), t.said_at, (
      SELECT count(*) FROM (
        SELECT 1 FROM hm.turn n WHERE n.theme = asked AND n.seq > c.before AND n.seq < c.seq AND n.state = 0 LIMIT 2
      ) s
    )
  FROM c JOIN hm.turn t ON t.theme = asked AND t.seq = c.seq WHERE t.state = 0 ORDER BY t.seq;
END $$;

-- Facts after a position that have no vector of this model, and the digests of their contents.
CREATE FUNCTION hm.list_missing_vectors(asked text, maker text, after bigint, most int) RETURNS TABLE (seq bigint, id text, sha bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
  IF hm.may_read(asked) THEN
    RETURN QUERY SELECT f.seq, f.id::text, f.content_sha FROM hm.fact f
      LEFT JOIN hm.vector v ON v.theme = f.theme AND v.id = f.id AND v.model = maker AND v.content_sha = f.content_sha
      WHERE f.theme = asked AND f.seq > after AND f.kind = 'fact' AND f.state = 0
        AND f.attrs ->> 'tier' IN ('hot', 'cold') AND v.id IS NULL
      ORDER BY f.seq LIMIT most;
  END IF;
END $$;

CREATE FUNCTION hm.find_vector_model(asked text) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN (SELECT v.model FROM hm.vector v WHERE v.theme = asked AND hm.may_read(asked) ORDER BY v.id LIMIT 1);
END $$;

CREATE FUNCTION hm.count_vectors() RETURNS TABLE (theme text, vectors bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  readable text[] := hm.allowed_themes();
BEGIN
  RETURN QUERY SELECT v.theme, count(*) FROM hm.vector v
    WHERE readable IS NULL OR v.theme = ANY (readable) GROUP BY v.theme ORDER BY v.theme;
END $$;

-- No policy is needed where no table is read.
DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['clock', 'mark', 'fact', 'turn', 'vector'] LOOP
    IF to_regclass('hm.' || t) IS NOT NULL THEN
      EXECUTE format('DROP POLICY IF EXISTS own_themes ON hm.%I', t);
      EXECUTE format('ALTER TABLE hm.%I DISABLE ROW LEVEL SECURITY', t);
    END IF;
  END LOOP;
END $$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA hm FROM PUBLIC;
