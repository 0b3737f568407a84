"""What a host can read besides calling tools: resources, prompts, completions, notifications. Knows no MCP."""
