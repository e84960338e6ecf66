// The shapes of the Kubernetes types that ray.io objects embed, as data: which keys they have, of
// which type, in which order Kubernetes writes them. The CRD schemas (schema.h) and the canonical
// text of spec hashes (kube_canonical.h) are both read off this table.
//
//   const Shape& pod = *find_shape("PodSpec");
//
// The shorthand (one line an object, white space free):
//   key!:      required          key+:  written even when empty
//   key?:      a pointer in Kubernetes: an explicit zero is written, not left out
//   str bool i32 i64 num time qty intstr any   map<T>   [T]   {key:T, …}   Name (another line)
//   after a type: {A|B} allowed values · @a @s @m(k1,k2) list type atomic, set, map by keys · &
//   atomic object · =v default · minimum:N minItems:N minLength:N maxLength:N · pattern:P1|P2 ·
//   nullable · cel:C2+C3 rules of spec/01 §6.8
// Keys stand in serialization order. Source: spec/01 §8.2, §8.4, §8.5.
#pragma once

#include "base/json.h"
#include "base/result.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace manta::ray {

enum class ShapeKind {
  String,
  Bool,
  Int32,
  Int64,
  Number,
  Time,
  Quantity,
  IntOrString,
  Any,  // an object whose fields are not described
  Map,
  List,
  Object,
  Ref,  // another named shape
};

struct Shape;

struct ShapeKey {
  std::string name = {};
  bool required = false;
  bool always = false;   // written even when empty
  bool pointer = false;  // an explicit zero differs from absent
  std::shared_ptr<const Shape> shape = {};
};

struct Shape {
  ShapeKind kind = ShapeKind::String;
  std::string ref = {};                       // Ref: the name
  std::string doc = {};                       // for people, may be empty
  std::shared_ptr<const Shape> element = {};  // Map, List
  std::vector<ShapeKey> keys = {};            // Object, in serialization order
  std::vector<std::string> values = {};       // allowed strings, in declaration order
  std::optional<Json> default_value = {};
  std::optional<std::int64_t> minimum = {}, min_items = {}, min_length = {}, max_length = {};
  std::string pattern = {};
  std::string list_type = {};  // atomic, set, map
  std::vector<std::string> list_keys = {};
  std::vector<std::string> cel = {};  // C1 … C7
  bool atomic_map = false;
  bool open = false;  // Object: other keys are kept
  bool nullable = false;
};

/// One shape in the shorthand. Fails with the offset and what was expected there.
Result<Shape> parse_shape(std::string_view text);
/// Adds rules ("{A|B}=0 minimum:1 …") to a shape that has its type already.
Result<void> add_rules(Shape& shape, std::string_view rules);

/// A line of the Kubernetes table or of ray.io/v1alpha1 (names end in _a1), or null. The tables are
/// parsed once, on first use.
const Shape* find_shape(std::string_view name);
/// Follows Ref to the shape meant. A name that no table has is our own bug.
const Shape& resolve(const Shape& shape);
/// All names, sorted; for tests.
std::vector<std::string> shape_names();

}  // namespace manta::ray
