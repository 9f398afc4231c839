// SPDX-License-Identifier: Apache-2.0
//
// The objects of the API server's stand-in: one Node, as large as that of a node that has been in
// use, and its GpuNode. What is applied is added or replaced; nothing is removed. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace tranche::bench {

class ApiObjects {
 public:
  explicit ApiObjects(const std::string& node);

  // The object that a write leaves, as the server answers it. Empty: no such write is known.
  std::optional<nlohmann::json> write(const std::string& verb, const std::string& path,
                                      const nlohmann::json& body);
  // The kubelet writes the Node's status, as it does every five minutes.
  void refresh_node();

  const nlohmann::json& node() const { return node_; }
  int node_version() const { return version_; }
  // In the status of the GpuNode.
  std::size_t holders() const;
  // Whether labels and a condition were added to the Node.
  bool is_node_written() const;

 private:
  void set_version(int version);
  void write_node(const nlohmann::json& applied);
  void write_conditions(const nlohmann::json& applied);

  int version_ = 0;
  std::size_t first_labels_ = 0;
  std::size_t first_conditions_ = 0;
  nlohmann::json node_;
  nlohmann::json gpu_node_;
};

}  // namespace tranche::bench
