#include "local/node/outbound.h"

#include "local/node/files.h"
#include "local/node/run_tool.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace manta::local {

namespace fs = std::filesystem;

namespace {

constexpr const char* kForwarding = "/proc/sys/net/ipv4/ip_forward";
/// Says that forwarding was off before the first node came. Gone with the next boot, as is the
/// setting.
constexpr const char* kForwardingWasOff = "/run/manta-turned-ip-forwarding-on";
constexpr std::string_view kTablePrefix = "manta";
constexpr std::size_t kTableName = kTablePrefix.size() + 8;

std::string table_name(const std::string& id) {
  return std::string(kTablePrefix) + id.substr(0, 8);
}

std::vector<std::string> manta_tables() {
  std::vector<std::string> tables;
  std::istringstream words(run_tool({"nft", "list", "tables", "ip"}).output);
  for (std::string word; words >> word;)
    if (word.starts_with(kTablePrefix) && word.size() == kTableName) tables.push_back(word);
  return tables;
}

void turn_forwarding_on() {
  if (read_file(kForwarding).value_or("1").starts_with("1")) return;
  std::ofstream(kForwardingWasOff) << "";
  std::ofstream(kForwarding) << "1";
}

void turn_forwarding_back() {
  std::error_code error;
  if (!fs::exists(kForwardingWasOff, error) || !manta_tables().empty()) return;
  std::ofstream(kForwarding) << "0";
  fs::remove(kForwardingWasOff, error);
}

}  // namespace

std::string build_outbound_rules(const std::string& table, const std::string& bridge,
                                 const Ipv4Net& pods) {
  const auto net = fmt::format("{}/{}", format_ipv4(pods.address), pods.prefix);
  return fmt::format(
      "table ip {0} {{\n"
      "  chain leave {{\n"
      "    type nat hook postrouting priority srcnat;\n"
      "    ip saddr {2} ip daddr != {2} oifname != \"{1}\" masquerade\n"
      "  }}\n"
      "  chain pass {{\n"
      "    type filter hook forward priority filter;\n"
      "    iifname \"{1}\" oifname \"{1}\" accept\n"
      "    iifname \"{1}\" oifname \"{3}*\" drop\n"
      "    oifname \"{1}\" ct state established,related accept\n"
      "    oifname \"{1}\" drop\n"
      "  }}\n"
      "}}\n",
      table, bridge, net, kTablePrefix);
}

Result<void> open_outbound(const std::string& id, const std::string& bridge, const Ipv4Net& pods) {
  const auto table = table_name(id);
  const auto done = run_tool({"nft", "-f", "-"}, build_outbound_rules(table, bridge, pods));
  if (done.exit_code != 0)
    return failed(ErrorCode::Unavailable,
                  done.exit_code == kNoSuchTool
                      ? "nft is not installed (apt install nftables)"
                      : fmt::format("nft refused the rules: {}", done.output));
  turn_forwarding_on();
  return {};
}

void close_outbound(const std::string& id) {
  for (const auto& table : manta_tables()) {
    std::error_code error;
    if (table == table_name(id) || !fs::exists("/sys/class/net/" + table, error))
      run_tool({"nft", "delete", "table", "ip", table});
  }
  turn_forwarding_back();
}

}  // namespace manta::local
