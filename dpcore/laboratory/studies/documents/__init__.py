"""The tables and figures of the source documents, computed: one module a document, one function a table."""
