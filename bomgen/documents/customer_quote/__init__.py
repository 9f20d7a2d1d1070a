"""The customer quote: a record with the offer only, and the document written from it."""
