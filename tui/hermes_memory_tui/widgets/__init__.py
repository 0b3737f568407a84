"""The parts of the inspector's screens. They are handed data, post messages, and know neither SQL nor the store."""
