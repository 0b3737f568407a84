-- what facts cite, by which they are checked before they are given

-- Citations as JSON, see places/citations.py. They stay on this machine.
ALTER TABLE facts ADD COLUMN cites TEXT;
