#include "kube/object.h"

#include <boost/json/string.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace manta::kube {
namespace {

bool is_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// The middle may have - _ . too; at most 63.
bool is_label_value(std::string_view text) {
  if (text.empty()) return true;
  if (text.size() > 63 || !is_alnum(text.front()) || !is_alnum(text.back())) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_label_key(std::string_view text) {
  const auto slash = text.find('/');
  if (slash != std::string_view::npos) {
    const auto prefix = text.substr(0, slash);
    const auto dns = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    };
    if (prefix.empty() || prefix.size() > 253 || !std::all_of(prefix.begin(), prefix.end(), dns))
      return false;
    text.remove_prefix(slash + 1);
  }
  return !text.empty() && is_label_value(text);
}

std::optional<std::int64_t> to_number(std::string_view text) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || read.ec != std::errc{} || read.ptr != text.data() + text.size())
    return std::nullopt;
  return value;
}

/// Words and the operator signs of a selector.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::string_view next() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    const auto from = at_;
    if (from == text_.size()) return {};
    constexpr std::string_view kSigns = "=!<>(),";
    if (kSigns.find(text_[at_]) == std::string_view::npos) {
      while (at_ < text_.size() && kSigns.find(text_[at_]) == std::string_view::npos &&
             text_[at_] != ' ' && text_[at_] != '\t')
        ++at_;
    } else if (text_.substr(at_, 2) == "==" || text_.substr(at_, 2) == "!=") {
      at_ += 2;
    } else {
      at_ += 1;
    }
    return text_.substr(from, at_ - from);
  }
  std::string_view peek() {
    const auto saved = at_;
    const auto token = next();
    at_ = saved;
    return token;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

bool is_word(std::string_view token) {
  return !token.empty() && std::string_view("=!<>(),").find(token[0]) == std::string_view::npos;
}

Result<std::vector<std::string>> parse_set(Lexer& lexer) {
  if (lexer.next() != "(") return failed(ErrorCode::BadRequest, "expected ( after in or notin");
  std::vector<std::string> values;
  for (;;) {
    const auto token = lexer.peek();
    if (is_word(token)) {
      values.emplace_back(lexer.next());
    } else if (token == "," || token == ")") {
      values.emplace_back();  // an empty value
    } else {
      return failed(ErrorCode::BadRequest, "expected a value or ) in a set");
    }
    const auto sign = lexer.next();
    if (sign == ")") return values;
    if (sign != ",") return failed(ErrorCode::BadRequest, "expected , or ) in a set");
  }
}

}  // namespace

LabelSelector LabelSelector::equals(StringMap labels) {
  LabelSelector selector;
  for (auto& [key, value] : labels) selector.requirements_.push_back({key, Op::In, {value}});
  return selector;
}

Result<LabelSelector> LabelSelector::parse(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return failed(ErrorCode::BadRequest, fmt::format("label selector {:?}: {}", text, why));
  };
  LabelSelector selector;
  Lexer lexer(text);
  if (lexer.peek().empty()) return selector;
  for (;;) {
    Requirement requirement{.key = {}, .op = Op::Exists, .values = {}};
    const bool negated = lexer.peek() == "!";
    if (negated) lexer.next();
    if (!is_word(lexer.peek())) return bad("expected a label key");
    requirement.key = lexer.next();
    if (!is_label_key(requirement.key))
      return bad(fmt::format("{:?} is no label key", requirement.key));
    const auto sign = lexer.peek();
    if (negated) {
      requirement.op = Op::DoesNotExist;
    } else if (sign == "=" || sign == "==" || sign == "!=" || sign == "<" || sign == ">") {
      lexer.next();
      requirement.op = sign == "!="  ? Op::NotIn
                       : sign == "<" ? Op::Less
                       : sign == ">" ? Op::Greater
                                     : Op::In;
      requirement.values.emplace_back(is_word(lexer.peek()) ? lexer.next() : std::string_view());
    } else if (sign == "in" || sign == "notin") {
      lexer.next();
      requirement.op = sign == "in" ? Op::In : Op::NotIn;
      auto values = parse_set(lexer);
      if (!values) return bad(values.error().message);
      requirement.values = std::move(*values);
    }
    for (const auto& value : requirement.values) {
      if (!is_label_value(value)) return bad(fmt::format("{:?} is no label value", value));
      if ((requirement.op == Op::Less || requirement.op == Op::Greater) && !to_number(value))
        return bad(fmt::format("{:?} must be a whole number", value));
    }
    selector.requirements_.push_back(std::move(requirement));
    const auto end = lexer.next();
    if (end.empty()) return selector;
    if (end != ",") return bad(fmt::format("unexpected {:?}", end));
  }
}

Result<LabelSelector> LabelSelector::from_json(const Json& json) {
  LabelSelector selector;
  if (json.is_null()) {  // Kubernetes: no selector selects nothing, an empty one everything
    selector.requirements_.push_back({"", Op::In, {}});
    return selector;
  }
  const auto bad = [&](std::string message) {
    return failed(ErrorCode::Invalid, "label selector: " + message);
  };
  if (!json.is_object()) return bad("must be an object");
  for (const auto& [key, value] : object_at(json, {"matchLabels"})) {
    const auto* text = value.if_string();
    if (!text) return bad(fmt::format("matchLabels[{}] must be a string", std::string_view(key)));
    selector.requirements_.push_back(
        {std::string(key), Op::In, {std::string(text->data(), text->size())}});
  }
  const auto& expressions = array_at(json, {"matchExpressions"});
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    const auto op = string_at(expressions[i], {"operator"});
    Requirement requirement{
        .key = std::string(string_at(expressions[i], {"key"})), .op = Op::In, .values = {}};
    for (const auto& value : array_at(expressions[i], {"values"}))
      if (const auto* text = value.if_string())
        requirement.values.emplace_back(text->data(), text->size());
    const bool set = op == "In" || op == "NotIn";
    if (op == "NotIn") requirement.op = Op::NotIn;
    if (op == "Exists") requirement.op = Op::Exists;
    if (op == "DoesNotExist") requirement.op = Op::DoesNotExist;
    if (!set && op != "Exists" && op != "DoesNotExist")
      return bad(fmt::format(
          "matchExpressions[{}].operator {:?} must be In, NotIn, Exists or DoesNotExist", i, op));
    if (!is_label_key(requirement.key))
      return bad(fmt::format("matchExpressions[{}].key {:?} is no label key", i, requirement.key));
    if (set == requirement.values.empty())
      return bad(fmt::format("matchExpressions[{}].values must {}be empty for {}", i,
                             set ? "not " : "", op));
    selector.requirements_.push_back(std::move(requirement));
  }
  return selector;
}

bool LabelSelector::matches(const StringMap& labels) const {
  const auto holds = [&](const Requirement& requirement) {
    const auto label = labels.find(requirement.key);
    const bool present = label != labels.end();
    const auto among = [&] {
      return std::find(requirement.values.begin(), requirement.values.end(), label->second) !=
             requirement.values.end();
    };
    switch (requirement.op) {
      case Op::In:
        return present && among();
      case Op::NotIn:
        return !present || !among();
      case Op::Exists:
        return present;
      case Op::DoesNotExist:
        return !present;
      case Op::Greater:
      case Op::Less: {
        const auto have = present ? to_number(label->second) : std::nullopt;
        const auto bound = to_number(requirement.values.front());
        if (!have || !bound) return false;
        return requirement.op == Op::Greater ? *have > *bound : *have < *bound;
      }
    }
    return false;
  };
  return std::all_of(requirements_.begin(), requirements_.end(), holds);
}

std::string LabelSelector::to_string() const {
  std::string text;
  for (const auto& requirement : requirements_) {
    if (!text.empty()) text += ',';
    const auto set = fmt::format("({})", fmt::join(requirement.values, ","));
    const bool single = requirement.values.size() == 1;
    switch (requirement.op) {
      case Op::In:
        text += requirement.key + (single ? "=" + requirement.values[0] : " in " + set);
        break;
      case Op::NotIn:
        text += requirement.key + (single ? "!=" + requirement.values[0] : " notin " + set);
        break;
      case Op::Exists:
        text += requirement.key;
        break;
      case Op::DoesNotExist:
        text += "!" + requirement.key;
        break;
      case Op::Greater:
        text += requirement.key + ">" + requirement.values[0];
        break;
      case Op::Less:
        text += requirement.key + "<" + requirement.values[0];
        break;
    }
  }
  return text;
}

}  // namespace manta::kube
