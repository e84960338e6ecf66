// URLs as the HTTP client needs them, and which hosts go past a proxy.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace manta::kube {

struct Url {
  std::string scheme = {};    // http or https
  std::string userinfo = {};  // user:password, decoded; usually empty
  std::string host = {};      // without the brackets of an IPv6 address
  std::uint16_t port = 0;     // the scheme's when the URL has none
  std::string target = "/";   // path and query

  bool is_tls() const { return scheme == "https"; }
  /// host or host:port as the Host header has it.
  std::string authority() const;
  /// Always with the port.
  std::string host_port() const;
  /// What tells connection pools apart.
  std::string origin() const { return scheme + "://" + host_port(); }
};

Result<Url> parse_url(std::string_view text);
/// A path segment or query value: everything but unreserved characters as %XX.
std::string percent_encode(std::string_view text);

/// Whether NO_PROXY names the host: "*", a domain (with or without leading dot) and what is below
/// it, an address, a network in CIDR form; each maybe with :port.
bool is_without_proxy(std::string_view no_proxy, const Url& url);
/// localhost and loopback addresses.
bool is_loopback(std::string_view host);

}  // namespace manta::kube
