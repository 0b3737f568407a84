"""The released hosts themselves, against a stand-in model: what stood in the model's requests is what counts."""
