"""What serves calls at run time, whatever the transport: store worker, connection registry, call dispatch, call log, metrics.

May import tools, toolkit, embedding and trust. Read `call_dispatch.py` first.
"""
