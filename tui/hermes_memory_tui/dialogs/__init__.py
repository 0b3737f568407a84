"""Small screens that ask one thing: a line of text, yes or no, one of many."""
