"""The Google Reader API, as FreshRSS answers it: for apps that ask for its address, or append `api/greader.php`."""
