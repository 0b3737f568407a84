"""Measurements against the budgets of the product, each in the same run as its floor."""
