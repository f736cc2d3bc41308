"""What notebooks use to show things: claims, figures, tables, published numbers, provenance."""
