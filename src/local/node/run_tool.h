// A short-lived program of the machine (nft, iptables), waited for: only for a node's start and
// end, never while Pods run.
#pragma once

#include <string>
#include <vector>

namespace manta::local {

inline constexpr int kNoSuchTool = 127;

struct ToolResult {
  int exit_code = 0;
  std::string output = {};  // of both streams, without the last line's end
};
ToolResult run_tool(std::vector<std::string> words, const std::string& input = {});

}  // namespace manta::local
