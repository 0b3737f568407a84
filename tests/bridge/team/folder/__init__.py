"""The exchange through a shared folder."""
