-- Where facts and turns came from, beside what versions are compared by. It only adds: a program that does not know these columns
-- reads and writes the others as before, so that this migration is recorded where such a program does not look.
ALTER TABLE hm.fact ADD COLUMN IF NOT EXISTS origin jsonb, ADD COLUMN IF NOT EXISTS pushed_by text;
ALTER TABLE hm.turn ADD COLUMN IF NOT EXISTS origin jsonb, ADD COLUMN IF NOT EXISTS pushed_by text;
ALTER TABLE hm.stage ADD COLUMN IF NOT EXISTS origin jsonb;

-- Who brought a row: the role, which the server knows, and the beginning of the store's name, which the store tells.
CREATE OR REPLACE FUNCTION hm.note_pusher() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.state = 2 THEN
    NEW.origin := NULL;
    NEW.pushed_by := NULL;
  ELSE
    NEW.pushed_by := current_user || '/' || left(NEW.node::text, 8);
  END IF;
  RETURN NEW;
END $$;

-- The first origin stands, whatever is pushed later; erasing a row erases it, also when a program does so that does not know it.
CREATE OR REPLACE FUNCTION hm.keep_origin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.state = 2 THEN
    NEW.origin := NULL;
    NEW.pushed_by := NULL;
  ELSE
    NEW.origin := coalesce(OLD.origin, NEW.origin);
    NEW.pushed_by := OLD.pushed_by;
  END IF;
  RETURN NEW;
END $$;

DROP TRIGGER IF EXISTS pusher_of_row ON hm.fact;
DROP TRIGGER IF EXISTS origin_of_row ON hm.fact;
DROP TRIGGER IF EXISTS pusher_of_row ON hm.turn;
DROP TRIGGER IF EXISTS origin_of_row ON hm.turn;
CREATE TRIGGER pusher_of_row BEFORE INSERT ON hm.fact FOR EACH ROW EXECUTE FUNCTION hm.note_pusher();
CREATE TRIGGER pusher_of_row BEFORE INSERT ON hm.turn FOR EACH ROW EXECUTE FUNCTION hm.note_pusher();
CREATE TRIGGER origin_of_row BEFORE UPDATE ON hm.fact FOR EACH ROW
  WHEN (NEW.origin IS DISTINCT FROM OLD.origin OR NEW.pushed_by IS DISTINCT FROM OLD.pushed_by
        OR NEW.state = 2 AND (OLD.origin IS NOT NULL OR OLD.pushed_by IS NOT NULL))
  EXECUTE FUNCTION hm.keep_origin();
CREATE TRIGGER origin_of_row BEFORE UPDATE ON hm.turn FOR EACH ROW
  WHEN (NEW.origin IS DISTINCT FROM OLD.origin OR NEW.pushed_by IS DISTINCT FROM OLD.pushed_by
        OR NEW.state = 2 AND (OLD.origin IS NOT NULL OR OLD.pushed_by IS NOT NULL))
  EXECUTE FUNCTION hm.keep_origin();
