"""Show one subject each, reached by its digit; all are built on `BaseView`.

Imports `screens` and the packages below it. A view is imported when it is first opened, and opens another one by a
message or through the protocol `InspectorApp`. Read `base_view.py` first, then `model/view_catalog.py`.
"""
