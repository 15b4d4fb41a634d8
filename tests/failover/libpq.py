"""A connection to PostgreSQL through the C library libpq, which every installation of psql has."""

import ctypes

COMMAND_OK, TUPLES_OK = 1, 2
CONNECTION_OK = 0
TRANSACTION_IDLE = 0

# The type of a function that receives warnings. Its arguments are the pointer that was registered together with the
# function, and a result.
RECEIVER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
SQLSTATE = ord("C")


def _library():
    pq = ctypes.CDLL("libpq.so.5")
    for name in ("PQconnectdb", "PQexecParams"):
        getattr(pq, name).restype = ctypes.c_void_p
    for name in ("PQerrorMessage", "PQresultErrorField", "PQgetvalue", "PQcmdTuples"):
        getattr(pq, name).restype = ctypes.c_char_p
    return pq


PQ = _library()


class Broken(Exception):
    """The connection is lost, or there is none. The outcome of the last statement is unknown."""


class Refused(Exception):
    """The server refused the statement. `state` is the SQLSTATE."""

    def __init__(self, state, text):
        super().__init__(text)
        self.state = state


class Connection:
    def __init__(self, url):
        self.is_warned = False
        # The library holds a pointer to the function, so the function must live as long as the connection.
        self.receiver = RECEIVER(self._warn)
        self.handle = ctypes.c_void_p(PQ.PQconnectdb(url.encode()))
        if PQ.PQstatus(self.handle) != CONNECTION_OK:
            raise Broken(self._close())
        PQ.PQsetNoticeReceiver(self.handle, self.receiver, None)

    def _warn(self, _, _result):
        self.is_warned = True

    def _close(self):
        text = PQ.PQerrorMessage(self.handle).decode("utf-8", "replace").strip()
        PQ.PQfinish(self.handle)
        self.handle = None
        return text

    def close(self):
        if self.handle is not None:
            self._close()

    def run(self, statement, *values):
        """Runs a statement. Returns its rows as lists of texts, or the number of changed rows."""
        if self.handle is None:
            raise Broken("the connection is closed")
        self.is_warned = False
        texts = (ctypes.c_char_p * len(values))(*[str(value).encode() for value in values])
        result = ctypes.c_void_p(PQ.PQexecParams(self.handle, statement.encode(), len(values), None, texts, None, None, 0))
        try:
            return self._outcome(result)
        finally:
            PQ.PQclear(result)

    def _outcome(self, result):
        status = PQ.PQresultStatus(result)
        if status == TUPLES_OK:
            columns = range(PQ.PQnfields(result))
            return [[PQ.PQgetvalue(result, row, column).decode() for column in columns] for row in range(PQ.PQntuples(result))]
        if status == COMMAND_OK:
            return int(PQ.PQcmdTuples(result) or 0)
        state = (PQ.PQresultErrorField(result, SQLSTATE) or b"").decode()
        if PQ.PQstatus(self.handle) != CONNECTION_OK or not state:
            raise Broken(self._close())
        raise Refused(state, PQ.PQerrorMessage(self.handle).decode("utf-8", "replace").strip())
