// SPDX-License-Identifier: Apache-2.0
//
// How the stand-ins of MPS talk among themselves: one packet each way over the
// pipe folder's `control` socket. The real ones' words are not known and do not
// matter; the files, the answers and who waits for whom are the real ones'.
//   "ui COMMAND"  -> the answer's text
//   "client"      -> CUDA's error code; the connection is the client's life
//   "server"      -> clients' connections, later "shutdown"; the connection is the server's life
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "os/unique_fd.h"

namespace tranche::testbed::mps_standin {

inline sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  return address;
}

inline UniqueFd connect_to(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of(path);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    fd.reset();
  }
  return fd;
}

inline bool say(int fd, std::string_view text) {
  return ::send(fd, text.data(), text.size(), MSG_NOSIGNAL) >= 0;
}

// The next packet; "\n" stands for an end of the connection, which no packet is.
inline std::string hear(int fd) {
  std::array<char, 8192> buffer{};
  const ssize_t count = ::recv(fd, buffer.data(), buffer.size(), 0);
  return count <= 0 ? "\n" : std::string(buffer.data(), static_cast<std::size_t>(count));
}

// Hands a copy of the descriptor over.
inline void hand_over(int fd, int descriptor) {
  char word[] = "take";
  iovec part{word, sizeof(word)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> space{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = space.size();
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(head), &descriptor, sizeof(int));
  ::sendmsg(fd, &message, MSG_NOSIGNAL);
}

// The next packet, as hear() has it, and a descriptor that came with it.
inline std::string hear(int fd, UniqueFd& descriptor) {
  std::array<char, 8192> buffer{};
  iovec part{buffer.data(), buffer.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> space{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = space.size();
  const ssize_t count = ::recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  if (count <= 0) return "\n";
  if (const cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(head), sizeof(int));
    descriptor.reset(number);
  }
  return {buffer.data(), static_cast<std::size_t>(count)};
}

}  // namespace tranche::testbed::mps_standin
