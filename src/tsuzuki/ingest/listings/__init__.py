"""What a full listing of a source says of the releases that are stored."""
