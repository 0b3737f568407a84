"""What the bridge does when a host's hook reports an event: sessions and windows of hosts, what is given, what is captured.

May import runtime, tools, recall, toolkit, the hook program's event and the store. Read `hook_service.py` first.
"""
