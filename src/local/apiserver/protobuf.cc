#include "local/apiserver/protobuf.h"

#include "base/hash.h"
#include "base/time.h"
#include "fmt/format.h"
#include "local/apiserver/field_errors.h"

#include <bit>
#include <cstring>
#include <optional>

namespace manta::local {
namespace {

constexpr int kMaxDepth = 64;

/// One field on the wire: a number or bytes.
struct Wire {
  std::uint32_t field = 0;
  std::uint64_t number = 0;
  std::string_view bytes = {};
  bool is_bytes = false;
};

class Reader {
 public:
  explicit Reader(std::string_view data) : data_(data) {}

  /// The next field; nothing at the end or at bytes that make no sense (then bad()).
  std::optional<Wire> next() {
    if (data_.empty()) return std::nullopt;
    const auto key = varint();
    Wire wire;
    wire.field = static_cast<std::uint32_t>(key >> 3);
    switch (key & 7) {
      case 0:
        wire.number = varint();
        break;
      case 1:
        wire.number = fixed(8);
        break;
      case 5:
        wire.number = fixed(4);
        break;
      case 2: {
        const auto size = varint();
        if (size > data_.size())
          bad_ = true;
        else {
          wire.bytes = data_.substr(0, size);
          data_.remove_prefix(size);
          wire.is_bytes = true;
        }
        break;
      }
      default:
        bad_ = true;
    }
    if (bad_) return std::nullopt;
    return wire;
  }
  bool bad() const { return bad_; }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (data_.empty()) break;
      const auto byte = static_cast<unsigned char>(data_.front());
      data_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80)) return value;
    }
    bad_ = true;
    return 0;
  }
  std::uint64_t fixed(std::size_t size) {
    if (data_.size() < size) {
      bad_ = true;
      return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(data_[i]);
    data_.remove_prefix(size);
    return value;
  }

  std::string_view data_;
  bool bad_ = false;
};

struct Decoder {
  bool bad = false;

  /// Numbered fields of a small message.
  std::vector<Wire> all(std::string_view data) {
    std::vector<Wire> wires;
    Reader reader(data);
    while (auto wire = reader.next()) wires.push_back(*wire);
    bad |= reader.bad();
    return wires;
  }

  Json time(std::string_view data, bool micro) {
    std::int64_t seconds = 0, nanos = 0;
    for (const auto& wire : all(data))
      (wire.field == 1 ? seconds : nanos) = static_cast<std::int64_t>(wire.number);
    if (seconds == 0 && nanos == 0) return Json();
    const Time at{std::chrono::seconds{seconds} + std::chrono::microseconds{nanos / 1000}};
    return Json(micro ? format_rfc3339_micro(at) : format_rfc3339(at));
  }

  Json first_text(std::string_view data) {
    for (const auto& wire : all(data))
      if (wire.field == 1) return Json(wire.bytes);
    return Json("0");
  }

  Json raw_json(std::string_view data) {
    for (const auto& wire : all(data))
      if (wire.field == 1) {
        auto parsed = parse_json(wire.bytes);
        return parsed ? std::move(*parsed) : Json();
      }
    return Json();
  }

  Json value(const Wire& wire, const Schema& schema, int depth) {
    if (schema.format == Format::Quantity) return first_text(wire.bytes);
    if (schema.int_or_string) {
      std::int64_t kind = 0, number = 0;
      std::string_view text;
      for (const auto& part : all(wire.bytes)) {
        if (part.field == 1) kind = static_cast<std::int64_t>(part.number);
        if (part.field == 2) number = static_cast<std::int32_t>(part.number);
        if (part.field == 3) text = part.bytes;
      }
      return kind == 0 ? Json(number) : Json(text);
    }
    switch (schema.type) {
      case JsonType::String:
        if (schema.format == Format::Byte) return Json(base64_encode(wire.bytes));
        if (schema.format == Format::Time || schema.format == Format::MicroTime)
          return time(wire.bytes, schema.format == Format::MicroTime);
        return Json(wire.bytes);
      case JsonType::Boolean:
        return Json(wire.number != 0);
      case JsonType::Integer:
        return Json(schema.format == Format::Int64
                        ? static_cast<std::int64_t>(wire.number)
                        : std::int64_t{static_cast<std::int32_t>(wire.number)});
      case JsonType::Number:
        return Json(std::bit_cast<double>(wire.number));
      case JsonType::Object:
        if (schema.preserve_unknown) return raw_json(wire.bytes);
        return message(wire.bytes, schema, depth + 1);
      default:
        return raw_json(wire.bytes);
    }
  }

  Json message(std::string_view data, const Schema& schema, int depth) {
    JsonObject out;
    read_into(out, data, schema, 0, depth);
    return out;
  }

  /// `outer` not 0: the fields that Go embeds and JSON shows in the struct around them.
  void read_into(JsonObject& out, std::string_view data, const Schema& schema, std::uint16_t outer,
                 int depth) {
    if (depth > kMaxDepth) {
      bad = true;
      return;
    }
    for (const auto& wire : all(data)) {
      const Field* found = nullptr;
      bool embedded = false;
      for (const auto& field : schema.fields) {
        if (field.number == wire.field && field.outer == outer && field.number) found = &field;
        if (outer == 0 && field.outer == wire.field) embedded = true;
      }
      if (found)
        member(out, wire, *found, depth);
      else if (embedded)
        read_into(out, wire.bytes, schema, static_cast<std::uint16_t>(wire.field), depth + 1);
    }
  }

  void member(JsonObject& out, const Wire& wire, const Field& field, int depth) {
    const auto& schema = *field.schema;
    if (schema.items) {
      auto& list = out[field.name];
      if (!list.is_array()) list = JsonArray{};
      list.get_array().push_back(value(wire, *schema.items, depth));
    } else if (schema.additional) {
      auto& map = out[field.name];
      if (!map.is_object()) map = JsonObject{};
      std::string_view key;
      Wire entry;
      entry.is_bytes = true;
      for (const auto& part : all(wire.bytes)) {
        if (part.field == 1) key = part.bytes;
        if (part.field == 2) entry = part;
      }
      map.get_object()[key] = value(entry, *schema.additional, depth);
    } else {
      out[field.name] = value(wire, schema, depth);
    }
  }
};

/// "authentication.k8s.io/v1", "TokenRequest" → "authentication.v1.TokenRequest".
std::string type_name(std::string_view api_version, std::string_view kind) {
  if (kind.ends_with("Options")) return fmt::format("meta.v1.{}", kind);
  const auto slash = api_version.find('/');
  if (slash == api_version.npos) return fmt::format("core.{}.{}", api_version, kind);
  return fmt::format(
      "{}.{}.{}",
      api_version.substr(0, api_version.find('.') < slash ? api_version.find('.') : slash),
      api_version.substr(slash + 1), kind);
}

}  // namespace

Result<Json> decode_protobuf(std::string_view body, BuiltinTypes& types) {
  body.remove_prefix(kProtobufMagic.size());
  Decoder decoder;
  std::string_view api_version, kind, raw;
  for (const auto& wire : decoder.all(body)) {
    if (wire.field == 2) raw = wire.bytes;
    if (wire.field == 1)
      for (const auto& part : decoder.all(wire.bytes))
        (part.field == 1 ? api_version : kind) = part.bytes;
  }
  const auto* schema = types.find(type_name(api_version, kind));
  if (!schema)
    return failed(
        Error{.code = ErrorCode::UnsupportedMedia,
              .message = fmt::format("{} {} cannot be read as protobuf, only built-in kinds can",
                                     api_version, kind),
              .http_status = 415});
  auto object = decoder.message(raw, *schema, 0);
  if (decoder.bad) return failed(bad_request("the body is no valid protobuf"));
  object.get_object()["apiVersion"] = api_version;
  object.get_object()["kind"] = kind;
  return object;
}

}  // namespace manta::local
