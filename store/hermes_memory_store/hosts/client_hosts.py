"""Hosts and the names by which their MCP clients call themselves."""

from __future__ import annotations

CLIENT_NAMES: dict[str, tuple[str, ...]] = {
    "claude-code": ("claude-code",),
    "codex": ("codex-mcp-client", "codex"),
    "gemini": ("gemini-cli-mcp-client", "gemini-cli"),
    "copilot": ("copilot-cli", "github-copilot-developer", "copilot"),
    "qwen": ("qwen-cli-mcp-client", "qwen-code"),
    "vscode": ("visual studio code", "visual studio code - insiders", "vscode"),
    "droid": ("factory-cli", "droid"),
    "opencode": ("opencode",),
    "cline": ("cline",),
    "cursor": ("cursor-vscode", "cursor"),
    "goose": ("goose", "goose-cli", "goose-desktop"),
}
"""The names in `clientInfo`, in lower case, of the hosts whose hooks are heard."""


def find_client_host(client: str) -> str | None:
    """Return the host whose MCP client calls itself so; some add what they are connected for. None for others."""
    name = client.lower()
    for host, names in CLIENT_NAMES.items():
        if name in names or any(name.startswith(host_name + "-for-") for host_name in names):
            return host
    return None


def to_client_name(host: str) -> str:
    """Return what a host's MCP client calls itself, by which its sessions are called, too."""
    return CLIENT_NAMES.get(host, (host,))[0]
