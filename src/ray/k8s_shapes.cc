#include "ray/k8s_shapes.h"

#include "ray/k8s_shapes_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

namespace manta::ray {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Recursive descent over the shorthand. The first error sticks; every step then does nothing.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  bool at_end() {
    skip_space();
    return position_ == text_.size();
  }
  const std::optional<Error>& error() const { return error_; }

  std::string word(const char* what) {
    skip_space();
    const auto start = position_;
    while (position_ < text_.size() && is_word(text_[position_])) ++position_;
    if (start == position_) fail(what);
    return std::string(text_.substr(start, position_ - start));
  }

  bool take(std::string_view token) {
    skip_space();
    if (error_ || !text_.substr(position_).starts_with(token)) return false;
    position_ += token.size();
    return true;
  }

  void need(std::string_view token) {
    if (!take(token)) fail(fmt::format("'{}'", token));
  }

  Shape shape() {
    Shape shape;
    if (take("{"))
      object(shape);
    else if (take("["))
      container(shape, ShapeKind::List, "]");
    else if (take("map<"))
      container(shape, ShapeKind::Map, ">");
    else
      named(shape, word("a type"));
    rules(shape);
    return shape;
  }

  void rules(Shape& shape) {
    while (!error_ && rule(shape)) {
    }
  }

 private:
  void skip_space() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n'))
      ++position_;
  }

  void fail(std::string what) {
    if (!error_)
      error_ = Error{ErrorCode::Invalid,
                     fmt::format("shape: expected {} at offset {} ({}…)", what, position_,
                                 text_.substr(std::min(position_, text_.size()), 20))};
  }

  void object(Shape& shape) {
    shape.kind = ShapeKind::Object;
    while (!error_ && !take("}")) {
      ShapeKey key;
      key.name = word("a key");
      key.required = take("!");
      key.always = take("+");
      key.pointer = take("?");
      need(":");
      key.shape = std::make_shared<const Shape>(this->shape());
      shape.keys.push_back(std::move(key));
      if (!take(",")) {
        need("}");
        return;
      }
    }
  }

  void container(Shape& shape, ShapeKind kind, std::string_view close) {
    shape.kind = kind;
    shape.element = std::make_shared<const Shape>(this->shape());
    need(close);
  }

  static void named(Shape& shape, std::string name) {
    static constexpr std::pair<std::string_view, ShapeKind> kBasic[] = {
        {"str", ShapeKind::String},   {"bool", ShapeKind::Bool},          {"i32", ShapeKind::Int32},
        {"i64", ShapeKind::Int64},    {"num", ShapeKind::Number},         {"time", ShapeKind::Time},
        {"qty", ShapeKind::Quantity}, {"intstr", ShapeKind::IntOrString}, {"any", ShapeKind::Any}};
    for (const auto& [text, kind] : kBasic)
      if (name == text) {
        shape.kind = kind;
        return;
      }
    shape.kind = ShapeKind::Ref;
    shape.ref = std::move(name);
  }

  std::int64_t number() {
    skip_space();
    std::int64_t value = 0;
    const auto* begin = text_.data() + position_;
    const auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (code != std::errc{}) fail("a number");
    position_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  std::vector<std::string> words(std::string_view separator, std::string_view close) {
    std::vector<std::string> list;
    do list.push_back(word("a name"));
    while (!error_ && take(separator));
    if (!close.empty()) need(close);
    return list;
  }

  Json literal() {
    if (take("\"")) {
      const auto end = text_.find('"', position_);
      if (end == std::string_view::npos) return fail("a closing quote"), Json();
      Json value(text_.substr(position_, end - position_));
      position_ = end + 1;
      return value;
    }
    if (take("true")) return Json(true);
    if (take("false")) return Json(false);
    return Json(number());
  }

  bool rule(Shape& shape) {
    if (take("{")) return shape.values = words("|", "}"), true;
    if (take("@a")) return shape.list_type = "atomic", true;
    if (take("@s")) return shape.list_type = "set", true;
    if (take("@m(")) return shape.list_type = "map", shape.list_keys = words(",", ")"), true;
    if (take("&")) return shape.atomic_map = true;
    if (take("=")) return shape.default_value = literal(), true;
    if (take("minimum:")) return shape.minimum = number(), true;
    if (take("minItems:")) return shape.min_items = number(), true;
    if (take("minLength:")) return shape.min_length = number(), true;
    if (take("maxLength:")) return shape.max_length = number(), true;
    if (take("pattern:")) return shape.pattern = word("P1 or P2"), true;
    if (take("cel:")) return shape.cel = words("+", ""), true;
    if (take("open")) return shape.open = true;
    if (take("nullable")) return shape.nullable = true;
    return false;
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::optional<Error> error_ = {};
};

using Table = std::map<std::string, Shape, std::less<>>;

Table parse_tables() {
  Table table;
  for (const char* text : {kKubernetesShapes, kV1Alpha1Shapes}) {
    Parser parser(text);
    while (!parser.error() && !parser.at_end()) {
      auto name = parser.word("a shape's name");
      parser.need("=");
      table.emplace(std::move(name), parser.shape());
    }
    MANTA_CHECK(!parser.error());  // the tables are ours and constant
  }
  return table;
}

const Table& tables() {
  static const Table table = parse_tables();
  return table;
}

}  // namespace

Result<Shape> parse_shape(std::string_view text) {
  Parser parser(text);
  Shape shape = parser.shape();
  if (!parser.error() && !parser.at_end()) parser.need("the end");
  if (parser.error()) return failed(*parser.error());
  return shape;
}

Result<void> add_rules(Shape& shape, std::string_view rules) {
  Parser parser(rules);
  parser.rules(shape);
  if (!parser.error() && !parser.at_end()) parser.need("the end");
  if (parser.error()) return failed(*parser.error());
  return {};
}

const Shape* find_shape(std::string_view name) {
  const auto it = tables().find(name);
  return it == tables().end() ? nullptr : &it->second;
}

const Shape& resolve(const Shape& shape) {
  const Shape* found = &shape;
  while (found->kind == ShapeKind::Ref) {
    found = find_shape(found->ref);
    MANTA_CHECK(found != nullptr);
  }
  return *found;
}

std::vector<std::string> shape_names() {
  std::vector<std::string> names;
  for (const auto& [name, shape] : tables()) names.push_back(name);
  return names;
}

}  // namespace manta::ray
