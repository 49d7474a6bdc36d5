"""Records in memory: columns, blocks of clients, and their privatization.

Modules:
    arrow_columns: Arrow columns without an import of pyarrow
    blocks: clients in blocks of 65,536, each with its own random stream, and their reports
    category_names: the category of every record of a column; numbers in texts
    texts: open answers as padded symbols
"""
