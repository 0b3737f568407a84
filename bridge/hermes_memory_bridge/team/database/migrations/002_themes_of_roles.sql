-- Roles that may see some themes only. A role without a row here sees all of them.
CREATE TABLE hm.member (
  role   name PRIMARY KEY,
  themes text[] NOT NULL
);

-- The subqueries stand alone, so that they are run once a statement and not once a row.
ALTER TABLE hm.clock ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_themes ON hm.clock USING (
  NOT EXISTS (SELECT 1 FROM hm.member WHERE role = current_user)
  OR theme = ANY (ARRAY(SELECT unnest(themes) FROM hm.member WHERE role = current_user))
);
ALTER TABLE hm.mark ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_themes ON hm.mark USING (
  NOT EXISTS (SELECT 1 FROM hm.member WHERE role = current_user)
  OR theme = ANY (ARRAY(SELECT unnest(themes) FROM hm.member WHERE role = current_user))
);
ALTER TABLE hm.fact ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_themes ON hm.fact USING (
  NOT EXISTS (SELECT 1 FROM hm.member WHERE role = current_user)
  OR theme = ANY (ARRAY(SELECT unnest(themes) FROM hm.member WHERE role = current_user))
);
