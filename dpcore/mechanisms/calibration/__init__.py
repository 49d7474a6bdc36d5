"""What keeps a promise and at what price: integer tables, exact sensitivities, allocations and level laws."""
