"""One driver for each host: what it needs to run without an account, and how it is asked, resumed and made to compact."""
