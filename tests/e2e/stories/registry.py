# SPDX-License-Identifier: Apache-2.0
"""A registry for images on the node: the one that most are made of."""
import json

from cluster.cluster import built_programs
from cluster.layout import OUTER

from .agent import PluginProcess

PORT = 15001
# As other machines call it, and as only the node itself does.
ADDRESS = f"{OUTER.node_address}:{PORT}"
LOCAL_ADDRESS = f"127.0.0.1:{PORT}"
BY_PLAIN_HTTP = f"""server = "http://{ADDRESS}"
[host."http://{ADDRESS}"]
capabilities = ["pull", "resolve"]
"""


class Registry(PluginProcess):
    """Empty. By plain HTTP, unless it is given a certificate. Its log has a line for each request."""

    def __init__(self, cluster, certificate="", password=False):
        self.folder = cluster.layout.state / "registry"
        self.folder.mkdir(exist_ok=True)
        configuration = self.folder / "config.json"
        configuration.write_text(json.dumps(self.settings(cluster.layout, certificate, password)))
        program = built_programs(("registry",))["registry"] + "/registry"
        super().__init__(cluster, program, ["serve", str(configuration)],
                         {"OTEL_TRACES_EXPORTER": "none"}, "registry")

    def settings(self, layout, certificate, password):
        http = {"addr": f":{PORT}"}
        if certificate:
            http["tls"] = {"certificate": str(layout.certificate(certificate)),
                           "key": str(layout.key(certificate))}
        settings = {"version": "0.1", "http": http, "storage": {"inmemory": {}}}
        if password:  # which it makes up
            settings["auth"] = {"htpasswd": {"realm": "e2e", "path": str(self.folder / "passwords")}}
        return settings

    def start(self):
        super().start()
        self.cluster.until_answers(OUTER.node_address, PORT, "the registry")
        return self

    def tell_node(self, text=BY_PLAIN_HTTP):
        """containerd looks into this folder when it fetches something."""
        folder = self.cluster.layout.registries / ADDRESS
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "hosts.toml").write_text(text)

    def requests(self, agent):
        """'METHOD PATH' of those that a program of this name has made, and that were served."""
        found = []
        for line in self.log().splitlines():
            parts = line.split('"')  # address, request, status and size, referrer, program
            if len(parts) > 5 and parts[5].startswith(agent) and parts[2].split()[0] == "200":
                found.append(parts[1].rpartition(" ")[0])
        return found
