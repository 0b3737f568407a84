"""Tests of what the store knows of agent hosts."""
