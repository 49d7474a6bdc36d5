"""Records in memory: columns, blocks of clients, and their privatization."""
