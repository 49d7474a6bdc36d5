"""The text of a scheme: its keys, how they are read, and the canonical form.

Modules:
    attribute_table: every kind of attribute, and its table, read and written
    attribute_types: attribute types defined by another, such as boolean
    canonical: the text of a scheme, read and written, and TOML in one spelling
    fields: numbers and names in schemes and messages
    json_schema: the JSON schema of scheme files
    keys: every key of a scheme: type, range, default and description
    mechanism_design: the design of an attribute's mechanism, and the choice if none is named
"""
