"""What a host is answered by the shim, with and without a bridge."""
