"""The page of `mocpack view`, its local server, and its export as file, picture or video."""
