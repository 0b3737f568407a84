"""The bridge: the process that agents talk to. It serves the store over MCP.

May import the store and the themes, never the screen. The tools themselves know nothing of MCP: `server.py` is the one
module that imports the SDK. Read `tools/__init__.py` for what an agent can do, `connection.py` for whose memory it is.
"""

__version__ = "0.1.0"
