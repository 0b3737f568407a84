"""What a host can read besides calling tools: resources, prompts, completions, and word of every change. Knows no MCP."""
