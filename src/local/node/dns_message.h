// DNS questions and the small answers that a node gives itself. Pure. Source: RFC 1035 §4.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace manta::local {

inline constexpr std::uint16_t kDnsA = 1;

struct DnsQuestion {
  std::uint16_t id = 0;
  std::string name = {};  // lower case, without the last dot
  std::uint16_t type = 0;
  std::size_t size = 0;  // of the message's header and question
};
/// Nothing when the message is no plain question.
std::optional<DnsQuestion> parse_dns_question(std::string_view message);

enum class DnsCode : std::uint8_t { NoError = 0, ServerFailure = 2, NoSuchName = 3 };
/// The answer to `message`, which `question` was parsed from. `addresses`: A records.
std::string build_dns_answer(std::string_view message, const DnsQuestion& question, DnsCode code,
                             const std::vector<std::uint32_t>& addresses = {});

/// Names that no server outside can know: the cluster's, those of one word, addresses in
/// 10.0.0.0/8. Asking for them would take a time-out where there is no network.
bool is_local_name(std::string_view name, std::string_view cluster_domain);

/// The servers of a resolv.conf.
std::vector<std::string> parse_name_servers(std::string_view resolv_conf);

}  // namespace manta::local
