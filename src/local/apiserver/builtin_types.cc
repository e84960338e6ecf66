#include "base/result.h"
#include "base/text.h"
#include "local/apiserver/schema.h"

#include <algorithm>
#include <map>

namespace manta::local {
namespace {

// NAME[&a] FIELD…, FIELD = name:TYPE[!][*][e][=default][&LIST][+PATCH][#NUMBER]; see
// tools/gen_kube_types.py.
constexpr std::string_view kLines[] = {
#include "local/apiserver/builtin_types.inc"
};

std::uint16_t number(std::string_view text) {
  std::uint16_t value = 0;
  for (const char c : text) value = static_cast<std::uint16_t>(value * 10 + (c - '0'));
  return value;
}

}  // namespace

std::string_view to_string(JsonType type) {
  switch (type) {
    case JsonType::Any:
      return "";
    case JsonType::Object:
      return "object";
    case JsonType::Array:
      return "array";
    case JsonType::String:
      return "string";
    case JsonType::Integer:
      return "integer";
    case JsonType::Number:
      return "number";
    case JsonType::Boolean:
      return "boolean";
  }
  return "";
}

const Field* Schema::field(std::string_view name) const {
  if (fields.size() > kUnsorted) {
    const auto found = std::ranges::lower_bound(fields, name, {}, &Field::name);
    return found != fields.end() && found->name == name ? &*found : nullptr;
  }
  for (const auto& candidate : fields)
    if (candidate.name == name) return &candidate;
  return nullptr;
}

void Schema::sort_fields() {
  if (fields.size() > kUnsorted) std::ranges::sort(fields, {}, &Field::name);
}

struct BuiltinTypes::Impl {
  SchemaArena arena = {};
  std::map<std::string, std::string_view, std::less<>> lines = {};
  std::map<std::string, Schema*, std::less<>> types = {};
  std::map<std::string, const Schema*, std::less<>> primitives = {};
  std::map<const Schema*, std::string> names = {};

  const Schema* type(std::string_view name) {
    if (auto known = types.find(name); known != types.end()) return known->second;
    auto line = lines.find(name);
    if (line == lines.end()) return nullptr;
    Schema* made = arena.make();
    types.emplace(std::string(name), made);  // before its fields: types refer to themselves
    names.emplace(made, std::string(name));
    made->type = JsonType::Object;
    made->go_type = std::string(name.substr(name.rfind('.') + 1));
    auto tokens = split(line->second, ' ');
    made->atomic_map = tokens.front().ends_with("&a");
    for (std::size_t i = 1; i < tokens.size(); ++i)
      if (!tokens[i].empty()) made->fields.push_back(field(tokens[i]));
    made->sort_fields();
    return made;
  }

  const Schema* primitive(char letter) {
    const std::string key(1, letter);
    if (auto known = primitives.find(key); known != primitives.end()) return known->second;
    Schema* made = arena.make();
    switch (letter) {
      case 's':
        made->type = JsonType::String;
        break;
      case 'y':
        made->type = JsonType::String, made->format = Format::Byte;
        break;
      case 'T':
        made->type = JsonType::String, made->format = Format::Time;
        break;
      case 'M':
        made->type = JsonType::String, made->format = Format::MicroTime;
        break;
      case 'b':
        made->type = JsonType::Boolean;
        break;
      case 'i':
        made->type = JsonType::Integer, made->format = Format::Int32;
        break;
      case 'l':
        made->type = JsonType::Integer, made->format = Format::Int64;
        break;
      case 'n':
        made->type = JsonType::Number;
        break;
      case 'q':
        made->format = Format::Quantity, made->int_or_string = true;
        break;
      case 'I':
        made->int_or_string = true;
        break;
      case 'o':
        made->type = JsonType::Object, made->preserve_unknown = true;
        break;
      default:
        made->preserve_unknown = true;
        break;
    }
    primitives.emplace(key, made);
    return made;
  }

  /// Parses a type at the front of `text` and removes it.
  const Schema* parse_type(std::string_view& text) {
    const char first = text.front();
    text.remove_prefix(1);
    if (first == '@') {
      const auto end = text.find_first_of("!*=&+# ");
      // 'e' (always written) may follow a name directly; only the generator's names decide.
      std::string_view name = text.substr(0, end);
      text.remove_prefix(name.size());
      if (lines.find(name) == lines.end() && name.ends_with('e')) {
        name.remove_suffix(1);
        text = std::string_view(text.data() - 1, text.size() + 1);
      }
      return type(name);
    }
    if (first == '[' || first == '{') {
      Schema* made = arena.make();
      made->type = first == '[' ? JsonType::Array : JsonType::Object;
      (first == '[' ? made->items : made->additional) = parse_type(text);
      return made;
    }
    return primitive(first);
  }

  Field field(std::string_view token) {
    Field made;
    const auto colon = token.find(':');
    made.name = std::string(token.substr(0, colon));
    token.remove_prefix(colon + 1);
    const Schema* schema = parse_type(token);
    MANTA_CHECK(schema != nullptr);
    // Lists and maps are made for this field alone, so their strategy can be set on them.
    auto* own = const_cast<Schema*>(schema);
    const bool is_own = (schema->items || schema->additional);
    while (!token.empty()) {
      const char flag = token.front();
      token.remove_prefix(1);
      if (flag == '!')
        made.required = true;
      else if (flag == '#') {
        const auto dot = token.find('.');
        made.number = number(dot == token.npos ? token : token.substr(dot + 1));
        made.outer = dot == token.npos ? std::uint16_t{0} : number(token.substr(0, dot));
        break;
      } else if (flag == '*')
        made.pointer = true;
      else if (flag == 'e')
        made.always = true;
      else if (flag == '=') {
        const auto end = token.find_first_of("&+#");
        token.remove_prefix(end == std::string_view::npos ? token.size() : end);
      } else if (flag == '&' && is_own) {
        const char kind = token.front();
        token.remove_prefix(1);
        if (kind == 's') own->list_type = ListType::Set;
        if (kind == 'a' && schema->additional) own->atomic_map = true;
        if (kind == 'm' && token.starts_with('(')) {
          own->list_type = ListType::Map;
          own->list_keys = split(token.substr(1, token.find(')') - 1), ',');
          token.remove_prefix(token.find(')') + 1);
        }
      } else if (flag == '+') {
        const char kind = token.front();
        token.remove_prefix(1);
        if (kind == 'r') made.retain_keys = true;
        if (kind == 'm') {
          if (is_own)
            own->patch_merge = true, own->patch_key = token.substr(1, token.find(')') - 1);
          token.remove_prefix(token.find(')') + 1);
        }
      } else if (flag == '&') {
        token.remove_prefix(1);
      }
    }
    made.schema = schema;
    return made;
  }
};

BuiltinTypes::BuiltinTypes() : impl_(std::make_unique<Impl>()) {
  for (const auto line : kLines) {
    auto name = line.substr(0, line.find(' '));
    if (name.ends_with("&a")) name.remove_suffix(2);
    impl_->lines.emplace(std::string(name), line);
  }
}
BuiltinTypes::~BuiltinTypes() = default;

const Schema* BuiltinTypes::find(std::string_view name) { return impl_->type(name); }
std::string_view BuiltinTypes::name_of(const Schema* schema) const {
  auto found = impl_->names.find(schema);
  return found == impl_->names.end() ? std::string_view{} : std::string_view(found->second);
}

}  // namespace manta::local
