// Command lines as Go's flag package reads them, which is what KubeRay's users type.
//
//   FlagSet flags("manager");
//   flags.add("qps", &options.qps, "client queries a second");
//   auto end = flags.parse(args);
//
// `-name` and `--name` are the same; values follow as `=value` or as the next argument, but
// booleans take `=value` only; the first argument that is no flag, `--` and an empty argument end
// the flags. Source: spec/07 §3.
#pragma once

#include "base/result.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace manta::operator_ {

/// Go's strconv.ParseBool: 1 0 t f T F true false TRUE FALSE True False.
Result<bool> parse_go_bool(std::string_view text);

class FlagSet {
 public:
  explicit FlagSet(std::string program) : program_(std::move(program)) {}

  void add(std::string name, bool* target, std::string usage);
  void add(std::string name, int* target, std::string usage);
  void add(std::string name, double* target, std::string usage);
  void add(std::string name, std::string* target, std::string usage);
  /// A flag whose text is checked: `check` stores it or says what is allowed.
  void add_checked(std::string name, std::string usage,
                   std::function<Result<void>(std::string_view)> check);

  enum class End { Parsed, HelpWanted };
  /// Fails with Go's text of the first mistake; flags before it are set.
  /// `rest`: the arguments after the flags.
  Result<End> parse(const std::vector<std::string>& arguments,
                    std::vector<std::string>* rest = nullptr) const;
  /// "Usage of manager:" and every flag with its default, by name.
  std::string usage() const;

 private:
  struct Flag {
    std::string usage = {};
    std::string type = {};          // shown after the name
    std::string default_text = {};  // empty: not shown
    bool boolean = false;
    std::function<Result<void>(std::string_view)> set = {};
  };
  std::string program_;
  std::map<std::string, Flag, std::less<>> flags_ = {};
};

}  // namespace manta::operator_
