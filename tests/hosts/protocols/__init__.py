"""What a stand-in model must read and write to pass for one: the protocols of four vendors, one file each."""
