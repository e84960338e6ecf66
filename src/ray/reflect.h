// One description of a struct, read at run time: JSON both ways and the CRD schema are ordinary
// functions over it (types_json.cc, schema.cc).
//
//   const TypeInfo& info = type_of<AuthOptions>();      // described in types_describe.cc
//   for (const Field& f : info.fields) read(f.member(&options), …);
//
// Not Boost.Describe: what the description is for hangs on the field (allowed values, defaults,
// limits, CEL rules, docs, when it is written), and a table read at run time compiles once, where a
// compile-time one is instantiated for each struct and each visitor.
#pragma once

#include "ray/types.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace manta::ray {

enum class TypeKind {
  Bool,
  Int32,
  Int64,
  Float,
  String,
  Quantity,
  Time,
  StringMap,
  Json,
  Struct,
  Optional,
  List,
  Map,  // from strings
};

struct TypeInfo;

struct Field {
  std::string name = {};  // on the wire
  bool required = false;  // by the CRD
  bool always = false;    // written in canonical text even when empty
  /// In the shorthand of k8s_shapes.h: rules to add to the C++ type's shape ("=0 minimum:1"), or a
  /// whole shape where the C++ type says too little ("PodTemplateSpec", "[EnvVar]").
  std::string_view rules = {};
  std::string_view doc = {};
  const TypeInfo* type = nullptr;
  void* (*member)(void* object) = nullptr;
};

/// What generic code may do with an Optional, List or Map of any element.
struct ContainerOps {
  std::size_t (*size)(const void* container) = nullptr;
  /// Optional: its value. List: element `index`. Map: the index-th in key order.
  const void* (*at)(const void* container, std::size_t index) = nullptr;
  std::string_view (*key)(const void* container, std::size_t index) = nullptr;  // Map only
  /// A new element, to be filled in. `key` is for a Map.
  void* (*add)(void* container, std::string_view key) = nullptr;
};

struct TypeInfo {
  TypeKind kind = TypeKind::Struct;
  const TypeInfo* element = nullptr;  // Optional, List, Map
  ContainerOps container = {};
  // Struct:
  std::string_view name = {};
  std::string_view doc = {};
  std::string_view rules = {};  // of the object as a whole: "cel:C4+C5"
  std::vector<Field> fields = {};
};

/// The description of a struct of types.h, or of a field's type. Specialised in types_describe.cc.
template <class T>
const TypeInfo& type_of();

// Those that one of those files needs from another, and the roots of the schemas.
template <>
const TypeInfo& type_of<RayClusterSpec>();
template <>
const TypeInfo& type_of<Condition>();
template <>
const TypeInfo& type_of<RayClusterStatus>();
template <>
const TypeInfo& type_of<RayJobSpec>();
template <>
const TypeInfo& type_of<RayJobStatus>();
template <>
const TypeInfo& type_of<RayCronJobSpec>();
template <>
const TypeInfo& type_of<RayCronJobStatus>();
template <>
const TypeInfo& type_of<RayServiceSpec>();
template <>
const TypeInfo& type_of<RayServiceStatus>();

/// Api: what we send; an absent field is left out. Canonical: the text that spec hashes are taken
/// over, with nulls and zero values where upstream's serializer has them (spec/01 §0.1), embedded
/// Kubernetes content in Kubernetes' order, quantities in canonical form.
enum class WriteMode { Api, Canonical };
Json write_object(const TypeInfo& type, const void* object, WriteMode mode);

/// Fills `object` from `value`. Wrong types are added to `causes`, up to 20; reading goes on.
void read_object(const TypeInfo& type, void* object, const Json& value, const std::string& path,
                 std::vector<FieldCause>& causes);
/// The causes as one error, or nothing when there are none.
Result<void> causes_to_result(std::vector<FieldCause> causes);

}  // namespace manta::ray
