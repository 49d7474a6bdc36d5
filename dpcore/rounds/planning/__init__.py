"""What a scheme will give before anyone reports: the expected error, and the clients or the epsilon that an error needs."""
