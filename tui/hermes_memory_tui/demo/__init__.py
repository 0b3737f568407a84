"""The demo: a temporary memory, a bridge, and simulated agents that use it.

`demo_day.py` is the demo data of one day, `demo_home.py` a whole home folder around it, `simulated_agent.py`
one simulated agent (a process of its own that imports the standard library only), `demo_environment.py`
starts and stops them all.
"""
