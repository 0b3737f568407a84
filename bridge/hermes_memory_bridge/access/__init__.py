"""Access control: tokens, the gate in front of HTTP, and limits."""
