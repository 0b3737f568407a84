-- What a role of the stores may not do, whatever it sends: the database decides, and not the program at the other end.
-- It adds no column that programs before it must know: their pushes go on; only their first load of many rows waits for an update.

-- The themes of whoever is connected, by his own role and those he is a member of; NULL: all. Nobody else can read who may what.
CREATE OR REPLACE FUNCTION hm.allowed_themes() RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT array_agg(DISTINCT t.theme) FROM hm.member m
  JOIN pg_catalog.pg_roles r ON r.rolname = m.role AND pg_catalog.pg_has_role(session_user, r.oid, 'MEMBER')
  CROSS JOIN unnest(m.themes) AS t (theme)
$$;

-- Whether the caller owns the tables, as whoever migrates and collects does.
CREATE OR REPLACE FUNCTION hm.is_owner() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT pg_catalog.pg_has_role(session_user, c.relowner, 'MEMBER') FROM pg_catalog.pg_class c WHERE c.oid = 'hm.clock'::regclass
$$;

DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['clock', 'mark', 'fact', 'turn', 'vector'] LOOP
    IF to_regclass('hm.' || t) IS NOT NULL THEN
      EXECUTE format('DROP POLICY IF EXISTS own_themes ON hm.%I', t);
      EXECUTE format('CREATE POLICY own_themes ON hm.%I USING ((SELECT hm.allowed_themes()) IS NULL '
        'OR theme = ANY ((SELECT hm.allowed_themes())::text[]))', t);
    END IF;
  END LOOP;
END $$;

-- A clock counts on, from nothing, and no faster than the rows of a push. It says in which transaction it last ticked and from where.
ALTER TABLE hm.clock ADD COLUMN IF NOT EXISTS ticked_by xid8, ADD COLUMN IF NOT EXISTS ticked_from bigint;

CREATE OR REPLACE FUNCTION hm.guard_clock() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  was bigint := 0;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    was := OLD.seq;
  END IF;
  IF NOT hm.is_owner() AND (
    NEW.seq < was OR NEW.seq - was > 10000
    OR TG_OP = 'INSERT' AND NEW.gc_seq <> 0
    OR TG_OP = 'UPDATE' AND (NEW.theme <> OLD.theme OR NEW.gc_seq <> OLD.gc_seq)
  ) THEN
    RAISE check_violation USING MESSAGE = format('%s may not set the counter of a theme', session_user);
  END IF;
  NEW.ticked_from := was;
  NEW.ticked_by := pg_current_xact_id();
  IF TG_OP = 'UPDATE' AND OLD.ticked_by = NEW.ticked_by THEN
    NEW.ticked_from := OLD.ticked_from;
  END IF;
  RETURN NEW;
END $$;

DROP TRIGGER IF EXISTS clock_counts_on ON hm.clock;
CREATE TRIGGER clock_counts_on BEFORE INSERT OR UPDATE ON hm.clock FOR EACH ROW EXECUTE FUNCTION hm.guard_clock();

-- Rows, turns and marks take the numbers that this transaction's tick of their theme's clock gave out, and no others: a number
-- ahead of the clock would stop everybody, one behind it nobody would ever see.
CREATE OR REPLACE FUNCTION hm.guard_numbers() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT hm.is_owner() AND EXISTS (
    SELECT FROM (SELECT n.theme, min(n.seq) AS first, max(n.seq) AS last FROM new_rows n GROUP BY n.theme) g
    LEFT JOIN hm.clock c ON c.theme = g.theme AND c.ticked_by = pg_current_xact_id()
    WHERE c.theme IS NULL OR g.first <= c.ticked_from OR g.last > c.seq
  ) THEN
    RAISE check_violation USING MESSAGE = format('%s wrote under a number that the theme''s counter did not give', session_user);
  END IF;
  RETURN NULL;
END $$;

-- What of a row no push may say: a time that has not come, and that something erased for ever is there again.
CREATE OR REPLACE FUNCTION hm.guard_stamps() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT hm.is_owner() AND EXISTS (
    SELECT FROM new_rows n WHERE n.hlc >> 16 > (extract(epoch FROM clock_timestamp()) * 1000)::bigint + 300000
  ) THEN
    RAISE check_violation USING MESSAGE = format('%s stamped a row more than five minutes ahead', session_user);
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION hm.guard_erasure() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF OLD.state = 2 AND NEW.state <> 2 THEN
    RAISE check_violation USING MESSAGE = format('%s may not bring back what was purged', session_user);
  END IF;
  IF NEW.theme <> OLD.theme OR NEW.id <> OLD.id THEN
    RAISE check_violation USING MESSAGE = format('%s may not rename a row', session_user);
  END IF;
  RETURN NEW;
END $$;

DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['fact', 'turn', 'mark'] LOOP
    EXECUTE format('DROP TRIGGER IF EXISTS numbers_of_new_rows ON hm.%I', t);
    EXECUTE format('CREATE TRIGGER numbers_of_new_rows AFTER INSERT ON hm.%I REFERENCING NEW TABLE AS new_rows '
      'FOR EACH STATEMENT EXECUTE FUNCTION hm.guard_numbers()', t);
    CONTINUE WHEN t = 'mark';
    EXECUTE format('DROP TRIGGER IF EXISTS numbers_of_rows ON hm.%I', t);
    EXECUTE format('CREATE TRIGGER numbers_of_rows AFTER UPDATE ON hm.%I REFERENCING NEW TABLE AS new_rows '
      'FOR EACH STATEMENT EXECUTE FUNCTION hm.guard_numbers()', t);
    EXECUTE format('DROP TRIGGER IF EXISTS erased_for_ever ON hm.%I', t);
    EXECUTE format('CREATE TRIGGER erased_for_ever BEFORE UPDATE ON hm.%I FOR EACH ROW '
      'WHEN (OLD.state = 2 AND NEW.state <> 2 OR NEW.theme <> OLD.theme OR NEW.id <> OLD.id) '
      'EXECUTE FUNCTION hm.guard_erasure()', t);
  END LOOP;
  DROP TRIGGER IF EXISTS stamps_of_new_rows ON hm.fact;
  DROP TRIGGER IF EXISTS stamps_of_rows ON hm.fact;
  CREATE TRIGGER stamps_of_new_rows AFTER INSERT ON hm.fact REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION hm.guard_stamps();
  CREATE TRIGGER stamps_of_rows AFTER UPDATE ON hm.fact REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION hm.guard_stamps();
END $$;

-- Who brought a row is who is connected: `SET ROLE` to a group would hide his name.
CREATE OR REPLACE FUNCTION hm.note_pusher() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.state = 2 THEN
    NEW.origin := NULL;
    NEW.pushed_by := NULL;
  ELSE
    NEW.pushed_by := session_user || '/' || left(NEW.node::text, 8);
  END IF;
  RETURN NEW;
END $$;

-- A purge erases what the row says at once, whatever else its push carries.
CREATE OR REPLACE FUNCTION hm.erase_purged() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.content := NULL;
  NEW.content_sha := NULL;
  NEW.attrs := '{}';
  RETURN NEW;
END $$;

DROP TRIGGER IF EXISTS purged_says_nothing ON hm.fact;
CREATE TRIGGER purged_says_nothing BEFORE INSERT OR UPDATE ON hm.fact FOR EACH ROW
  WHEN (NEW.state = 2 AND (NEW.content IS NOT NULL OR NEW.content_sha IS NOT NULL OR NEW.attrs <> '{}'))
  EXECUTE FUNCTION hm.erase_purged();

-- Sizes: no store takes more than 100,000 characters. What is there already stays as it is.
ALTER TABLE hm.fact DROP CONSTRAINT IF EXISTS fact_sizes;
ALTER TABLE hm.fact ADD CONSTRAINT fact_sizes CHECK (
  octet_length(content) <= 409600 AND pg_column_size(attrs) <= 65536 AND pg_column_size(origin) <= 65536
  AND cardinality(anc) <= 256 AND octet_length(theme) <= 1024 AND octet_length(kind) <= 64
) NOT VALID;
ALTER TABLE hm.turn DROP CONSTRAINT IF EXISTS turn_sizes;
ALTER TABLE hm.turn ADD CONSTRAINT turn_sizes CHECK (
  pg_column_size(origin) <= 65536 AND octet_length(theme) <= 1024
) NOT VALID;

-- Rows that anybody had left in `hm.stage` were merged into the theme of whoever loaded next. Pushes carry their rows in their own
-- statement now, and no role may use that table any more.
TRUNCATE hm.stage;

-- As before, and by the roles that one is a member of, too.
CREATE OR REPLACE FUNCTION hm.worded(
  asked text, queries text[], types text[], tiers text[], scopes text[], newest int, most int
) RETURNS TABLE (n int, id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
  IF NOT has_table_privilege(session_user, 'hm.fact', 'SELECT') OR asked <> ALL (hm.allowed_themes()) THEN
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
  IF NOT has_table_privilege(session_user, 'hm.turn', 'SELECT') OR asked <> ALL (hm.allowed_themes()) THEN
    RETURN;
  END IF;
  FOR n IN 1 .. cardinality(queries) LOOP
    RETURN QUERY SELECT n, w.id, w.bytes FROM (
      SELECT t.id, octet_length(t.content) AS bytes FROM hm.turn t
      WHERE t.words @@ queries[n]::tsquery AND t.theme = asked AND t.state = 0 LIMIT most
    ) w ORDER BY w.id DESC LIMIT newest;
  END LOOP;
END $$;
