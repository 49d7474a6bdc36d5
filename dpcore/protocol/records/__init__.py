"""Records in memory: columns, blocks of clients, and their privatization.

Modules:
    arrow_columns: Arrow columns without an import of pyarrow
    blocks: clients in blocks of 65,536, each with its own random stream
    category_names: the category of every record of a column
    chosen_options: the set of options of every record of a column
    fixed_width_text: fixed-width texts compared as code points
    privatization: the reports of many clients, block by block
    texts: open answers as padded symbols
"""
