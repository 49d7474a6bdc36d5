"""What a user would pick today, written to the papers and tuned as they say."""
