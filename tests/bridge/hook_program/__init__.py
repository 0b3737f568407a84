"""Tests of the program that hosts run at each event."""
