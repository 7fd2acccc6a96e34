// The page from the server: what it shows is what the same page shows from a file, and no request fails.
