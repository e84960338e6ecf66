// How types_describe_*.cc say what a struct is. Included by those files only.
//
//   template <>
//   const TypeInfo& type_of<TlsOptions>() {
//     static const TypeInfo info = structure("TlsOptions", "Encryption between Ray nodes.",
//         {field<&TlsOptions::enabled>("enabled", "", "Turns it on.")});
//     return info;
//   }
//
// A name may end in ! (required by the CRD) and + (written in canonical text even when empty).
#pragma once

#include "ray/reflect.h"

#include <iterator>
#include <type_traits>

namespace manta::ray::describing {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsList : std::false_type {};
template <class T>
struct IsList<std::vector<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class T>
struct IsMap<std::map<std::string, T, std::less<>>> : std::true_type {};

template <class T>
constexpr TypeKind basic_kind() {
  if constexpr (std::is_same_v<T, bool>)
    return TypeKind::Bool;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return TypeKind::Int32;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return TypeKind::Int64;
  else if constexpr (std::is_same_v<T, float>)
    return TypeKind::Float;
  else if constexpr (std::is_same_v<T, std::string>)
    return TypeKind::String;
  else if constexpr (std::is_same_v<T, manta::Quantity>)
    return TypeKind::Quantity;
  else if constexpr (std::is_same_v<T, manta::Time>)
    return TypeKind::Time;
  else if constexpr (std::is_same_v<T, StringMap>)
    return TypeKind::StringMap;
  else if constexpr (std::is_same_v<T, manta::Json>)
    return TypeKind::Json;
  else
    return TypeKind::Struct;
}

template <class T>
const TypeInfo& info();

template <class T>
TypeInfo make_optional_info() {
  using Value = typename T::value_type;
  return {
      .kind = TypeKind::Optional,
      .element = &info<Value>(),
      .container = {
          .size = [](const void* c) { return std::size_t{static_cast<const T*>(c)->has_value()}; },
          .at = [](const void* c, std::size_t) -> const void* {
            return &**static_cast<const T*>(c);
          },
          .add = [](void* c, std::string_view) -> void* {
            return &static_cast<T*>(c)->emplace();
          }}};
}

template <class T>
TypeInfo make_list_info() {
  return {.kind = TypeKind::List,
          .element = &info<typename T::value_type>(),
          .container = {.size = [](const void* c) { return static_cast<const T*>(c)->size(); },
                        .at = [](const void* c, std::size_t i) -> const void* {
                          return &(*static_cast<const T*>(c))[i];
                        },
                        .add = [](void* c, std::string_view) -> void* {
                          return &static_cast<T*>(c)->emplace_back();
                        }}};
}

// Maps of a status are a handful of entries, so walking to the index-th is cheap enough.
template <class T>
TypeInfo make_map_info() {
  return {.kind = TypeKind::Map,
          .element = &info<typename T::mapped_type>(),
          .container = {
              .size = [](const void* c) { return static_cast<const T*>(c)->size(); },
              .at = [](const void* c, std::size_t i) -> const void* {
                return &std::next(static_cast<const T*>(c)->begin(), static_cast<long>(i))->second;
              },
              .key = [](const void* c, std::size_t i) -> std::string_view {
                return std::next(static_cast<const T*>(c)->begin(), static_cast<long>(i))->first;
              },
              .add = [](void* c, std::string_view key) -> void* {
                return &(*static_cast<T*>(c))[std::string(key)];
              }}};
}

/// The description of a field's C++ type.
template <class T>
const TypeInfo& info() {
  if constexpr (basic_kind<T>() != TypeKind::Struct) {
    static const TypeInfo basic{.kind = basic_kind<T>()};
    return basic;
  } else if constexpr (IsOptional<T>::value) {
    static const TypeInfo optional = make_optional_info<T>();
    return optional;
  } else if constexpr (IsList<T>::value) {
    static const TypeInfo list = make_list_info<T>();
    return list;
  } else if constexpr (IsMap<T>::value) {
    static const TypeInfo map = make_map_info<T>();
    return map;
  } else {
    return type_of<T>();
  }
}

template <class M>
struct MemberOf;
template <class Class, class Type>
struct MemberOf<Type Class::*> {
  using Object = Class;
  using Value = Type;
};

template <auto M>
Field field(std::string_view name, std::string_view rules, std::string_view doc) {
  using Member = MemberOf<decltype(M)>;
  Field field;
  field.always = name.ends_with('+');
  if (field.always) name.remove_suffix(1);
  field.required = name.ends_with('!');
  if (field.required) name.remove_suffix(1);
  field.name = name;
  field.rules = rules;
  field.doc = doc;
  field.type = &info<typename Member::Value>();
  field.member = [](void* object) -> void* {
    return &(static_cast<typename Member::Object*>(object)->*M);
  };
  return field;
}

inline TypeInfo structure(std::string_view name, std::string_view doc, std::vector<Field> fields,
                          std::string_view rules = {}) {
  TypeInfo info;
  info.kind = TypeKind::Struct;
  info.name = name;
  info.doc = doc;
  info.rules = rules;
  info.fields = std::move(fields);
  return info;
}

}  // namespace manta::ray::describing

/// Opens a description: MANTA_DESCRIBE(TlsOptions, "doc", {fields…}). A macro because a
/// specialisation cannot be spelt by a function.
#define MANTA_DESCRIBE(Type, ...)                                           \
  template <>                                                               \
  const TypeInfo& type_of<Type>() {                                         \
    using T = Type;                                                         \
    static const TypeInfo info = describing::structure(#Type, __VA_ARGS__); \
    return info;                                                            \
  }
