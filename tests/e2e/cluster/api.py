# SPDX-License-Identifier: Apache-2.0
"""A client of the API server, small: paths in, JSON out."""
import http.client
import json
import ssl
import urllib.parse


class ApiError(Exception):
    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status = status


class Connection(http.client.HTTPSConnection):
    """On a socket that is opened by a function (address, port, timeout)."""

    def __init__(self, host, tls, timeout, open_socket):
        super().__init__(host, 443, context=tls, timeout=timeout)
        self.tls = tls
        self.open_socket = open_socket

    def connect(self):
        plain = self.open_socket(self.host, self.port, self.timeout)
        self.sock = self.tls.wrap_socket(plain, server_hostname=self.host)


class Api:
    """Thread-safe: each request has its own connection."""

    def __init__(self, layout, open_socket, token=None):
        """As the administrator, or as the owner of the token."""
        self.address = layout.place.node_address
        self.open_socket = open_socket
        self.tls = ssl.create_default_context(cafile=str(layout.certificate("ca")))
        self.authorization = {"Authorization": f"Bearer {token}"} if token else {}
        if not token:
            self.tls.load_cert_chain(layout.certificate("admin"), layout.key("admin"))

    def open(self, method, path, body=None, content_type="application/json", timeout=30):
        connection = Connection(self.address, self.tls, timeout, self.open_socket)
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        headers = {"Content-Type": content_type} if body is not None else {}
        connection.request(method, path, body, {**headers, **self.authorization})
        response = connection.getresponse()
        if response.status >= 300:
            text = response.read().decode(errors="replace")
            connection.close()
            raise ApiError(response.status, message_of(text))
        return connection, response

    def text(self, method, path, body=None, **options):
        connection, response = self.open(method, path, body, **options)
        try:
            return response.read().decode(errors="replace")
        finally:
            connection.close()

    def get(self, path, **query):
        if query:
            path += "?" + urllib.parse.urlencode(query)
        return json.loads(self.text("GET", path))

    def create(self, path, body):
        return json.loads(self.text("POST", path, body))

    def merge(self, path, body):
        return json.loads(self.text("PATCH", path, body,
                                    content_type="application/merge-patch+json"))

    def apply(self, path, body, **query):
        """Server-side."""
        query = urllib.parse.urlencode({"fieldManager": "story", "force": "true", **query})
        return json.loads(self.text("PATCH", f"{path}?{query}", body, content_type="application/apply-patch+yaml"))

    def delete(self, path, grace_seconds=1):
        """True if it was there. A pod that is deleted with a grace of 0 is forgotten
        before its containers have ended, and the kubelet gives their devices to the next."""
        try:
            self.text("DELETE", path, {"gracePeriodSeconds": grace_seconds})
        except ApiError as error:
            if error.status == 404:
                return False
            raise
        return True

    def watch(self, path, **query):
        """Yields (type, object) until the server ends it or the caller stops."""
        query = urllib.parse.urlencode({**query, "watch": "true"})
        connection, response = self.open("GET", f"{path}?{query}", timeout=None)
        try:
            for line in response:
                event = json.loads(line)
                yield event["type"], event["object"]
        finally:
            connection.close()


def message_of(text):
    try:
        return json.loads(text)["message"]
    except (ValueError, KeyError, TypeError):
        return text
