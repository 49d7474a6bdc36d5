"""`python -m dpcore.cli` is `ldpflow`, where the script is not installed."""

from dpcore.cli import main

if __name__ == "__main__":
    main()
