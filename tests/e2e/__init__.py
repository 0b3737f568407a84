"""Both faces and many processes on one real store."""
