"""What the customer signs: a record of the offer alone, and the document that is written from it."""
