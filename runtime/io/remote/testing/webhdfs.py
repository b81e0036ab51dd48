"""A name node and its data node that speak WebHDFS, as Hadoop documents it, over files in memory: a WSGI application. It takes
requests of USER and those with the delegation token TOKEN. A second address stands in for the first, and says so.
"""
import json
import posixpath
from urllib.parse import parse_qs, quote, unquote

USER, TOKEN = "tester", "token of tester"


class Failure(Exception):
    def __init__(self, status, exception, message):
        super().__init__(message)
        self.status, self.exception = status, exception


class WebHdfs:
    def __init__(self):
        self.files, self.folders = {}, {"/"}
        self.broken_appends = 0  # how many appends are taken without an answer that says so

    def __call__(self, environ, start_response):
        path = unquote(environ["RAW_URI"].partition("?")[0])
        query = {name: values[0] for name, values in parse_qs(environ["QUERY_STRING"], keep_blank_values=True).items()}
        status, headers, body = "200 OK", [("content-type", "application/json")], b""
        try:
            if path.startswith("/standby"):
                raise Failure("403 Forbidden", "StandbyException", "Operation category READ is not supported in state standby")
            if path.startswith("/webhdfs/v1"):
                if query.get("user.name") != USER and query.get("delegation") != TOKEN:
                    raise Failure("401 Unauthorized", "SecurityException", "Authentication required")
                status, more, answer = self.name_node(environ, path.removeprefix("/webhdfs/v1") or "/", query)
                headers += more
                body = b"" if answer is None else json.dumps(answer).encode()
            else:
                status, body = self.data_node(environ, path.removeprefix("/data"), query)
        except Failure as failure:
            status = failure.status
            body = json.dumps({"RemoteException": {"exception": failure.exception, "message": str(failure)}}).encode()
        start_response(status, headers)
        return [body]

    def status_of(self, path):
        if path in self.files:
            return {"pathSuffix": "", "type": "FILE", "length": len(self.files[path])}
        if path in self.folders:
            return {"pathSuffix": "", "type": "DIRECTORY", "length": 0}
        raise Failure("404 Not Found", "FileNotFoundException", "File does not exist: " + path)

    def make_folders(self, path):
        while path not in self.folders:
            self.folders.add(path)
            path = posixpath.dirname(path)

    def inside(self, folder):
        prefix = folder.rstrip("/") + "/"
        return [p for p in (*self.files, *self.folders) if p != "/" and p.startswith(prefix) and "/" not in p[len(prefix):]]

    def name_node(self, environ, path, query):
        method, op = environ["REQUEST_METHOD"], query["op"]
        path = path.rstrip("/") or "/"
        if (method, op) in (("GET", "OPEN"), ("POST", "APPEND"), ("PUT", "CREATE")):
            if op != "CREATE":
                self.status_of(path)
            where = "http://%s/data%s?%s" % (environ["HTTP_HOST"], quote(path), environ["QUERY_STRING"])
            return "307 Temporary Redirect", [("location", where)], None
        if (method, op) == ("GET", "GETFILESTATUS"):
            return "200 OK", [], {"FileStatus": self.status_of(path)}
        if (method, op) == ("GET", "LISTSTATUS"):
            here = self.status_of(path)
            below = [dict(self.status_of(p), pathSuffix=posixpath.basename(p)) for p in self.inside(path)]
            return "200 OK", [], {"FileStatuses": {"FileStatus": [here] if here["type"] == "FILE" else below}}
        if (method, op) == ("PUT", "MKDIRS"):
            self.make_folders(path)
            return "200 OK", [], {"boolean": True}
        if (method, op) == ("PUT", "RENAME"):
            self.status_of(path)
            to = query["destination"]
            if to in self.files and query.get("renameoptions") != "OVERWRITE":
                return "200 OK", [], {"boolean": False}
            self.files[to] = self.files.pop(path)
            return "200 OK", [], None  # so with options
        if (method, op) == ("DELETE", "DELETE"):
            if path in self.folders and self.inside(path):
                raise Failure("403 Forbidden", "PathIsNotEmptyDirectoryException", path + " is non empty")
            found = self.files.pop(path, None) is not None or path in self.folders
            self.folders.discard(path)
            return "200 OK", [], {"boolean": found}
        raise Failure("400 Bad Request", "IllegalArgumentException", "Invalid value for webhdfs parameter \"op\": " + op)

    def data_node(self, environ, path, query):
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        if query["op"] == "OPEN":
            begin = int(query["offset"])
            return "200 OK", bytes(self.files[path][begin:begin + int(query["length"])])
        if query["op"] == "CREATE":
            self.make_folders(posixpath.dirname(path))
            self.files[path] = bytearray(body)
            return "201 Created", b""
        self.files[path] += body
        if path.endswith("taken-without-a-word"):
            self.broken_appends += 1
            if self.broken_appends == 1:
                return "503 Service Unavailable", b""
        return "200 OK", b""
