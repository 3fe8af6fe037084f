"""Code that the scenarios share: servers under test, load, figures, tables and charts."""
