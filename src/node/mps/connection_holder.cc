// SPDX-License-Identifier: Apache-2.0
#include "node/mps/connection_holder.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "node/mps/process_table.h"
#include "node/mps/socket_peers.h"

namespace tranche::node {
namespace {

bool has_socket(pid_t pid, std::uint32_t inode) { return !sockets_among(pid, {inode}).empty(); }

// Processes that have one of the sockets, by its inode.
std::multimap<std::uint32_t, pid_t> owners_of(const std::set<std::uint32_t>& inodes) {
  std::multimap<std::uint32_t, pid_t> owners;
  for (const pid_t pid : processes_shown()) {
    for (const std::uint32_t inode : sockets_among(pid, inodes)) owners.emplace(inode, pid);
  }
  return owners;
}

// Whether the process that connected is of the pod that connected, even if its pid was reused: it
// is in the network namespace of the connection, and only its pod is.
bool is_of_connectors_pod(const SocketPeer& peer) {
  const std::optional<ProcessFacts> connector = facts_of(peer.connected_by);
  if (!connector || connector->pod.empty() || peer.network == 0) return false;
  if (network_of(peer.connected_by) != peer.network) return false;
  return std::ranges::none_of(processes_shown(), [&](pid_t pid) {
    if (network_of(pid) != peer.network) return false;
    const std::optional<ProcessFacts> other = facts_of(pid);
    return other && other->pod != connector->pod;
  });
}

// The daemon, its servers, the agent and its child processes.
bool is_ours(const ProcessFacts& process, pid_t daemon) {
  const pid_t self = ::getpid();
  return process.pid == daemon || process.parent == daemon || process.pid == self ||
         process.parent == self;
}

// Connections that the daemon may be waiting for: those that it reads from or writes to now, if
// /proc shows that, else all.
std::vector<SocketPeer> connections_of(const Process& daemon) {
  const std::optional<std::map<int, bool>> waited_for = descriptors_waited_for(daemon.pid());
  std::vector<int> descriptors;
  for (const auto& [descriptor, inode] : sockets_of(daemon.pid())) {
    if (!waited_for || waited_for->contains(descriptor)) descriptors.push_back(descriptor);
  }
  std::vector<SocketPeer> peers = peers_of(daemon, descriptors);
  std::erase_if(peers, [](const SocketPeer& one) { return one.inode == 0; });
  for (SocketPeer& one : peers) {
    one.is_unread =
        waited_for && waited_for->contains(one.descriptor) && waited_for->at(one.descriptor);
  }
  // Drops listening sockets, and ended connections that were never closed.
  if (!waited_for) std::erase_if(peers, [](const SocketPeer& one) { return one.peer == 0; });
  return peers;
}

std::vector<ProcessFacts> living_children(pid_t parent) {
  std::vector<ProcessFacts> children;
  for (const pid_t pid : processes_shown()) {
    const std::optional<ProcessFacts> facts = facts_of(pid);
    if (facts && facts->parent == parent && !facts->is_dead) children.push_back(*facts);
  }
  return children;
}

// The clients of a server: connections whose other end is neither the server's own nor the
// daemon's. Empty: unknown.
std::optional<unsigned> clients_of(const ProcessFacts& server, pid_t daemon) {
  const Process process = Process::of(server.pid);
  if (!shows_descriptors(server.pid)) return std::nullopt;
  std::vector<int> descriptors;
  for (const auto& [descriptor, inode] : sockets_of(server.pid)) descriptors.push_back(descriptor);
  std::set<std::uint32_t> ends;
  for (const SocketPeer& peer : peers_of(process, descriptors)) {
    if (!peer.is_known) return std::nullopt;
    if (peer.peer != 0) ends.insert(peer.peer);
  }
  const std::multimap<std::uint32_t, pid_t> owners = owners_of(ends);
  std::set<pid_t> clients;
  unsigned unseen = 0;
  for (const std::uint32_t end : ends) {
    const auto [first, last] = owners.equal_range(end);
    if (first == last) ++unseen;
    for (auto owner = first; owner != last; ++owner) {
      const std::optional<ProcessFacts> facts = facts_of(owner->second);
      if (facts && !is_ours(*facts, daemon)) clients.insert(facts->pid);
    }
  }
  // A connection without a visible process counts as one client.
  return static_cast<unsigned>(clients.size()) + unseen;
}

}  // namespace

std::string own_pod() {
  const std::optional<ProcessFacts> self = facts_of(::getpid());
  return self ? self->pod : "";
}

std::optional<HeldConnection> find_held_connection(const Process& daemon) {
  for (const SocketPeer& peer : connections_of(daemon)) {
    HeldConnection held{.inode = peer.inode,
                        .peer = peer.peer,
                        .connected_uid = peer.connected_uid,
                        .is_unread = peer.is_unread};
    // If the kernel does not report the other end, it still knows who connected.
    std::set<pid_t> pids;
    if (peer.peer != 0) {
      for (const auto& [inode, pid] : owners_of({peer.peer})) pids.insert(pid);
    } else if (peer.connected_by != 0) {
      pids.insert(peer.connected_by);
    }
    // In no table, as on its way by SCM_RIGHTS, or behind more descriptors than are looked at.
    if (pids.empty() && is_of_connectors_pod(peer)) pids.insert(peer.connected_by);
    bool is_own = false;
    for (const pid_t pid : pids) {
      const std::optional<ProcessFacts> facts = facts_of(pid);
      if (!facts) continue;
      is_own = is_own || is_ours(*facts, daemon.pid());
      held.holders.push_back(*facts);
    }
    // A client may pass its end to the server. If the creator is gone, treat it as the server's,
    // because closing the server's connection ends all clients.
    if (is_own && peer.connected_by != 0) {
      const std::optional<ProcessFacts> connector = facts_of(peer.connected_by);
      is_own = !connector || is_ours(*connector, daemon.pid());
    }
    if (!is_own) return held;
  }
  return std::nullopt;
}

Silence look_at_silent_daemon(const Process& daemon) {
  Silence silence;
  silence.held = find_held_connection(daemon);
  if (const std::optional<ProcessFacts> facts = facts_of(daemon.pid())) {
    silence.is_stopped = facts->is_stopped;
  }
  for (const ProcessFacts& server : living_children(daemon.pid())) {
    silence.has_server = true;
    const std::optional<unsigned> its = clients_of(server, daemon.pid());
    silence.clients =
        its && silence.clients ? std::optional(*silence.clients + *its) : std::nullopt;
  }
  return silence;
}

bool end_connection(const Process& daemon, const HeldConnection& held) {
  // If it is unknown what the daemon waits for, this might be a working client's connection.
  const std::optional<std::map<int, bool>> waited_for = descriptors_waited_for(daemon.pid());
  if (!waited_for) return false;
  return std::ranges::any_of(*waited_for, [&](const auto& one) {
    return shut_down_socket(daemon, one.first, held.inode);
  });
}

bool end_holder(const Process& daemon, const HeldConnection& held, const ProcessFacts& holder) {
  const Process process = Process::of(holder.pid);
  const std::optional<ProcessFacts> now = facts_of(holder.pid);
  // The kernel does not report a dead peer's inode; then the pid may belong to any process.
  if (held.peer == 0 || !now || now->start != holder.start || now->pod != holder.pod) return false;
  const bool has_it = has_socket(holder.pid, held.peer);
  const std::vector<SocketPeer> waited_for = connections_of(daemon);
  const bool still = std::ranges::any_of(waited_for, [&](const SocketPeer& peer) {
    return peer.inode == held.inode && peer.peer == held.peer &&
           (has_it || (peer.connected_by == holder.pid && is_of_connectors_pod(peer)));
  });
  if (!still) return false;
  process.kill();
  return true;
}

}  // namespace tranche::node
