"""The demo: a temporary memory, a bridge, and simulated agents that use it.

`demo_day.py` is the data of one day, `demo_home.py` a home folder around it; `simulated_agent.py` is one agent, a process
of its own that imports the standard library only, and `demo_jobs.py` its work. Imports the store, the bridge, `app` and `system`;
`cli` imports it. Read `demo_environment.py` first: it starts and stops them all.
"""
