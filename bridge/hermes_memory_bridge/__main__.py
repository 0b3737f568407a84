"""`hermes-memory-bridge`: what an MCP host's configuration names. Serves MCP over stdio until its host goes away."""

from __future__ import annotations

import argparse
import logging
import sys

from hermes_memory_bridge import __version__
from hermes_memory_store.errors import StoreError
from hermes_memory_themes import ThemeError


def main(args: list[str] | None = None) -> None:
    """Entry point of the console script. Exit codes: 0, 1 (the memory cannot be served), 2 (usage)."""
    options = parser().parse_args(args)
    logging.basicConfig(
        stream=sys.stderr, level=options.log_level.upper(), format="%(levelname)s %(name)s: %(message)s"
    )
    try:
        sys.exit(serve_stdio(options))
    except (StoreError, ThemeError) as error:
        sys.exit(f"hermes-memory-bridge: {error.message}")


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(
        prog="hermes-memory-bridge",
        description="Serve the memory to an agent over MCP on standard input and output.",
        epilog='Name it in your MCP host: {"mcpServers": {"hermes-memory": {"command": "hermes-memory-bridge"}}}',
    )
    made.add_argument("--db", metavar="FILE", help="the store ($HERMES_MEMORY_DB, else ~/.hermes/memory.db)")
    made.add_argument(
        "--theme", metavar="NAME", help="whose memory ($HERMES_MEMORY_THEME, else the profile, else default)"
    )
    made.add_argument("--profile", metavar="NAME", help="the host's profile, used as theme when no other is named")
    made.add_argument("--log-level", choices=["debug", "info", "warning", "error"], default="warning")
    made.add_argument("--version", action="version", version=f"hermes-memory-bridge {__version__}")
    return made


def serve_stdio(options: argparse.Namespace) -> int:
    """Serve until the host closes the pipe or a signal comes."""
    import asyncio

    from hermes_memory_bridge.connection import Connection
    from hermes_memory_bridge.server import make_server
    from hermes_memory_bridge.stdio import serve
    from hermes_memory_themes import resolve_theme

    theme = resolve_theme(flag=options.theme, profile=options.profile)
    with Connection.open(options.db, theme) as connection:
        asyncio.run(serve(make_server(connection), connection))
    return 0


if __name__ == "__main__":
    main()
