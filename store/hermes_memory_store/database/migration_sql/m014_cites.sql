-- what facts cite, by which they are checked before they are given

-- Citations as JSON, see places/citations.py. They travel with the fact.
ALTER TABLE facts ADD COLUMN cites TEXT;
