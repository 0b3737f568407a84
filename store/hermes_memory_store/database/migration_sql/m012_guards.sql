-- at what calls of agents a person wants to be asked, with a fact as the reason

-- A guard a line: `ask run git push*`. Neither sent nor exported, and taken from nobody.
ALTER TABLE facts ADD COLUMN guards TEXT;

-- Read before each commit, to keep the copy for hooks as it should be.
CREATE INDEX facts_guarded ON facts (uid, guards) WHERE guards IS NOT NULL;
