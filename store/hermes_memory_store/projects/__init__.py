"""Projects: what folders belong together, recognised by remote URL, root commit or path, read without any process.

May import rows and what is below. Read `projects.py` first.
"""
