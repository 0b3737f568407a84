-- All that is written goes through the functions below, and no role of the stores has a right to write a table: the database decides
-- what it takes, and not the program at the other end. Programs before this migration are told to be updated.

-- Themes that a role may read only, those in which it may also make facts hot and pinned for everybody, and when its rights end. `*` is
-- every theme, those of the future too.
ALTER TABLE hm.member ADD COLUMN reads text[] NOT NULL DEFAULT '{}', ADD COLUMN curates text[] NOT NULL DEFAULT '{}',
  ADD COLUMN until timestamptz;

-- A theme is open to nobody until its owner opens it; one that is there already stays open to whoever could reach it, with all rights.
INSERT INTO hm.member (role, themes)
SELECT DISTINCT r.rolname, ARRAY(SELECT c.theme FROM hm.clock c ORDER BY c.theme)
FROM pg_class c, aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee
WHERE c.oid = 'hm.fact'::regclass AND a.privilege_type = 'INSERT' AND a.grantee <> c.relowner
ON CONFLICT (role) DO NOTHING;
UPDATE hm.member SET curates = themes;

-- The themes that whoever is connected may read, write or curate: by what his own role was given, or else by the roles he is a member of.
-- NULL: all. Nobody else can read who may what. Asked by every statement: in this language its plans are kept.
CREATE FUNCTION hm.allowed_themes(what text DEFAULT 'read') RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  granted text[];
BEGIN
  IF pg_has_role(session_user, current_user, 'MEMBER') THEN  -- whom this function belongs to
    RETURN NULL;
  END IF;
  SELECT coalesce(array_agg(DISTINCT t.theme), '{}') INTO granted
  FROM hm.member m,
  unnest(CASE
    WHEN m.until <= now() THEN '{}'
    WHEN what = 'curate' THEN m.curates
    WHEN what = 'write' THEN m.themes || m.curates
    ELSE m.themes || m.curates || m.reads
  END) AS t (theme)
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

-- What a curator made hot, by the digests of its text and place, and whether he pinned it. Whose the words of a row are, and who made it
-- what it is now.
ALTER TABLE hm.fact ADD COLUMN curated bytea, ADD COLUMN curated_pin boolean NOT NULL DEFAULT false, ADD COLUMN worded_by text,
  ADD COLUMN changed_by text;

CREATE FUNCTION hm.to_curated(sha bytea, attrs jsonb) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
  SELECT sha256(sha || convert_to(attrs ->> 'type' || ' ' || (attrs ->> 'target'), 'UTF8'))
$$;

-- Digests of contents are keyed: a plain one, wherever it is kept on, tells whoever guesses a text that he was right.
INSERT INTO hm.setting (name, value)
SELECT 'hash_key', replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');

-- Facts, scopes and captured turns are items of one table: one push, one pull, one set of sizes and one purge hold for all of them.
ALTER TABLE hm.fact RENAME TO item;
ALTER TABLE hm.item RENAME CONSTRAINT fact_pkey TO item_pkey;
ALTER TABLE hm.item DROP COLUMN words;
DROP INDEX hm.fact_theme_seq;
UPDATE hm.item SET kind = 'forged' WHERE kind = 'turn';  -- no program wrote that, nor a fact under the uid of a turn
INSERT INTO hm.item (theme, id, kind, content, attrs, state, hlc, node, seq, origin, pushed_by)
SELECT theme, id, 'turn', content,
       CASE state WHEN 0 THEN jsonb_build_object('session', session, 'role', role, 'said_at', said_at) ELSE '{}' END,
       state, 0, node, seq, origin, pushed_by
FROM hm.turn ON CONFLICT (theme, id) DO NOTHING;
DROP TABLE hm.turn;
UPDATE hm.item i SET content_sha = k.sha, curated = hm.to_curated(k.sha, i.attrs), curated_pin = coalesce(i.attrs -> 'pinned' = 'true', false)
FROM (
  SELECT r.theme, r.id, sha256(convert_to(s.value || r.content, 'UTF8')) AS sha
  FROM hm.item r, hm.setting s WHERE s.name = 'hash_key' AND r.content IS NOT NULL
) k WHERE i.theme = k.theme AND i.id = k.id;
DO $$
BEGIN
  IF to_regclass('hm.vector') IS NOT NULL THEN
    UPDATE hm.vector v SET content_sha = i.content_sha FROM hm.item i WHERE i.theme = v.theme AND i.id = v.id;
    ALTER TABLE hm.vector ADD COLUMN kind text NOT NULL DEFAULT 'fact';
    ALTER TABLE hm.vector ALTER COLUMN kind DROP DEFAULT;
  END IF;
END $$;

-- Turns are exchanged apart from all else, since facts do not wait for them: neither steps over the other's rows. The words are as in
-- 013, and more of a turn, which has at most 100,000 characters. The word of a theme is another one for its turns: whoever looks for
-- facts does not read what was said.
ALTER TABLE hm.item ADD COLUMN is_turn boolean GENERATED ALWAYS AS (kind = 'turn') STORED,
ADD COLUMN words tsvector GENERATED ALWAYS AS (
  strip(to_tsvector('simple', replace(replace(replace(replace(replace(replace(
    CASE WHEN (octet_length(content) = length(content)
               AND octet_length(attrs ->> 'target') = length(attrs ->> 'target')) IS NOT FALSE
    THEN left(coalesce(attrs ->> 'target', ''), 400) || ' '
      || left(coalesce(content, ''), CASE kind WHEN 'turn' THEN 100000 ELSE 8000 END)
    ELSE hm.folded(left(coalesce(attrs ->> 'target', ''), 400) || ' '
      || left(coalesce(content, ''), CASE kind WHEN 'turn' THEN 100000 ELSE 8000 END)) END,
    '.', ' '), '/', ' '), '-', ' '), '@', ' '), '<', ' '), '+', ' ')))
  || array_to_tsvector(ARRAY[CASE kind WHEN 'turn' THEN '@turn' ELSE '@' END || md5(theme)])
) STORED;
CREATE INDEX item_words ON hm.item USING gin (words);
CREATE UNIQUE INDEX item_theme_seq ON hm.item (theme, is_turn, seq);
CREATE INDEX item_fact ON hm.item (theme, id) WHERE kind = 'fact';
CREATE INDEX item_said ON hm.item (theme, seq) WHERE kind = 'turn' AND state = 0;

-- Sizes: no store takes more than 100,000 characters. What is there already stays as it is.
ALTER TABLE hm.item ADD CONSTRAINT item_sizes CHECK (
  octet_length(content) <= 409600 AND pg_column_size(attrs) <= 65536 AND pg_column_size(origin) <= 65536
  AND cardinality(anc) <= 256 AND octet_length(theme) <= 1024 AND octet_length(kind) <= 64
) NOT VALID;

-- A turn never changes, so it has no clock: it is there (0), or was erased for ever (2).
ALTER TABLE hm.item ADD CONSTRAINT item_turn CHECK (
  kind <> 'turn' OR state = 2 OR (
    state = 0 AND hlc = 0 AND content IS NOT NULL AND jsonb_typeof(attrs -> 'role') = 'string'
    AND jsonb_typeof(attrs -> 'said_at') = 'number' AND jsonb_typeof(attrs -> 'session') IN ('string', 'null')
  ) IS TRUE
);

-- Each theme's newest mark is at its newest row or behind it, and stays so: a push tells by it whether its counter is right.
INSERT INTO hm.mark (theme, seq, token, node)
SELECT i.theme, max(i.seq), gen_random_uuid(), '00000000-0000-0000-0000-000000000000' FROM hm.item i GROUP BY i.theme
HAVING max(i.seq) > coalesce((SELECT max(m.seq) FROM hm.mark m WHERE m.theme = i.theme), 0);

-- Versions that lost against one that did not know of them, until a person decides; whoever has the winner alone would never hear of them.
CREATE TABLE hm.conflict (
  theme     text NOT NULL,
  id        uuid NOT NULL,
  hlc       bigint NOT NULL,
  node      uuid NOT NULL,
  kind      text NOT NULL,
  content   text,
  attrs     jsonb NOT NULL,
  state     smallint NOT NULL CHECK (state IN (0, 1)),
  anc       bigint[] NOT NULL,
  pushed_by text NOT NULL,
  PRIMARY KEY (theme, id, hlc, node),
  CONSTRAINT conflict_sizes CHECK (
    octet_length(content) <= 409600 AND pg_column_size(attrs) <= 65536 AND cardinality(anc) <= 256 AND octet_length(kind) <= 64
  )
);

CREATE FUNCTION hm.refuse_reader(asked text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF asked <> ALL (hm.allowed_themes('write')) THEN
    RAISE insufficient_privilege USING MESSAGE = format('%s may not write to this theme', session_user);
  END IF;
END $$;

-- By what a project is recognised whose theme this is: `remote github.com/acme/shop`, `root` and its first commit. The first writer of a
-- theme says it; a theme that belongs to no project has none. Never a path, which means nothing on another machine.
CREATE TABLE hm.identity (
  theme text NOT NULL,
  identity text NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (theme, identity)
);
CREATE INDEX identity_theme ON hm.identity (identity, at, theme);

-- The identities of a theme's project, remotes first. Where nobody has said them yet: those of the projects that its first facts
-- came from, as programs before this migration compared them.
CREATE FUNCTION hm.list_identities(asked text) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
DECLARE
  known text[] := ARRAY(SELECT i.identity FROM hm.identity i WHERE i.theme = asked ORDER BY i.identity);
BEGIN
  IF known = '{}' THEN
    known := ARRAY(
      SELECT DISTINCT k.kind || ' ' || (v #>> '{}') FROM (
        SELECT f.origin -> 'project' AS project FROM hm.item f WHERE f.theme = asked AND NOT f.is_turn ORDER BY f.seq LIMIT 100
      ) f, (VALUES ('remote', '$.remotes[*]'::jsonpath), ('root', '$.roots[*]')) k (kind, place),
      jsonb_path_query(f.project, k.place) v WHERE v #>> '{}' NOT LIKE 'file:%' ORDER BY 1
    );
  END IF;
  RETURN known;
END $$;

-- The name under which a project is exchanged: the asked one, or that of an open theme which is known to be its; NULL where the
-- asked name is that of another project. Under one name any common identity makes two projects one; under two names a common remote
-- does, or a common first commit where one of them has no remote, since forks have it in common. Who was exchanged under a name
-- goes on under it, and so does who says nothing of a project (NULL; nothing to recognise it by: {}).
CREATE FUNCTION hm.find_name(asked text, claims text[], exchanged boolean, readable text[]) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
  known text[] := '{}';
  called text;
BEGIN
  IF claims IS NULL OR exchanged THEN
    RETURN asked;
  END IF;
  IF coalesce(asked = ANY (readable), true) THEN  -- of a closed theme nothing is told
    known := hm.list_identities(asked);
  END IF;
  IF known && claims THEN
    RETURN asked;
  END IF;
  SELECT i.theme INTO called FROM hm.identity i
  WHERE i.identity = ANY (claims) AND i.theme <> asked AND coalesce(i.theme = ANY (readable), true)
    AND (i.identity LIKE 'remote %' OR NOT EXISTS (SELECT FROM unnest(claims) AS c WHERE c LIKE 'remote %')
      OR NOT EXISTS (SELECT FROM hm.identity r WHERE r.theme = i.theme AND r.identity LIKE 'remote %'))
  ORDER BY i.identity LIKE 'root %', i.at, i.theme LIMIT 1;
  RETURN coalesce(called, CASE WHEN known = '{}' THEN asked END);
END $$;

-- Where whoever is the first to write to a theme, or to say an identity, waits for another who is about to: a row to lock, since there is
-- none yet of what is new. Other locks (advisory ones) are open to anybody who may connect.
CREATE TABLE hm.gate (n int PRIMARY KEY);
INSERT INTO hm.gate SELECT generate_series(0, 1023);

-- The gates of what a push is the first to say.
CREATE FUNCTION hm.list_gates(asked text, claims text[]) RETURNS int[] LANGUAGE sql STABLE AS $$
  SELECT ARRAY(
    SELECT (hashtextextended(k.name, 0) & 1023)::int FROM (
      SELECT 'theme ' || asked WHERE NOT EXISTS (SELECT FROM hm.clock c WHERE c.theme = asked)
      UNION ALL SELECT u.name FROM unnest(claims) AS u (name)
        WHERE NOT EXISTS (SELECT FROM hm.identity i WHERE i.theme = asked AND i.identity = u.name)
    ) k (name)
  )
$$;

-- Waits until nobody else writes to a theme. All that a member's transaction holds against others is held by this, in rows that none of
-- them can lock by a statement of his own, so that `hm.release` finds who holds it.
CREATE FUNCTION hm.take_turn(asked text, claims text[] DEFAULT NULL) RETURNS void LANGUAGE plpgsql SET lock_timeout = '5s' AS $$
BEGIN
  PERFORM FROM hm.gate g WHERE g.n = ANY (hm.list_gates(asked, claims)) ORDER BY g.n FOR UPDATE;  -- in one order for all
  PERFORM FROM hm.clock c WHERE c.theme = asked FOR UPDATE;
END $$;

-- Keeps whose project a theme is, and refuses who writes for another one, or for one that has another name. Called after `hm.take_turn`.
CREATE FUNCTION hm.claim(asked text, by uuid, claims text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF coalesce(claims, '{}') <@ ARRAY(SELECT i.identity FROM hm.identity i WHERE i.theme = asked) THEN
    RETURN;
  END IF;
  IF cardinality(claims) > 100 THEN
    RAISE program_limit_exceeded USING MESSAGE = format('%s named more than 100 identities', session_user);
  END IF;
  IF hm.find_name(
    asked, claims, EXISTS (SELECT FROM hm.mark m WHERE m.theme = asked AND m.node = by), hm.allowed_themes()
  ) IS DISTINCT FROM asked THEN
    RAISE SQLSTATE 'HM001' USING MESSAGE = format('%s writes for another project than that of this theme', session_user);
  END IF;
  INSERT INTO hm.identity (theme, identity)
  SELECT asked, c FROM unnest(claims) AS c
  WHERE octet_length(c) <= 1024 AND (SELECT count(*) FROM hm.identity i WHERE i.theme = asked) < 100
  ON CONFLICT DO NOTHING;
END $$;

-- When a change of the theme was announced last.
ALTER TABLE hm.clock ADD COLUMN announced_at timestamptz;

-- Advances the clock of a theme by the rows of a push, whose row lock orders the commits, and leaves the push's mark. Returns the
-- number before its first row, never one that is taken: a clock that was set back counts on behind what there is. By the right of
-- whoever calls it, which are the functions below.
-- An announcement wakes every session that listens to anything, so a theme has one a second, on the channel of its group of themes, and
-- who was told asks again by himself after that. A push of many rows takes long, so that nobody would ask again after it: each is
-- announced.
CREATE FUNCTION hm.tick(asked text, by uuid, token uuid, rows int, bytes bigint, claims text[] DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql AS $$
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
  PERFORM hm.take_turn(asked, claims);
  INSERT INTO hm.clock AS c (theme, seq, announced_at) VALUES (asked, rows, moment)
  ON CONFLICT (theme) DO UPDATE SET seq = c.seq + excluded.seq, announced_at = CASE
      WHEN rows <= 100 AND c.announced_at BETWEEN moment - interval '1 second' AND moment + interval '1 second' THEN c.announced_at
      ELSE moment END
  RETURNING c.seq - rows, c.announced_at = moment INTO base, is_due;
  PERFORM hm.claim(asked, by, claims);
  taken := (SELECT max(m.seq) FROM hm.mark m WHERE m.theme = asked);
  IF taken IS DISTINCT FROM base THEN  -- else nothing came after the mark that the last push left, behind all there was
    taken := greatest(
      taken,
      (SELECT max(i.seq) FROM hm.item i WHERE i.theme = asked AND NOT i.is_turn),
      (SELECT max(i.seq) FROM hm.item i WHERE i.theme = asked AND i.is_turn)
    );
    IF taken > base THEN
      base := taken;
      UPDATE hm.clock SET seq = base + rows WHERE theme = asked;
    END IF;
  END IF;
  INSERT INTO hm.mark (theme, seq, token, node) VALUES (asked, base + rows, token, by);
  IF is_due THEN  -- without the theme's name: whoever may connect may listen
    PERFORM pg_notify('hm_' || left(md5(asked), 1), left(md5(asked), 8));
  END IF;
  RETURN base;
END $$;

-- Heads of the machines' journals, which tell a machine whose newest changes were cut off or rewritten: those of a role and a store's
-- name are kept and told for that role alone. All but the newest one are kept since a later journal did not have them.
CREATE TABLE hm.chain_head (
  role name NOT NULL,
  node uuid NOT NULL,
  place smallint NOT NULL CHECK (place BETWEEN 0 AND 8),
  seq bigint NOT NULL CHECK (seq > 0),
  hash bytea NOT NULL CHECK (octet_length(hash) BETWEEN 16 AND 32),
  at timestamptz NOT NULL CHECK (at BETWEEN '1970-01-01' AND '9999-01-01'),
  pushed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (role, node, place)
);

-- Keeps the head of a store's journal in the place of those that its journal still has, or that do not count since a backup was
-- restored. All others stay, but for the oldest one where there is no place left, and so do the 100 stores of a role that pushed last.
-- Whoever shares the role may hold these rows: then the head waits for the next push, and nobody for the head.
CREATE FUNCTION hm.keep_head(by uuid, head_seq bigint, head_hash bytea, head_at timestamptz, past bytea[] DEFAULT '{}') RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' AS $$
BEGIN
  IF hm.allowed_themes() = '{}' THEN
    RAISE insufficient_privilege USING MESSAGE = format('%s may read no theme', session_user);
  END IF;
  UPDATE hm.chain_head h SET seq = head_seq, hash = head_hash, at = head_at, pushed_at = now()
  WHERE h.role = session_user AND h.node = by AND h.hash = past[1] AND cardinality(past) = 1;
  IF FOUND THEN
    RETURN;
  END IF;
  DELETE FROM hm.chain_head h WHERE h.role = session_user AND h.node = by AND h.hash = ANY (past || head_hash);
  INSERT INTO hm.chain_head (role, node, place, seq, hash, at)
  SELECT session_user, by, p.place, head_seq, head_hash, head_at
  FROM generate_series(0, 8) AS p (place)
  LEFT JOIN hm.chain_head h ON h.role = session_user AND h.node = by AND h.place = p.place
  ORDER BY h.seq NULLS FIRST, p.place LIMIT 1
  ON CONFLICT (role, node, place) DO UPDATE
    SET seq = excluded.seq, hash = excluded.hash, at = excluded.at, pushed_at = excluded.pushed_at;
  DELETE FROM hm.chain_head h WHERE h.role = session_user AND h.node = ANY (ARRAY(
    SELECT o.node FROM hm.chain_head o WHERE o.role = session_user AND o.node <> by GROUP BY o.node
    ORDER BY max(o.pushed_at) DESC, o.node OFFSET 99
  ));
EXCEPTION WHEN lock_not_available THEN
  NULL;
END $$;

-- Takes versions of rows. Of two versions the purged one wins, then the one of the higher clock, then of the higher node; what is
-- stamped more than five minutes ahead is left out, and one that was taken when a clock was wrong loses against any other. A turn is
-- only ever erased, and nothing else becomes a turn. A purge empties its row. The first origin of a row stands, and who brought it is
-- who is connected. What a curator made hot stays his choice while its text does. Returns the number before the first row, the time,
-- and the numbers of the rows that are the database's version now.
CREATE FUNCTION hm.push(
  asked text, by uuid, token uuid, own_ms bigint, uids uuid[], kinds text[], texts text[], about text[], replaced uuid[],
  states smallint[], stamps bigint[], stores uuid[], befores text[], sources text[], claims text[] DEFAULT NULL,
  head_seq bigint DEFAULT NULL, head_hash bytea DEFAULT NULL, head_at timestamptz DEFAULT NULL, past bytea[] DEFAULT '{}',
  OUT base bigint, OUT ms bigint, OUT won bigint[]
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  hash_key text := (SELECT s.value FROM hm.setting s WHERE s.name = 'hash_key');
  changed uuid[];
  shas bytea[];
  is_curator boolean := coalesce(asked = ANY (hm.allowed_themes('curate')), true);
BEGIN
  base := hm.tick(asked, by, token, cardinality(uids), greatest(
    (SELECT sum(octet_length(t)) FROM unnest(texts) AS t), (SELECT sum(octet_length(t)) FROM unnest(about || sources) AS t)
  ), claims);
  ms := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
  WITH u AS (
    SELECT n, id, kind, replaced_id, state, stamp, store, before,
           CASE WHEN state < 2 THEN said END AS content, CASE WHEN state < 2 THEN described ELSE '{}' END::jsonb AS attrs,
           CASE WHEN state < 2 THEN source END AS origin, CASE WHEN state < 2 THEN sha256(convert_to(hash_key || said, 'UTF8')) END AS sha
    FROM unnest(uids, kinds, texts, about, replaced, states, stamps, stores, befores, sources) WITH ORDINALITY
      AS r (id, kind, said, described, replaced_id, state, stamp, store, before, source, n)
    WHERE stamp >> 16 <= ms + 300000
  ), w AS (
    INSERT INTO hm.item AS f (
      theme, id, kind, content, attrs, supersedes, content_sha, state, hlc, node, anc, seq, origin, pushed_by, worded_by, changed_by,
      curated, curated_pin
    )
    SELECT asked, u.id, u.kind, u.content, u.attrs, u.replaced_id, u.sha, u.state, u.stamp, u.store, u.before::bigint[], base + u.n,
           u.origin::jsonb, CASE WHEN u.state < 2 THEN session_user || '/' || left(u.store::text, 8) END,
           CASE WHEN u.state < 2 THEN session_user END, session_user,
           CASE WHEN is_curator AND (u.attrs ->> 'tier' = 'hot' OR u.attrs ->> 'cooled_by' IN ('scope', 'pressure'))
             THEN hm.to_curated(u.sha, u.attrs) END,
           is_curator AND coalesce(u.attrs -> 'pinned' = 'true', false)
    FROM u
    ON CONFLICT (theme, id) DO UPDATE SET kind = excluded.kind, content = excluded.content, attrs = excluded.attrs,
        content_sha = excluded.content_sha, state = excluded.state, hlc = excluded.hlc, node = excluded.node,
        anc = excluded.anc, seq = excluded.seq,
        origin = CASE WHEN excluded.state < 2 THEN coalesce(f.origin, excluded.origin) END,
        pushed_by = CASE WHEN excluded.state < 2 THEN f.pushed_by END,
        worded_by = CASE WHEN excluded.state < 2 AND f.content IS NOT DISTINCT FROM excluded.content THEN f.worded_by
                         ELSE excluded.worded_by END,
        changed_by = excluded.changed_by,
        curated = CASE WHEN excluded.state < 2 THEN CASE WHEN is_curator THEN excluded.curated ELSE f.curated END END,
        curated_pin = excluded.state < 2 AND CASE WHEN is_curator THEN excluded.curated_pin ELSE f.curated_pin END
      WHERE CASE WHEN 'turn' IN (f.kind, excluded.kind) THEN f.kind = excluded.kind AND f.state = 0 AND excluded.state = 2
            ELSE (excluded.state = 2, excluded.hlc, excluded.node)
               > (f.state = 2, CASE WHEN f.hlc >> 16 > greatest(ms, own_ms) + 300000 THEN 0 ELSE f.hlc END, f.node) END
    RETURNING f.seq, f.id, CASE WHEN f.state = 0 THEN f.content_sha END AS sha
  )
  SELECT coalesce(array_agg(w.seq), '{}'), array_agg(w.id), array_agg(w.sha) INTO won, changed, shas FROM w;
  IF EXISTS (SELECT FROM hm.conflict c WHERE c.theme = asked AND c.id = ANY (uids)) THEN  -- which spares nearly all pushes a join
    DELETE FROM hm.conflict c USING hm.item f
    WHERE c.theme = asked AND c.id = ANY (uids) AND f.theme = asked AND f.id = c.id AND (f.state = 2 OR c.hlc = ANY (f.anc));
  END IF;
  -- A vector belongs to one text, and does not outlive it.
  IF to_regclass('hm.vector') IS NOT NULL THEN
    DELETE FROM hm.vector v USING unnest(changed, shas) AS f (id, sha)
    WHERE v.theme = asked AND v.id = f.id AND v.content_sha IS DISTINCT FROM f.sha;
  END IF;
  IF head_seq IS NOT NULL THEN
    PERFORM hm.keep_head(by, head_seq, head_hash, head_at, past);
  END IF;
END $$;

-- Keeps versions that lost, unless what stands knows of them. Returns how many were not kept yet.
CREATE FUNCTION hm.push_conflicts(
  asked text, uids uuid[], kinds text[], texts text[], about text[], states smallint[], stamps bigint[], stores uuid[], befores text[]
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  kept bigint;
BEGIN
  PERFORM hm.refuse_reader(asked);
  IF cardinality(uids) > 500 OR (SELECT sum(octet_length(t)) FROM unnest(texts || about) AS t) > 4194304 THEN
    RAISE program_limit_exceeded USING MESSAGE = format('%s pushed more than 500 conflicts or 4 MiB at once', session_user);
  END IF;
  PERFORM hm.take_turn(asked);  -- what stands stays so until these are kept
  INSERT INTO hm.conflict AS c (theme, id, hlc, node, kind, content, attrs, state, anc, pushed_by)
  SELECT asked, u.id, u.stamp, u.store, u.kind, u.said, u.described::jsonb, u.state, u.before::bigint[],
         session_user || '/' || left(u.store::text, 8)
  FROM unnest(uids, kinds, texts, about, states, stamps, stores, befores)
    AS u (id, kind, said, described, state, stamp, store, before)
  JOIN hm.item f ON f.theme = asked AND f.id = u.id
  WHERE f.kind <> 'turn' AND f.state < 2 AND u.stamp <> f.hlc AND u.stamp <> ALL (f.anc)
    AND u.stamp >> 16 <= (extract(epoch FROM clock_timestamp()) * 1000)::bigint + 300000
    AND (SELECT count(*) FROM hm.conflict o WHERE o.theme = asked AND o.id = u.id) < 16
  ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS kept = ROW_COUNT;
  IF kept > 0 THEN
    UPDATE hm.clock SET seq = seq + 1 WHERE theme = asked;
    PERFORM pg_notify('hm_' || left(md5(asked), 1), left(md5(asked), 8));
  END IF;
  RETURN kept;
END $$;

-- Keeps vectors of texts that stand. Nothing is kept for a text that is gone by now: nobody writes to the theme until the vectors stand.
-- Returns how many are of texts that stand.
CREATE FUNCTION hm.keep_vectors(asked text, maker text, uids uuid[], shas bytea[], numbers text[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  held bigint;
BEGIN
  PERFORM hm.refuse_reader(asked);
  PERFORM hm.take_turn(asked);
  WITH u AS (
    SELECT * FROM unnest(uids, shas, numbers) AS u (id, sha, many)
  ), f AS MATERIALIZED (
    SELECT f.id, f.kind FROM hm.item f JOIN u ON u.id = f.id AND u.sha = f.content_sha
    WHERE f.theme = asked AND f.state = 0 AND f.kind IN ('fact', 'turn')
  ), w AS (
    INSERT INTO hm.vector AS v (theme, id, kind, model, content_sha, embedding)
    SELECT asked, u.id, f.kind, maker, u.sha, u.many::real[] FROM u JOIN f ON f.id = u.id
    ON CONFLICT (theme, id) DO UPDATE
      SET model = excluded.model, content_sha = excluded.content_sha, embedding = excluded.embedding
      WHERE (v.model, v.content_sha) <> (excluded.model, excluded.content_sha)
  )
  SELECT count(*) INTO held FROM f;
  RETURN held;
END $$;

-- Transactions that were found in the way, and when first. Nobody waits for a row here.
CREATE TABLE hm.hold (pid int NOT NULL, xid xid NOT NULL, since timestamptz NOT NULL DEFAULT clock_timestamp());

-- The transactions that have a row locked, by its `xmax`: one, or several that are kept under a number of their own, as those of a
-- member's savepoints are.
CREATE FUNCTION hm.list_lockers(mark xid) RETURNS SETOF xid LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN NEXT mark;
  BEGIN
    RETURN QUERY SELECT m.xid FROM pg_get_multixact_members(mark) m;
  EXCEPTION WHEN OTHERS THEN  -- no such number
  END;
END $$;

-- Disconnects members whose one transaction has kept everybody from writing to a theme for too long, and tells who holds it and since
-- when. A push is one statement in a transaction of its own: it holds a theme for as long as this server works at it. What counts is the
-- time since a machine found the same transaction in its way, so neither a slow line nor waiting for others counts, nor what one holds
-- elsewhere. `ended` is NULL where it is not too long yet, and false where the owner of this function may not end it.
CREATE FUNCTION hm.release(asked text, claims text[] DEFAULT NULL) RETURNS TABLE (holder text, seconds int, ended boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  bound int := coalesce((SELECT s.value::int FROM hm.setting s WHERE s.name = 'hold_s'), 30);
  moment timestamptz := clock_timestamp();
  h record;
  found_at timestamptz;
BEGIN
  PERFORM hm.refuse_reader(asked);
  DELETE FROM hm.hold WHERE ctid = ANY (
    ARRAY(SELECT o.ctid FROM hm.hold o WHERE o.since < moment - interval '1 day' FOR UPDATE SKIP LOCKED));
  FOR h IN
    SELECT DISTINCT l.pid, l.transactionid AS xid, a.usename::text AS name
    FROM (
      SELECT c.xmax AS mark FROM hm.clock c WHERE c.theme = asked
      UNION ALL SELECT g.xmax FROM hm.gate g WHERE g.n = ANY (hm.list_gates(asked, claims))
    ) r, hm.list_lockers(r.mark) AS k (xid), pg_locks l, pg_stat_activity a
    WHERE l.locktype = 'transactionid' AND l.transactionid = k.xid AND l.mode = 'ExclusiveLock' AND l.granted
      AND a.pid = l.pid AND a.pid <> pg_backend_pid() AND a.datname = current_database()
      AND NOT pg_has_role(a.usesysid, current_user, 'MEMBER')  -- the owner, and superusers
  LOOP
    found_at := (SELECT min(o.since) FROM hm.hold o WHERE o.pid = h.pid AND o.xid = h.xid);
    IF found_at IS NULL THEN
      INSERT INTO hm.hold (pid, xid) VALUES (h.pid, h.xid);
    END IF;
    holder := h.name;
    seconds := extract(epoch FROM moment - coalesce(found_at, moment))::int;
    ended := NULL;
    IF moment - coalesce(found_at, moment) >= make_interval(secs => bound) THEN
      BEGIN
        ended := pg_terminate_backend(h.pid);
      EXCEPTION WHEN insufficient_privilege THEN
        ended := false;
      END;
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;

-- As before, and by the roles that one is a member of, too; of turns as of facts, with their bytes.
DROP FUNCTION hm.worded(text, text[], text[], text[], text[], int, int), hm.turns_worded(text, text[], int, int);
CREATE FUNCTION hm.worded(
  asked text, of_kind text, queries text[], types text[], tiers text[], scopes text[], newest int, most int
) RETURNS TABLE (n int, id uuid, bytes int)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
  IF asked <> ALL (hm.allowed_themes()) THEN
    RETURN;
  END IF;
  FOR n IN 1 .. cardinality(queries) LOOP
    IF queries[n] = '' THEN
      RETURN QUERY SELECT n, f.id, octet_length(f.content) FROM hm.item f
        WHERE f.theme = asked AND f.kind = of_kind AND f.state = 0
          AND (types IS NULL OR f.attrs ->> 'type' = ANY (types)) AND (tiers IS NULL OR f.attrs ->> 'tier' = ANY (tiers))
          AND (scopes IS NULL OR coalesce(f.attrs ->> 'scope', '') = ANY (scopes))
        ORDER BY f.id DESC LIMIT newest;
    ELSE
      RETURN QUERY SELECT n, w.id, w.bytes FROM (
        SELECT f.id, octet_length(f.content) AS bytes FROM hm.item f
        WHERE f.words @@ queries[n]::tsquery AND f.theme = asked AND f.kind = of_kind AND f.state = 0
          AND (types IS NULL OR f.attrs ->> 'type' = ANY (types)) AND (tiers IS NULL OR f.attrs ->> 'tier' = ANY (tiers))
          AND (scopes IS NULL OR coalesce(f.attrs ->> 'scope', '') = ANY (scopes))
        LIMIT most
      ) w ORDER BY w.id DESC LIMIT newest;
    END IF;
  END LOOP;
END $$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA hm FROM PUBLIC;
