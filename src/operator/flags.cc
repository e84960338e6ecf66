#include "operator/flags.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <optional>

namespace manta::operator_ {
namespace {

// Go's strconv.ParseInt(text, 0, 64): a sign, then 0x, 0o, 0b or a leading 0 choose the base.
Result<int> parse_go_int(std::string_view text) {
  std::string_view digits = text;
  bool negative = false;
  if (digits.starts_with('-') || digits.starts_with('+')) {
    negative = digits.front() == '-';
    digits.remove_prefix(1);
  }
  int base = 10;
  if (digits.size() > 1 && digits.front() == '0') {
    const char mark = digits[1];
    if (mark == 'x' || mark == 'X')
      base = 16;
    else if (mark == 'b' || mark == 'B')
      base = 2;
    else
      base = 8;
    digits.remove_prefix(base == 8 && mark != 'o' && mark != 'O' ? 1 : 2);
  }
  if (digits.starts_with('-')) return failed(ErrorCode::Invalid, "parse error");
  int value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error == std::errc::result_out_of_range)
    return failed(ErrorCode::Invalid, "value out of range");
  if (error != std::errc{} || end != digits.data() + digits.size())
    return failed(ErrorCode::Invalid, "parse error");
  return negative ? -value : value;
}

Result<double> parse_go_float(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range)
    return failed(ErrorCode::Invalid, "value out of range");
  if (error != std::errc{} || end != text.data() + text.size())
    return failed(ErrorCode::Invalid, "parse error");
  return value;
}

template <class T>
std::function<Result<void>(std::string_view)> store(T* target,
                                                    Result<T> (*parse)(std::string_view)) {
  return [target, parse](std::string_view text) -> Result<void> {
    auto value = parse(text);
    if (!value) return std::unexpected(value.error());
    *target = *value;
    return {};
  };
}

}  // namespace

Result<bool> parse_go_bool(std::string_view text) {
  for (auto yes : {"1", "t", "T", "true", "TRUE", "True"})
    if (text == yes) return true;
  for (auto no : {"0", "f", "F", "false", "FALSE", "False"})
    if (text == no) return false;
  return failed(ErrorCode::Invalid, "parse error");
}

void FlagSet::add(std::string name, bool* target, std::string usage) {
  flags_[std::move(name)] = {.usage = std::move(usage),
                             .default_text = *target ? "true" : "",
                             .boolean = true,
                             .set = store(target, parse_go_bool)};
}

void FlagSet::add(std::string name, int* target, std::string usage) {
  flags_[std::move(name)] = {.usage = std::move(usage),
                             .type = "int",
                             .default_text = *target ? fmt::format("{}", *target) : "",
                             .set = store(target, parse_go_int)};
}

void FlagSet::add(std::string name, double* target, std::string usage) {
  flags_[std::move(name)] = {.usage = std::move(usage),
                             .type = "float",
                             .default_text = *target != 0 ? fmt::format("{}", *target) : "",
                             .set = store(target, parse_go_float)};
}

void FlagSet::add(std::string name, std::string* target, std::string usage) {
  flags_[std::move(name)] = {.usage = std::move(usage),
                             .type = "string",
                             .default_text = target->empty() ? "" : fmt::format("\"{}\"", *target),
                             .set = [target](std::string_view text) -> Result<void> {
                               *target = std::string(text);
                               return {};
                             }};
}

void FlagSet::add_checked(std::string name, std::string usage,
                          std::function<Result<void>(std::string_view)> check) {
  flags_[std::move(name)] = {.usage = std::move(usage), .type = "value", .set = std::move(check)};
}

Result<FlagSet::End> FlagSet::parse(const std::vector<std::string>& arguments,
                                    std::vector<std::string>* rest) const {
  const auto end_before = [&](std::size_t i) {
    if (rest) rest->assign(arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
    return End::Parsed;
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view text = arguments[i];
    if (text.size() < 2 || text.front() != '-') return end_before(i);
    text.remove_prefix(text[1] == '-' ? 2 : 1);
    if (text.empty()) return end_before(i + 1);  // "--"
    if (text.front() == '-' || text.front() == '=')
      return failed(ErrorCode::BadRequest, fmt::format("bad flag syntax: {}", arguments[i]));
    std::optional<std::string_view> value;
    if (const auto equals = text.find('='); equals != std::string_view::npos) {
      value = text.substr(equals + 1);
      text = text.substr(0, equals);
    }
    const auto found = flags_.find(text);
    if (found == flags_.end()) {
      if (text == "help" || text == "h") return End::HelpWanted;
      return failed(ErrorCode::BadRequest, fmt::format("flag provided but not defined: -{}", text));
    }
    const auto& flag = found->second;
    if (!value && flag.boolean) value = "true";
    if (!value) {
      if (++i == arguments.size())
        return failed(ErrorCode::BadRequest, fmt::format("flag needs an argument: -{}", text));
      value = arguments[i];
    }
    if (auto set = flag.set(*value); !set)
      return failed(
          ErrorCode::BadRequest,
          fmt::format("invalid {}value \"{}\" for {}-{}: {}", flag.boolean ? "boolean " : "",
                      *value, flag.boolean ? "" : "flag ", text, set.error().message));
  }
  return End::Parsed;
}

std::string FlagSet::usage() const {
  std::string text = fmt::format("Usage of {}:\n", program_);
  for (const auto& [name, flag] : flags_) {
    text += fmt::format("  -{}", name);
    if (!flag.type.empty()) text += " " + flag.type;
    text += "\n    \t" + flag.usage;
    if (!flag.default_text.empty()) text += fmt::format(" (default {})", flag.default_text);
    text += "\n";
  }
  return text;
}

}  // namespace manta::operator_
