"""What every tool is made of: `Connection` (whose memory, which rights), arguments, results, `ToolSpec`, the fence.

Knows no MCP and no event loop. May import trust and `embedding.query_vector`. Read `connection.py` first.
"""
