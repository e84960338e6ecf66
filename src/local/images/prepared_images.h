// Image names to prepared folders, for the node.
//
//   rayproject/ray:2.52.0-py310   an environment with that Ray and Python, if prepared
//   any other tag of it           the default environment, with a notice that says so
//   anything else                 only what `manta image add` named so
#pragma once

#include "local/images/image_index.h"
#include "local/node/image_store.h"

namespace manta::local {

class PreparedImages final : public ImageStore {
 public:
  /// Reads the index at every call: what the command line changes counts at once.
  explicit PreparedImages(ImageIndex index) : index_(std::move(index)) {}

  Result<ImageRoot> resolve(const std::string& image) override;

 private:
  ImageIndex index_;
};

}  // namespace manta::local
