"""The widgets of the inspector's screens. They receive data, post messages, and know neither SQL nor the store."""
