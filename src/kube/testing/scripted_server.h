// SPDX-License-Identifier: Apache-2.0
//
// A TLS server that answers as a test says, byte by byte: what no real API server does on request.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kube/access.h"
#include "kube/testing/certificates.h"

namespace tranche::kube {

// One request as it came.
struct SeenRequest {
  std::string line;  // "GET /api/v1/nodes HTTP/1.1"
  std::string headers;
  std::string body;
  int connection = 0;  // from 1

  std::string header(const std::string& name) const;
};

struct ScriptedAnswer {
  std::string bytes;
  // Gives further bytes, and none at the end; may wait for them. Not set: there are no more.
  std::function<std::string()> more;
  bool closes = false;  // the connection, behind the bytes
  bool hangs = false;   // nothing more comes, and the connection stays
};
// An answer with Content-Length.
ScriptedAnswer answer(unsigned status, const std::string& body, const std::string& headers = "");

class ScriptedServer {
 public:
  using Script = std::function<ScriptedAnswer(const SeenRequest&)>;

  // `names` of its certificate.
  explicit ScriptedServer(Script script, const std::string& names = "IP:127.0.0.1");
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  // How to reach it, without credentials.
  Access access() const;
  std::vector<SeenRequest> seen() const;
  // Waits until so many connections were closed by the script.
  void until_closed(std::size_t count) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tranche::kube
