// What the operator logs while this lives.
#pragma once

#include "base/log.h"
#include "base/loop.h"
#include "operator/log_sink.h"

#include <memory>
#include <string>

namespace manta::integration {

class KeptLog {
 public:
  explicit KeptLog(Loop& loop, log::Level level = log::Level::Debug) {
    log::set_sink(std::make_unique<Keeper>(lines_, loop, level));
    log::set_level(level);
  }
  ~KeptLog() {
    log::set_level(std::nullopt);  // as the simulator has it
    log::set_sink(nullptr);
  }
  KeptLog(const KeptLog&) = delete;
  KeptLog& operator=(const KeptLog&) = delete;

  const std::string& text() const { return lines_->text; }
  std::size_t count() const { return lines_->count; }

 private:
  struct Lines {
    std::string text = {};
    std::size_t count = 0;
  };
  class Keeper final : public log::Sink {
   public:
    Keeper(std::shared_ptr<Lines> lines, Loop& loop, log::Level least)
        : lines_(std::move(lines)), loop_(loop), least_(least) {}
    void write(log::Level level, std::string_view message,
               std::initializer_list<log::Field> fields) override {
      if (level < least_) return;
      lines_->text += operator_::format_log_line(operator_::LogFormat::Json, level, loop_.now(),
                                                 message, fields) +
                      "\n";
      ++lines_->count;
    }

   private:
    std::shared_ptr<Lines> lines_;
    Loop& loop_;
    log::Level least_;
  };
  std::shared_ptr<Lines> lines_ = std::make_shared<Lines>();
};

}  // namespace manta::integration
