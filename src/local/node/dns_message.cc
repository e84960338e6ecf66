#include "local/node/dns_message.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace manta::local {

namespace {

constexpr std::size_t kHeader = 12;
constexpr std::uint32_t kTtlSeconds = 5;

std::uint16_t u16(std::string_view text, std::size_t at) {
  return static_cast<std::uint16_t>(static_cast<unsigned char>(text[at]) << 8 |
                                    static_cast<unsigned char>(text[at + 1]));
}
void put16(std::string& out, unsigned value) {
  out += static_cast<char>(value >> 8 & 255);
  out += static_cast<char>(value & 255);
}
void put32(std::string& out, std::uint32_t value) {
  put16(out, value >> 16);
  put16(out, value & 0xffff);
}

bool ends_below(std::string_view name, std::string_view suffix) {
  return name == suffix || (name.ends_with(suffix) && name.size() > suffix.size() &&
                            name[name.size() - suffix.size() - 1] == '.');
}

}  // namespace

std::optional<DnsQuestion> parse_dns_question(std::string_view message) {
  if (message.size() < kHeader) return std::nullopt;
  const auto flags = u16(message, 2);
  const bool is_query = (flags & 0x8000) == 0 && (flags >> 11 & 15) == 0;
  if (!is_query || u16(message, 4) != 1) return std::nullopt;
  DnsQuestion question{.id = u16(message, 0)};
  std::size_t at = kHeader;
  for (;;) {
    if (at >= message.size()) return std::nullopt;
    const auto length = static_cast<unsigned char>(message[at++]);
    if (length == 0) break;
    if (length > 63 || at + length > message.size()) return std::nullopt;
    if (!question.name.empty()) question.name += '.';
    for (const unsigned char c : message.substr(at, length))
      question.name += static_cast<char>(std::tolower(c));
    at += length;
  }
  if (at + 4 > message.size() || question.name.size() > 253) return std::nullopt;
  question.type = u16(message, at);
  question.size = at + 4;
  return question;
}

std::string build_dns_answer(std::string_view message, const DnsQuestion& question, DnsCode code,
                             const std::vector<std::uint32_t>& addresses) {
  const bool recursion_desired = (u16(message, 2) & 0x0100) != 0;
  std::string out;
  put16(out, question.id);
  put16(out, 0x8480u | (recursion_desired ? 0x0100u : 0u) | static_cast<unsigned>(code));
  put16(out, 1);
  put16(out, static_cast<unsigned>(addresses.size()));
  put32(out, 0);  // no authorities, nothing additional
  out += message.substr(kHeader, question.size - kHeader);
  for (const auto address : addresses) {
    put16(out, 0xc000 | kHeader);  // the question's name
    put16(out, kDnsA);
    put16(out, 1);  // class IN
    put32(out, kTtlSeconds);
    put16(out, 4);
    put32(out, address);
  }
  return out;
}

bool is_local_name(std::string_view name, std::string_view cluster_domain) {
  return !name.contains('.') || ends_below(name, cluster_domain) || ends_below(name, "svc") ||
         ends_below(name, "10.in-addr.arpa");
}

std::vector<std::string> parse_name_servers(std::string_view resolv_conf) {
  std::vector<std::string> servers;
  std::istringstream lines{std::string(resolv_conf)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key, server;
    if (words >> key >> server && key == "nameserver") servers.push_back(server);
  }
  return servers;
}

}  // namespace manta::local
