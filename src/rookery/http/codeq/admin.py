"""Looking at the queues as an admin."""

from rookery.http.codeq.call import Route

ROUTES: list[Route] = []
