"""The inspector in a browser: `--serve`, through textual-serve.

A terminal in a page can do everything that its owner can, so access is restricted to the owner: the server
listens on the loopback interface and requires the key in the printed address. Other users of the machine do
not have the key, nor do pages of other sites, whose requests are also rejected by origin.
"""

from __future__ import annotations

import contextlib
import errno
import secrets
import shlex
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_memory_store.errors import ArgumentError, StoreNeedsUpgrade
from hermes_memory_store.installation import to_install_command
from hermes_memory_store.store import Store, is_store_missing
from hermes_memory_store.system.own_process import to_isolated_environment

if TYPE_CHECKING:
    from aiohttp import web
    from aiohttp.typedefs import Handler, Middleware

HOST = "127.0.0.1"
"""Not `localhost`, which may be another machine's by the time a browser asks."""

PORT = 7681

LEAVE_S = 2.0
"""How long open pages may take to end when the server ends."""

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'self' 'unsafe-inline' data: blob:; connect-src 'self' ws://{address}; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Nothing is loaded from elsewhere, nothing shows us in a frame, and nobody is told the address."""


def serve_inspector(path: Path, theme: str | None, read_only: bool, port: int) -> int:
    """Serve the inspector of a memory until ctrl+c, and return the exit code.

    :param port: on the loopback interface; 0 for any free one
    :raises ArgumentError: textual-serve is not installed, or the port is taken
    :raises StoreError: the memory cannot be opened
    """
    try:
        from aiohttp import web
    except ImportError:
        raise ArgumentError(
            f"--serve needs textual-serve, which is not installed: {to_install_command('serve')}", "serve"
        ) from None
    check_store_opens(path, read_only)
    with bind_loopback(port) as place:
        address = f"{HOST}:{place.getsockname()[1]}"
        key = secrets.token_urlsafe(24)
        app = make_web_application(page_command(path, theme, read_only), address, key)
        print(f"the inspector of {path} is at http://{address}/?key={key}\nCtrl-C ends it", flush=True)
        web.run_app(app, sock=place, print=None, access_log=None, shutdown_timeout=LEAVE_S)
    return 0


def check_store_opens(path: Path, read_only: bool) -> None:
    """Open a memory once, so that an error is reported here and not in a page. :raises StoreError:"""
    if read_only or not is_store_missing(path):
        with contextlib.suppress(StoreNeedsUpgrade):  # the inspector asks about that
            Store.open(path, read_only=True).close()


def page_command(path: Path, theme: str | None, read_only: bool) -> str:
    """Return the shell command of one page; it replaces the shell, and imports nothing from the current folder."""
    path_entries = to_isolated_environment().get("PYTHONPATH", "")
    words = [sys.executable, "-P", "-m", "hermes_memory_tui", "--db", str(path.absolute())]
    words += ["--theme", theme] if theme is not None else []
    words += ["--read-only"] if read_only else []
    return f"export PYTHONPATH={shlex.quote(path_entries)}; exec {shlex.join(words)}"


def bind_loopback(port: int) -> socket.socket:
    """Bind a socket on the loopback interface. :raises ArgumentError:"""
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        reason = "is taken" if error.errno == errno.EADDRINUSE else "may not be used"
        raise ArgumentError(f"port {port} {reason}; choose another with --port", port) from None


def make_web_application(shell: str, address: str, key: str) -> web.Application:
    """Return the web application: textual-serve's page and terminal, behind the key."""
    import aiohttp_jinja2
    import jinja2
    from aiohttp import web
    from textual_serve.server import Server

    server = Server(shell, title="hermes-memory-tui", public_url=f"http://{address}")
    app = web.Application(middlewares=[web.middleware(require_key(address, key))])
    aiohttp_jinja2.setup(app, loader=jinja2.FileSystemLoader(server.templates_path))
    app.add_routes(
        [
            web.get("/", server.handle_index, name="index"),
            web.get("/ws", server.handle_websocket, name="websocket"),
            web.get("/download/{key}", server.handle_download, name="download"),
            web.static("/static", server.statics_path, name="static"),
        ]
    )
    return app


def require_key(address: str, key: str) -> Middleware:
    """Return middleware that admits requests with the key, and later ones with the cookie issued for it."""
    from aiohttp import web

    cookie = f"hermes-memory-{address.rpartition(':')[2]}"  # cookies know no ports
    headers = {name: value.format(address=address) for name, value in HEADERS.items()}

    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        origin = request.headers.get("Origin")
        if request.host != address or origin not in (None, f"http://{address}"):
            return web.Response(status=403, text="refused: this is for pages of its own address only\n")
        query_key = request.query.get("key")
        if request.path == "/" and query_key is not None and is_key(query_key, key):
            # The key leaves the address line, and with it the history.
            redirect = web.Response(status=303, headers=headers | {"Location": "/"})
            redirect.set_cookie(cookie, key, httponly=True, samesite="Lax")
            return redirect
        if not is_key(request.cookies.get(cookie, ""), key):
            return web.Response(status=403, text="refused: open the address that hermes-memory-tui --serve printed\n")
        response = await handler(request)
        if not response.prepared:
            response.headers.update(headers)
        return response

    return guarded


def is_key(value: str, key: str) -> bool:
    """Compare a value with the key in constant time."""
    return secrets.compare_digest(value.encode(errors="replace"), key.encode())
