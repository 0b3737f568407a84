"""Who may connect, and what they may do: tokens, the gate before HTTP, and limits."""
