// Manifests: every field has a place in the file, whatever the file.
#include "base/yaml.h"
#include "cli/manifest.h"
#include "cli/pod_words.h"
#include "fuzz/fuzz.h"

using namespace manta;
using namespace manta::fuzz;

static void check(const std::string& text, Input& in) {
  const auto manifest = cli::parse_manifest("f.yaml", text);
  if (!manifest) return FUZZ_CHECK(manifest.error().message.find("f.yaml") == 0, text);
  const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
  for (std::size_t i = 0; i < manifest->documents.size(); ++i) {
    const auto& document = manifest->documents[i];
    FUZZ_CHECK(document.is_object(), text);
    std::vector<std::string> fields{"spec.x[3].y", in.text(), "metadata.name", ""};
    for (const auto& [key, value] : document.get_object()) fields.emplace_back(key);
    for (const auto& field : fields) {
      const auto place = cli::find_place(*manifest, i, field);
      if (place)
        FUZZ_CHECK(place->line >= 1 && place->line <= lines && place->column >= 1, text, field);
    }
    const Error error{.code = ErrorCode::Invalid,
                      .message = "m",
                      .causes = {{.field = "spec.x", .message = "c"}}};
    FUZZ_CHECK(!cli::explain_rejection(*manifest, i, error).empty(), text);
    (void)cli::pod_state(document);
    (void)cli::pod_trouble(document);
    (void)cli::container_has_log(document, "a");
  }
  (void)cli::find_place(*manifest, manifest->documents.size(), "spec");
}

FUZZ(data) {
  Input in(data);
  check(std::string(data), in);
  Input choices(data);
  std::string text;
  for (int n = choices.number(0, 3); n > 0; --n) {
    Json object{{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", "a"}}}};
    object.get_object()["spec"] = choices.json(3);
    if (choices.flag()) object.get_object()["status"] = choices.json(3);
    text += (choices.flag() ? dump_yaml(object) : dump_json(object) + "\n") + "---\n";
  }
  check(text, choices);
}
