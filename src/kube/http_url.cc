#include "kube/http_url.h"

#include "base/text.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

namespace manta::kube {
namespace {

std::string percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned int value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr ==
            text.data() + i + 3) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

template <class T>
std::optional<T> to_number(std::string_view text) {
  T value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || read.ec != std::errc{} || read.ptr != text.data() + text.size())
    return std::nullopt;
  return value;
}

// An address as bytes, IPv4 as its 4.
std::vector<std::uint8_t> address_bytes(std::string_view text) {
  std::array<std::uint8_t, 16> bytes = {};
  const std::string name(text);
  if (inet_pton(AF_INET, name.c_str(), bytes.data()) == 1)
    return {bytes.begin(), bytes.begin() + 4};
  if (inet_pton(AF_INET6, name.c_str(), bytes.data()) == 1) return {bytes.begin(), bytes.end()};
  return {};
}

bool is_in_network(const std::vector<std::uint8_t>& address, std::string_view network) {
  const auto slash = network.find('/');
  const auto base = address_bytes(network.substr(0, slash));
  const auto bits = to_number<unsigned>(network.substr(slash + 1));
  if (base.empty() || base.size() != address.size() || !bits || *bits > base.size() * 8)
    return false;
  for (unsigned i = 0; i < *bits; ++i)
    if (((base[i / 8] ^ address[i / 8]) >> (7 - i % 8) & 1) != 0) return false;
  return true;
}

bool entry_names(std::string_view entry, const Url& url, const std::vector<std::uint8_t>& address) {
  if (entry == "*") return true;
  if (entry.find('/') != std::string_view::npos)
    return !address.empty() && is_in_network(address, entry);
  const auto colon = entry.rfind(':');
  if (colon != std::string_view::npos && address_bytes(entry).empty()) {
    const auto port = to_number<std::uint16_t>(entry.substr(colon + 1));
    if (!port || *port != url.port) return false;
    entry = entry.substr(0, colon);
  }
  if (entry.starts_with('[') && entry.ends_with(']')) entry = entry.substr(1, entry.size() - 2);
  if (!address.empty()) return address_bytes(entry) == address;
  if (entry.starts_with("*.")) entry.remove_prefix(1);
  const auto host = lower_case(url.host);
  const auto name = lower_case(entry);
  if (name.starts_with('.')) return host.ends_with(name);
  return host == name || host.ends_with("." + name);
}

}  // namespace

std::string Url::host_port() const {
  const bool ipv6 = host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", ipv6 ? "[" : "", host, ipv6 ? "]" : "", port);
}

std::string Url::authority() const {
  const auto full = host_port();
  return port == (is_tls() ? 443 : 80) ? full.substr(0, full.rfind(':')) : full;
}

Result<Url> parse_url(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return failed(ErrorCode::BadRequest, fmt::format("URL {:?} {}", text, why));
  };
  Url url;
  const auto separator = text.find("://");
  url.scheme = separator == std::string_view::npos ? "" : lower_case(text.substr(0, separator));
  if (url.scheme != "http" && url.scheme != "https")
    return bad("must begin with http:// or https://");
  auto rest = text.substr(separator + 3);
  const auto end = rest.find_first_of("/?#");
  auto authority = rest.substr(0, end);
  if (end != std::string_view::npos) {
    const auto tail = rest.substr(end, rest.find('#', end) - end);
    url.target = tail.starts_with('/') ? std::string(tail) : "/" + std::string(tail);
  }
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
    url.userinfo = percent_decode(authority.substr(0, at));
    authority.remove_prefix(at + 1);
  }
  std::string_view port;
  if (authority.starts_with('[')) {
    const auto close = authority.find(']');
    if (close == std::string_view::npos) return bad("has an open bracket");
    url.host = authority.substr(1, close - 1);
    port = authority.substr(close + 1);
    if (!port.empty() && port[0] != ':') return bad("has text after its bracket");
  } else {
    const auto colon = authority.find(':');
    url.host = authority.substr(0, colon);
    port = colon == std::string_view::npos ? "" : authority.substr(colon);
  }
  if (url.host.empty()) return bad("has no host");
  url.port = url.is_tls() ? 443 : 80;
  if (port.size() > 1) {
    const auto number = to_number<std::uint16_t>(port.substr(1));
    if (!number || *number == 0) return bad("has a port that is not within 1 to 65535");
    url.port = *number;
  }
  const auto is_bad = [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; };
  if (std::any_of(url.host.begin(), url.host.end(), is_bad) ||
      std::any_of(url.target.begin(), url.target.end(), is_bad))
    return bad("has a space or control character");
  return url;
}

std::string percent_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool unreserved = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                            (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
    if (unreserved)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

bool is_loopback(std::string_view host) {
  const auto address = address_bytes(host);
  if (address.size() == 4) return address[0] == 127;
  if (address.size() == 16)
    return std::count(address.begin(), address.end() - 1, 0) == 15 && address[15] == 1;
  return lower_case(host) == "localhost";
}

bool is_without_proxy(std::string_view no_proxy, const Url& url) {
  const auto address = address_bytes(url.host);
  while (!no_proxy.empty()) {
    auto entry = no_proxy.substr(0, no_proxy.find(','));
    no_proxy.remove_prefix(std::min(no_proxy.size(), entry.size() + 1));
    while (!entry.empty() && entry.front() == ' ') entry.remove_prefix(1);
    while (!entry.empty() && entry.back() == ' ') entry.remove_suffix(1);
    if (!entry.empty() && entry_names(entry, url, address)) return true;
  }
  return false;
}

}  // namespace manta::kube
