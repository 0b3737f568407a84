-- All that is read goes through the functions below, too: no role of the stores has a right to a table of rows, so it can neither
-- lock one nor read past the themes that are open to it. Each returns nothing of a theme that is closed to whoever is connected.

CREATE FUNCTION hm.may_read(asked text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN coalesce(asked = ANY (hm.allowed_themes()), true);
END $$;

-- What a store has to know before an exchange: the time, the version, when `team collect` ran last, and of every asked theme that is open
-- and not as the store knows it: name, clock, removed up to, whether all the store has seen is still there, and the sequence and token
-- of the node's last push. Asked again and again by every store behind a pooler, so it is few statements, and calls no other function
-- where nothing is said of projects. `claims` are the identities of each theme's project, as an array. `names`: the number of each
-- theme that is exchanged under another name, with that name, or with NULL and an identity of the project that the asked name is of.
CREATE FUNCTION hm.greet(
  asking uuid, themes text[], seqs bigint[], marks bigint[], tokens uuid[], claims text[] DEFAULT NULL,
  OUT ms bigint, OUT version int, OUT read_only boolean, OUT news json, OUT closed text[], OUT collected bigint, OUT names json
) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  readable text[] := hm.allowed_themes();
  called text[] := themes;
BEGIN
  IF claims <> '{}' THEN
    called := ARRAY(
      SELECT hm.find_name(k.theme, k.claim::text[], EXISTS (
        SELECT FROM hm.mark m WHERE m.theme = k.theme AND m.seq = k.mark AND m.token = k.token), readable)
      FROM unnest(themes, marks, tokens, claims) WITH ORDINALITY AS k (theme, mark, token, claim, n) ORDER BY k.n
    );
  END IF;
  names := (
    SELECT coalesce(json_agg(json_build_array(k.n, k.name, CASE WHEN k.name IS NULL THEN (hm.list_identities(k.theme))[1] END)), '[]')
    FROM unnest(themes, called) WITH ORDINALITY AS k (theme, name, n) WHERE k.name IS DISTINCT FROM k.theme
  );
  ms := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
  read_only := current_setting('transaction_read_only')::boolean;
  SELECT
    (SELECT max(m.version) FROM hm.migration m), (SELECT s.value::bigint FROM hm.setting s WHERE s.name = 'collected'),
    ARRAY(SELECT t FROM unnest(called) AS t WHERE t <> ALL (readable)),
    (
      SELECT coalesce(json_agg(json_build_array(d.theme, d.seq, d.gc_seq, d.whole,
        (SELECT json_build_array(m.seq, m.token) FROM hm.mark m
          WHERE m.theme = d.theme AND m.node = asking ORDER BY m.seq DESC LIMIT 1))), '[]')
      FROM (
        SELECT k.theme, coalesce(c.seq, 0) AS seq, coalesce(c.gc_seq, 0) AS gc_seq, k.seq AS known,
               coalesce(c.seq, 0) >= k.seq AND (k.mark IS NULL OR EXISTS (
                 SELECT 1 FROM hm.mark m WHERE m.theme = k.theme AND m.seq = k.mark AND m.token = k.token)) AS whole
        FROM (
          SELECT n.name AS theme, CASE WHEN n.name = n.theme THEN n.seq ELSE 0 END AS seq,
                 CASE WHEN n.name = n.theme THEN n.mark END AS mark, n.token
          FROM unnest(called, themes, seqs, marks, tokens) AS n (name, theme, seq, mark, token) WHERE n.name IS NOT NULL
        ) k
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

-- Which of these themes there are, of those that are open, and under which name: see `hm.greet`; all when none is named.
CREATE FUNCTION hm.list_themes(named text[], claims text[] DEFAULT NULL) RETURNS TABLE (asked text, theme text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  readable text[] := hm.allowed_themes();
BEGIN
  RETURN QUERY SELECT coalesce(k.asked, c.theme), c.theme FROM hm.clock c
    LEFT JOIN (
      SELECT n.asked, hm.find_name(n.asked, n.claim::text[], false, readable) AS name FROM unnest(named, claims) AS n (asked, claim)
    ) k ON k.name = c.theme
    WHERE (named IS NULL OR k.asked IS NOT NULL) AND (readable IS NULL OR c.theme = ANY (readable)) ORDER BY c.theme;
END $$;

-- Whether whoever is connected made a row what it is himself, or a curator made this text hot, and pinned it where it is pinned.
CREATE FUNCTION hm.is_trusted(changed_by text, curated bytea, curated_pin boolean, sha bytea, attrs jsonb) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT coalesce(changed_by = session_user OR curated = hm.to_curated(sha, attrs) AND (curated_pin OR attrs -> 'pinned' = 'false'), false)
$$;

-- A page of the rows after a position, of turns or of all else, at most so many and so many bytes, or one row; and the position after
-- it, which lies at `last` at most. What is not `live` are purges alone.
CREATE FUNCTION hm.pull(
  asked text, turns boolean, live boolean, after bigint, last bigint, most int, most_bytes bigint
) RETURNS TABLE (
  upto bigint, gc_seq bigint, mark_seq bigint, mark_token text, seq bigint, id text, kind text, content text, attrs text,
  supersedes text, state smallint, hlc bigint, node text, anc bigint[], origin text, pushed_by text, worded_by text, changed_by text,
  trusted boolean, more boolean
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
        SELECT id, kind, content, attrs::text AS attrs, supersedes, state, hlc, node, anc, seq, origin::text AS origin, pushed_by,
               worded_by, changed_by, hm.is_trusted(changed_by, curated, curated_pin, content_sha, attrs) AS trusted
        FROM hm.item
        WHERE theme = asked AND is_turn = turns AND (live OR state = 2)
          AND seq > after AND seq <= coalesce(last, 9223372036854775807)
        ORDER BY seq LIMIT most
      ) r
    ) s
  ), p AS MATERIALIZED (SELECT * FROM q WHERE before < most_bytes),
  e AS MATERIALIZED (
    SELECT l.more, CASE WHEN l.more THEN (SELECT max(seq) FROM p) ELSE least(c.seq, last) END AS seq, c.gc_seq
    FROM c, (SELECT count(*) = most OR count(*) > (SELECT count(*) FROM p) AS more FROM q) l
  ), m AS (
    SELECT m.seq, m.token FROM hm.mark m, e WHERE m.theme = asked AND m.seq <= e.seq ORDER BY m.seq DESC LIMIT 1
  )
  SELECT e.seq, e.gc_seq, m.seq, m.token::text, p.seq, p.id::text, p.kind, p.content, p.attrs, p.supersedes::text, p.state,
         p.hlc, p.node::text, p.anc, p.origin, p.pushed_by, p.worded_by, p.changed_by, p.trusted, e.more
  FROM e LEFT JOIN m ON true LEFT JOIN p ON true ORDER BY p.seq;
END $$;

-- The database's versions of rows, where they are others than these; -1 is the clock of one that is not known.
CREATE FUNCTION hm.pull_winners(asked text, ids uuid[], hlcs bigint[], nodes uuid[]) RETURNS TABLE (
  seq bigint, id text, kind text, content text, attrs text, supersedes text, state smallint, hlc bigint, node text, anc bigint[],
  origin text, pushed_by text, worded_by text, changed_by text, trusted boolean
) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
  IF hm.may_read(asked) THEN
    RETURN QUERY SELECT f.seq, f.id::text, f.kind, f.content, f.attrs::text, f.supersedes::text, f.state, f.hlc, f.node::text, f.anc,
        f.origin::text, f.pushed_by, f.worded_by, f.changed_by,
        hm.is_trusted(f.changed_by, f.curated, f.curated_pin, f.content_sha, f.attrs)
      FROM unnest(ids, hlcs, nodes) AS u (id, hlc, node) JOIN hm.item f ON f.theme = asked AND f.id = u.id
      WHERE (f.hlc, f.node) <> (u.hlc, u.node) ORDER BY f.seq;
  END IF;
END $$;

-- Versions that lost, and that nobody has decided about; a theme has hardly any.
CREATE FUNCTION hm.list_conflicts(asked text) RETURNS TABLE (
  id text, kind text, content text, attrs text, state smallint, hlc bigint, node text, anc bigint[], pushed_by text
) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
  IF hm.may_read(asked) THEN
    RETURN QUERY SELECT c.id::text, c.kind, c.content, c.attrs::text, c.state, c.hlc, c.node::text, c.anc, c.pushed_by
      FROM hm.conflict c JOIN hm.item f ON f.theme = c.theme AND f.id = c.id
      WHERE c.theme = asked AND f.state < 2 AND c.hlc <> ALL (f.anc) ORDER BY c.id, c.hlc, c.node LIMIT 2000;
  END IF;
END $$;

-- The heads that are kept of a store's journal, for the role that it connects as.
CREATE FUNCTION hm.list_heads(asking uuid) RETURNS TABLE (seq bigint, hash text, at_ms bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY SELECT DISTINCT h.seq, encode(h.hash, 'hex'), (extract(epoch FROM h.at) * 1000)::bigint FROM hm.chain_head h
    WHERE h.role = session_user AND h.node = asking ORDER BY 1 DESC, 2;
END $$;

CREATE FUNCTION hm.list_turn_states(asked text) RETURNS TABLE (id text, state smallint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
  IF hm.may_read(asked) THEN
    RETURN QUERY SELECT i.id::text, i.state FROM hm.item i WHERE i.theme = asked AND i.is_turn;
  END IF;
END $$;

-- How many facts or turns a theme has, counted so far, by an index alone.
CREATE FUNCTION hm.count_items(asked text, of_kind text, most int) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT hm.may_read(asked) THEN
    RETURN 0;
  ELSIF of_kind = 'turn' THEN
    RETURN (SELECT count(*) FROM (SELECT FROM hm.item i WHERE i.theme = asked AND i.is_turn LIMIT most) t);
  END IF;
  RETURN (SELECT count(*) FROM (SELECT FROM hm.item i WHERE i.theme = asked AND i.kind = 'fact' LIMIT most) f);
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
          SELECT 1 FROM hm.item n WHERE n.theme = asked AND n.id > c.before AND n.id < c.id AND n.kind = 'fact' LIMIT 2
        ) t
      )
      FROM c JOIN hm.item f ON f.theme = asked AND f.id = c.id
      WHERE f.kind = 'fact' AND f.state = 0 ORDER BY f.id;
  END IF;
END $$;

CREATE FUNCTION hm.find_scopes(asked text, wanted uuid[]) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF hm.may_read(asked) THEN
    RETURN QUERY SELECT f.content FROM hm.item f
      WHERE f.theme = asked AND f.id = ANY (wanted) AND f.kind = 'scope' AND f.state = 0;
  END IF;
END $$;

-- These turns with those around them, and others that are near in meaning, in the order of the theme's clock, and for each how many
-- lie between it and the one before.
CREATE FUNCTION hm.find_turns_around(asked text, wanted uuid[], near uuid[], far int, chars int, chars_beside int) RETURNS TABLE (
  id text, content text, attrs text, between_them bigint
) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
BEGIN
  IF NOT hm.may_read(asked) THEN
    RETURN;
  END IF;
  RETURN QUERY WITH t AS NOT MATERIALIZED (
    SELECT * FROM hm.item WHERE theme = asked AND kind = 'turn' AND state = 0
  ), u AS (SELECT t.seq FROM t WHERE t.id = ANY (wanted)),
  a AS (
    SELECT DISTINCT b.seq FROM u, LATERAL (
      (SELECT t.seq FROM t WHERE t.seq >= u.seq ORDER BY t.seq LIMIT far + 1)
      UNION ALL
      (SELECT t.seq FROM t WHERE t.seq < u.seq ORDER BY t.seq DESC LIMIT far)
    ) b
    UNION SELECT t.seq FROM t WHERE t.id = ANY (near)
  ), c AS (SELECT seq, lag(seq) OVER (ORDER BY seq) AS before FROM a)
  SELECT t.id::text, left(t.content, CASE WHEN t.id = ANY (wanted) THEN chars ELSE chars_beside END), t.attrs::text, (
      SELECT count(*) FROM (SELECT 1 FROM t n WHERE n.seq > c.before AND n.seq < c.seq LIMIT 2) s
    )
  FROM c JOIN t ON t.seq = c.seq ORDER BY t.seq;
END $$;

-- Facts or turns after a position that have no vector of this model, and the digests of their contents.
CREATE FUNCTION hm.list_missing_vectors(asked text, of_kind text, maker text, after bigint, most int)
RETURNS TABLE (seq bigint, id text, sha bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
  IF hm.may_read(asked) THEN
    RETURN QUERY SELECT f.seq, f.id::text, f.content_sha FROM hm.item f
      LEFT JOIN hm.vector v ON v.theme = f.theme AND v.id = f.id AND v.model = maker AND v.content_sha = f.content_sha
      WHERE f.theme = asked AND f.is_turn = (of_kind = 'turn') AND f.seq > after AND f.kind = of_kind AND f.state = 0
        AND (f.is_turn OR f.attrs ->> 'tier' IN ('hot', 'cold')) AND v.id IS NULL
      ORDER BY f.seq LIMIT most;
  END IF;
END $$;

CREATE FUNCTION hm.find_vector_model(asked text) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN (SELECT v.model FROM hm.vector v WHERE v.theme = asked AND hm.may_read(asked) ORDER BY v.id LIMIT 1);
END $$;

CREATE FUNCTION hm.count_vectors() RETURNS TABLE (theme text, kind text, vectors bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  readable text[] := hm.allowed_themes();
BEGIN
  RETURN QUERY SELECT v.theme, v.kind, count(*) FROM hm.vector v
    WHERE readable IS NULL OR v.theme = ANY (readable) GROUP BY 1, 2 ORDER BY 1, 2;
END $$;

-- No policy is needed where no table is read.
DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['clock', 'mark', 'item', 'vector'] LOOP
    IF to_regclass('hm.' || t) IS NOT NULL THEN
      EXECUTE format('DROP POLICY IF EXISTS own_themes ON hm.%I', t);
      EXECUTE format('ALTER TABLE hm.%I DISABLE ROW LEVEL SECURITY', t);
    END IF;
  END LOOP;
END $$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA hm FROM PUBLIC;
