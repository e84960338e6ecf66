// What fields a type has: one form for Kubernetes' built-in types (from builtin_types.inc) and for
// the structural schemas of custom resources, so that pruning, defaulting, validation, strategic
// merge and server-side apply are written once.
#pragma once

#include "base/json.h"
#include "local/apiserver/pattern.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace manta::local {

namespace cel {
class Program;
}

enum class JsonType : std::uint8_t { Any, Object, Array, String, Integer, Number, Boolean };
std::string_view to_string(JsonType type);

/// How a string or number is written. Only those that change what the server does.
enum class Format : std::uint8_t { None, Int32, Int64, Byte, Quantity, Time, MicroTime, Other };
enum class ListType : std::uint8_t { Atomic, Set, Map };

struct Schema;

struct Field {
  std::string name = {};
  const Schema* schema = nullptr;
  bool required = false;
  bool pointer = false;  // built-in: a zero value is kept, and absent is not zero
  bool always = false;   // built-in: written even when empty
  bool retain_keys = false;
  std::uint16_t number =
      0;  // built-in: the protobuf field, inside field `outer` when that is not 0
  std::uint16_t outer = 0;
};

/// One x-kubernetes-validations entry.
struct Rule {
  std::shared_ptr<const cel::Program> program = {};
  std::shared_ptr<const cel::Program> message_program = {};
  std::string rule = {};
  std::string message = {};
  std::string field_path = {};
  std::string reason = {};
  bool uses_old = false;  // a transition rule: only when old and new exist
  bool optional_old = false;
};

/// The rarely used bounds, kept apart so that a schema node stays small.
struct Limits {
  std::optional<double> minimum = {}, maximum = {}, multiple_of = {};
  bool exclusive_minimum = false, exclusive_maximum = false, unique_items = false;
  std::optional<std::int64_t> min_length = {}, max_length = {}, min_items = {}, max_items = {},
                              min_properties = {}, max_properties = {};
  std::string pattern = {};
  PatternPtr compiled_pattern = {};
  std::string format = {};
  std::vector<Json> enum_ = {};
  std::optional<Json> default_ = {};
  std::vector<const Schema*> all_of = {}, any_of = {}, one_of = {};
  const Schema* not_ = nullptr;
  std::vector<Rule> rules = {};
};

struct Schema {
  JsonType type = JsonType::Any;
  Format format = Format::None;
  ListType list_type = ListType::Atomic;
  bool nullable = false;
  bool int_or_string = false;
  bool preserve_unknown = false;
  bool embedded_resource = false;
  bool atomic_map = false;
  bool patch_merge = false;      // strategic merge joins the lists
  bool has_rules_below = false;  // a rule here or further down
  bool has_defaults_below = false;
  std::string go_type = {};    // built-in struct's name, for decoding errors
  std::string patch_key = {};  // strategic merge: what identifies an item
  std::vector<std::string> list_keys = {};
  std::vector<Field> fields = {};
  const Schema* items = nullptr;
  const Schema* additional = nullptr;  // of a map
  std::unique_ptr<Limits> limits = {};

  /// More fields than these are kept in the order of their names, and so found quickly.
  static constexpr std::size_t kUnsorted = 64;
  const Field* field(std::string_view name) const;
  /// To be called when all fields are there.
  void sort_fields();
};

/// Owns schema nodes; they refer to each other (and to themselves) by pointer.
class SchemaArena {
 public:
  Schema* make() { return &nodes_.emplace_back(); }
  std::size_t size() const { return nodes_.size(); }
  /// Those of its schemas and rules.
  Patterns& patterns() { return patterns_; }

 private:
  std::deque<Schema> nodes_ = {};
  Patterns patterns_{};
};

/// Kubernetes' own types by short name: "core.v1.Pod", "meta.v1.ObjectMeta". Made when first asked
/// for, with what they refer to.
class BuiltinTypes {
 public:
  BuiltinTypes();
  ~BuiltinTypes();
  /// Null when there is no such type.
  const Schema* find(std::string_view name);
  /// Every type that has been made so far is named; for OpenAPI.
  std::string_view name_of(const Schema* schema) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace manta::local
