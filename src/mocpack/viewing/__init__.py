"""What `mocpack view` shows and how: a page, a local server for it, files and pictures of it."""
