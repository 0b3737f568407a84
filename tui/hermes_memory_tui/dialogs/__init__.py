"""Dialogs that ask one question each: a line of text, yes or no, one of many."""
