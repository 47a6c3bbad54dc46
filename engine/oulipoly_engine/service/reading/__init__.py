"""Reading sessions: pages, documents and exports."""
