"""What a host can read besides calling tools: resources, prompts, completions, changes. Knows no MCP.

May import toolkit. Read `resources.py` first.
"""
