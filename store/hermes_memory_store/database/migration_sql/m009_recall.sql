-- what sessions did with the facts they were given, what search knows of words

-- What sessions did with what they were given.
--
-- How often a session was given a fact, and how often what was said or done after it touched the fact. Beside `reads`,
-- which counts every answer: what was given and never used is worth less at the next start.
    CREATE TABLE fact_uses (
      fact_id INTEGER PRIMARY KEY,
      given INTEGER NOT NULL DEFAULT 0,
      used INTEGER NOT NULL DEFAULT 0,
      last_used_at INTEGER
    ) STRICT
    ;

CREATE TRIGGER fact_uses_gone AFTER DELETE ON facts BEGIN DELETE FROM fact_uses WHERE fact_id = old.id; END;

-- Why each fact of a context record was given, and what was left out, as JSON; null where nothing was ranked.
ALTER TABLE injections ADD COLUMN reasons TEXT;

-- The vocabularies of the full-text indexes, in which a search looks for longer words, other forms and what was mistyped.
-- They read the index itself: nothing has to be kept with each write, and nothing of what is purged remains in them.
--
-- By `row` instead of `instance`: the terms of a range are read at a tenth of the cost, where before each was sought.
DROP TABLE IF EXISTS facts_words;

CREATE VIRTUAL TABLE facts_words USING fts5vocab (facts_text, row);

CREATE VIRTUAL TABLE turns_words USING fts5vocab (turns_text, row);
