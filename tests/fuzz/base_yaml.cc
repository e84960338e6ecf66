// YAML: documents that are read can be written and read back; every JSON document has a YAML form.
#include "base/yaml.h"
#include "fuzz/fuzz.h"

using namespace manta;
using namespace manta::fuzz;

static void check_round_trip(const Json& value) {
  const auto text = dump_yaml(value);
  const auto again = parse_yaml(text);
  FUZZ_CHECK(again.has_value(), text, again.error().message, dump_json(value));
  if (value.is_null()) return FUZZ_CHECK(again->empty(), text);  // null documents are left out
  FUZZ_CHECK(again->size() == 1 && same(again->front(), value), text, dump_json(value),
             again->empty() ? "" : dump_json(again->front()));
}

// True for bytes that are no UTF-8: yaml-cpp passes some through, and then JSON has no text for
// them. What comes in as bytes is checked where it goes out again.
static bool is_utf8(const Json& value) { return parse_json(dump_json(value)).has_value(); }

FUZZ(data) {
  if (const auto documents = parse_yaml(data)) {
    for (const auto& document : *documents) {
      FUZZ_CHECK(!document.is_null(), data);
      FUZZ_CHECK(is_utf8(document), data, dump_json(document));
      check_round_trip(document);
    }
    // JSON is YAML: a list of what was read is one document again.
    Json list = JsonArray(documents->begin(), documents->end());
    const auto as_json = parse_yaml_one(pretty_json(list));
    FUZZ_CHECK(as_json && same(*as_json, list), pretty_json(list));
  }
  Input in(data);
  check_round_trip(in.json());
}
