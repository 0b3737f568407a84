"""MCP over lines and HTTP; the only package that imports the SDK.

May import access, runtime, tools, toolkit, surface and wire. Read `mcp_server.py` first.
"""
